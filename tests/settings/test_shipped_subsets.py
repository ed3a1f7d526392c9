"""The subset files of terminal-bench v0.1.x: read, and equal to the lists they stand for."""

from pathlib import Path

import pytest

from tbeval.settings.base import SettingsError
from tbeval.settings.subsets import load_subset

_LISTS = Path(__file__).parents[3] / "shared" / "data" / "tb-v0.1.x"
_SIZES = {"tb-v0.1.x-66": 66, "tb-v0.1.x-86": 86, "tb-core-0.1.1": 80, "smoke": 4}


@pytest.mark.parametrize("name", _SIZES)
def test_says_where_its_tasks_come_from_to_the_commit(name: str) -> None:
    subset = load_subset(name)
    assert len(subset.tasks) == _SIZES[name]
    assert subset.source.kind == "git"
    assert subset.source.commit is not None
    assert subset.source.commit.startswith("91e10457")
    assert subset.source.directory == "tasks"


def test_smaller_subsets_are_parts_of_the_larger() -> None:
    every = set(load_subset("tb-v0.1.x-86").tasks)
    published = set(load_subset("tb-v0.1.x-66").tasks)
    core = set(load_subset("tb-core-0.1.1").tasks)
    assert published < every
    assert core < every
    assert len(published & core) == 61
    assert set(load_subset("smoke").tasks) < published


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("tb-v0.1.x-66", "harbor-66.ids"),
        ("tb-v0.1.x-86", "all-86.ids"),
        ("tb-core-0.1.1", "core-0.1.1.ids"),
    ],
)
def test_ids_equal_the_published_lists(name: str, file: str) -> None:
    if not _LISTS.is_dir():
        pytest.skip("../shared is missing: the published lists of ids are there")
    assert sorted(load_subset(name).tasks) == sorted((_LISTS / file).read_text().split())


def test_a_commit_must_be_given_in_full(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('tasks = ["a"]\n[source]\nkind = "git"\ncommit = "91e10457"\n')
    with pytest.raises(SettingsError, match=r"source\.commit"):
        load_subset(str(file))
