#!/bin/sh
# Has a change made anything slower? Measures the base and the change in the order base,
# change, change, base, and tells only what both pairs say: what drifts over the minutes would
# have to turn round in between.
#
#   BASE=/path/to/base/ipcmark CHANGE=/path/to/changed/ipcmark sh gate.sh
#
# CASES and GATE may be set too. Writes *.json and gate-*.md here.
# Exit code 0 passed, 3 regression, 4 can't tell, 1 failed.
set -u
CASES=${CASES:-"pipe unix-stream eventfd tcp -w latency -s 64 -p same-cpu --launches 20 --unmarked 12"}
GATE=${GATE:-5%}
IPCMARK_STORE=${IPCMARK_STORE:-$(mktemp -d)/runs.sqlite}
export IPCMARK_STORE

measure() { # program, label
    # CASES is a list of words.
    # shellcheck disable=SC2086
    "$1" run $CASES -q --label "$2" >/dev/null || exit 1
    # Each program reads its own store only as far as its schema; a file serves both.
    "$1" export "$2" -o "$2.json" || exit 1
}
measure "$BASE" base-1
measure "$CHANGE" change-1
measure "$CHANGE" change-2
measure "$BASE" base-2

"$CHANGE" compare base-1.json change-1.json --gate "$GATE" --format markdown >gate-1.md
first=$?
"$CHANGE" compare base-2.json change-2.json --gate "$GATE" --format markdown >gate-2.md
second=$?
cat gate-1.md gate-2.md

case "$first$second" in
00) exit 0 ;;
33) exit 3 ;;
*[!034]*) exit 1 ;; # a comparison failed
*) exit 4 ;; # one can't tell, or the pairs contradict each other
esac
