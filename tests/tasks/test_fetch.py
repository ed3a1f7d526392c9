"""Fetching from a real repository, with real git."""

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tbeval.settings.base import SettingsError
from tbeval.settings.subset import Subset, TaskSource
from tbeval.tasks import fetched
from tbeval.tasks.cache import Cache
from tbeval.tasks.digest import subset_digest, task_digest
from tbeval.tasks.fetch import Converter, fetch_tasks
from tbeval.tasks.load import load_tasks
from tests.tasks.fetching import IDS, Counting, Repository, Warned, write_old_tasks


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    (tmp_path / "git").mkdir()
    return Repository(tmp_path / "git")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tbeval"


@pytest.fixture(autouse=True)
def _versions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "counting" in request.fixturenames:  # the stand-in has versions of its own
        monkeypatch.setattr(fetched, "is_current", lambda _: True)


@pytest.fixture
def counting() -> Counting:
    return Counting()


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(SettingsError) as raised:
        call()
    message = str(raised.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


def fetch(subset: Subset, counting: Counting, **options: object) -> list[str]:
    told: list[str] = []
    converter = counting.version()
    fetch_tasks(subset, note=told.append, **{"converter": converter, **options})  # type: ignore[arg-type]
    return told


def files(cache: Path) -> set[str]:
    return {path.name for path in (cache / "new").rglob("*")}


def test_fetches_the_commit_and_only_what_is_wanted(
    repository: Repository, counting: Counting, cache: Path
) -> None:
    subset = repository.subset()
    assert "`tbeval tasks fetch mine`" in refused(lambda: load_tasks(subset))
    told = fetch(subset, counting)
    assert told[0] == f"fetching 3 tasks from {repository.bare.as_uri()}"
    assert told[1:] == [f"[{n}/3] {task}: ready" for n, task in enumerate(IDS, 1)]
    tasks = load_tasks(subset)
    assert [task.id for task in tasks] == list(IDS)
    assert "Do what first asks." in tasks[0].instruction  # not the branch's newer text
    assert [task.path.parent.name.rpartition("-")[2] for task in tasks] == ["1"] * 3
    assert tasks[1].warnings == ("second was simplified.",)
    assert not list(cache.rglob("not-wanted.bin"))
    assert not list(cache.rglob(".git"))
    assert files(cache) == set()


def test_a_server_that_gives_out_branches_only(
    repository: Repository, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "protocol.version")  # the newer one gives all
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "0")
    fetch(repository.subset("first"), counting)
    assert "Do what first asks." in load_tasks(repository.subset("first"))[0].instruction
    without = repository.source.model_copy(update={"branch": None, "commit": "1" * 40})
    nothing = repository.subset().model_copy(update={"source": without})
    assert "1" * 40 in refused(lambda: fetch(nothing, counting))


def test_what_is_there_needs_no_network_and_no_conversion(
    repository: Repository, counting: Counting
) -> None:
    fetch(repository.subset("first"), counting)
    fetch(repository.subset(), counting)  # another subset of the same source adds to it
    assert counting.made == list(IDS)
    repository.go_away()
    assert fetch(repository.subset(), counting) == ["all 3 tasks of mine are there already"]
    assert len(load_tasks(repository.subset())) == 3
    assert counting.made == list(IDS)
    told = refused(lambda: fetch(repository.subset(), counting, again=True))
    assert "bare.git" in told
    assert "tbeval tasks fetch mine --from DIR" in told
    assert len(load_tasks(repository.subset())) == 3


def test_another_converter_converts_anew_without_network(
    repository: Repository, counting: Counting
) -> None:
    fetch(repository.subset(), counting)
    repository.go_away()
    fetch(repository.subset(), counting, converter=counting.version("2"))
    assert counting.made == [*IDS, *IDS]
    assert {path.parent.name[-2:] for path in paths(repository.subset())} == {"-2"}


def paths(subset: Subset) -> list[Path]:
    return [task.path for task in load_tasks(subset)]


