# Starts this node's ranks; there are none where the plan leaves the node out.
set -eu
hosts=/plan/launch/hostfile
grep -q "^$TANGRAM_HOST " "$hosts" || exit 0
# Pods know each other by address.
first=$(head -n 1 "$hosts" | cut -d ' ' -f 1)
MASTER_ADDR=$(awk -v host="$first" '$1 == host {print $2}' /plan/pods)
export MASTER_ADDR
# shellcheck disable=SC2086  # A word an option.
exec bash /plan/launch/launch.sh $TRAIN_OPTIONS
