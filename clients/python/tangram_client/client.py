"""Calls to a coordinator."""

import time

import grpc
from google.protobuf import empty_pb2, field_mask_pb2

from tangram_client.access import Access
from tangram_client.errors import (BadInput, DeadlineExceeded, Failed,
                                   error_of_call)
from tangram_client.frontiers import AllocationAnswer
from tangram_client.jobs import Job, JobState, Progress, TenantUsage
from tangram_client.messages import (frontier_service_pb2, job_service_pb2,
                                     planner_service_pb2, tenant_service_pb2)
from tangram_client.plans import Plan

_CALL_TIMEOUT_S = 30
# Longest absence of a coordinator while a job is watched.
_ABSENCE_S = 60
_RETRY_INTERVAL_S = 0.5
_PAGE_SIZE = 100
# Seconds of one call that waits for a job; shorter than the time of a call.
_WAIT_S = 20


def _mask(fields):
    return field_mask_pb2.FieldMask(paths=fields) if fields else None


def _plan_of(job):
    if job.error is not None:
        raise job.error
    return job.plan


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

    def plan(self, request, *, timeout_s=None, on_progress=None,
             skip_cache=False):
        """Returns the Plan for a request, in one call that ends with this
        program. Calls `on_progress` with a Progress a few times a second.
        `skip_cache` plans anew though an equal request was planned before."""
        if skip_cache:
            asked, request = request, planner_service_pb2.PlanRequest()
            request.CopyFrom(asked)
            request.skip_cache = True
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

    def submit(self, request, job_id, *, priority=0, labels=None,
               deadline_s=0, keep_s=0, webhook=""):
        """Submits a request as a job and returns the Job. The caller chooses
        its name, of letters, digits and "._-"; submitting the same again
        returns the same job. Higher priorities run first. The job fails if it
        has not ended after `deadline_s` seconds, and is kept for `keep_s`
        seconds after its end (0: as others). `webhook` is told of its end."""
        return self._job("SubmitJob", job_service_pb2.SubmitJobRequest(
            job_id=job_id, request=request, priority=priority,
            labels=labels or {}, timeout_s=deadline_s, keep_s=keep_s,
            webhook=webhook))

    def get(self, job_id, *, fields=()):
        """Returns the Job of this name, with its plan if it has one. `fields`
        selects fields of tangram.v1.Job, such as "state": others are as if
        unset, a state is then None."""
        return self._job("GetJob", job_service_pb2.GetJobRequest(
            job_id=job_id, read_mask=_mask(fields)))

    def request_of(self, job_id):
        """Returns the tangram.v1.PlanRequest of a job."""
        return self._call("Jobs/GetJob", job_service_pb2.GetJobRequest(
            job_id=job_id, read_mask=_mask(["request"])),
            job_service_pb2.Job).request

    def update(self, job_id, *, priority=None, labels=None, deadline_s=None,
               keep_s=None):
        """Changes settings of a job and returns it; None leaves one as it is.
        `labels` replace all there are. `deadline_s` counts from now on; 0: no
        deadline."""
        job = job_service_pb2.Job(job_id=job_id, priority=priority or 0,
                                  labels=labels or {}, keep_s=keep_s or 0)
        given = dict(priority=priority, labels=labels, keep_s=keep_s)
        # By the clock of the service: this one may be wrong.
        return self._job("UpdateJob", job_service_pb2.UpdateJobRequest(
            job=job, timeout_s=deadline_s, update_mask=_mask(
                [name for name, value in given.items() if value is not None])))

    def retry(self, job_id, *, deadline_s=0):
        """Queues a job that failed or was cancelled again and returns it."""
        return self._job("RetryJob", job_service_pb2.RetryJobRequest(
            job_id=job_id, timeout_s=deadline_s))

    def delete(self, job_id, *, allow_missing=False):
        """Deletes a job that has ended."""
        self._call("Jobs/DeleteJob", job_service_pb2.DeleteJobRequest(
            job_id=job_id, allow_missing=allow_missing), empty_pb2.Empty)

    def usage(self, tenant=""):
        """Returns the TenantUsage of a tenant; empty: that of the token."""
        return TenantUsage.of(self._call(
            "Tenants/GetTenantUsage",
            tenant_service_pb2.GetTenantUsageRequest(tenant=tenant),
            tenant_service_pb2.TenantUsage))

    def export(self, tenant=""):
        """Yields a tangram.v1.TenantRecord for each job of a tenant, with its
        request, result and progress."""
        try:
            yield from self._stream(
                "Tenants/ExportTenant",
                tenant_service_pb2.ExportTenantRequest(tenant=tenant),
                tenant_service_pb2.TenantRecord)
        except grpc.RpcError as error:
            raise error_of_call(error) from None

    def erase(self, tenant):
        """Deletes all jobs of a tenant and returns their number."""
        return self._call(
            "Tenants/EraseTenant",
            tenant_service_pb2.EraseTenantRequest(tenant=tenant),
            tenant_service_pb2.EraseTenantResponse).jobs

    def cancel(self, job_id):
        """Cancels a job and returns it. A finished job does not change."""
        return self._job("CancelJob",
                         job_service_pb2.CancelJobRequest(job_id=job_id))

    def list(self, states=(), *, filter="", order_by="", fields=()):
        """Yields jobs, newest first. `states` selects jobs by their state, and
        `filter` by an expression such as "state = FAILED AND labels.run = 7".
        `order_by` is a field, perhaps followed by " desc"; `fields` as in
        get."""
        request = job_service_pb2.ListJobsRequest(
            page_size=_PAGE_SIZE, filter=filter, order_by=order_by,
            read_mask=_mask(fields),
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

    def wait(self, job_id, *, timeout_s=None):
        """Waits for a job. Returns its Plan, or raises its error, or
        DeadlineExceeded after `timeout_s` seconds."""
        if timeout_s is not None:
            return self._wait(job_id, timeout_s)
        for update in self.watch(job_id):
            if isinstance(update, Job):
                return _plan_of(update)
        raise Failed("the coordinator ended without a result")

    def _wait(self, job_id, timeout_s):
        end = time.monotonic() + timeout_s
        while True:
            left_s = end - time.monotonic()
            job = self._job("WaitJob", job_service_pb2.WaitJobRequest(
                job_id=job_id, timeout_s=min(max(left_s, 0.01), _WAIT_S)))
            if job.state.is_end:
                return _plan_of(job)
            if left_s <= _WAIT_S:
                raise DeadlineExceeded(
                    f"job {job_id}: {job.state.value} after {timeout_s} s",
                    grpc.StatusCode.DEADLINE_EXCEEDED)

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
