#!/usr/bin/env bash
# A Docker Engine (26.1) on a Debian machine, all of its state below one directory.
#
#   scripts/docker/engine.sh start DIR    installs what is missing, starts it, prints export lines
#   scripts/docker/engine.sh stop DIR     stops it; DIR keeps images and programs
#   scripts/docker/engine.sh remove DIR   stops it and removes DIR
#
# Needs root. From apt come only iptables and runc; Engine, compose and buildx are unpacked from
# Debian 13 below DIR, so that the machine's own docker and its apt state stay as they are.
# Use it: eval "$(scripts/docker/engine.sh start DIR)"
set -euo pipefail

usage() {
    echo "usage: $0 start|stop|remove DIR" >&2
    exit 2
}

(($# == 2)) || usage
mkdir -p "$2"
DIR=$(cd "$2" && pwd)
BIN=$DIR/bin
export DOCKER_HOST=unix://$DIR/docker.sock DOCKER_CONFIG=$DIR/config
export PATH=$BIN:$PATH DEBIAN_FRONTEND=noninteractive

say() { printf '%s\n' "$*" >&2; }

missing_packages() {
    command -v iptables >/dev/null || echo iptables
    command -v runc >/dev/null || echo runc
}

install_packages() {
    local packages
    mapfile -t packages < <(missing_packages)
    ((${#packages[@]})) || return 0
    apt-get install -y -qq --no-install-recommends "${packages[@]}" >"$DIR/apt.log" 2>&1 && return 0
    # the lists may be old
    apt-get update -qq >>"$DIR/apt.log" 2>&1
    apt-get install -y -qq --no-install-recommends "${packages[@]}" >>"$DIR/apt.log" 2>&1 || {
        tail -20 "$DIR/apt.log" >&2
        exit 1
    }
}

# apt with a state of its own, which knows Debian 13 at the machine's own mirrors.
newer_apt() {
    local state=$DIR/apt tool=$1
    shift
    "$tool" -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$state/sources" \
        -o "Dir::State::lists=$state/lists" -o "Dir::Cache=$state/cache" \
        -o APT::Sandbox::User=root "$@"
}

unpack_programs() {
    [[ -x $BIN/dockerd && -x $BIN/docker ]] && return 0
    local state=$DIR/apt program
    mkdir -p "$state"/{sources,lists/partial,cache/archives/partial,debs,files} "$BIN"
    "$(dirname "${BASH_SOURCE[0]}")/newer_sources.sh" >"$state/sources/newer.sources"
    newer_apt apt-get update -qq >"$DIR/apt.log" 2>&1 || {
        tail -20 "$DIR/apt.log" >&2
        exit 1
    }
    (cd "$state/debs" && newer_apt apt-get download -qq \
        {docker.io,docker-cli,containerd,tini,docker-compose,docker-buildx}/trixie)
    for package in "$state"/debs/*.deb; do
        dpkg -x "$package" "$state/files"
    done
    mkdir -p "$DOCKER_CONFIG/cli-plugins"
    while read -r program; do
        case ${program##*/} in
            docker-compose | docker-buildx) cp -L "$program" "$DOCKER_CONFIG/cli-plugins/" ;;
            # last, so that half a set is not taken for a whole one
            docker | dockerd) ;;
            *) cp -L "$program" "$BIN/" ;;
        esac
    done < <(find "$state/files" -perm -u+x \( -path '*bin/*' -o -path '*cli-plugins/*' \) ! -type d)
    cp -L "$state/files/usr/bin/docker" "$state/files/usr/sbin/dockerd" "$BIN/"
    rm -rf "$state"
}

answers() { docker version >/dev/null 2>&1; }

start() {
    if answers; then
        return 0
    fi
    ((EUID == 0)) || {
        say "$0: the Engine needs root: run this as root, or set DOCKER_HOST to one that runs."
        exit 2
    }
    install_packages
    unpack_programs
    rm -f "$DIR/docker.pid"
    setsid nohup dockerd --data-root "$DIR/data" --exec-root "$DIR/exec" -p "$DIR/docker.pid" \
        -H "$DOCKER_HOST" >"$DIR/dockerd.log" 2>&1 </dev/null &
    local process=$!
    for ((i = 0; i < 600; i++)); do
        answers && return 0
        kill -0 "$process" 2>/dev/null || break
        sleep 0.1
    done
    tail -20 "$DIR/dockerd.log" >&2
    say "$0: the Engine does not start; its log is $DIR/dockerd.log."
    exit 1
}

stop() {
    local process
    process=$(cat "$DIR/docker.pid" 2>/dev/null) || return 0
    kill "$process" 2>/dev/null || true
    for ((i = 0; i < 300; i++)); do
        kill -0 "$process" 2>/dev/null || break
        sleep 0.1
    done
    umount "$DIR/exec/netns/default" 2>/dev/null || true
    rm -f "$DIR/docker.pid" "$DIR/docker.sock"
}

case $1 in
    start)
        start
        printf 'export DOCKER_HOST=%q DOCKER_CONFIG=%q PATH=%q:"$PATH"\n' \
            "$DOCKER_HOST" "$DOCKER_CONFIG" "$BIN"
        ;;
    stop) stop ;;
    remove)
        stop
        rm -rf "$DIR"
        ;;
    *) usage ;;
esac
