#!/usr/bin/env bash
# `make report`, `make compare` and `make gate`: turn make's variables, given through the
# environment, into the arguments of tbeval.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

TBEVAL=.venv/bin/tbeval

die() {
    echo "$*" >&2
    exit 2
}

# words VARIABLE: its words into WORDS; xargs knows quotes and expands nothing
words() {
    WORDS=()
    [[ -n ${!1:-} ]] || return 0
    local lines
    lines=$(xargs -n 1 printf '%s\n' <<<"${!1}") || die "$1 has an unmatched quote: ${!1}"
    mapfile -t WORDS <<<"$lines"
}

words CKPT
checkpoints=("${WORDS[@]}")
words ARGS
extra=("${WORDS[@]}")

case $1 in
    report)
        exec "$TBEVAL" report "${extra[@]}" -- "${checkpoints[@]}"
        ;;
    compare)
        [[ -n ${BASE:-} ]] && ((${#checkpoints[@]})) \
            || die "Which ones? make compare BASE=NAME CKPT='NAME …' (tbeval runs lists what there is)"
        exec "$TBEVAL" compare "${extra[@]}" -- "$BASE" "${checkpoints[@]}"
        ;;
    gate)
        ((${#checkpoints[@]} == 1)) \
            || die "Which one? make gate CKPT=NAME BASE=NAME (tbeval runs lists what there is)"
        [[ -z ${BASE:-} ]] || extra=("--baseline=$BASE" "${extra[@]}")
        exec "$TBEVAL" gate "${extra[@]}" -- "${checkpoints[0]}"
        ;;
    *) die "unknown target $1" ;;
esac
