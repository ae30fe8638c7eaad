"""Errors of calls. "No plan fits" is an answer, not an error."""

import re

import grpc
from google.protobuf.message import DecodeError

from tangram_client.messages import error_details_pb2

_DETAILS = "grpc-status-details-bin"
# grpcio's text for a call whose connection ended before its status came.
_LOST_CONNECTION = "Stream removed"


class TangramError(Exception):
    """The base class of all errors. `code` is a grpc.StatusCode.

    `retry_after_s` is set if the same call may pass after so many seconds, and
    `resource` is the name of the job or worker that the error is about, or ""."""

    def __init__(self, message, code=grpc.StatusCode.UNKNOWN, *,
                 retry_after_s=None, resource="", field=""):
        super().__init__(message)
        self.code = code
        self.retry_after_s = retry_after_s
        self.resource = resource
        self._field = field


class BadInput(TangramError):
    """A field, a file or an option is invalid."""

    @property
    def field(self):
        """The path of the invalid field, such as "cluster.nodes[3].num_gpus";
        empty if the message has none."""
        if self._field:
            return self._field
        before = str(self).partition("; expected")[0]
        match = re.match(r"((?:\S+: )*\S+): ", before)
        return match[1] if match else ""


class NotFound(BadInput):
    """The job, file or name does not exist."""


class Denied(TangramError):
    """The token is missing, invalid or lacks the role."""


class Unavailable(TangramError):
    """No coordinator, no worker, or too much work: try again later."""


class DeadlineExceeded(TangramError):
    """No answer within timeout_s."""


class Cancelled(TangramError):
    """Cancelled before there was a plan."""


class Failed(TangramError):
    """Tangram is at fault."""


_CODE = grpc.StatusCode
_CLASSES = {
    _CODE.INVALID_ARGUMENT: BadInput,
    _CODE.ALREADY_EXISTS: BadInput,
    _CODE.FAILED_PRECONDITION: BadInput,
    _CODE.OUT_OF_RANGE: BadInput,
    _CODE.UNIMPLEMENTED: BadInput,
    _CODE.NOT_FOUND: NotFound,
    _CODE.UNAUTHENTICATED: Denied,
    _CODE.PERMISSION_DENIED: Denied,
    _CODE.UNAVAILABLE: Unavailable,
    _CODE.RESOURCE_EXHAUSTED: Unavailable,
    _CODE.DEADLINE_EXCEEDED: DeadlineExceeded,
    _CODE.CANCELLED: Cancelled,
}
_BY_NUMBER = {code.value[0]: code for code in _CODE}
_BY_NAME = {code.name: code for code in _CODE}


def error_of(code, message, **details):
    """Returns the exception for a status. `code` is a grpc.StatusCode, its
    number or its name. `details` are those of TangramError."""
    if not isinstance(code, _CODE):
        code = _BY_NUMBER.get(code) or _BY_NAME.get(code, _CODE.UNKNOWN)
    if code == _CODE.UNKNOWN and message == _LOST_CONNECTION:
        code = _CODE.UNAVAILABLE
    return _CLASSES.get(code, Failed)(message, code, **details)


def details_of(serialized):
    """Returns the arguments of TangramError that a serialised google.rpc.Status
    tells. Messages that cannot be read tell nothing."""
    found = {}
    try:
        for detail in error_details_pb2.RpcStatus.FromString(
                serialized).details:
            kind = detail.type_url.rpartition("/google.rpc.")[2]
            if kind == "RetryInfo":
                delay = error_details_pb2.RetryInfo.FromString(
                    detail.value).retry_delay
                found["retry_after_s"] = delay.seconds + delay.nanos / 1e9
            elif kind == "ResourceInfo":
                found["resource"] = error_details_pb2.ResourceInfo.FromString(
                    detail.value).resource_name
            elif kind == "BadRequest":
                bad = error_details_pb2.BadRequest.FromString(detail.value)
                if bad.field_violations:
                    found["field"] = bad.field_violations[0].field
    except DecodeError:
        return {}
    return found


def error_of_call(error):
    """Returns the exception for the grpc.RpcError of a call that this side did
    not cancel. A coordinator that stops cancels the calls that it still has."""
    if error.code() is _CODE.CANCELLED:
        return Unavailable("the coordinator ended the call", _CODE.UNAVAILABLE)
    trailers = dict(error.trailing_metadata() or ())
    return error_of(error.code(), error.details(),
                    **details_of(trailers.get(_DETAILS, b"")))
