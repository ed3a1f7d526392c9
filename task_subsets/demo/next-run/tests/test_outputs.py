import resource
import subprocess
import tempfile

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LC_ALL": "C.UTF-8"}


def limit_files() -> None:
    """Neither the output nor any other file of the program grows beyond 1 MB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))


def run(expression: str, start: str) -> tuple[str, int]:
    with tempfile.TemporaryFile() as out:
        code = subprocess.run(
            ["python3", "/app/next_run.py", expression, start],
            check=False,
            cwd="/tmp",
            env=ENVIRONMENT,
            preexec_fn=limit_files,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            stdout=out,
            timeout=6,
        ).returncode
        out.seek(0)
        return out.read().decode(errors="replace").strip(), code


def check(*cases: tuple[str, str, str]) -> None:
    for expression, start, expected in cases:
        assert run(expression, start) == (expected, 0), f"{expression} after {start}"


def test_fixed_times():
    check(
        ("30 4 * * *", "2026-05-10 04:00", "2026-05-10 04:30"),
        ("30 4 * * *", "2026-05-10 04:30", "2026-05-11 04:30"),
        ("* * * * *", "2026-12-31 23:59", "2027-01-01 00:00"),
        ("5 * * * *", "2026-05-10 23:06", "2026-05-11 00:05"),
    )


def test_lists_and_ranges():
    check(
        ("0,15,40 9-11 * * *", "2026-05-10 09:15", "2026-05-10 09:40"),
        ("0,15,40 9-11 * * *", "2026-05-10 11:40", "2026-05-11 09:00"),
        ("10 1-3,22 * * *", "2026-05-10 03:10", "2026-05-10 22:10"),
    )


def test_steps():
    check(
        ("*/20 * * * *", "2026-05-10 07:40", "2026-05-10 08:00"),
        ("*/25 * * * *", "2026-05-10 07:50", "2026-05-10 08:00"),
        ("5-35/10 6 * * *", "2026-05-10 06:06", "2026-05-10 06:15"),
        ("5-35/10 6 * * *", "2026-05-10 06:35", "2026-05-11 06:05"),
        ("0 0 */10 * *", "2026-05-21 00:00", "2026-05-31 00:00"),
    )


def test_days_of_the_week():
    check(
        ("0 8 * * 1-5", "2026-05-08 08:00", "2026-05-11 08:00"),  # a Friday
        ("0 8 * * 0", "2026-05-08 08:00", "2026-05-10 08:00"),
        ("15 7 * * 6", "2026-05-08 08:00", "2026-05-09 07:15"),
    )


def test_months_and_years():
    check(
        ("0 0 1 1 *", "2026-11-30 00:00", "2027-01-01 00:00"),
        ("0 12 31 * *", "2026-04-10 12:00", "2026-05-31 12:00"),
        ("0 6 29 2 *", "2028-01-31 00:00", "2028-02-29 06:00"),
        ("59 23 * 6-8/2 *", "2026-06-30 23:59", "2026-08-01 23:59"),
    )


def test_either_day():
    check(
        ("0 0 13 * 5", "2026-05-09 00:00", "2026-05-13 00:00"),
        ("0 0 13 * 5", "2026-05-13 00:00", "2026-05-15 00:00"),
        ("0 0 1,20 6 3", "2026-06-17 00:00", "2026-06-20 00:00"),
    )


def test_bad_expressions():
    bad = ["60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 7", "* * * *", "* * * * * *"]
    for expression in [*bad, "a * * * *", "5-3 * * * *", "*/0 * * * *", "1, * * * *", "", "1-x * * * *"]:
        assert run(expression, "2026-05-10 04:00") == ("", 1), expression
    # not because everything is refused
    assert run("* * * * *", "2026-05-10 04:00") == ("2026-05-10 04:01", 0)
