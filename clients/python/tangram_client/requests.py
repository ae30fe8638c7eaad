"""Planning requests."""

import json
import os
import subprocess

import grpc
from google.protobuf import json_format

from tangram_client.errors import BadInput, error_of
from tangram_client.messages import planner_service_pb2


def request(*, program=None, **options):
    """Returns a tangram.v1.PlanRequest for cluster and model files.

    `options` are those of `tangram plan`, with _ for -: cluster="c1.yaml",
    model="gpt3-1.3b", global_batch=32, nodes="t4=1,v100=1", bf16_moments=True,
    planner="whole-cluster", planner_option=["node_order=fastest-first"].
    A list repeats an option. The command reads and checks the files. It is
    `program`, else $TANGRAM, else `tangram` in the PATH.
    """
    program = program or os.environ.get("TANGRAM") or "tangram"
    arguments = [program, "--format=json", "plan", "--request=-"]
    for name, value in options.items():
        arguments += _option("--" + name.replace("_", "-"), value)
    try:
        run = subprocess.run(arguments, stdin=subprocess.DEVNULL,
                             capture_output=True, check=False)
    except OSError as error:
        raise BadInput(f"{program}: {error.strerror}; expected the command "
                       "`tangram`", grpc.StatusCode.NOT_FOUND) from error
    if run.returncode != 0:
        error = json.loads(run.stderr)["error"]
        raise error_of(error["code"], error["message"])
    return json_format.Parse(run.stdout, planner_service_pb2.PlanRequest())


def request_like(plan, parallelizer=None, planner=None, planner_options=None):
    """Returns a request for the cluster, model, training and runtime of `plan`.
    Does not need the command. `planner` and its options are those of `tangram
    planners`; left out, they are those of `plan`."""
    if planner is None:
        planner = plan.message.planner
        planner_options = planner_options or plan.message.planner_options
    makers = plan.message.provenance.parallelizer  # "aceso 1, mist 1".
    maker = "auto" if "," in makers else makers.partition(" ")[0]
    again = planner_service_pb2.PlanRequest(
        cluster=plan.message.cluster, model=plan.message.model,
        training=plan.message.training, parallelizer=parallelizer or maker,
        planner=planner,
        planner_options={name: str(value) for name, value in
                         (planner_options or {}).items()})
    if plan.message.constraints.runtime:
        again.constraints.runtime = plan.message.constraints.runtime
    return again


def _option(name, value):
    if value is True:
        return [name]
    if value is False or value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [f"{name}={each}" for each in value]
    return [f"{name}={value}"]
