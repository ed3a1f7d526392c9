# ruff: noqa: RUF001 - the quotation marks are the tools' own
"""Real lines of tools that were missing or could not reach the network."""

import pytest

from tbeval.records.verdict import TestOutcome, VerifierStatus
from tbeval.tasks.judge import judge
from tbeval.tasks.reports import Session
from tbeval.tasks.tool_errors import missing_tool

MISSING = """\
/tests/test.sh: line 19: uvx: command not found
/tests/run-uv-pytest.sh: line 3: uv: command not found
/tests/test.sh: 7: pytest: not found
bash: line 1: pip: command not found
/usr/bin/env: ‘python3’: No such file or directory
/tests/test.sh: line 4: /root/.local/bin/uv: No such file or directory
/usr/bin/python3: No module named pytest
/usr/bin/python3: No module named pip
ModuleNotFoundError: No module named 'pytest'
error: externally-managed-environment
ERROR: Could not find a version that satisfies the requirement pytest (from versions: none)
ERROR: No matching distribution found for pytest==8.4.1
WARNING: Retrying (Retry(total=4, connect=None, read=None)) after connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f>: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/pytest/
ERROR: Could not install packages due to an OSError: HTTPSConnectionPool(host='files.example.org', port=443): Max retries exceeded
error: Failed to fetch: `https://index.example.org/simple/pytest/`
  Caused by: error sending request for url (https://index.example.org/simple/pytest/)
  Caused by: dns error: failed to lookup address information: Temporary failure in name resolution
  Caused by: invalid peer certificate: UnknownIssuer
  × No solution found when resolving dependencies:
  × Failed to download `pytest==8.4.1`
error: Request failed after 3 retries
E: Unable to locate package curl
E: Failed to fetch http://deb.example.org/debian/pool/main/c/curl/curl_7.88.1-10_amd64.deb  Could not connect to deb.example.org:80
E: Unable to fetch some archives, maybe run apt-get update or try with --fix-missing?
E: Package 'curl' has no installation candidate
E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 12 (apt-get)
Err:1 http://deb.example.org/debian bookworm InRelease
W: Failed to fetch http://deb.example.org/debian/dists/bookworm/InRelease  Temporary failure resolving 'deb.example.org'
curl: (6) Could not resolve host: astral.sh
curl: (60) SSL certificate problem: unable to get local issuer certificate
wget: unable to resolve host address ‘example.org’
fatal: unable to access 'https://example.org/x.git/': Could not resolve host: example.org
npm error code ENOTFOUND
ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed
"""  # noqa: E501 - lines as the tools print them

OTHERS = """\
./my-server: command not found
/app/solve.sh: line 3: frobnicate: command not found
ModuleNotFoundError: No module named 'answer'
ModuleNotFoundError: No module named 'pytest_of_mine'
assert 'curl' in 'wget'
FAILED test_it.py::test_uv - AssertionError: not found
connection refused by the server under test
"""


@pytest.mark.parametrize(
    "line", [line for line in MISSING.splitlines() if not line.startswith("Err:1")]
)
def test_lines_of_missing_tools(line: str) -> None:
    assert missing_tool(f"before\n{line}\nafter\n") == line.strip()[:300]
    report = judge([], exit_code=1, timed_out=False, output=line)
    assert report.status is VerifierStatus.TOOLS
    late = judge([], exit_code=None, timed_out=True, output=line)
    assert late.status is VerifierStatus.TOOLS  # retried until the time ran out


@pytest.mark.parametrize("line", OTHERS.splitlines())
def test_lines_of_other_things(line: str) -> None:
    assert missing_tool(line) is None
    report = judge([], exit_code=1, timed_out=False, output=line)
    assert report.status is VerifierStatus.NO_REPORT
    assert line in report.message


def test_the_first_line_is_told() -> None:
    output = "curl: (6) Could not resolve host: a\nuv: command not found\n"
    assert missing_tool(output) == "curl: (6) Could not resolve host: a"


def test_no_line_outweighs_a_report() -> None:
    session = Session(status=5, ended=True)
    report = judge([session], exit_code=5, timed_out=False, output=MISSING)
    assert report.status is VerifierStatus.NO_TESTS


@pytest.mark.parametrize("code", [129, 130, 137, 143])
def test_signals_that_somebody_sent(code: int) -> None:
    report = judge([], exit_code=code, timed_out=False, output="curl: (6) no host")
    assert report.status is VerifierStatus.KILLED


def test_pytest_killed_in_the_middle_of_a_script() -> None:
    line = "/tests/test.sh: line 8:   123 Killed                  pytest -rA test_outputs.py"
    assert judge([], exit_code=0, timed_out=False, output=line).status is VerifierStatus.KILLED
    server = "/tests/test.sh: line 9:   124 Terminated              python3 server.py"
    assert judge([], exit_code=0, timed_out=False, output=server).status is VerifierStatus.NO_REPORT
    fault = "/tests/test.sh: line 9:   124 Segmentation fault      pytest test_outputs.py"
    assert judge([], exit_code=139, timed_out=False, output=fault).status is not (
        VerifierStatus.KILLED
    )


def test_messages_of_a_trial_have_a_limit() -> None:
    names = [f"t.py::t{number}" for number in range(1000)]
    session = Session(
        tests=dict.fromkeys(names, TestOutcome.FAILED),
        messages=dict.fromkeys(names, "m" * 4000),
        status=1,
        ended=True,
        ran=1000,
    )
    report = judge([session], exit_code=1, timed_out=False, output="")
    assert report.counts.failed == 1000
    assert sum(map(len, report.messages.values())) <= 256 * 1024
