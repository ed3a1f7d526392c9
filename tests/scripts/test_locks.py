"""The locks hold names, versions and hashes only, and fit what pyproject.toml asks for."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"(?P<name>[a-z0-9][a-z0-9-]*)==(?P<version>[^ ;\\]+)(?: ; [^\\]+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?")


def locked(name: str) -> dict[str, str]:
    lines = (ROOT / "requirements" / name).read_text().splitlines()
    found = (NAME.fullmatch(line) for line in lines)
    return {match["name"]: match["version"] for match in found if match}


def wanted(requirements: list[str]) -> list[Requirement]:
    return [Requirement(line) for line in requirements]


@pytest.mark.parametrize("name", ["base.txt", "dev.txt", "weights.txt"])
def test_nothing_but_names_versions_and_hashes(name: str) -> None:
    lines = (ROOT / "requirements" / name).read_text().splitlines()
    assert [line for line in lines if not NAME.fullmatch(line) and not HASH.fullmatch(line)] == []


def test_what_pyproject_asks_for_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    base, dev = locked("base.txt"), locked("dev.txt")
    for requirement in wanted(project["project"]["dependencies"]):
        assert requirement.specifier.contains(base[canonicalize_name(requirement.name)]), (
            requirement
        )
    for requirement in wanted(project["dependency-groups"]["dev"]):
        assert requirement.specifier.contains(dev[canonicalize_name(requirement.name)]), requirement


def test_development_runs_what_users_run() -> None:
    assert locked("base.txt").items() <= locked("dev.txt").items()
