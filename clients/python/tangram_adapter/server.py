"""Serves tangram.v1.Parallelizer to the worker that started this program."""

import os
import sys
import time
import traceback
from concurrent import futures

import grpc

from tangram_adapter.messages import model_pb2, parallelizer_service_pb2
from tangram_adapter.query import Query

SOCKET_VARIABLE = "TANGRAM_ADAPTER_SOCKET"
_MAX_MESSAGE_BYTES = 64 << 20


def serve(adapter):
    """Answers queries until the worker is gone."""
    path = os.environ.get(SOCKET_VARIABLE)
    if path is None:
        sys.exit(f"{SOCKET_VARIABLE} is not set: this program is started by "
                 "`tangram-worker --adapter exec:...` or "
                 "`tangram plan --parallelizer exec:...`")
    parent = os.getppid()
    for stream in sys.stdout, sys.stderr:
        stream.reconfigure(line_buffering=True)
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=1),
        handlers=[grpc.method_handlers_generic_handler(
            "tangram.v1.Parallelizer", _handlers(adapter))],
        options=[("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
                 ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES)])
    server.add_insecure_port(f"unix:{path}")
    server.start()
    while os.getppid() == parent:
        time.sleep(1)


def _handlers(adapter):
    service = parallelizer_service_pb2
    return {
        "Describe": _handler(lambda request: adapter.describe(),
                             service.DescribeRequest),
        "SliceModel": _handler(adapter.slice_model, model_pb2.Model),
        "Concatenate": _handler(adapter.concatenate, model_pb2.SliceList),
        "Profile": _handler(adapter.profile, service.ProfileRequest),
        "Parallelize": _handler(
            lambda request: adapter.parallelize(Query(request)),
            service.ParallelizeRequest),
    }


def _handler(function, request_type):
    def handle(request, context):
        try:
            return function(request)
        except ValueError as error:
            problem = grpc.StatusCode.INVALID_ARGUMENT, str(error)
        except NotImplementedError as error:
            problem = grpc.StatusCode.UNIMPLEMENTED, str(error)
        except Exception as error:  # pylint: disable=broad-except
            traceback.print_exc()
            frame = traceback.extract_tb(error.__traceback__)[-1]
            problem = (grpc.StatusCode.INTERNAL,
                       f"{type(error).__name__}: {error} (line {frame.lineno} "
                       f"of {os.path.basename(frame.filename)})")
        return context.abort(*problem)

    return grpc.unary_unary_rpc_method_handler(
        handle, request_deserializer=request_type.FromString,
        response_serializer=lambda message: message.SerializeToString())
