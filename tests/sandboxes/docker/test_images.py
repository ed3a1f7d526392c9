"""Images: named by content, made once, mapped, and what is said of a build that fails."""

import asyncio
import base64
import json
import tarfile
import uuid
from pathlib import Path

import pytest

from tbeval.sandboxes.docker import labels
from tbeval.sandboxes.docker.buildlog import build_error, build_lines
from tbeval.sandboxes.docker.engine import Engine, EngineError
from tbeval.sandboxes.docker.images import Images, ImageSource, image_id
from tbeval.sandboxes.errors import SandboxStartError, TaskSetupError
from tests.sandboxes.docker.conftest import BASE, Make

pytestmark = pytest.mark.sandbox


def source(directory: Path, dockerfile: str, **more: object) -> ImageSource:
    directory.mkdir(exist_ok=True)
    (directory / "Dockerfile").write_text(dockerfile)
    return ImageSource(name="Some Task", directory=directory, **more)  # type: ignore[arg-type]


def test_the_tag_follows_the_content(tmp_path: Path) -> None:
    one = source(tmp_path / "a", "FROM x\n")
    assert one.tag.startswith("tbeval/some-task:")
    assert one.tag == source(tmp_path / "b", "FROM x\n").tag
    assert one.tag != source(tmp_path / "b", "FROM x\n", image_map={"x": "y"}).tag
    assert one.tag != source(tmp_path / "b", "FROM x\n", build_args={"A": "1"}).tag
    (tmp_path / "b" / "file").write_text("")
    assert one.tag != source(tmp_path / "b", "FROM x\n").tag
    before = source(tmp_path / "b", "FROM x\n").tag
    (tmp_path / "b" / "file").chmod(0o755)
    assert before != source(tmp_path / "b", "FROM x\n").tag
    ready = ImageSource(name="t", directory=tmp_path, image="a:1", image_map={"a:1": "b:2"})
    assert ready.tag == "b:2"


def test_base_images_are_mapped_in_from_lines_only(tmp_path: Path) -> None:
    text = "FROM --platform=linux/amd64 a:1 AS one\nRUN echo FROM a:1\nfrom a:1\nFROM b\n"
    mapped = source(tmp_path, text, image_map={"a:1": "c/d:2"})
    with mapped.context() as context, tarfile.open(fileobj=context) as archive:
        file = archive.extractfile("Dockerfile")
        assert file is not None
        assert file.read().decode() == (
            "FROM --platform=linux/amd64 c/d:2 AS one\nRUN echo FROM a:1\nfrom c/d:2\nFROM b\n"
        )


async def test_several_trials_build_a_task_once(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "data.txt").write_text(uuid.uuid4().hex)
    made = source(
        tmp_path / "c",
        "FROM base\nARG SAID\nCOPY . /app/\nRUN <<END\necho $SAID > /said\nEND\n",
        image_map={"base": BASE},
        build_args={"SAID": "so"},
    )
    images, lines = Images(engine), list[str]()
    ids = await asyncio.gather(*(images.ensure(made, note=lines.append) for _ in range(4)))
    assert len(set(ids)) == 1
    assert len([line for line in lines if "COPY . /app/" in line]) == 1
    found = await engine.get(f"images/{ids[0]}/json")
    assert found["Config"]["Labels"] == {labels.KIND: "task"}
    assert await Images(engine).ensure(made, note=lines.append) == ids[0]
    assert len([line for line in lines if "COPY . /app/" in line]) == 1
    async with engine.send("DELETE", f"images/{made.tag}"):
        pass
    assert await image_id(engine, made.tag) is None


async def test_a_failing_build_is_told_with_its_last_lines(engine: Engine, tmp_path: Path) -> None:
    broken = source(tmp_path / "d", f"FROM {BASE}\nRUN echo what is wrong && exit 7\n")
    images = Images(engine)
    with pytest.raises(
        TaskSetupError, match=r"(?s)Dockerfile failed: .*what is wrong.*exit code: 7"
    ):
        await images.ensure(broken)
    lines: list[str] = []
    with pytest.raises(TaskSetupError, match="what is wrong"):
        await images.ensure(broken, note=lines.append)
    assert lines == [], "it is not tried again"


async def test_an_image_that_cannot_be_had_is_not_the_tasks_fault(
    engine: Engine, tmp_path: Path
) -> None:
    nowhere = "127.0.0.1:9/none:1"
    with pytest.raises(SandboxStartError, match="failed"):
        await Images(engine).ensure(source(tmp_path / "e", f"FROM {nowhere}\n"))
    ready = ImageSource(name="t", directory=tmp_path, image=nowhere)
    with pytest.raises(SandboxStartError, match="--image-map"):
        await Images(engine).ensure(ready)


async def test_a_task_runs_in_its_own_image(make: Make, engine: Engine) -> None:
    one = make(f"FROM {BASE}\nWORKDIR /place\nENV FROM_IMAGE=yes\n")
    await one.start(force_build=False)
    said = await one.exec("pwd; echo $FROM_IMAGE")
    assert said.stdout == "/place\nyes\n"
    container = await engine.get(f"containers/{one.container}/json")
    await one.stop(delete=True)
    async with engine.send("DELETE", f"images/{container['Image']}", params={"force": "true"}):
        pass


async def test_what_the_engine_refuses_is_told_in_its_words(engine: Engine) -> None:
    with pytest.raises(EngineError, match="No such image") as caught:
        await engine.get("images/none/json")
    assert caught.value.status == 404


def test_lines_of_both_builders() -> None:
    assert list(build_lines({"stream": "Step 1/2 : FROM x\n"})) == ["Step 1/2 : FROM x"]
    # field 3 (a log), in it field 4 (its text), "hello\n"
    trace = base64.b64encode(b"\x1a\x08\x22\x06hello\n").decode()
    assert list(build_lines({"id": "moby.buildkit.trace", "aux": trace})) == ["hello"]
    for damaged in (trace[:6], "!", base64.b64encode(b"\xff" * 9).decode()):
        assert list(build_lines({"id": "moby.buildkit.trace", "aux": damaged})) == []
    assert build_error(json.loads('{"error":"why","errorDetail":{}}')) == "why"
    assert build_error({"stream": ""}) == ""
