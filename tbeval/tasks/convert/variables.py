"""The variables of terminal-bench's compose files: resolved once, when a task is converted.

The rules are those of compose: `$NAME`, `${NAME}`, `${NAME:-default}`, `$$` for a dollar sign.
"""

import re

#: Where tests stand inside; the same path in terminal-bench and in harbor.
TESTS_DIR = "/tests"
#: Named volumes in place of the host's directories for logs, where services share them.
LOGS_VOLUME, AGENT_LOGS_VOLUME = "task-logs", "agent-logs"

_VARIABLE = re.compile(
    r"\$(?:(?P<escaped>\$)|(?P<plain>[A-Za-z_]\w*)"
    r"|\{(?P<braced>[A-Za-z_]\w*)(?:(?P<operator>:?[-?+])(?P<word>[^}]*))?\})"
)


def resolve(value: object, task: str) -> object:
    """Put values for terminal-bench's variables into all strings of a tree; others stay.

    Raises:
        KeyError: One of terminal-bench's is not known and has no default.
    """
    if isinstance(value, str):
        return _resolve_text(value, _values(task))
    if isinstance(value, dict):
        return {key: resolve(item, task) for key, item in value.items()}
    if isinstance(value, list):
        return [resolve(item, task) for item in value]
    return value


def has_variable(text: str) -> bool:
    """Whether compose would put a value of its environment into a text."""
    return any(not found["escaped"] for found in _VARIABLE.finditer(text))


def unescaped(text: str) -> str:
    """A text without variables, as a program inside sees it."""
    return text.replace("$$", "$")


def slug(task: str) -> str:
    """A task's id as part of a host name."""
    return re.sub(r"[^a-z0-9]+", "-", task.lower()).strip("-")


def _values(task: str) -> dict[str, str]:
    """What terminal-bench sets. The names are the same in each trial: none leaves its project."""
    return {
        "TEST_DIR": TESTS_DIR,
        "T_BENCH_TEST_DIR": TESTS_DIR,
        "T_BENCH_TASK_LOGS_PATH": LOGS_VOLUME,
        "T_BENCH_CONTAINER_LOGS_PATH": "/logs",
        "T_BENCH_TASK_AGENT_LOGS_PATH": AGENT_LOGS_VOLUME,
        "T_BENCH_CONTAINER_AGENT_LOGS_PATH": "/agent-logs",
        "T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME": "${MAIN_IMAGE_NAME}",
        "T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME": slug(task),
        "T_BENCH_TASK_DOCKER_NAME_PREFIX": slug(task),
    }


def _resolve_text(text: str, values: dict[str, str]) -> str:
    def replaced(found: re.Match[str]) -> str:
        name = found["plain"] or found["braced"]
        if name is None or not (name in values or name.startswith("T_BENCH_")):
            return found[0]
        operator = (found["operator"] or "").lstrip(":")
        if operator == "+":
            return str(found["word"]) if name in values else ""
        if name in values:
            return values[name]
        if operator == "-":
            return str(found["word"])
        raise KeyError(name)

    return _VARIABLE.sub(replaced, text)
