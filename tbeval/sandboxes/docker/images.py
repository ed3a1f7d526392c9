"""A task's image: built or pulled once, before its first trial, and named by its content."""

import asyncio
import hashlib
import io
import json
import re
import tarfile
import tempfile
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakKeyDictionary

from tbeval.sandboxes import transfer
from tbeval.sandboxes.building import build_slot
from tbeval.sandboxes.docker import labels
from tbeval.sandboxes.docker.buildlog import build_error, build_lines
from tbeval.sandboxes.docker.engine import Engine, EngineError
from tbeval.sandboxes.docker.tasks import DOCKERFILE
from tbeval.sandboxes.errors import SandboxStartError, TaskSetupError

_REPOSITORY = "tbeval"
_LAST_LINES = 15
_FROM = re.compile(r"^(\s*FROM\s+(?:--\S+\s+)*)(\S+)", re.IGNORECASE | re.MULTILINE)
_BUILDKIT = "2"

#: What a build's last lines say where the network failed, and not the task.
_NETWORK = re.compile(
    r"failed to resolve source|failed to do request|dial tcp|no such host|temporary failure"
    r"|could not resolve|timed? ?out|connection (?:refused|reset)|network is unreachable"
    r"|unable to connect|failed to fetch|no active sessions|too many requests",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ImageSource:
    """Where the image of a task comes from.

    Attributes:
        name: Of the task, for the image's name.
        directory: With the Dockerfile and its context.
        image: A ready one to be used in place of a build.
        image_map: Image names to be replaced by others: of `image`, and in FROM lines.
        build_args: For the Dockerfile's ARG, proxies among them.
    """

    name: str
    directory: Path
    image: str | None = None
    image_map: Mapping[str, str] = field(default_factory=dict)
    build_args: Mapping[str, str] = field(default_factory=dict)

    @property
    def tag(self) -> str:
        """The image's name: the same content, base images and arguments give the same."""
        if self.image:
            return self.image_map.get(self.image, self.image)
        safe = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-") or "task"
        return f"{_REPOSITORY}/{safe}:{self._digest()[:16]}"

    def _digest(self) -> str:
        total = hashlib.sha256()
        settings = [sorted(self.image_map.items()), sorted(self.build_args.items())]
        total.update(json.dumps(settings).encode())
        for path in sorted(self.directory.rglob("*")):
            name = path.relative_to(self.directory).as_posix()
            if path.is_symlink():
                content = b"link " + str(path.readlink()).encode()
            elif path.is_file():
                mode = b"program " if path.stat().st_mode & 0o100 else b"file "
                content = mode + hashlib.sha256(path.read_bytes()).hexdigest().encode()
            else:
                content = b"directory"
            total.update(b"%s\0%s\0" % (name.encode(errors="surrogateescape"), content))
        return total.hexdigest()

    def context(self) -> io.BufferedRandom:
        """The build's context as a tar stream, with the base images replaced."""
        file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
        with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive:
            transfer.add(archive, self.directory, skip=lambda path: str(path) == DOCKERFILE)
            text = (self.directory / DOCKERFILE).read_text(encoding="utf-8")
            transfer.add_file(archive, DOCKERFILE, self.mapped(text).encode())
        file.seek(0)
        return file

    def mapped(self, dockerfile: str) -> str:
        """A Dockerfile with the images of its FROM lines replaced."""
        return _FROM.sub(
            lambda found: found[1] + self.image_map.get(found[2], found[2]), dockerfile
        )


@dataclass
class Images:
    """The images that an Engine has got ready for this process.

    Attributes:
        ready: Image ids by tag.
        failed: Why a task's image cannot be built; it is not tried again.
    """

    engine: Engine
    ready: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def ensure(
        self, source: ImageSource, *, note: Callable[[str], None] = lambda _: None
    ) -> str:
        """The id of a task's image, built or pulled if the Engine does not have it.

        Args:
            source: The task's.
            note: Gets the lines that building and pulling print.

        Raises:
            TaskSetupError: The task's Dockerfile fails.
            SandboxStartError: The image cannot be had, or the Engine does not answer.
        """
        tag = await asyncio.to_thread(lambda: source.tag)
        async with self._locks.setdefault(tag, asyncio.Lock()):
            if tag in self.failed:
                raise TaskSetupError(self.failed[tag])
            if tag not in self.ready:
                found = await image_id(self.engine, tag)
                if found is None:
                    async with build_slot():
                        await self._make(source, tag, note)
                    found = await image_id(self.engine, tag)
                if found is None:
                    raise SandboxStartError(f"The Engine made {tag}, and then had no such image.")
                self.ready[tag] = found
            return self.ready[tag]

    async def _make(self, source: ImageSource, tag: str, note: Callable[[str], None]) -> None:
        if source.image:
            await self._pull(tag, note)
        else:
            await self._build(source, tag, note)

    async def _pull(self, tag: str, note: Callable[[str], None]) -> None:
        name, _, digest = tag.partition("@")
        has_tag = ":" in name.rpartition("/")[2]
        parameters = {"fromImage": tag if digest or has_tag else f"{tag}:latest"}
        why = ""
        try:
            async for message in self.engine.progress("images/create", params=parameters):
                note(str(message.get("status", "")))
                why = build_error(message) or why
        except EngineError as error:
            why = str(error)
        if why:
            raise SandboxStartError(
                f"Image {tag} cannot be pulled ({why}): load it into the Engine, or name another "
                "with --image-map."
            )

    async def _build(self, source: ImageSource, tag: str, note: Callable[[str], None]) -> None:
        last: deque[str] = deque(maxlen=_LAST_LINES)
        why = ""
        context = await asyncio.to_thread(source.context)
        parameters = {
            "t": tag,
            "version": await self._builder(),
            "rm": "true",
            "forcerm": "true",
            "labels": json.dumps({labels.KIND: "task"}),
            "buildargs": json.dumps(dict(source.build_args)),
        }
        with context:
            messages = self.engine.progress(
                "build",
                params=parameters,
                data=context,
                headers={"Content-Type": "application/x-tar"},
            )
            try:
                async for message in messages:
                    for line in build_lines(message):
                        note(line)
                        last.append(line)
                    why = build_error(message) or why
            except EngineError as error:
                why = str(error)
        if not why:
            return
        log = "\n".join([*last, why])
        said = f"Building {source.directory / DOCKERFILE} failed: {log}"
        if _NETWORK.search(log):
            raise SandboxStartError(said)
        self.failed[tag] = said
        raise TaskSetupError(said)

    async def _builder(self) -> str:
        """BuildKit where the Engine has it: the other one knows no heredocs."""
        async with self.engine.send("GET", "_ping") as response:
            return _BUILDKIT if response.headers.get("Builder-Version") == _BUILDKIT else "1"


async def image_id(engine: Engine, tag: str) -> str | None:
    """The id of an image that the Engine has; None if it has none of that name."""
    try:
        return str((await engine.get(f"images/{tag}/json"))["Id"])
    except EngineError as error:
        if error.status == 404:  # noqa: PLR2004 - HTTP
            return None
        raise


_IMAGES: WeakKeyDictionary[Engine, Images] = WeakKeyDictionary()


def shared_images(engine: Engine) -> Images:
    """The images of this process's trials: one lock for each of them."""
    return _IMAGES.setdefault(engine, Images(engine))
