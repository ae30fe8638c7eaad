"""The messages of proto/tangram/v1 as modules."""

try:
    from tangram.v1 import (model_pb2, parallelizer_pb2,
                            parallelizer_service_pb2, plan_pb2)
except ModuleNotFoundError as error:
    raise SystemExit(f"tangram_adapter: {error}; run clients/python/generate, "
                     "with python3-protobuf installed") from error

__all__ = ["model_pb2", "parallelizer_pb2", "parallelizer_service_pb2",
           "plan_pb2"]
