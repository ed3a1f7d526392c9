"""`make eval` passes on what was typed, and nothing else, whatever characters it holds."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import ANY

import pytest

ROOT = Path(__file__).parents[2]

STUB = """#!{python}
import json, os, sys
with open({log!r}, "a") as log:
    print(json.dumps(sys.argv[1:]), file=log)
print("known checkpoints" if sys.argv[1:] == ["checkpoints"] else "evaluated")
"""


class Workshop:
    """The real Makefile and scripts, with a tbeval that writes down its arguments."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = path / "calls"
        shutil.copy(ROOT / "Makefile", path)
        (path / "scripts").mkdir()
        for script in ("eval.sh", "look.sh"):
            shutil.copy(ROOT / "scripts" / script, path / "scripts")
        self._program("scripts/setup.sh", "#!/bin/sh\n")
        self._program(".venv/bin/tbeval", STUB.format(python=sys.executable, log=str(self.log)))

    def _program(self, name: str, text: str) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def make(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
        for name in ("CKPT", "ARGS"):
            clean.pop(name, None)
        return subprocess.run(
            ["make", *arguments],
            cwd=self.path,
            env=clean | environment,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def calls(self) -> list[list[str]]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines]


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def test_options_left_out_are_left_to_the_checkpoint(workshop: Workshop) -> None:
    assert workshop.make("eval", "CKPT=oracle").returncode == 0
    assert workshop.calls == [["eval", "--", "oracle"]]


def test_every_variable_becomes_its_option(workshop: Workshop) -> None:
    done = workshop.make(
        "eval", "CKPT=iter399", "SUBSET=demo", "AGENT=terminus-2", "N=2", "CONCURRENCY=3",
        "SANDBOX=bubblewrap", "BASE_URL=http://127.0.0.1:8000/v1", "MODEL=a b", "LIKE=iter335",
        "ARGS=--new --tasks 'git-*, regex'",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert workshop.calls == [
        [
            "eval", "--subset=demo", "--agent=terminus-2", "--attempts=2", "--concurrency=3",
            "--sandbox=bubblewrap", "--base-url=http://127.0.0.1:8000/v1", "--served-model=a b",
            "--like=iter335", "--new", "--tasks", "git-*, regex", "--", "iter399",
        ]
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "*",
        "iter*",
        "a b",
        "-n",
        "x; touch pwned",
        "$(touch pwned)",
        "$(shell touch pwned)",
        "$$(touch pwned)",
        "`touch pwned`",
        "'\"",
        "a\\b",
        "a#b",
        "&& touch pwned #",
    ],
)
def test_no_value_is_expanded_or_run(workshop: Workshop, name: str) -> None:
    done = workshop.make("eval", f"CKPT={name}", f"SUBSET={name}", f"MODEL={name}")
    assert done.returncode == 0, done.stderr
    assert workshop.calls == [["eval", f"--subset={name}", f"--served-model={name}", "--", name]]
    assert not (workshop.path / "pwned").exists()


def test_only_the_checkpoint_may_come_from_the_environment(workshop: Workshop) -> None:
    workshop.make("eval", CKPT="oracle", MODEL="gpt", N="7", ARGS="--new")
    assert workshop.calls == [["eval", "--", "oracle"]]


def test_without_a_checkpoint_the_known_ones_are_listed(workshop: Workshop) -> None:
    done = workshop.make("eval")
    assert done.returncode == 2
    assert "Which checkpoint?" in done.stderr
    assert "known checkpoints" in done.stdout
    assert workshop.calls == [["checkpoints"]]


def test_an_unmatched_quote_is_told(workshop: Workshop) -> None:
    done = workshop.make("eval", "CKPT=oracle", "ARGS=--tasks 'a")
    assert done.returncode == 2
    assert "unmatched quote" in done.stderr
    assert workshop.calls == []


def test_pytest_gets_quoted_words_whole(workshop: Workshop) -> None:
    shutil.copy(workshop.path / ".venv/bin/tbeval", workshop.path / ".venv/bin/python")
    assert workshop.make("test").returncode == 0
    assert workshop.make("test", "ARGS=-m 'a and not b' tests/*").returncode == 0
    pytest, typed = (
        ["-m", "pytest", "-n", ANY, "--dist", "worksteal"],
        ["-m", "a and not b", "tests/*"],
    )
    assert workshop.calls == [pytest, pytest + typed]


@pytest.mark.parametrize(
    ("words", "call"),
    [
        (("compare", "BASE=b", "CKPT=x y"), ["compare", "--", "b", "x", "y"]),
        (
            ("compare", "BASE=b", "CKPT=x", "ARGS=--format 'json'"),
            ["compare", "--format", "json", "--", "b", "x"],
        ),
        (("gate", "BASE=b.json", "CKPT=x"), ["gate", "--baseline=b.json", "--", "x"]),
        (("gate", "CKPT=x", "ARGS=--min-pass 0.1"), ["gate", "--min-pass", "0.1", "--", "x"]),
        (("report",), ["report", "--"]),
        (("report", "CKPT=x y"), ["report", "--", "x", "y"]),
    ],
)
def test_what_reads_runs_gets_its_words(
    workshop: Workshop, words: tuple[str, ...], call: list[str]
) -> None:
    assert workshop.make(*words).returncode == 0
    assert workshop.calls == [call]


@pytest.mark.parametrize(
    "words", [("compare",), ("compare", "CKPT=x"), ("compare", "BASE=b"), ("gate", "CKPT=x y")]
)
def test_what_is_missing_is_told(workshop: Workshop, words: tuple[str, ...]) -> None:
    done = workshop.make(*words)
    assert done.returncode == 2
    assert f"make {words[0]} " in done.stderr
    assert workshop.calls == []


def test_help_names_every_target(workshop: Workshop) -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    shown = workshop.make("help").stdout
    for target in " ".join(targets).split():
        assert f"make {target} " in shown
