"""What the command line itself does, whatever the command."""

import subprocess
import sys

HEAVY = (
    "asyncio",
    "aiohttp",
    "harbor",
    "litellm",
    "openai",
    "pydantic",
    "tbeval.runs",
    "xllamacpp",
)


def test_help_imports_only_what_it_needs() -> None:
    code = (
        "import sys; sys.argv = ['tbeval', '--help']\n"
        "from tbeval.cli.main import main\n"
        "try:\n    main()\nfinally:\n    print('loaded', *sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "eval" in done.stdout
    loaded = set(done.stderr.split("loaded", 1)[1].split())
    assert loaded.isdisjoint(HEAVY)
