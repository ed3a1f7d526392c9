from pathlib import Path

import pytest

from tbeval.settings.base import SettingsError
from tbeval.settings.places import shipped_subsets
from tbeval.settings.subsets import list_subsets, load_subset

GOOD = 'description = "d"\ntasks = ["a", "b.c-1"]\n[source]\npath = "mine"\n'


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "task_subsets").mkdir()
    (tmp_path / "task_subsets" / "mine.toml").write_text(GOOD)
    return tmp_path


def test_a_subset_is_found_by_its_name_and_knows_its_file(own: Path) -> None:
    subset = load_subset("mine", own)
    assert subset.name == "mine"
    assert subset.tasks == ("a", "b.c-1")
    assert subset.file == own / "task_subsets" / "mine.toml"


@pytest.mark.parametrize("relative", [True, False])
def test_a_subset_is_found_by_a_path(own: Path, *, relative: bool) -> None:
    path = own / "elsewhere" / "other.toml"
    path.parent.mkdir()
    path.write_text(GOOD)
    name = "elsewhere/other.toml" if relative else str(path)
    assert load_subset(name, own).file == path


def test_an_own_subset_stands_before_a_shipped_one_of_the_same_name(own: Path) -> None:
    path = own / "task_subsets" / "demo.toml"
    path.write_text(GOOD)
    assert list_subsets(own)["demo"] == path
    assert load_subset("demo", own).tasks == ("a", "b.c-1")


def test_every_shipped_subset_can_be_read(tmp_path: Path) -> None:
    shipped = list_subsets(tmp_path)
    assert set(shipped) == {path.stem for path in shipped_subsets().glob("*.toml")}
    for name, path in shipped.items():
        assert load_subset(name, tmp_path).file == path


def test_an_unknown_subset_is_answered_with_the_nearest_and_the_list(own: Path) -> None:
    with pytest.raises(SettingsError, match=r'"mne" \(did you mean "mine"\?\); known: mine'):
        load_subset("mne", own)


def test_a_path_that_leads_nowhere_is_named(own: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.toml cannot be read: No such file"):
        load_subset("none.toml", own)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('tasks = ["a",\n"b",\n"a"]\n[source]', r"line 3: task a stands in the list twice"),
        ('tasks = ["a",\n"../b"]\n[source]', r"line 2: a task id is made of letters"),
        ("tasks = []\n[source]", r"line 1: tasks is \[\]; it should be a list of at least one"),
        ('tasks = ["a"]', r'the key "source" is missing'),
        ('name = "x"\ntasks = ["a"]\n[source]', r'line 1: name is "x" but the file is mine\.toml'),
        ('tasks = ["a"]\nfile = "y"\n[source]', r'line 2: unknown key "file"'),
        ('tasks = ["a"]\n[source]\nkind = "gti"', r'line 3: source\.kind is "gti".*mean "git"'),
    ],
)
def test_a_mistake_in_a_subset_is_told_with_its_line(own: Path, text: str, sentence: str) -> None:
    (own / "task_subsets" / "mine.toml").write_text(text)
    with pytest.raises(SettingsError, match=sentence):
        load_subset("mine", own)


def test_tasks_that_run_alone_are_among_the_subsets(own: Path) -> None:
    file = own / "task_subsets" / "mine.toml"
    file.write_text('alone = ["a"]\n' + GOOD)
    assert load_subset("mine", own).alone == ("a",)
    file.write_text('alone = ["z"]\n' + GOOD)
    with pytest.raises(SettingsError, match=r"mine\.toml, line 1: task z is none of the"):
        load_subset("mine", own)
