"""The messages of proto/tangram/v1 as modules."""

try:
    from tangram.v1 import (error_details_pb2, job_service_pb2, plan_pb2,
                            planner_service_pb2, tenant_service_pb2)
except ModuleNotFoundError as error:
    raise ImportError(f"tangram_client: {error}; run clients/python/generate, "
                      "with python3-protobuf installed") from error

__all__ = ["error_details_pb2", "job_service_pb2", "plan_pb2",
           "planner_service_pb2", "tenant_service_pb2"]
