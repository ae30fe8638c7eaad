"""Runs the commands of examples/kubernetes for two pods on this machine.

kubectl's answers are canned. The service, the plan and the ranks are real.
Needs torchrun, and kubectl to render the manifests.
"""

import concurrent.futures
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import unittest

import yaml

import framework_ranks
import harness
from daemons import Coordinator, Worker
from harness import SOURCE

GPUS = 2
# In the order in which the API server lists them.
NODES = ["gpu-b", "gpu-a"]
PRODUCT = "NVIDIA-A100-SXM4-80GB"
UID = "5f0c8c1e-2b1a-4c3d-9e8f-0a1b2c3d4e5f"
# One pod has no node yet when the other first asks.
KUBECTL = """#!/bin/sh
case "$2" in
  pods) if [ -e asked ]; then cat ../pods; else echo "gpu-b 127.0.0.1"; echo " "; fi
    touch asked ;;
  nodes) cat ../nodes.json ;;
esac
"""


def node(name):
    return {"kind": "Node",
            "metadata": {"name": name,
                         "labels": {"nvidia.com/gpu.product": PRODUCT}},
            "spec": {},
            "status": {"allocatable": {"nvidia.com/gpu": str(GPUS)},
                       "conditions": [{"type": "Ready", "status": "True"}]}}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


@framework_ranks.needed
@unittest.skipUnless(shutil.which("kubectl"), "no kubectl")
class KubernetesTrainTest(harness.Folder):
    def setUp(self):
        super().setUp()
        framework_ranks.prepare(self.folder)
        os.mkdir(self.path("megatron"))
        self.write("megatron/pretrain_gpt.py", framework_ranks.PROGRAM)
        self.write("pods", "".join(f"{name} 127.0.0.1\n" for name in NODES))
        self.write("nodes.json", json.dumps(
            {"apiVersion": "v1", "kind": "List", "items": [node(name) for name in NODES]}))
        self.objects = list(yaml.safe_load_all(subprocess.run(
            ["kubectl", "kustomize", f"{SOURCE}/examples/kubernetes"],
            check=True, capture_output=True, text=True, timeout=60).stdout))

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def found(self, kind, name=""):
        """Returns the object of a kind whose name starts so."""
        return next(o for o in self.objects if o["kind"] == kind and
                    o["metadata"]["name"].startswith(name))

    def mount(self, name):
        """Makes the files of a pod. `inside` gives their paths."""
        for folder in ("bin", "plan", "scripts"):
            os.makedirs(self.path(name, folder))
        inside = lambda text: re.sub(
            r"(?<![\w/])/(plan|scripts)\b", rf"{self.path(name)}/\1", text)
        for file, text in self.found("ConfigMap", "train-files")["data"].items():
            self.write(f"{name}/scripts/{file}", inside(text))
        self.write(f"{name}/bin/kubectl", KUBECTL)
        os.chmod(self.path(name, "bin/kubectl"), 0o755)
        return inside

    def environment(self, name, container):
        fields = {"spec.nodeName": name,
                  "metadata.labels['batch.kubernetes.io/controller-uid']": UID}
        given = framework_ranks.environment(self.folder)
        given["PATH"] = f"{self.path(name, 'bin')}:{given['PATH']}"
        if "envFrom" in container:
            given.update(self.found("ConfigMap", "train-options")["data"])
        for variable in container["env"]:
            given[variable["name"]] = variable.get("value") or fields[
                variable["valueFrom"]["fieldRef"]["fieldPath"]]
        return {**given, **self.here}

    def run_pod(self, name):
        """Runs its containers one after the other. Returns their logs."""
        inside = self.mount(name)
        pod = self.found("Job")["spec"]["template"]["spec"]
        logs = []
        for container in pod["initContainers"] + pod["containers"]:
            run = subprocess.run(
                [inside(word) for word in container["command"]],
                env=self.environment(name, container), text=True, timeout=240,
                cwd=self.path(name), stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, check=False)
            logs.append(run.stdout)
            if run.returncode != 0:
                raise AssertionError(f"{container['name']}: {run.stdout}")
        return logs

    def test_pods_plan_once_and_start_the_ranks(self):
        coordinator = Coordinator()
        self.addCleanup(coordinator.end)
        self.addCleanup(Worker(coordinator.address, "w").end)
        # Variables with other values than in a cluster.
        self.here = {"NUM_PODS": "2", "TANGRAM_COORDINATOR": coordinator.address,
                     "MEGATRON_LM": self.path("megatron"),
                     "MASTER_PORT": free_port()}
        with concurrent.futures.ThreadPoolExecutor() as pool:
            pods = list(pool.map(self.run_pod, NODES))
        for nodes, plan, train in pods:
            self.assertEqual(nodes, "")
            self.assertIn("4 GPUs in 2 nodes", plan)
        jobs = self.tangram("job", "list", "--coordinator", coordinator.address)
        self.assertEqual(jobs.count(UID), 1, jobs)
        self.assert_ranks_follow_the_plan()

    def assert_ranks_follow_the_plan(self):
        ranks = framework_ranks.started(self.folder)
        plan = json.loads(self.read("gpu-a/plan/plan.json"))
        hosts = [span["node"] for stage in framework_ranks.devices_of(plan["plan"])
                 for span in stage["gpus"] for _ in range(span["count"])]
        self.assertEqual([rank["host"] for rank in ranks], hosts)
        options = self.found("ConfigMap", "train-options")["data"]
        words = (self.read("gpu-a/plan/launch/megatron.args").split() +
                 shlex.split(options["TRAIN_OPTIONS"]))
        for rank in ranks:
            self.assertEqual(rank["world_size"], len(NODES) * GPUS)
            self.assertEqual(rank["arguments"], words)


if __name__ == "__main__":
    harness.main()
