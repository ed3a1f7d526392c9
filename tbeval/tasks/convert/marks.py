"""What a converted task tells tbeval beside what harbor's format can say."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

#: Goes up whenever the same source comes out differently.
CONVERTER_VERSION = "1"
TABLE = "tbeval"


@dataclass(frozen=True)
class Marks:
    """The table `[metadata.tbeval]` of a converted task's task.toml.

    Attributes:
        source_digest: Of the directory that it was made of; see `task_digest`.
        converter: `CONVERTER_VERSION` when it was made.
        same_shell: The author wants the tests run in the agent's shell.
        tests_user: Who runs the tests.
        parser: Which of terminal-bench's parsers its author named; tbeval reads pytest's own
            reports.
        sandbox: The only kind of sandbox that can run it.
        last_screen: Where, inside, the tests look for the agent's last screen; None if nowhere.
    """

    source_digest: str
    converter: str = CONVERTER_VERSION
    same_shell: bool = False
    tests_user: str = "root"
    parser: str = "pytest"
    sandbox: str = "docker"
    last_screen: str | None = None

    def table(self) -> dict[str, str | bool]:
        """For task.toml, which knows no None."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    @classmethod
    def read(cls, metadata: Mapping[str, object]) -> "Marks | None":
        """The marks in a task's metadata; None if it was not converted by tbeval."""
        table = metadata.get(TABLE)
        if not isinstance(table, Mapping) or not isinstance(table.get("source_digest"), str):
            return None
        last_screen = table.get("last_screen")
        return cls(
            source_digest=table["source_digest"],
            converter=str(table.get("converter", "")),
            same_shell=table.get("same_shell") is True,
            tests_user=str(table.get("tests_user", "root")),
            parser=str(table.get("parser", "pytest")),
            sandbox=str(table.get("sandbox", "docker")),
            last_screen=last_screen if isinstance(last_screen, str) else None,
        )
