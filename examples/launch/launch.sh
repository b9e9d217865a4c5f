#!/bin/sh
# Starts a training program with the plan that a daemon knows, and without one with a stated baseline, loudly.
#
#   launch.sh STEP.mlir MESH DEVICE BASELINE.json -- COMMAND ARGUMENTS..
#
# The command finds the strategy document in PLAN, and where it came from in PLAN_SOURCE: "daemon" or "baseline". The baseline is one that
# was made and looked at before:  shardwright search STEP.mlir --mesh MESH --device DEVICE --schedule dp.json --emit-strategy BASELINE.json
#
#   PLAN_SECONDS=20    how long the start may wait for a plan
#   PLAN_SEARCH=no     only a plan that is stored: no search is started
#   SHARDWRIGHT_SERVER, SHARDWRIGHT_TOKEN as for shardwright submit
set -u

[ $# -ge 6 ] && [ "$5" = -- ] || { echo "usage: launch.sh STEP.mlir MESH DEVICE BASELINE.json -- COMMAND ARGUMENTS.." >&2; exit 64; }
step=$1 mesh=$2 device=$3 baseline=$4
shift 5
[ -r "$baseline" ] || { echo "launch.sh: the baseline '$baseline' cannot be read" >&2; exit 1; }

plan=$(mktemp "${TMPDIR:-/tmp}/plan.XXXXXX") || exit 1
trap 'rm -f "$plan"' EXIT
how=--wait
[ "${PLAN_SEARCH:-yes}" = no ] && how=--only-if-cached

"${SHARDWRIGHT:-shardwright}" submit "$step" --mesh "$mesh" --device "$device" $how --json \
	--connect-timeout 2 --retry 5 --timeout "${PLAN_SECONDS:-20}" >"$plan"
case $? in
0) reason= ;;
2) reason="the best plan does not fit the memory" ;;
1) reason="the search failed, or was refused" ;;
69) reason="no daemon answered" ;;
75) reason="no plan is stored yet, or the time was over" ;;
*) reason="the daemon failed" ;;
esac

if [ -z "$reason" ]; then
	PLAN=$plan PLAN_SOURCE=daemon
else
	echo "launch.sh: WARNING: $reason: this run uses the baseline $baseline, which may be slower" >&2
	PLAN=$baseline PLAN_SOURCE=baseline
fi
export PLAN PLAN_SOURCE
"$@"
