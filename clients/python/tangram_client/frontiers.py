"""Answers for allocations of a cluster."""

import dataclasses
from typing import Optional

from tangram_client.messages import frontier_service_pb2

_State = frontier_service_pb2.AllocationAnswer.State


@dataclasses.dataclass(frozen=True)
class AllocationAnswer:
    """What a plan makes of one allocation."""

    nodes: dict  # By group.
    # None without a plan.
    iteration_time_s: Optional[float]
    memory_fraction: Optional[float]  # The fullest GPU's.
    gpus_used: int
    stages: int
    reason: str  # Why there is no plan.
    plan_id: bytes  # For Client.kept_plan; empty: it is not kept.
    from_cache: bool

    @property
    def has_plan(self):
        return self.iteration_time_s is not None

    @classmethod
    def of(cls, message, nodes):
        planned = message.state == _State.Value("PLANNED")
        return cls(nodes=nodes,
                   iteration_time_s=(message.iteration_time_s if planned
                                     else None),
                   memory_fraction=message.memory_fraction if planned else None,
                   gpus_used=message.gpus_used, stages=message.stages,
                   reason=message.reason, plan_id=message.plan_id,
                   from_cache=message.from_cache)
