"""Refuses a run that this machine cannot hold, before the kernel ends it."""

import pathlib

import torch

from .boxes import volume
from .errors import PlanError
from .optimizer import RULES
from .plan import one_process
from .sync import parameters_of, region

MEMINFO = pathlib.Path("/proc/meminfo")


def check_room(plan, settings, with_reference):
    """Raises PlanError if all ranks together need more than there is. A comparison
    trains the model `with_reference` in one process beside them."""
    on_gpus = torch.cuda.is_available()
    needed = state_bytes(plan, settings, on_gpus)
    if with_reference:
        needed += state_bytes(one_process(plan), settings, on_gpus)
    there = available_bytes(on_gpus)
    if there is not None and needed > there:
        raise PlanError("plan", f"{needed / 1e9:.1f} GB of weights, gradients and optimizer "
                        "state, and activations beside them",
                        f"at most {there / 1e9:.1f} GB, which this machine has, or --tiny")


def available_bytes(on_gpus):
    """None if nobody says."""
    if on_gpus:
        return sum(torch.cuda.get_device_properties(i).total_memory
                   for i in range(torch.cuda.device_count()))
    if not MEMINFO.exists():
        return None
    lines = dict(line.split(":") for line in MEMINFO.read_text().splitlines())
    return 1024 * int(lines["MemAvailable"].split()[0])


def state_bytes(plan, settings, on_gpus):
    """Bytes of all ranks between steps; where these have GPUs, without the hosts'."""
    def size(dtype):
        return torch.empty((), dtype=dtype).element_size()

    optimizer = len(RULES[plan.optimizer].moments) * size(settings.moment_dtype)
    if settings.has_masters:
        optimizer += size(settings.master_dtype)
    total = 0
    for r, pipeline in enumerate(plan.pipelines):
        for stage in pipeline.stages:
            offload = stage.offload
            # By kind: bytes of an element, the ZeRO stage that shares them, the part on
            # the host.
            kinds = ((size(settings.dtype), 3, offload.weights),
                     (size(settings.gradient_dtype), 2, offload.gradients),
                     (optimizer, 1, offload.optimizer))
            for parameter, box, p in _boxes(plan, stage):
                count = volume(region(plan, r, parameter, box))
                shares = p.sharing_dp * p.cp_degree // (p.ep_degree if parameter.expert else 1)
                for element, zero, on_host in kinds:
                    here = 1 - on_host if on_gpus else 1
                    total += count * element * here / (shares if p.zero_stage >= zero else 1)
    return total


def _boxes(plan, stage):
    """Yields what each rank holds of each parameter: (parameter, box, degrees)."""
    parameters = parameters_of(plan, stage).values()
    for team in stage.teams:
        for place in team.places().values():
            for parameter in parameters:
                yield parameter, parameter.box(team.parallelism, place), team.parallelism
