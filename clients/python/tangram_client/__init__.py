"""A client of Tangram's coordinator.

    client = tangram_client.Client("127.0.0.1:7070")
    plan = client.plan(tangram_client.request(
        cluster="cluster.yaml", model="gpt3-1.3b", global_batch=32))

See docs/python-client.md.
"""

from tangram_client.access import Access
from tangram_client.client import Client
from tangram_client.errors import (BadInput, Cancelled, DeadlineExceeded,
                                   Denied, Failed, NotFound, TangramError,
                                   Unavailable)
from tangram_client.jobs import Job, JobState, Progress, TenantUsage
from tangram_client.plans import (Gpus, Group, Infeasible, Pipeline, Plan,
                                  Stage)
from tangram_client.requests import request, request_like

__all__ = ["Access", "BadInput", "Cancelled", "Client", "DeadlineExceeded",
           "Denied", "Failed", "Gpus", "Group", "Infeasible", "Job", "JobState",
           "NotFound", "Pipeline", "Plan", "Progress", "Stage", "TangramError",
           "TenantUsage", "Unavailable", "request", "request_like"]
