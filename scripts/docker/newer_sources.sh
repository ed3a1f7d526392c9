#!/usr/bin/env bash
# Prints apt sources for Debian 13 at the mirrors that this Debian 12 machine uses.
set -euo pipefail
own=/etc/apt/sources.list.d/debian.sources
if [[ -f $own ]]; then
    sed -E 's/\bbookworm\b/trixie/g; /^#/d' "$own"
    exit
fi
# the one-line format of older images: "deb [options] URI suite components"
sed -nE 's/^deb +(\[[^]]*\] +)?([^ ]+) +bookworm(-[a-z]+)? +(.*)$/Types: deb\nURIs: \2\nSuites: trixie\3\nComponents: \4\nSigned-By: \/usr\/share\/keyrings\/debian-archive-keyring.gpg\n/p' \
    /etc/apt/sources.list
