import json
import resource
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "LC_ALL": "C.UTF-8",
    "PYTHONPATH": "/app",
    "PYTHONDONTWRITEBYTECODE": "1",
}


class Done(NamedTuple):
    stdout: str
    stderr: str
    returncode: int


def limit_files() -> None:
    """Neither the output nor any other file of the program grows beyond 1 MB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))


def python(folder: Path, *arguments: str) -> Done:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = subprocess.run(
            ["python3", *arguments],
            check=False,
            cwd=folder,
            env=ENVIRONMENT,
            preexec_fn=limit_files,
            stderr=err,
            stdin=subprocess.DEVNULL,
            stdout=out,
            timeout=5,
        ).returncode
        out.seek(0)
        err.seek(0)
        return Done(out.read().decode(errors="replace"), err.read().decode(errors="replace"), code)


def evaluate(folder: Path, statements: str, expression: str) -> Any:
    """The value of an expression in a fresh Python, by way of JSON."""
    code = f"import json, stockroom\n{statements}\nprint('\\n' + json.dumps({expression}))"
    done = python(folder, "-c", code)
    assert done.returncode == 0, done.stderr[-500:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def stock(tmp_path: Path) -> Path:
    path = tmp_path / "stock.csv"
    path.write_text("name,quantity,price\nzinc,7,0.25\nbolt,40,0.50\napple,2,0.75\nnut,4,1.00\n")
    return path


def test_add_and_total(tmp_path: Path):
    code = "s = stockroom.Store(); s.add('a', 2, 150); s.add('b', 1, 5); s.add('a', 3, 100)"
    assert evaluate(tmp_path, code, "s.total_cents()") == 505


def test_stores_share_nothing(tmp_path: Path):
    code = "a = stockroom.Store(); b = stockroom.Store(); a.add('x', 1, 100); c = stockroom.Store()"
    found = evaluate(tmp_path, code, "[s.total_cents() for s in (a, b, c)]")
    assert found == [100, 0, 0]


def test_low(tmp_path: Path):
    code = "s = stockroom.Store()\nfor n, q in [('z', 1), ('k', 3), ('b', 2), ('m', 9)]: s.add(n, q, 1)"
    assert evaluate(tmp_path, code, "[s.low(2), s.low(0), s.low(3)]") == [["b", "z"], [], ["b", "k", "z"]]


def test_prices_are_exact(tmp_path: Path):
    prices = ["0.29", "1.15", "2.20", "4.35", "1080.00", "19.99", "0.07", "8.41"]
    path = tmp_path / "prices.csv"
    for price in prices:
        path.write_text(f"name,quantity,price\nthing,1,{price}\n")
        found = evaluate(tmp_path, "", f"stockroom.read_csv({str(path)!r}).total_cents()")
        assert found == int(price.replace(".", "")), price


def test_format_money(tmp_path: Path):
    amounts = {5: "0.05", 0: "0.00", 1250: "12.50", 125000: "1,250.00", -5: "-0.05", -125001: "-1,250.01"}
    found = evaluate(tmp_path, "", f"[stockroom.format_money(c) for c in {list(amounts)}]")
    assert found == list(amounts.values())


def test_command_total(stock: Path):
    done = python(stock.parent, "-m", "stockroom", "total", "stock.csv")
    assert (done.stdout, done.returncode) == ("27.25\n", 0)


def test_command_low(stock: Path):
    done = python(stock.parent, "-m", "stockroom", "low", "stock.csv", "4")
    assert (done.stdout, done.returncode) == ("apple\nnut\n", 0)


def test_other_commands(stock: Path):
    done = python(stock.parent, "-m", "stockroom", "burn")
    assert (done.stdout, done.returncode) == ("", 2)
    # not because every command is refused
    assert python(stock.parent, "-m", "stockroom", "total", "stock.csv").returncode == 0