def test_changed_files_are_noticed_and_made_anew(
    repository: Repository, counting: Counting
) -> None:
    subset = repository.subset()
    fetch(subset, counting)
    first, second, third = paths(subset)
    digests = [task_digest(path) for path in (first, second, third)]
    (first / "tests" / "test.sh").write_text("exit 0\n")
    shutil.rmtree(second)
    for task in ("first", "second"):
        told = refused(lambda task=task: load_tasks(subset, select=[task]))  # type: ignore[misc]
        assert f"task {task}: " in told
        assert "`tbeval tasks fetch mine` makes it anew" in told
    load_tasks(subset, select=["third"])
    repository.go_away()  # the sources were kept
    told = "\n".join(fetch(subset, counting))
    assert "first: its files in the cache were changed" in told
    assert "third" not in told
    assert [task_digest(path) for path in paths(subset)] == digests
    assert counting.made == [*IDS, "first", "second"]


def test_changed_sources_are_fetched_again(repository: Repository, counting: Counting) -> None:
    subset = repository.subset()
    fetch(subset, counting)
    digest = load_tasks(subset)[0].digest
    shutil.rmtree(paths(subset)[0])
    (Cache.of(subset.source).sources / "first" / "task.yaml").write_text("planted\n")
    assert "fetching 1 tasks" in "\n".join(fetch(subset, counting))
    assert load_tasks(subset)[0].digest == digest


def test_a_damaged_index_is_as_good_as_none(
    repository: Repository, counting: Counting, cache: Path
) -> None:
    subset = repository.subset()
    fetch(subset, counting)
    (index,) = (cache / "index").iterdir()
    index.write_text('{"tasks": {"first"')
    assert "not fetched yet" in refused(lambda: load_tasks(subset))
    fetch(subset, counting)
    assert len(load_tasks(subset)) == 3
    assert counting.made == list(IDS)  # what was converted is still known by its digest


def test_an_interrupted_fetch_is_continued(
    repository: Repository, counting: Counting, cache: Path
) -> None:
    subset = repository.subset()
    counting.killed_at = "second"
    with pytest.raises(KeyboardInterrupt):
        fetch(subset, counting)
    assert files(cache) == set()
    assert [task.id for task in load_tasks(subset, select=["first"])] == ["first"]
    counting.killed_at = None
    left = cache / "new" / "left-by-a-killed-fetch"
    left.mkdir()
    fetch(subset, counting)
    assert not left.exists()
    assert counting.made == ["first", "second", "second", "third"]
    assert len(load_tasks(subset)) == 3


def test_tasks_that_cannot_be_converted_are_named_and_leave_nothing(
    repository: Repository, counting: Counting, cache: Path
) -> None:
    subset = repository.subset()
    counting.failing = {"second"}
    told = refused(lambda: fetch(subset, counting))
    assert told.startswith("1 of the 3 tasks of subset mine are not there: second cannot be used: ")
    assert "ValueError: made up" in told
    assert files(cache) == set()
    assert not list((cache / "tasks").glob("*/second"))
    assert len(load_tasks(subset, exclude=["second"])) == 2


def test_missing_ids_are_listed_and_may_come_from_elsewhere(
    repository: Repository, counting: Counting, tmp_path: Path
) -> None:
    subset = repository.subset(*IDS, "fourth", "fifth")
    told = refused(lambda: fetch(subset, counting))
    assert told.startswith("2 of the 5 tasks of subset mine are not there: ")
    assert "has no directory for fourth, fifth" in told
    assert repository.commit in told
    elsewhere = write_old_tasks(tmp_path / "elsewhere" / "tasks", ("fourth", "fifth"))
    fetch(subset, counting, origin=elsewhere.parent)
    assert [task.id for task in load_tasks(subset)] == list(subset.tasks)
    origins = [task.origin for task in Cache.of(subset.source).index().tasks.values()]
    assert origins == ["git"] * 3 + [str(elsewhere.parent)] * 2


