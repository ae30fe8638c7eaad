"""Planning jobs and their states."""

import dataclasses
import enum
from typing import Mapping, Optional

from tangram_client.errors import Cancelled, TangramError, error_of
from tangram_client.messages import job_service_pb2, planner_service_pb2
from tangram_client.plans import Plan

_Phase = planner_service_pb2.PlanProgress.Phase
_State = job_service_pb2.Job.State


class JobState(enum.Enum):
    """States of a job; the last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"  # With a plan, or with the answer that none fits.
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_end(self):
        return self not in (JobState.QUEUED, JobState.RUNNING)


@dataclasses.dataclass(frozen=True)
class Progress:
    """The progress of planning."""

    phase: str  # Such as "slice_plans".
    pairs_done: int
    pairs_total: int
    best_iteration_time_s: Optional[float]
    num_workers: int
    waits_for: str = ""  # Why a job was put back until other workers are there.

    @classmethod
    def of(cls, message):
        best = (message.best_iteration_time_s
                if message.HasField("best_iteration_time_s") else None)
        return cls(phase=_Phase.Name(message.phase).lower(),
                   pairs_done=message.pairs_done,
                   pairs_total=message.pairs_total,
                   best_iteration_time_s=best,
                   num_workers=message.num_workers,
                   waits_for=message.waits_for)


@dataclasses.dataclass(frozen=True)
class Job:
    """A planning request that outlives connections and coordinators."""

    job_id: str
    state: Optional[JobState]  # None: not among the fields that were asked for.
    priority: int
    attempts: int
    cancel_requested: bool
    # Seconds since 1970; None if not yet.
    submitted_s: Optional[float]
    started_s: Optional[float]
    finished_s: Optional[float]
    plan: Optional[Plan]  # Set if the job succeeded; not in lists.
    error: Optional[TangramError]  # Set if the job failed or was cancelled.
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    deadline_s: Optional[float] = None  # Since 1970; None: it has none.
    keep_s: Optional[float] = None  # After its end; None: as long as others.
    webhook: str = ""
    losses: int = 0  # Coordinators lost with it since it last got further.
    # Why it waits for other workers; only client.get() tells.
    waits_for: str = ""

    @classmethod
    def of(cls, message):
        # Fields that were not asked for are as if unset.
        state = (JobState(_State.Name(message.state).lower())
                 if message.state else None)
        error = None
        if state is JobState.FAILED and message.HasField("error"):
            error = error_of(message.error.code, message.error.message)
        elif state is JobState.CANCELLED and message.job_id:
            error = Cancelled(f"job {message.job_id} was cancelled")
        return cls(job_id=message.job_id, state=state,
                   priority=message.priority, attempts=message.attempts,
                   cancel_requested=message.cancel_requested,
                   submitted_s=message.submitted_s or None,
                   started_s=message.started_s or None,
                   finished_s=message.finished_s or None,
                   plan=Plan(message.result) if message.HasField("result")
                   else None,
                   error=error, labels=dict(message.labels),
                   deadline_s=message.deadline_s or None,
                   keep_s=message.keep_s or None, webhook=message.webhook,
                   losses=message.losses, waits_for=message.waits_for)


@dataclasses.dataclass(frozen=True)
class TenantUsage:
    """What a coordinator keeps of a tenant, and its limits (None: none)."""

    tenant: str
    unfinished_jobs: int
    ended_jobs: int
    stored_bytes: int  # Of requests and plans.
    max_unfinished_jobs: Optional[int]
    max_ended_jobs: Optional[int]
    max_stored_bytes: Optional[int]

    @classmethod
    def of(cls, message):
        return cls(tenant=message.tenant,
                   unfinished_jobs=message.unfinished_jobs,
                   ended_jobs=message.ended_jobs,
                   stored_bytes=message.stored_bytes,
                   max_unfinished_jobs=message.max_unfinished_jobs or None,
                   max_ended_jobs=message.max_ended_jobs or None,
                   max_stored_bytes=message.max_stored_bytes or None)
