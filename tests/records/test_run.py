"""run.toml is written whole or not at all, and read back as it was."""

from pathlib import Path

import pytest

from tbeval.records.run import RunFileError, RunTask, fingerprint, read_run, write_run
from tests.made_up_runs import make_run


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    run = make_run(["a", "b"], 3, scoring={"sampling": {"top_p": 0.8}, "deep": [{"x": 1}]})
    write_run(tmp_path, run)
    assert read_run(tmp_path) == run
    assert [path.name for path in tmp_path.iterdir()] == ["run.toml"]


def test_a_folder_without_one_is_not_a_run(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match=r"is not a run: it has no run\.toml"):
        read_run(tmp_path)


@pytest.mark.parametrize("text", ["= 1", "run_id = 'x'", "\x00"])
def test_a_broken_one_is_refused_in_a_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.toml").write_text(text)
    with pytest.raises(RunFileError, match=r"run\.toml cannot be read"):
        read_run(tmp_path)


def test_the_fingerprint_follows_what_affects_a_score() -> None:
    task = RunTask(id="a", digest="d", agent_timeout_sec=1, verifier_timeout_sec=1)
    base = fingerprint({"x": 1, "y": {"a": 1, "b": 2}}, (task,))
    assert fingerprint({"y": {"b": 2, "a": 1}, "x": 1}, (task,)) == base
    assert fingerprint({"x": 2, "y": {"a": 1, "b": 2}}, (task,)) != base
    changed = task.model_copy(update={"digest": "e"})
    assert fingerprint({"x": 1, "y": {"a": 1, "b": 2}}, (changed,)) != base


def test_a_run_file_of_another_form_is_refused_by_the_key_that_does_not_fit(tmp_path: Path) -> None:
    write_run(tmp_path, make_run(["a"], 1))
    path = tmp_path / "run.toml"
    path.write_text("of_later = 1\n" + path.read_text())
    with pytest.raises(RunFileError, match=r"run\.toml cannot be read: of_later: "):
        read_run(tmp_path)


def test_a_run_toml_that_was_edited_or_is_of_a_later_version_is_refused(tmp_path: Path) -> None:
    run = make_run(["a"], 1, scoring={"sampling": {"top_p": 0.9}, "x": {"y": None}})
    write_run(tmp_path, run)
    assert read_run(tmp_path).fingerprint == run.fingerprint
    path = tmp_path / "run.toml"
    text = path.read_text()
    path.write_text(text.replace("0.9", "0.8"))
    with pytest.raises(RunFileError, match="was edited"):
        read_run(tmp_path)
    path.write_text(text.replace("schema_version = 1", "schema_version = 7\nnew_key = 1"))
    with pytest.raises(RunFileError, match="a later tbeval"):
        read_run(tmp_path)
