# Finds the nodes of this job, once each of its pods has one. Writes /plan/pods,
# a line of node and address for each pod, and /plan/nodes.json, the description
# of the nodes.
set -eu
until [ "$(awk 'NF == 2' /plan/pods 2>/dev/null | wc -l)" -eq "$NUM_PODS" ]; do
  sleep 1
  kubectl get pods -l "batch.kubernetes.io/controller-uid=$JOB" -o jsonpath='{range .items[*]}{.spec.nodeName} {.status.podIP}{"\n"}{end}' > /plan/pods
done
# shellcheck disable=SC2046  # One word for each node.
kubectl get nodes $(cut -d ' ' -f 1 /plan/pods) -o json > /plan/nodes.json
