"""As root, the tests of this directory run once more as an ordinary user.

The python that runs them may lie under a home that nobody else can enter, so it and the project
are bind-mounted at public places, in a mount name space that ends with the test.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

UID = 61_183  # nobody's: systemd's dynamic users begin one above
HERE = Path(__file__).parent
PROJECT = HERE.parent.parent

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become an ordinary user")

UNSHARE = ("unshare", "-m", "--propagation", "private")
RUN = """set -e
mount --bind "$BASE" "$PUBLIC/base"
mount --bind "$PROJECT" "$PUBLIC/project"
mount --bind "$PACKAGES" "$PUBLIC/packages"
cd "$PUBLIC/project"
export HOME=$PUBLIC/home LD_LIBRARY_PATH=$PUBLIC/base/lib PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH=$PUBLIC/project:$PUBLIC/packages
exec setpriv --reuid="$USER_ID" --regid="$USER_ID" --clear-groups -- \
    "$PUBLIC/base/bin/$PYTHON" -m pytest -q -p no:cacheprovider --basetemp="$HOME/tmp" "$@"
"""


@pytest.fixture
def public() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="tbeval-user-"))
    path.chmod(0o755)
    for name in ("base", "project", "packages", "home"):
        (path / name).mkdir()
    os.chown(path / "home", UID, UID)
    yield path
    shutil.rmtree(path)


def test_all_of_them_as_an_ordinary_user(public: Path) -> None:
    packages = Path(pytest.__file__).parent.parent
    environment = {
        "PATH": os.environ["PATH"],
        "CI": os.environ.get("CI", ""),
        "BASE": sys.base_prefix,
        "PYTHON": f"python3.{sys.version_info.minor}",
        "PUBLIC": str(public),
        "PROJECT": str(PROJECT),
        "PACKAGES": str(packages),
        "USER_ID": str(UID),
    }
    done = subprocess.run(
        [*UNSHARE, "bash", "-c", RUN, "bash", "tests/sandboxes"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 100
