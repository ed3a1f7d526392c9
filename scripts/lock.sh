#!/usr/bin/env bash
# Writes requirements/base.txt and dev.txt from pyproject.toml: names, versions and hashes, for
# every platform and Python >= 3.12, and no address. Versions already locked stay;
# `scripts/lock.sh --upgrade` takes the newest (further options go to `uv pip compile`).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# as pip does: trust what this machine trusts
export UV_SYSTEM_CERTS=1

compile() {
    .venv/bin/uv pip compile --quiet --universal --python-version 3.12 --generate-hashes \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links "$@" >/dev/null
}

compile pyproject.toml --output-file requirements/base.txt "$@"
# dev.txt is base.txt and more
compile pyproject.toml --group dev --constraints requirements/base.txt \
    --output-file requirements/dev.txt "$@"

# an address in a lock would tie every user to one machine's mirror
if grep -nE '://|^-' requirements/base.txt requirements/dev.txt; then
    echo "lock: the lines above hold an address or an option; a lock holds names, versions and hashes only." >&2
    exit 1
fi
