"""One task directory: what becomes of each of its files, and what is left after a failure."""

from __future__ import annotations

import logging
import os
import re
import stat
from typing import TYPE_CHECKING

import pytest
from harbor.models.task.task import Task
from harbor.models.trial.paths import TrialPaths

from tbeval.sandboxes.errors import UnsupportedTaskError
from tbeval.sandboxes.tasks import check_environment
from tbeval.tasks.convert import CONVERTER_VERSION, ConvertError, Marks, convert_task
from tbeval.tasks.digest import task_digest
from tbeval.tasks.load import load_task
from tbeval.tasks.verifier import ReportVerifier

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tasks.conftest import OpenSandbox
    from tests.tasks.convert.conftest import MakeSource


def test_a_plain_task(make_source: MakeSource, tmp_path: Path) -> None:
    source = make_source(config={"max_agent_timeout_sec": 900, "tags": ["a", "b"]})
    before = task_digest(source)
    target = tmp_path / "out" / "some-task"
    converted = convert_task(source, target)

    assert task_digest(source) == before
    assert converted.id == "some-task"
    assert converted.warnings == ()
    assert converted.marks == Marks(source_digest=before, converter=CONVERTER_VERSION)
    info = load_task(target)
    assert info.instruction == "Do it.\n"
    assert (info.agent_timeout_sec, info.verifier_timeout_sec) == (900, 60)  # 60: the default
    assert (info.difficulty, info.tags, info.warnings) == ("easy", ("a", "b"), ())
    config = Task(target).config
    assert Marks.read(config.metadata) == converted.marks
    assert config.verifier.user == "root"
    assert config.environment.env == {"TEST_DIR": "/tests"}
    assert sorted(path.name for path in (target / "environment").iterdir()) == ["Dockerfile"]
    for name in ("Dockerfile", "run-tests.sh", "tests/test_outputs.py", "solution.sh"):
        new = {"Dockerfile": "environment/Dockerfile", "solution.sh": "solution/solve.sh"}
        new_name = new.get(name, name if "/" in name else f"tests/{name}")
        assert (target / new_name).read_bytes() == (source / name).read_bytes()
    assert (target / "tests/test.sh").stat().st_mode & stat.S_IXUSR
    assert os.listdir(tmp_path / "out") == ["some-task"]  # noqa: PTH208 - hidden ones, too


def test_the_same_source_comes_out_the_same(make_source: MakeSource, tmp_path: Path) -> None:
    source = make_source(services={"db": {"image": "postgres:15", "ports": ["5432:5432"]}})
    first, second = tmp_path / "first", tmp_path / "second"
    convert_task(source, first)
    convert_task(source, second)
    assert task_digest(first) == task_digest(second)


@pytest.mark.sandbox
@pytest.mark.parametrize("sandbox", ["private", "open"], indirect=True)
async def test_the_unchanged_test_script_is_scored_test_by_test(
    make_source: MakeSource, sandbox: OpenSandbox, tmp_path: Path
) -> None:
    """Without a first line, with `|| true` at the end, as some authors write them."""
    tests = "import os\ndef test_a(): assert os.environ['PREPARED']\ndef test_b(): assert 0\n"
    script = "source $TEST_DIR/prepare.sh\ncd /tmp\npytest $TEST_DIR/test_outputs.py -rA || true\n"
    source = make_source(files={"run-tests.sh": script, "tests/test_outputs.py": tests})
    target = tmp_path / "some-task"
    convert_task(source, target)
    verifier = ReportVerifier(
        task=Task(target),
        trial_paths=TrialPaths(tmp_path / "trial"),
        environment=sandbox,
        logger=logging.getLogger("verifier-of-a-converted-task"),
    )
    assert (await verifier.verify()).rewards == {"reward": 0, "score": 0.5}


def test_marks_of_an_unusual_task(make_source: MakeSource, tmp_path: Path) -> None:
    reads = 'import os\nscreen = os.environ["TEST_DIR"] + "/post-agent.txt"\n'
    source = make_source(
        config={"run_tests_in_same_shell": True, "parser_name": "swebench"},
        files={"tests/test_outputs.py": reads},
    )
    converted = convert_task(source, tmp_path / "some-task")
    assert converted.marks.same_shell
    assert converted.marks.last_screen == "/tests/post-agent.txt"
    assert len(converted.warnings) == 2
    assert "swebench" in converted.warnings[1]
    assert Marks.read(Task(tmp_path / "some-task").config.metadata) == converted.marks


def test_a_message_that_names_the_screen_is_no_reading(
    make_source: MakeSource, tmp_path: Path
) -> None:
    source = make_source(files={"tests/test_outputs.py": 'assert 1, "not in post-agent.txt"\n'})
    assert convert_task(source, tmp_path / "some-task").marks.last_screen is None


def test_its_setup_script_makes_it_no_task_for_bubblewrap(
    make_source: MakeSource, tmp_path: Path
) -> None:
    source = make_source(files={"setup.sh": "apt-get update\n"})
    convert_task(source, tmp_path / "some-task")
    with pytest.raises(UnsupportedTaskError, match="needs --sandbox docker"):
        check_environment(tmp_path / "some-task" / "environment", None)


def test_a_table_of_somebody_else_is_no_mark() -> None:
    assert Marks.read({}) is None
    assert Marks.read({"tbeval": {"converter": "1"}}) is None


