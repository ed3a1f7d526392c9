#!/usr/bin/env bash
# Local stand-ins for base images, on a machine that reaches package mirrors but no image registry.
#
#   scripts/docker/images.sh demo             debian:12-slim, for the tasks that ship with tbeval
#   scripts/docker/images.sh terminal-bench   the base images that terminal-bench v0.1.x names
#
# Needs root, and an Engine (DOCKER_HOST). An image that is there already stays as it is; a local
# image under a registry's name is used without contact to that registry.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export DEBIAN_FRONTEND=noninteractive

PROGRAMS='gcc git libc6-dev make procps python3 python3-pytest tmux'
BUNDLE=/etc/ssl/certs/ca-certificates.crt

present() { docker image inspect "$1" >/dev/null 2>&1; }

say() { printf '%s\n' "$*" >&2; }

need_mmdebstrap() {
    command -v mmdebstrap >/dev/null && return 0
    apt-get install -y -qq --no-install-recommends mmdebstrap >"$scratch/apt.log" 2>&1 ||
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends mmdebstrap; } \
            >>"$scratch/apt.log" 2>&1 || { cat "$scratch/apt.log" >&2; exit 1; }
}

# A Debian with the machine's own mirrors and certificates: bootstrap NAME SUITE SOURCES PACKAGES
bootstrap() {
    local began=$SECONDS
    need_mmdebstrap
    mmdebstrap --quiet --variant=minbase --include="ca-certificates $4" \
        --customize-hook="cp /usr/local/share/ca-certificates/*.crt \"\$1/usr/local/share/ca-certificates/\" 2>/dev/null; chroot \"\$1\" update-ca-certificates >/dev/null 2>&1; :" \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' "$2" - "$3" |
        docker import --change 'CMD ["bash"]' \
            --change 'ENV PATH=/root/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
            - "$1" >/dev/null
    say "$1: made in $((SECONDS - began)) s"
}

demo() {
    present debian:12-slim && return 0
    local sources=/etc/apt/sources.list.d/debian.sources
    [[ -f $sources ]] || sources=/etc/apt/sources.list
    # with what the demo tasks install, so that their builds have little to fetch
    bootstrap debian:12-slim bookworm "$sources" "$PROGRAMS"
}

# uv from its wheel: the test scripts' own download of it may then fail without harm
fetch_uv() {
    [[ -x $scratch/context/uv ]] && return 0
    mkdir -p "$scratch/context"
    python3 -m pip download -q --no-deps -d "$scratch" uv
    python3 -m zipfile -e "$scratch"/uv-*.whl "$scratch/wheel"
    # unzipping loses the executable bit
    install -m755 "$scratch"/wheel/uv-*.data/scripts/{uv,uvx} "$scratch/context/"
    printf '%s\n' '#!/bin/sh' \
        'case ":$PATH:" in *:"$HOME/.local/bin":*) ;; *) export PATH="$HOME/.local/bin:$PATH" ;; esac' \
        >"$scratch/context/env"
}

# layer NAME PACKAGES COMMAND: an image on Debian 13 with uv and the environment for certificates
layer() {
    local began=$SECONDS
    present "$1" && return 0
    fetch_uv
    {
        echo "FROM tbeval-base:13"
        echo "ENV DEBIAN_FRONTEND=noninteractive SSL_CERT_FILE=$BUNDLE PIP_CERT=$BUNDLE \\"
        echo "    REQUESTS_CA_BUNDLE=$BUNDLE NODE_EXTRA_CA_CERTS=$BUNDLE UV_NATIVE_TLS=1 \\"
        echo "    UV_SYSTEM_CERTS=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never LANG=C.UTF-8 \\"
        echo "    PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1"
        echo "RUN apt-get update && apt-get install -y --no-install-recommends $2 \\"
        echo "    && rm -rf /var/lib/apt/lists/* && $3"
        echo "COPY uv uvx env /root/.local/bin/"
        echo "WORKDIR /app"
    } >"$scratch/context/Dockerfile"
    DOCKER_BUILDKIT=1 docker build -q -t "$1" "$scratch/context" >/dev/null
    say "$1: built in $((SECONDS - began)) s"
}

terminal_bench() {
    local place=ghcr.io/laude-institute/t-bench common='tmux asciinema curl git python3 procps'
    if ! present tbeval-base:13; then
        "$here/newer_sources.sh" >"$scratch/newer.sources"
        bootstrap tbeval-base:13 trixie "$scratch/newer.sources" ''
    fi
    # a venv at /usr/local is the layout of docker's own python images
    layer "$place/python-3-13:latest" "$common python3-venv" 'python3 -m venv /usr/local'
    # without pip: a task's own "apt install python3-pip" is to bring what pip recommends
    layer "$place/ubuntu-24-04:latest" "$common python3-setuptools python3-wheel" 'true'
    docker tag "$place/python-3-13:latest" python:3.13-slim-bookworm
    docker tag "$place/ubuntu-24-04:latest" ubuntu:latest
    docker tag "$place/ubuntu-24-04:latest" ubuntu:22.04
}

case ${1:-} in
    demo) demo ;;
    terminal-bench) terminal_bench ;;
    *)
        echo "usage: $0 demo|terminal-bench" >&2
        exit 2
        ;;
esac
