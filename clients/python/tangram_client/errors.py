"""What may go wrong. That no plan fits is an answer, no error."""

import re

import grpc


class TangramError(Exception):
    """The base of all. `code` is a grpc.StatusCode."""

    def __init__(self, message, code=grpc.StatusCode.UNKNOWN):
        super().__init__(message)
        self.code = code


class BadInput(TangramError):
    """A field, a file or an option is not as it must be."""

    @property
    def field(self):
        """The path of what is at fault, "cluster.nodes[3].num_gpus"; empty if
        the message has none."""
        before = str(self).partition("; expected")[0]
        match = re.match(r"((?:\S+: )*\S+): ", before)
        return match[1] if match else ""


class NotFound(BadInput):
    """There is no such job, file or name."""


class Denied(TangramError):
    """No token, not a good one, or one without the role."""


class Unavailable(TangramError):
    """No coordinator, no worker, or too much to do: try again later."""


class DeadlineExceeded(TangramError):
    """No answer within timeout_s."""


class Cancelled(TangramError):
    """By somebody, before there was a plan."""


class Failed(TangramError):
    """Tangram's own fault."""


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


def error_of(code, message):
    """The exception for a status; `code` as gRPC has it, its number or its
    name."""
    if not isinstance(code, _CODE):
        code = _BY_NUMBER.get(code) or _BY_NAME.get(code, _CODE.UNKNOWN)
    return _CLASSES.get(code, Failed)(message, code)


def error_of_call(error):
    """The exception for a grpc.RpcError of a call that this side did not
    cancel: a coordinator that stops cancels those it still has."""
    if error.code() is _CODE.CANCELLED:
        return Unavailable("the coordinator ended the call", _CODE.UNAVAILABLE)
    return error_of(error.code(), error.details())
