# Plans for these nodes and writes /plan/launch for Megatron-LM. All pods ask
# the service for the same job, so it plans once.
set -eu
cd /plan
nodes=$(cut -d ' ' -f 1 pods | paste -s -d , -)
tangram import cluster nodes.json --nodes "$nodes" -o cluster.yaml
# shellcheck disable=SC2086  # One word for each option.
tangram plan --cluster cluster.yaml --model /scripts/model.json \
  --coordinator "$TANGRAM_COORDINATOR" --job "$JOB" $PLAN_OPTIONS \
  --runtime megatron --progress never --output plan.json
tangram export plan.json --to megatron -o launch
