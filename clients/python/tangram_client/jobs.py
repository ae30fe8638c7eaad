"""Planning jobs and their states."""

import dataclasses
import enum
from typing import Optional

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

    @classmethod
    def of(cls, message):
        best = (message.best_iteration_time_s
                if message.HasField("best_iteration_time_s") else None)
        return cls(phase=_Phase.Name(message.phase).lower(),
                   pairs_done=message.pairs_done,
                   pairs_total=message.pairs_total,
                   best_iteration_time_s=best,
                   num_workers=message.num_workers)


@dataclasses.dataclass(frozen=True)
class Job:
    """A planning request that outlives connections and coordinators."""

    job_id: str
    state: JobState
    priority: int
    attempts: int
    cancel_requested: bool
    # Seconds since 1970; None if not yet.
    submitted_s: Optional[float]
    started_s: Optional[float]
    finished_s: Optional[float]
    plan: Optional[Plan]  # Set if the job succeeded; not in lists.
    error: Optional[TangramError]  # Set if the job failed or was cancelled.

    @classmethod
    def of(cls, message):
        state = JobState(_State.Name(message.state).lower())
        error = None
        if state is JobState.FAILED:
            error = error_of(message.error.code, message.error.message)
        elif state is JobState.CANCELLED:
            error = Cancelled(f"job {message.job_id} was cancelled")
        return cls(job_id=message.job_id, state=state,
                   priority=message.priority, attempts=message.attempts,
                   cancel_requested=message.cancel_requested,
                   submitted_s=message.submitted_s or None,
                   started_s=message.started_s or None,
                   finished_s=message.finished_s or None,
                   plan=Plan(message.result) if message.HasField("result")
                   else None,
                   error=error)
