from pathlib import Path

REPORT = Path("/app/report.txt")


def value(key: str) -> str:
    lines = [line.strip() for line in REPORT.read_text(errors="replace").splitlines()]
    found = [line.split("=", 1)[1] for line in lines if line.startswith(f"{key}=")]
    assert len(found) == 1, f"{len(found)} lines begin with {key}="
    return found[0].strip()


def test_requests():
    assert value("requests") == "1201"


def test_errors():
    assert value("errors") == "52"


def test_busiest_client():
    assert value("busiest_client") == "10.0.0.21"


def test_slowest_path():
    assert value("slowest_path") == "/api/search"


def test_median():
    assert value("median_ms") == "112"


def test_outage_minute():
    assert value("outage_minute") == "2026-03-05T10:23"
