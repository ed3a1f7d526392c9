"""The subsets that are known: shipped ones and the user's."""

import re
from pathlib import Path

from tbeval.settings.base import SettingsError
from tbeval.settings.places import SUBSETS_DIRECTORY, shipped_subsets
from tbeval.settings.subset import Subset
from tbeval.settings.toml import Layer, check, read_document
from tbeval.settings.wording import listed, nearest

#: A task id becomes part of directory, container and URL names.
_TASK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

#: Trial ids (task, attempt, try, run) are names of files and sandboxes.
MAX_TASK_ID = 120


def list_subsets(directory: Path | None = None) -> dict[str, Path]:
    """The files of all known subsets by name; those under `directory` before the shipped ones.

    Args:
        directory: Whose `task_subsets/` is the user's own; the working directory if not given.
    """
    directory = Path.cwd() if directory is None else directory
    found: dict[str, Path] = {}
    for place in (directory / SUBSETS_DIRECTORY, shipped_subsets()):
        for path in sorted(place.glob("*.toml")):
            found.setdefault(path.stem, path)
    return found


def load_subset(name_or_path: str, directory: Path | None = None) -> Subset:
    """Read a subset by its name, or from a path that ends in `.toml`.

    Args:
        name_or_path: `demo`, or `subsets/mine.toml` (relative to `directory`).
        directory: As in `list_subsets`.

    Raises:
        SettingsError: No subset has that name, or its file has a mistake.
    """
    if name_or_path.endswith(".toml"):
        return _read((directory or Path()) / Path(name_or_path).expanduser())
    known = list_subsets(directory)
    if name_or_path not in known:
        raise SettingsError(
            f'unknown subset "{name_or_path}"{nearest(name_or_path, known)}; known: '
            f"{listed(known)}. Put it into ./{SUBSETS_DIRECTORY}/{name_or_path}.toml, or give the "
            "path of a .toml file."
        )
    return _read(known[name_or_path])


def _read(path: Path) -> Subset:
    path = path.absolute()
    document = read_document(path)
    layer = Layer(document)
    if "file" in document.data:
        raise SettingsError(f'{layer.where(("file",))}: unknown key "file".')
    data = {"name": path.stem, **document.data, "file": path}
    subset = check(data, Subset, (layer,))
    if subset.name != path.stem:
        raise SettingsError(
            f'{layer.where(("name",))}: name is "{subset.name}" but the file is {path.name}; '
            "make them the same."
        )
    _check_tasks(subset, layer)
    return subset


def _check_tasks(subset: Subset, layer: Layer) -> None:
    seen: set[str] = set()
    for position, task in enumerate(subset.tasks):
        where = layer.where(("tasks", position))
        if not _TASK_ID.fullmatch(task):
            raise SettingsError(
                f"{where}: a task id is made of letters, digits, dots, dashes and underscores, "
                f"not {task!r}."
            )
        if len(task) > MAX_TASK_ID:
            raise SettingsError(
                f"{where}: a task id of {len(task)} characters does not fit into the names of "
                f"trials: take at most {MAX_TASK_ID}."
            )
        if task in seen:
            raise SettingsError(f"{where}: task {task} stands in the list twice.")
        seen.add(task)
    for position, task in enumerate(subset.alone):
        if task not in seen:
            where = layer.where(("alone", position))
            raise SettingsError(f"{where}: task {task} is none of the subset's tasks.")