def test_values_that_a_dockerfile_would_break_on(make_source: MakeSource, tmp_path: Path) -> None:
    variables = {"WORDS": 'two "words" #1', "COST": "$$5", "ON": True, "N": 3, "HOSTS_OWN": None}
    source = make_source(client={"environment": variables, "working_dir": "/srv"})
    convert_task(source, tmp_path / "some-task")
    environment = Task(tmp_path / "some-task").config.environment
    assert environment.env == {
        "TEST_DIR": "/tests",
        "WORDS": 'two "words" #1',
        "COST": "$5",
        "ON": "true",
        "N": "3",
        "HOSTS_OWN": "${HOSTS_OWN:-}",
    }
    assert environment.workdir == "/srv"


def test_another_dockerfile_in_a_directory_of_its_own(
    make_source: MakeSource, tmp_path: Path
) -> None:
    source = make_source(
        client={"build": {"context": "client", "dockerfile": "image.dockerfile"}},
        files={
            "client/image.dockerfile": "FROM debian:12 AS base\nFROM base\nCOPY . /app\n",
            "client/Dockerfile": "FROM scratch\n",
            "client/tests/own.txt": "the image's",
        },
    )
    convert_task(source, tmp_path / "some-task")
    environment = tmp_path / "some-task" / "environment"
    assert (environment / "Dockerfile").read_text().startswith("FROM debian:12 AS base")
    assert (environment / "tests/own.txt").read_text() == "the image's"
    assert not (environment / "client").exists()


def test_a_platform_goes_to_the_base_images(make_source: MakeSource, tmp_path: Path) -> None:
    text = "FROM debian:12 AS base\nFROM --platform=linux/arm64 alpine:3\nFROM base\nFROM scratch\n"
    source = make_source(client={"platform": "linux/amd64"}, files={"Dockerfile": text})
    convert_task(source, tmp_path / "some-task")
    assert (tmp_path / "some-task/environment/Dockerfile").read_text() == (
        "FROM --platform=linux/amd64 debian:12 AS base\nFROM --platform=linux/arm64 alpine:3\n"
        "FROM base\nFROM scratch\n"
    )


def test_a_ready_image(make_source: MakeSource, tmp_path: Path) -> None:
    source = make_source()
    (source / "docker-compose.yaml").write_text("services: {client: {image: 'debian:12'}}\n")
    convert_task(source, tmp_path / "some-task")
    assert Task(tmp_path / "some-task").config.environment.docker_image == "debian:12"


def test_solution_and_tests_stay_out_of_images_unless_they_are_copied_by_name(
    make_source: MakeSource, tmp_path: Path
) -> None:
    dockerfile = (
        "FROM debian:12\nCOPY --from=alpine:3 solution.sh /x\nCOPY <<EOT /etc/it\ntests\nEOT\n"
        'COPY ["tests/test_outputs.py", "/app/"]\nADD . \\\n  /app\n'
    )
    source = make_source(files={"Dockerfile": dockerfile, "data/a.csv": "1\n"})
    converted = convert_task(source, tmp_path / "some-task")
    names = {path.name for path in (tmp_path / "some-task/environment").iterdir()}
    assert names == {"Dockerfile", "data", "tests"}
    whole, named = converted.warnings
    assert re.search(r"whole task directory .*task.yaml, run-tests.sh, solution.sh", whole)
    assert "copies tests into the image" in named


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"files": {"task.yaml": "instruction: [1]\n"}}, r"task\.yaml: instruction: .*string"),
        ({"files": {"task.yaml": "a: [\n"}}, r"task\.yaml: while parsing"),
        ({"files": {"docker-compose.yaml": "services: {}\n"}}, r"has no services"),
        ({"files": {"tests/test.sh": "true\n"}}, r"tests/test\.sh stands where"),
        ({"client": {"build": {"context": "../.."}}}, r"lies outside the task"),
        ({"client": {"build": {"context": "nowhere"}}}, r"there is no directory .*nowhere"),
        ({"client": {"build": {"dockerfile": "Other"}}}, r"there is no .*Other"),
        ({"client": {"environment": ["A=${T_BENCH_NEW}"]}}, r"\$\{T_BENCH_NEW\} is no variable"),
        ({"client": {"env_file": "x.env"}}, r'uses "env_file"'),
        ({"client": {"volumes": ["/etc:/etc"]}}, r"mounts /etc of the machine"),
    ],
)
def test_nothing_is_left_of_a_failure(
    make_source: MakeSource, tmp_path: Path, change: dict[str, dict[str, str]], said: str
) -> None:
    source = make_source(**change)
    with pytest.raises(ConvertError, match=said) as raised:
        convert_task(source, tmp_path / "out" / "some-task")
    assert "some-task" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not any((tmp_path / "out").glob("*")) if (tmp_path / "out").exists() else True


def test_a_link_out_of_the_task_is_refused(make_source: MakeSource, tmp_path: Path) -> None:
    source = make_source()
    (tmp_path / "secret").write_text("key")
    (source / "tests" / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(ConvertError, match="leads out of the task"):
        convert_task(source, tmp_path / "some-task")


def test_no_test_script_no_task(make_source: MakeSource, tmp_path: Path) -> None:
    source = make_source()
    (source / "run-tests.sh").unlink()
    with pytest.raises(ConvertError, match=r"run-tests\.sh is missing"):
        convert_task(source, tmp_path / "some-task")


def test_what_is_there_is_not_overwritten(make_source: MakeSource, tmp_path: Path) -> None:
    target = tmp_path / "some-task"
    target.mkdir()
    (target / "mine").touch()
    with pytest.raises(ConvertError, match="is there already"):
        convert_task(make_source(), target)
    assert [path.name for path in target.iterdir()] == ["mine"]
