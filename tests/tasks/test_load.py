import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tbeval.settings.base import SettingsError
from tbeval.settings.subset import Subset, TaskSource
from tbeval.settings.subsets import load_subset
from tbeval.tasks.digest import task_digest
from tbeval.tasks.load import load_task, load_tasks, select_tasks

IDS = ("git-merge", "git-log", "hello-world")


def subset_at(directory: Path, *tasks: str) -> Subset:
    return Subset(
        name="mine",
        tasks=tasks or IDS,
        source=TaskSource(path=directory),
        file=directory.parent / "mine.toml",
    )


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(SettingsError) as raised:
        call()
    message = str(raised.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


@pytest.fixture
def subset(tmp_path: Path) -> Subset:
    return subset_at(tmp_path)


@pytest.mark.parametrize(
    ("select", "exclude", "expected"),
    [
        ((), (), IDS),
        (("git-*",), (), IDS[:2]),
        (("hello-world", "git-log"), (), IDS[1:]),
        ((), ("git-*",), IDS[2:]),
        (("git-*",), ("*-log",), IDS[:1]),
    ],
)
def test_selection(subset: Subset, select: list[str], exclude: list[str], expected: object) -> None:
    assert select_tasks(subset, select=select, exclude=exclude) == expected


def test_selections_that_make_no_sense(subset: Subset) -> None:
    assert "hello-world" in refused(lambda: select_tasks(subset, select=["helo-world"]))
    assert 'no task fits "svn-*"' in refused(lambda: select_tasks(subset, select=["svn-*"]))
    assert "unknown task" in refused(lambda: select_tasks(subset, exclude=["zzz"]))
    assert "is left" in refused(lambda: select_tasks(subset, exclude=["*"]))


def test_the_demo_subset_loads_without_a_warning() -> None:
    subset = load_subset("demo")
    tasks = load_tasks(subset)
    assert tuple(task.id for task in tasks) == subset.tasks
    for task in tasks:
        assert task.digest == task_digest(task.path)
        assert task.instruction.strip()
        assert task.agent_timeout_sec > 0
        assert task.verifier_timeout_sec > 0
        assert task.difficulty in {"easy", "medium", "hard"}
        assert task.tags
        assert task.warnings == ()


def test_selection_by_difficulty() -> None:
    subset = load_subset("demo")
    easy = load_tasks(subset, difficulty="easy", exclude=["pack-*"])
    assert [task.id for task in easy] == ["write-motto", "office-modes"]
    told = refused(lambda: load_tasks(subset, difficulty="esay"))
    assert '"esay"; there are: easy, hard, medium.' in told


def test_what_a_task_says_of_itself(tmp_path: Path, make_task: Callable[..., Path]) -> None:
    path = make_task("true")
    (path / "task.toml").write_text(
        'version = "1.0"\n[metadata]\ndifficulty = "hard"\ncategory = "x"\ntags = ["a", "b"]\n'
        "[agent]\ntimeout_sec = 7\n[verifier]\ntimeout_sec = 8\n"
        '[environment]\nmemory = "2G"\n'
    )
    (path / "instruction.md").write_text("<!-- canary: x -->\n\nDo it.\n")
    task = load_task(path)
    assert (task.difficulty, task.category, task.tags) == ("hard", "x", ("a", "b"))
    assert (task.agent_timeout_sec, task.verifier_timeout_sec) == (7.0, 8.0)
    assert task.instruction == "Do it.\n"
    assert any("memory" in warning for warning in task.warnings)  # harbor calls it deprecated


def test_sources_that_cannot_be_used(
    tmp_path: Path, subset: Subset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    gone = subset.model_copy(update={"source": TaskSource(path=tmp_path / "gone")})
    assert "no directory" in refused(lambda: load_tasks(gone))
    fetched = subset.model_copy(update={"source": TaskSource(kind="git", url="x")})
    assert "`tbeval tasks fetch " in refused(lambda: load_tasks(fetched))
    nowhere = subset.model_copy(update={"source": TaskSource()})
    assert '"path"' in refused(lambda: load_tasks(nowhere))
    assert "git-merge" in refused(lambda: load_tasks(subset))


@pytest.mark.parametrize(
    ("file", "content", "expected"),
    [
        ("task.toml", None, "task.toml is missing"),
        ("instruction.md", None, "instruction.md is missing"),
        ("tests/test.sh", None, "test.sh is missing"),
        ("task.toml", "x = [", "task.toml: Invalid value"),
        ("task.toml", "\xff", "task.toml: "),
        ("task.toml", "[agent]\ntimeout_sec = 'soon'\n", "agent.timeout_sec"),
        ("task.toml", "[agent]\ntimeout_sec = -1\n", "timeout_sec of [agent] is -1"),
        ("task.toml", "[[steps]]\nname = 'one'\n", "several steps"),
        ("task.toml", "[verifier]\nenvironment_mode = 'separate'\n", "sandbox of their own"),
        ("tests/.harborignore", "test.sh\n", "excluded"),
    ],
)
def test_tasks_that_cannot_be_used(
    make_task: Callable[..., Path], file: str, content: str | None, expected: str
) -> None:
    path = make_task("true")
    if content is None:
        (path / file).unlink()
    else:
        (path / file).write_text(content, encoding="latin-1")
    message = refused(lambda: load_task(path))
    assert message.startswith("task task: ")
    assert expected in message


def test_links_out_of_a_task_are_refused(make_task: Callable[..., Path]) -> None:
    path = make_task("true")
    (path / "tests" / "secrets").symlink_to("/etc/passwd")
    assert "stay within the task" in refused(lambda: load_task(path))


def test_importing_costs_no_harbor() -> None:
    script = "import sys, tbeval.tasks.load; sys.exit('harbor' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
