import http.client
import json
import secrets
import signal
import time

import pytest

HOST, PORT = "127.0.0.1", 8765
# No note that was stored while trying the server out has such a name.
OWN = f"t{secrets.token_hex(4)}"


class Answer:
    def __init__(self, response: http.client.HTTPResponse):
        self.status = response.status
        self.type = (response.getheader("Content-Type") or "").split(";")[0].strip()
        self.body = response.read(1_000_000)


def too_slow(*_: object) -> None:
    raise TimeoutError("the server took too long")


def ask(method: str, path: str, body: bytes | None = None) -> Answer:
    """The server's answer, which must be complete within 2 seconds, however it trickles in."""
    signal.signal(signal.SIGALRM, too_slow)
    signal.setitimer(signal.ITIMER_REAL, 2.5)
    connection = http.client.HTTPConnection(HOST, PORT)
    try:
        connection.request(method, path, body=body)
        return Answer(connection.getresponse())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
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
        assert ask("PUT", f"/notes/{OWN}-get-{number}", body).status == 201
        answer = ask("GET", f"/notes/{OWN}-get-{number}")
        assert (answer.status, answer.body) == (200, body)


def test_replace():
    assert ask("PUT", f"/notes/{OWN}-replace", b"old").status == 201
    assert ask("PUT", f"/notes/{OWN}-replace", b"new").status == 204
    assert ask("GET", f"/notes/{OWN}-replace").body == b"new"


def test_unknown_note():
    assert ask("PUT", f"/notes/{OWN}-known", b"text").status == 201
    assert ask("GET", f"/notes/{OWN}-known").status == 200
    assert ask("GET", f"/notes/{OWN}-unknown").status == 404


def test_delete():
    assert ask("PUT", f"/notes/{OWN}-delete", b"text").status == 201
    assert ask("DELETE", f"/notes/{OWN}-delete").status == 204
    assert ask("GET", f"/notes/{OWN}-delete").status == 404
    assert ask("DELETE", f"/notes/{OWN}-delete").status == 404


def test_list():
    for name in ("list-c", "list-a", "list-b2"):
        assert ask("PUT", f"/notes/{OWN}-{name}", b"text").status == 201
    answer = ask("GET", "/notes")
    names = json.loads(answer.body)
    assert (answer.status, answer.type) == (200, "application/json")
    listed = [name for name in names if name.startswith(f"{OWN}-list-")]
    assert listed == [f"{OWN}-list-{end}" for end in ("a", "b2", "c")]
    assert names == sorted(names)


def test_bad_names():
    assert ask("PUT", f"/notes/{OWN:n<32}", b"text").status == 201
    for name in ("Upper", "under_score", "a.b", "a/b", "", "n" * 33, "%C3%A4"):
        assert ask("PUT", f"/notes/{name}", b"text").status == 400, name
