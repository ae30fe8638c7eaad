# The plan for these nodes, in /plan/launch as Megatron-LM takes it. All pods ask
# for the same job of the service, so it plans once.
set -eu
cd /plan
nodes=$(cut -d ' ' -f 1 pods | paste -s -d , -)
tangram import cluster nodes.json --nodes "$nodes" -o cluster.yaml
# shellcheck disable=SC2086  # A word an option.
tangram plan --cluster cluster.yaml --model /scripts/model.json \
  --coordinator "$TANGRAM_COORDINATOR" --job "$JOB" $PLAN_OPTIONS \
  --runtime megatron --progress never --output plan.json
tangram export plan.json --to megatron -o launch
