import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbeval.tasks.digest import subset_digest, task_digest

NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1)
TREES = st.dictionaries(
    NAMES.filter(lambda name: len(name.encode()) < 100 and name not in {".", "..", ".git"}),
    st.tuples(st.binary(max_size=20), st.booleans()),
    max_size=5,
)


def write(root: Path, tree: dict[str, tuple[bytes, bool]]) -> None:
    for name, (content, executable) in tree.items():
        path = root / name
        path.write_bytes(content)
        path.chmod(0o755 if executable else 0o644)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("digest")


@given(one=TREES, other=TREES)
def test_equal_digests_mean_equal_trees(
    scratch: Path, one: dict[str, tuple[bytes, bool]], other: dict[str, tuple[bytes, bool]]
) -> None:
    digests = []
    for tree in (one, other, dict(reversed(one.items()))):
        root = scratch / "task"
        root.mkdir()
        write(root, tree)
        digests.append(task_digest(root))
        shutil.rmtree(root)
    assert (digests[0] == digests[1]) == (one == other)
    assert digests[0] == digests[2]


def test_times_and_umask_do_not_count(tmp_path: Path) -> None:
    write(tmp_path, {"a": (b"1", False), "b": (b"2", True)})
    before = task_digest(tmp_path)
    os.utime(tmp_path / "a", (1, 1))
    (tmp_path / "a").chmod(0o600)
    (tmp_path / "b").chmod(0o700)
    assert task_digest(tmp_path) == before
    (tmp_path / "a").chmod(0o700)
    assert task_digest(tmp_path) != before


def test_structure_counts(tmp_path: Path) -> None:
    seen = {task_digest(tmp_path)}

    def changed() -> bool:
        before = len(seen)
        seen.add(task_digest(tmp_path))
        return len(seen) > before

    (tmp_path / "empty").mkdir()
    assert changed()
    (tmp_path / "empty" / "file").write_text("x")
    assert changed()
    (tmp_path / "link").symlink_to("empty/file")
    assert changed()
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("empty")
    assert changed()
    (tmp_path / "link").unlink()
    (tmp_path / "link").write_text("empty")  # the same bytes, but no link
    assert changed()
    os.mkfifo(tmp_path / "pipe")
    assert changed()


def test_what_tools_leave_behind_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text("x")
    before = task_digest(tmp_path)
    (tmp_path / "tests" / "__pycache__").mkdir()
    (tmp_path / "tests" / "__pycache__" / "test_it.pyc").write_text("x")
    assert task_digest(tmp_path) == before


def test_a_subset_does_not_depend_on_the_order_of_its_tasks() -> None:
    one = subset_digest({"a": "1", "b": "2"})
    assert one == subset_digest({"b": "2", "a": "1"})
    assert one != subset_digest({"a": "2", "b": "1"})
    assert one != subset_digest({"a": "1"})
