"""Recognise, in a test script's output, that it could not install or find its tools.

Consulted only where pytest left nothing to judge: a complete report outweighs any line of output.
"""

import re

#: Programs that test scripts need for themselves. What the task is about is not among them.
_PROGRAMS = r"uvx?|pytest|py\.test|pip3?|pipx|python3?(\.\d+)?|apt(-get)?|curl|wget|git|npm|node"

_PATTERNS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        # the shells: bash, dash, env
        rf"(^|[\s:/])({_PROGRAMS}): (command )?not found",
        rf"env: .?({_PROGRAMS}).?: No such file or directory",
        rf"line \d+: \S*/({_PROGRAMS}): No such file or directory",
        # python
        r"No module named '?(pytest|pip|venv|ensurepip|uv)'?\b",
        r"error: externally-managed-environment",
        # pip
        r"ERROR: Could not find a version that satisfies the requirement",
        r"ERROR: No matching distribution found for",
        r"Failed to establish a new connection",
        r"NameResolutionError|NewConnectionError|ReadTimeoutError|ConnectTimeoutError",
        r"ERROR: Could not install packages due to an OSError",
        # uv
        r"error: (Failed to (fetch|download|install|extract)|Request failed after \d+ retries)",
        r"(error sending request for url|client error \(Connect\)|dns error:)",
        r"invalid peer certificate",
        r"(×|x) (Failed to (fetch|download)|No solution found when resolving)",
        # apt
        r"^E: (Unable to locate package|Failed to fetch|Unable to fetch some archives)",
        r"^E: (Could not get lock|Package '?\S+'? has no installation candidate)",
        r"^(Err|W|E): ?.*Temporary failure resolving",
        r"Temporary failure in name resolution",
        # curl, wget, git, npm; TLS wherever it is spoken
        r"curl: \((5|6|7|18|22|28|35|52|55|56|60|77|92)\)",
        r"wget: (unable to resolve host address|bad address)",
        r"fatal: unable to access '",
        r"npm (ERR!|error) (network|code (ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT))",
        r"CERTIFICATE_VERIFY_FAILED|SSLCertVerificationError",
    )
)


def missing_tool(output: str) -> str | None:
    """The first line that tells of a tool that could not be installed or found, or None."""
    found = [match for pattern in _PATTERNS if (match := pattern.search(output))]
    if not found:
        return None
    first = min(found, key=lambda match: match.start())
    begin = output.rfind("\n", 0, first.end()) + 1
    end = output.find("\n", first.end())
    line = output[begin:end] if end >= 0 else output[begin:]
    return line.strip()[:300]
