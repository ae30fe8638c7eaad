# Starts this node's ranks; none if the plan does not use the node.
set -eu
hosts=/plan/launch/hostfile
grep -q "^$TANGRAM_HOST " "$hosts" || exit 0
# Pods know each other by address, not by name.
first=$(head -n 1 "$hosts" | cut -d ' ' -f 1)
MASTER_ADDR=$(awk -v host="$first" '$1 == host {print $2}' /plan/pods)
export MASTER_ADDR
# shellcheck disable=SC2086  # One word for each option.
exec bash /plan/launch/launch.sh $TRAIN_OPTIONS
