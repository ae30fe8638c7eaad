"""The coordinator's RPCs from Python, by the generated messages."""

import importlib
import os
import sys

import harness

try:
    import grpc
    sys.path += [os.path.join(os.path.dirname(harness.BIN), "python"),
                 os.path.join(harness.SOURCE, "clients/python")]
    errors = importlib.import_module("tangram_client.errors")
    jobs = importlib.import_module("tangram.v1.job_service_pb2")
    planner = importlib.import_module("tangram.v1.planner_service_pb2")
    tenants = importlib.import_module("tangram.v1.tenant_service_pb2")
    pool = importlib.import_module("tangram.v1.worker_pool_service_pb2")
    # All services that a coordinator may serve; that of adapters is theirs.
    served = [importlib.import_module("tangram.v1." + name[:-3])
              for name in sorted(os.listdir(os.path.join(
                  os.path.dirname(harness.BIN), "python/tangram/v1")))
              if name.endswith("_service_pb2.py")
              and not name.startswith("parallelizer_")]
except ImportError:
    grpc = None

WHY_NOT = "python3-grpcio or the generated messages are missing"
TIMEOUT_S = 30
# Methods with streams, which protobuf's Python does not tell.
STREAMING = ("/Plan", "/WatchJob", "/Work", "/ExportTenant")


def methods():
    """The methods that the coordinator serves: a dict of path -> descriptor."""
    return {f"/{service.full_name}/{method.name}": method
            for file in served
            for service in file.DESCRIPTOR.services_by_name.values()
            for method in service.methods}


def retry_after_s(call):
    """The time after which to ask again, as the end of a call says."""
    return errors.error_of_call(call).retry_after_s


class Client:
    """Calls methods by their paths, as one caller."""

    def __init__(self, channel, token=None):
        self._channel = channel
        self._metadata = [("authorization", f"Bearer {token}")] if token else []
        self._methods = methods()

    def start(self, path, request=None, timeout_s=TIMEOUT_S):
        """Begins a call and returns it, or its stream of answers."""
        method = self._methods[path]
        # The classes that belong to the descriptors.
        message = lambda descriptor: descriptor._concrete_class
        streams_in = path.endswith("/Work")
        streams_out = path.endswith(STREAMING)
        make = getattr(self._channel, "_".join(
            ["stream" if streams_in else "unary",
             "stream" if streams_out else "unary"]))
        call = make(path,
                    request_serializer=lambda m: m.SerializeToString(),
                    response_deserializer=message(
                        method.output_type).FromString)
        if request is None:
            request = message(method.input_type)()
            request = iter([request]) if streams_in else request
        start = call if streams_out else call.future
        return start(request, timeout=timeout_s, metadata=self._metadata)

    def call(self, path, request=None, timeout_s=TIMEOUT_S):
        """Returns the answer, or the last of a stream; None if a stream is
        empty."""
        result = self.start(path, request, timeout_s)
        if not path.endswith(STREAMING):
            return result.result()
        last = None
        for last in result:
            pass
        return last

    def code(self, path, request=None, timeout_s=TIMEOUT_S):
        """Returns the status code and the text of a call."""
        try:
            self.call(path, request, timeout_s)
            return grpc.StatusCode.OK, ""
        except grpc.RpcError as error:
            return error.code(), error.details()
