#!/usr/bin/env bash
# `make eval`: turns make's variables, given through the environment, into tbeval's options.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# make's own variables would steer every make that a trial runs
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

TBEVAL=.venv/bin/tbeval

if [[ -z ${CKPT:-} ]]; then
    echo "Which checkpoint? make eval CKPT=NAME, with one of these (or a name of your own, with BASE_URL= and MODEL=):" >&2
    "$TBEVAL" checkpoints
    exit 2
fi

options=()
# option VARIABLE --OPTION: passed on if the variable has a value, whatever characters it holds
option() {
    [[ -z ${!1:-} ]] || options+=("$2=${!1}")
}
option SUBSET --subset
option AGENT --agent
option N --attempts
option CONCURRENCY --concurrency
option SANDBOX --sandbox
option BASE_URL --base-url
option MODEL --served-model
option LIKE --like

# ARGS holds several words; xargs knows quotes and expands nothing
extra=()
if [[ -n ${ARGS:-} ]]; then
    words=$(xargs -n 1 printf '%s\n' <<<"$ARGS") || {
        echo "ARGS has an unmatched quote: $ARGS" >&2
        exit 2
    }
    mapfile -t extra <<<"$words"
fi

exec "$TBEVAL" eval "${options[@]}" "${extra[@]}" -- "$CKPT"
