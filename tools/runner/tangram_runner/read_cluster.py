"""Reads from the cluster of a plan file what decides whether a plan is right: how
many GPUs a node has, and what runs on them. The rest only changes how long it takes."""

from typing import NamedTuple

from . import limits
from .errors import PlanError


class Node(NamedTuple):
    num_gpus: int
    device: str
    supports_flash_attention: bool
    knows_host_link: bool


def read_nodes(file):
    """From the name of each node to the Node."""
    cluster = file.record("cluster", ("nodes", "devices"), (
        "name", "groups", "link_types", "links", "assumptions"))
    devices = [_device(data) for data in cluster.records(
        "devices", ("type", "supports_flash_attention", "host"), limits.MAX_NODES, (
            "peak_flops", "memory_bytes", "memory_bandwidth_bytes_per_s", "efficiency",
            "measured", "measured_layers", "collectives", "collective_library"))]
    nodes = {}
    for run in cluster.records("nodes", ("num_gpus", "device", "names"),
                               limits.MAX_NODES, ("group", "intra_node")):
        index = run.integer("device", 0, max(0, len(devices) - 1))
        if not devices:
            raise PlanError(run.path("device"), index, "an index of cluster.devices")
        count = run.integer("num_gpus", 1, limits.MAX_GPUS_PER_NODE)
        for name in run.texts("names", limits.MAX_NODES):
            if name in nodes:
                raise PlanError(run.path("names"), f"{name} again", "each node once")
            nodes[name] = Node(count, *devices[index])
    if not nodes:
        raise PlanError(cluster.path("nodes"), "none", "the nodes that the plan is for")
    return nodes


def _device(data):
    link = data.record("host", ("bandwidth_bytes_per_s",), ("memory_bytes",))
    return (data.text("type"), data.boolean("supports_flash_attention"),
            link.number("bandwidth_bytes_per_s") > 0)
