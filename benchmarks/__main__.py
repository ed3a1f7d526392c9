"""Run all benchmarks, one after the other, and write benchmarks/results.md.

    python -m benchmarks [--quick] [NAME …]

A quick run is for looking whether they work: it writes nothing unless --write says where.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figures import Figure, markdown, read
from benchmarks.measuring import REPOSITORY

#: The quick ones first. Each is a module of this directory, and a program of its own.
NAMES = ("gateway", "resume", "cpu", "memory", "makespan")
PAGE = Path(__file__).with_name("results.md")


def main() -> int:
    """Run them; 1 if one of them failed (a bound that is missed is a figure, not a failure)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help="less work, wider scatter")
    parser.add_argument("--write", type=Path, help=f"where the page goes; in full {PAGE.name}")
    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    figures: list[Figure] = []
    failed = []
    for name in options.names or NAMES:
        found = _run(name, quick=options.quick)
        figures += found or []
        failed += [] if found else [name]
    whole = not options.names and not options.quick and not failed
    page = options.write or (PAGE if whole else None)
    if page:
        page.write_text(markdown(figures, quick=options.quick))
        print(f"written: {page}")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _run(name: str, *, quick: bool) -> list[Figure] | None:
    """The figures of one benchmark; None if it failed (it has said why)."""
    with tempfile.TemporaryDirectory(prefix="tbeval-bench-") as temporary:
        out = Path(temporary) / "figures.jsonl"
        command = [sys.executable, "-m", f"benchmarks.{name}", "--out", str(out)]
        command += ["--quick"] if quick else []
        done = subprocess.run(command, cwd=REPOSITORY, check=False)
        return read(out) if done.returncode == 0 else None


if __name__ == "__main__":
    sys.exit(main())
