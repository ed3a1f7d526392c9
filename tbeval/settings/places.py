"""Where settings files lie: shipped with tbeval, and the user's own."""

from collections.abc import Mapping
from pathlib import Path

import tbeval

CHECKPOINTS_FILE = "checkpoints.toml"
SUBSETS_DIRECTORY = "task_subsets"


def shipped_checkpoints() -> Path:
    """The checkpoints that come with tbeval."""
    return Path(__file__).with_name(CHECKPOINTS_FILE)


def shipped_subsets() -> Path:
    """The subsets that come with tbeval: inside a wheel, beside the package in a checkout."""
    package = Path(tbeval.__file__).parent
    inside = package / "shipped" / SUBSETS_DIRECTORY
    return inside if inside.is_dir() else package.parent / SUBSETS_DIRECTORY


def user_directory(environment: Mapping[str, str]) -> Path | None:
    """`~/.config/tbeval`, or where XDG_CONFIG_HOME says; None for a user without a home."""
    config = environment.get("XDG_CONFIG_HOME", "")
    if config.startswith("/"):  # the specification wants relative ones ignored
        return Path(config) / "tbeval"
    home = environment.get("HOME", "")
    return Path(home) / ".config" / "tbeval" if home else None


def checkpoint_files(directory: Path, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """The checkpoint files that exist, the farthest first: shipped, the user's, the directory's."""
    user = user_directory(environment)
    candidates = [shipped_checkpoints()]
    if user is not None:
        candidates.append(user / CHECKPOINTS_FILE)
    candidates.append(directory / CHECKPOINTS_FILE)
    return tuple(path for path in candidates if path.is_file())
