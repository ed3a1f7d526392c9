#!/usr/bin/env bash
# Does what an ordinary user would, as one: makes a user with a home of its own, gives it a copy of
# this checkout, and there runs set-up, the sandbox tests and a small evaluation. Needs root, and
# removes the user and everything of theirs at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

die() {
    echo "as_ordinary_user: $*" >&2
    exit 1
}

((EUID == 0)) || die "only root can make a user."

NAME=tbeval-ci-$$
HOME_DIR=/home/$NAME

# Only what is this user's: it has just been made.
remove_user() {
    pkill -KILL -u "$NAME" || true
    find /tmp /var/tmp /dev/shm -mindepth 1 -maxdepth 1 -user "$NAME" -exec rm -rf {} + || true
    # --force: a process that is just dying does not matter
    userdel --force --remove "$NAME" 2>/dev/null || true
}
trap remove_user EXIT
useradd --create-home --home-dir "$HOME_DIR" --shell /bin/bash "$NAME"

# The machine's settings for its package index and certificates stay; root's own places go.
as_user() {
    env -u PYENV_ROOT -u XDG_CACHE_HOME -u XDG_CONFIG_HOME -u XDG_DATA_HOME -u XDG_RUNTIME_DIR \
        -u VIRTUAL_ENV -u PYTHON \
        HOME="$HOME_DIR" USER="$NAME" LOGNAME="$NAME" \
        PATH=/usr/local/bin:/usr/bin:/bin "$@"
}
run() {
    (cd "$HOME_DIR/tbeval" && as_user setpriv --reuid="$NAME" --regid="$NAME" --init-groups -- "$@" </dev/null)
}

# What a clone holds: the files that git knows, with the changes that are not committed yet.
copy_checkout() {
    mkdir "$HOME_DIR/tbeval"
    git -c safe.directory="$PWD" ls-files -z --cached --others --exclude-standard --deduplicate \
        | tar --create --null --files-from - --ignore-failed-read 2>/dev/null \
        | tar --extract --directory "$HOME_DIR/tbeval"
}

# A real user has a Python that they can reach; root's, under root's home, is not one. A copy in
# the user's own ~/.pyenv is found there as theirs would be.
give_python() {
    chown --recursive "$NAME:" "$HOME_DIR"
    run scripts/setup.sh --find-python >/dev/null 2>&1 && return
    local python prefix versions=$HOME_DIR/.pyenv/versions
    python=$(scripts/setup.sh --find-python)
    prefix=$("$python" -c 'import sys; print(sys.base_prefix)')
    mkdir -p "$versions"
    tar --create --directory "$(dirname "$prefix")" --exclude='test' --exclude='*.a' \
        "$(basename "$prefix")" | tar --extract --directory "$versions"
    make_relocatable "$prefix" "$versions/$(basename "$prefix")"
    chown --recursive "$NAME:" "$HOME_DIR"
}

# A Python built with a shared library looks for it where it was installed: let the copy look
# beside itself. The new path is the shorter one, so it fits into the old one's place.
make_relocatable() {
    run "$2/bin/python3" --version >/dev/null 2>&1 && return
    "$1/bin/python3" - "$1/lib" "$(readlink -f "$2/bin/python3")" <<'PYTHON'
import sys
from pathlib import Path

old, program = sys.argv[1].encode(), Path(sys.argv[2])
program.write_bytes(program.read_bytes().replace(old + b"\0", b"$ORIGIN/../lib".ljust(len(old) + 1, b"\0")))
PYTHON
}

copy_checkout
give_python

run make setup
# what depends on who runs it; the Engine is root's
run make test ARGS="tests/sandboxes tests/demo tests/e2e/test_bad_input.py --ignore=tests/sandboxes/docker"
run make eval CKPT=oracle N=1
run .venv/bin/tbeval show --json
