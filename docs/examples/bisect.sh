#!/bin/sh
# Which commit made something slower? For git-bisect(1), in the repository of what is measured:
#
#   ipcmark run pipe unix-stream -w latency -s 64 -p same-cpu --unmarked 12 --label good
#   git bisect start BAD GOOD
#   git bisect run sh bisect.sh
#
# BUILD makes what the commit is about take part (a program, a library, a kernel parameter); a commit that can't be
# built is skipped. MEASURE and CASES are what the run labelled `good` was made with.
set -u
BUILD=${BUILD:-"make"}
MEASURE=${MEASURE:-ipcmark}
CASES=${CASES:-"pipe unix-stream -w latency -s 64 -p same-cpu --unmarked 12"}
GATE=${GATE:-5%}

sh -c "$BUILD" || exit 125
# CASES is a list of words.
# shellcheck disable=SC2086
"$MEASURE" run $CASES -q >/dev/null || exit 128
exec ipcmark compare good last --gate "$GATE" --bisect
