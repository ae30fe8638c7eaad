"""Calls to a coordinator."""

import time

import grpc

from tangram_client.access import Access
from tangram_client.errors import BadInput, Failed, error_of_call
from tangram_client.frontiers import AllocationAnswer
from tangram_client.jobs import Job, JobState, Progress
from tangram_client.messages import (frontier_service_pb2, job_service_pb2,
                                     planner_service_pb2)
from tangram_client.plans import Plan

_CALL_TIMEOUT_S = 30
# Longest absence of a coordinator while a job is watched.
_ABSENCE_S = 60
_RETRY_INTERVAL_S = 0.5
_PAGE_SIZE = 100


class Client:
    """A coordinator, given by its address or an Access. Works as a context
    manager. Thread-safe."""

    def __init__(self, access, **options):
        """`options` are those of Access, if `access` is an address."""
        self._access = (access if isinstance(access, Access)
                        else Access(access, **options))
        self._channel = self._access.channel()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._channel.close()

    def plan(self, request, *, timeout_s=None, on_progress=None):
        """Returns the Plan for a request, in one call that ends with this
        program. Calls `on_progress` with a Progress a few times a second."""
        try:
            for update in self._stream(
                    "Planner/Plan", request, planner_service_pb2.PlanUpdate,
                    timeout_s):
                if update.HasField("result"):
                    return Plan(update.result)
                if on_progress is not None:
                    on_progress(Progress.of(update.progress))
        except grpc.RpcError as error:
            raise error_of_call(error) from None
        raise Failed("the coordinator ended without a result")

    def frontier(self, request, allocations, *, timeout_s=None):
        """Yields an AllocationAnswer for each allocation as it comes: known
        ones first, then small ones before large ones. `request` has the whole
        cluster. An allocation is a dictionary of nodes by group, {"h100": 2};
        groups that it leaves out have none. Closing the generator cancels the
        call."""
        groups = list(request.cluster.groups)
        message = frontier_service_pb2.FrontierRequest(plan=request)
        for allocation in allocations:
            unknown = set(allocation) - set(groups)
            if unknown:
                raise BadInput(f"allocations: group {min(unknown)}; expected "
                               f"one of {', '.join(groups)}")
            message.allocations.add(nodes=[allocation.get(group, 0)
                                           for group in groups])
        try:
            for update in self._stream("Frontiers/Frontier", message,
                                       frontier_service_pb2.FrontierUpdate,
                                       timeout_s):
                for answer in update.answers:
                    nodes = message.allocations[answer.index].nodes
                    yield AllocationAnswer.of(answer, dict(zip(groups, nodes)))
        except grpc.RpcError as error:
            raise error_of_call(error) from None

    def kept_plan(self, plan_id):
        """Returns the Plan of an AllocationAnswer, at once. Raises NotFound if
        the coordinator does not keep it any more."""
        return self.plan(planner_service_pb2.PlanRequest(plan_id=plan_id))

    def submit(self, request, job_id, *, priority=0):
        """Submits a request as a job and returns the Job. The caller chooses
        its name, of letters, digits and "._-"; submitting the same again
        returns the same job. Higher priorities run first."""
        return self._job("SubmitJob", job_service_pb2.SubmitJobRequest(
            job_id=job_id, request=request, priority=priority))

    def get(self, job_id):
        """Returns the Job of this name, with its plan if it has one."""
        return self._job("GetJob", job_service_pb2.GetJobRequest(job_id=job_id))

    def cancel(self, job_id):
        """Cancels a job and returns it. A finished job does not change."""
        return self._job("CancelJob",
                         job_service_pb2.CancelJobRequest(job_id=job_id))

    def list(self, states=()):
        """Yields jobs, newest first. `states` selects jobs by their state."""
        request = job_service_pb2.ListJobsRequest(
            page_size=_PAGE_SIZE,
            states=[job_service_pb2.Job.State.Value(JobState(state).name)
                    for state in states])
        while True:
            page = self._call("Jobs/ListJobs", request,
                              job_service_pb2.ListJobsResponse)
            yield from (Job.of(message) for message in page.jobs)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def watch(self, job_id):
        """Yields a Progress for each step of a job, then the Job when it ends.
        Waits for a coordinator that is away for less than a minute."""
        request = job_service_pb2.WatchJobRequest(job_id=job_id)
        give_up = time.monotonic() + _ABSENCE_S
        while True:
            try:
                for update in self._stream("Jobs/WatchJob", request,
                                           job_service_pb2.JobUpdate):
                    if update.HasField("job"):
                        yield Job.of(update.job)
                        return
                    request.after_event = update.event
                    give_up = time.monotonic() + _ABSENCE_S
                    yield Progress.of(update.progress)
            except grpc.RpcError as error:
                why = error_of_call(error)
                if (why.code is not grpc.StatusCode.UNAVAILABLE
                        or time.monotonic() >= give_up):
                    raise why from None
            time.sleep(_RETRY_INTERVAL_S)

    def wait(self, job_id):
        """Waits for a job. Returns its Plan, or raises its error."""
        for update in self.watch(job_id):
            if isinstance(update, Job):
                if update.error is not None:
                    raise update.error
                return update.plan
        raise Failed("the coordinator ended without a result")

    def _job(self, method, request):
        return Job.of(self._call("Jobs/" + method, request, job_service_pb2.Job))

    def _call(self, method, request, response_type):
        call = self._channel.unary_unary(
            "/tangram.v1." + method,
            request_serializer=type(request).SerializeToString,
            response_deserializer=response_type.FromString)
        try:
            return call(request, timeout=_CALL_TIMEOUT_S,
                        metadata=self._access.metadata())
        except grpc.RpcError as error:
            raise error_of_call(error) from None

    def _stream(self, method, request, response_type, timeout_s=None):
        """Yields the messages that a method returns; raises grpc.RpcError."""
        call = self._channel.unary_stream(
            "/tangram.v1." + method,
            request_serializer=type(request).SerializeToString,
            response_deserializer=response_type.FromString)
        updates = call(request, timeout=timeout_s,
                       metadata=self._access.metadata())
        try:
            yield from updates
        finally:
            updates.cancel()
