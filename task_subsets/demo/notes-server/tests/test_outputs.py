import http.client
import json
import time

import pytest

HOST, PORT = "127.0.0.1", 8765


class Answer:
    def __init__(self, response: http.client.HTTPResponse):
        self.status = response.status
        self.type = (response.getheader("Content-Type") or "").split(";")[0].strip()
        self.body = response.read(1_000_000)


def ask(method: str, path: str, body: bytes | None = None) -> Answer:
    connection = http.client.HTTPConnection(HOST, PORT, timeout=2)
    try:
        connection.request(method, path, body=body)
        return Answer(connection.getresponse())
    finally:
        connection.close()


@pytest.fixture(scope="module", autouse=True)
def server() -> None:
    """Wait for a server that was started a moment ago."""
    end = time.monotonic() + 3
    while True:
        try:
            ask("GET", "/health")
        except (OSError, http.client.HTTPException) as error:
            assert time.monotonic() < end, f"nothing answers on {HOST}:{PORT}: {error}"
            time.sleep(0.1)
        else:
            return


def test_health():
    answer = ask("GET", "/health")
    assert (answer.status, answer.body.strip()) == (200, b"ok")


def test_put_and_get():
    for number, body in enumerate([b"milk, eggs", b"", b"\x00\xff\n\n", b"x" * 5000]):
        assert ask("PUT", f"/notes/get-{number}", body).status == 201
        answer = ask("GET", f"/notes/get-{number}")
        assert (answer.status, answer.body) == (200, body)


def test_replace():
    assert ask("PUT", "/notes/replace", b"old").status == 201
    assert ask("PUT", "/notes/replace", b"new").status == 204
    assert ask("GET", "/notes/replace").body == b"new"


def test_unknown_note():
    assert ask("PUT", "/notes/known", b"text").status in {201, 204}
    assert ask("GET", "/notes/known").status == 200
    assert ask("GET", "/notes/unknown").status == 404


def test_delete():
    assert ask("PUT", "/notes/delete", b"text").status in {201, 204}
    assert ask("DELETE", "/notes/delete").status == 204
    assert ask("GET", "/notes/delete").status == 404
    assert ask("DELETE", "/notes/delete").status == 404


def test_list():
    for name in ("list-c", "list-a", "list-b2"):
        assert ask("PUT", f"/notes/{name}", b"text").status in {201, 204}
    answer = ask("GET", "/notes")
    names = json.loads(answer.body)
    assert (answer.status, answer.type) == (200, "application/json")
    assert [name for name in names if name.startswith("list-")] == ["list-a", "list-b2", "list-c"]
    assert names == sorted(names)


def test_bad_names():
    assert ask("PUT", "/notes/" + "n" * 32, b"text").status in {201, 204}
    for name in ("Upper", "under_score", "a.b", "a/b", "", "n" * 33, "%C3%A4"):
        assert ask("PUT", f"/notes/{name}", b"text").status == 400, name