def test_from_a_directory_of_harbors_tasks(
    repository: Repository, counting: Counting, tmp_path: Path
) -> None:
    subset = repository.subset("first")
    ready = tmp_path / "ready" / "first"
    write_old_tasks(tmp_path / "old")
    ready.parent.mkdir()
    counting(tmp_path / "old" / "first", ready)
    (ready / "__pycache__").mkdir()
    repository.go_away()
    fetch(subset, counting, origin=ready.parent)
    assert load_tasks(subset)[0].digest == task_digest(ready)
    assert not (paths(subset)[0] / "__pycache__").exists()
    assert counting.made == ["first"]
    (ready / "instruction.md").write_text("Changed.\n")
    fetch(subset, counting, origin=ready.parent)
    assert load_tasks(subset)[0].instruction == "Changed.\n"
    (ready / "task.toml").write_text("[agent]\ntimeout_sec = -1\n")
    told = refused(lambda: fetch(subset, counting, origin=ready.parent))
    assert f"{ready}/task.toml: timeout_sec of [agent] is -1" in told


def test_two_at_once_do_the_work_once(
    repository: Repository, counting: Counting, cache: Path
) -> None:
    subset = repository.subset()
    waits = threading.Event()
    told: list[str] = []

    def note(line: str) -> None:
        told.append(line)
        if "waiting" in line:
            waits.set()

    def convert(source: Path, target: Path) -> Warned:
        assert waits.wait(20)  # until the other one has met the lock
        return counting(source, target)

    def run() -> None:
        fetch_tasks(subset, note=note, converter=Converter("1", convert))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counting.made == list(IDS)
    assert told[-1] == "all 3 tasks of mine are there already"
    assert len(load_tasks(subset)) == 3
    assert files(cache) == set()


def test_a_subsets_digest_holds(repository: Repository, counting: Counting, tmp_path: Path) -> None:
    sources = write_old_tasks(tmp_path / "same")
    digest = subset_digest({task: task_digest(sources / task) for task in IDS})
    fetch(repository.subset(digest=digest), counting)
    load_tasks(repository.subset(digest=digest))
    other = repository.subset(digest="0" * 64)
    assert digest in refused(lambda: load_tasks(other))
    assert digest in refused(lambda: fetch(other, counting))


def test_sources_that_say_too_little_or_too_much(counting: Counting, tmp_path: Path) -> None:
    def subset(**source: object) -> Subset:
        document = {"kind": "git", "commit": "0" * 40, "url": tmp_path.as_uri(), **source}
        made = TaskSource.model_validate(document)
        return Subset(name="mine", tasks=("first",), source=made)

    assert "url and commit" in refused(lambda: fetch(subset(url=None), counting))
    outside = subset(directory="../..")
    assert "lie in the repository" in refused(lambda: fetch(outside, counting))
    assert "cannot be fetched yet" in refused(lambda: fetch(subset(kind="harbor"), counting))
    gone = tmp_path / "gone"
    assert "no such directory" in refused(lambda: fetch(subset(), counting, origin=gone))
    secret = subset(url="http://user:sesame@127.0.0.1:9/x.git")
    told = refused(lambda: fetch(secret, counting))
    assert "127.0.0.1:9" in told
    assert "sesame" not in told


def test_with_tbevals_own_converter(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    subset = repository.subset()
    fetch_tasks(subset)
    tasks = load_tasks(subset)
    assert [task.instruction.strip() for task in tasks] == [f"Do what {t} asks." for t in IDS]
    assert (tasks[0].path / "tests" / "test.sh").is_file()
    monkeypatch.setattr("tbeval.tasks.convert.CONVERTER_VERSION", "another")
    told = refused(lambda: load_tasks(subset))
    assert "another version of tbeval converted it" in told
    assert "`tbeval tasks fetch mine`" in told
    repository.go_away()
    fetch_tasks(subset)
    assert len(load_tasks(subset)) == 3
