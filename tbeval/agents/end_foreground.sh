# Ends what runs in the foreground of the agent's panes; what runs in the background lives on.
#
#   bash -c SCRIPT end_foreground HOLDER [PANE]
#
# HOLDER is the process that keeps the agent's terminal open, its child is the shell the agent
# typed into. PANE, if given, is the process of another pane that the agent was typing into last.
# Bash alone, no forks: the sandbox may be full of processes or lack ps.

declare -A parent group session front children

read_processes() {
    parent=() group=() session=() front=() children=()
    local stat line pid rest fields
    for stat in /proc/[0-9]*/stat; do
        line=
        IFS= read -r -d '' line 2>/dev/null <"$stat"
        [[ $line ]] || continue
        pid=${line%% *}
        rest=${line##*) }  # a name may hold anything, parentheses too
        read -ra fields <<<"$rest"
        (((fields[6] >> 2) & 1)) && continue  # PF_EXITING: it runs no more
        parent[$pid]=${fields[1]} group[$pid]=${fields[2]}
        session[$pid]=${fields[3]} front[$pid]=${fields[5]}
        children[${fields[1]}]+=" $pid"
    done
}

declare -A job_control

# A shell with job control ignores SIGTSTP (bit 19): its other children are background jobs. Once
# found it is known, for one that is dying of its kill ignores nothing any more.
has_job_control() {
    [[ ${job_control[$1]} ]] && return
    local key value
    while read -r key value; do
        [[ $key == SigIgn: ]] && (((0x$value >> 19) & 1)) && job_control[$1]=1
    done 2>/dev/null <"/proc/$1/status"
    [[ ${job_control[$1]} ]]
}

declare -A doomed

doom() {
    [[ -n ${doomed[$1]} || $1 == "$holder" || $1 -le 1 ]] && return
    doomed[$1]=1
    has_job_control "$1" && return
    local child
    for child in ${children[$1]}; do doom "$child"; done
}

# The shells of a terminal, down to the one at the bottom, and its foreground job.
find_doomed() {
    local top=$1 pid up
    for pid in "${!group[@]}"; do
        [[ ${session[$pid]} == "${session[$top]}" && ${group[$pid]} == "${front[$top]}" ]] || continue
        doom "$pid"
        up=${parent[$pid]}
        while [[ -n $up && $up -gt 1 && $up != "$top" && ${session[$up]} == "${session[$top]}" ]]; do
            doom "$up"
            up=${parent[$up]}
        done
    done
}

holder=$1 pane=$2
for _ in 1 2 3 4 5 6 7 8; do  # what is killed may have forked meanwhile
    read_processes
    doomed=()
    if [[ -n ${parent[$holder]} ]]; then
        for shell in ${children[$holder]}; do doomed[$shell]=1; done
        find_doomed "$holder"
    fi
    if [[ -n $pane && $pane != "$holder" && -n ${parent[$pane]} ]]; then
        find_doomed "$pane"
        doom "$pane"
    fi
    ((${#doomed[@]})) || exit 0
    kill -KILL "${!doomed[@]}" 2>/dev/null
done
exit 1
