"""Runs the AdmissionCheck controller against an API server of the test, with the
real coordinator behind it."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest

import harness
import yaml
from certificates import Authority
from daemon import Daemon
from daemons import Coordinator, Worker
from harness import C1, SOURCE, TANGRAM

import fake_kubernetes

CLIENTS = os.path.join(SOURCE, "clients/python")
CRDS = os.path.join(os.environ.get("TANGRAM_FRAMEWORK_CHECKOUTS", ""), "kueue",
                    "config/components/crd/bases")
PLURALS = ("admissionchecks", "workloads")
API = "kueue.x-k8s.io/v1beta2"
CHECK = {"apiVersion": API, "kind": "AdmissionCheck",
         "metadata": {"name": "tangram", "generation": 1},
         "spec": {"controllerName": "tangram.dev/frontier"}}
JOB = {"model": "gpt3-1.3b", "layers": "6", "global-batch": "32",
       "parallelizer": "uniform", "runtime": "any"}
NOW = "2026-11-26T12:00:00Z"


def schemas():
    """By plural, of the real CRDs if they are here."""
    if not os.path.isdir(CRDS):
        with open(f"{SOURCE}/tests/e2e/kueue_schemas.yaml",
                  encoding="utf-8") as file:
            return yaml.safe_load(file)
    found = {}
    for plural in PLURALS:
        with open(f"{CRDS}/kueue.x-k8s.io_{plural}.yaml",
                  encoding="utf-8") as file:
            version, = (v for v in yaml.safe_load(file)["spec"]["versions"]
                        if v["name"] == "v1beta2")
        found[plural] = version["schema"]["openAPIV3Schema"]
    return found


def workload(name, pods, annotations=JOB, prefix="tangram.dev/"):
    """A Workload without quota. `pods` has (flavor, pods, GPUs of all)."""
    annotations = {prefix + k: v for k, v in annotations.items()}
    return {
        "apiVersion": API, "kind": "Workload",
        "metadata": {"name": name, "namespace": "team", "uid": f"uid-{name}"},
        "spec": {"podSets": [
            {"name": f"p{i}", "count": count, "template": {
                "metadata": {"annotations": annotations},
                "spec": {"containers": [{"name": "c"}]}}}
            for i, (_, count, _) in enumerate(pods)]},
        "status": {}}


def with_quota(of, pods):
    """The same as Kueue leaves it once quota is reserved."""
    return dict(of, status={
        "conditions": [{"type": "QuotaReserved", "status": "True",
                        "reason": "QuotaReserved", "message": "",
                        "lastTransitionTime": NOW}],
        "admission": {"clusterQueue": "q", "podSetAssignments": [
            {"name": f"p{i}", "count": count,
             "flavors": {"nvidia.com/gpu": flavor, "cpu": flavor},
             "resourceUsage": {"nvidia.com/gpu": gpus, "cpu": "100m"}}
            for i, (flavor, count, gpus) in enumerate(pods)]},
        "admissionChecks": [
            {"name": name, "state": "Pending", "message": "",
             "lastTransitionTime": NOW} for name in ("tangram", "another")]})


def state_of(of, name="tangram"):
    return next((s for s in of["status"].get("admissionChecks", ())
                 if s["name"] == name), {"state": "Pending"})


class KueueTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.schemas = schemas()
        cls.coordinator = Coordinator()
        cls.addClassCleanup(cls.coordinator.end)
        cls.worker = Worker(cls.coordinator.address, "w")
        cls.addClassCleanup(cls.worker.end)

    def setUp(self):
        self.server = fake_kubernetes.FakeKubernetes(self.schemas)
        self.addCleanup(self.server.close)

    def start(self, *options):
        """Starts a controller; the last option of a name counts."""
        controller = Daemon(
            ["env", f"PYTHONPATH={CLIENTS}", sys.executable, "-m",
             "tangram_schedulers.kueue", "--server", self.server.address,
             "--cluster", C1, "--flavor", "t4s=t4:4", "--flavor", "v100s=v100:4",
             "--program", TANGRAM, "--coordinator", self.coordinator.address,
             "--seconds", "20", *options])
        self.addCleanup(controller.end)
        return controller

    def answer(self, name, pods, annotations=JOB):
        """Returns the state of a check, once there is one."""
        of = workload(name, pods, annotations)
        self.server.put("workloads", of)
        self.server.put("workloads", with_quota(of, pods))
        return state_of(self.answered(name))

    def answered(self, name):
        return self.server.wait("workloads", name,
                                lambda w: state_of(w)["state"] != "Pending")

    def time_on(self, nodes):
        """Seconds of an iteration, as `tangram frontier` says."""
        import csv
        import io
        run = subprocess.run(
            [TANGRAM, "frontier", "--cluster", C1, "--nodes", nodes, "--csv",
             "-", *(f"--{k}={v}" for k, v in JOB.items())], check=True,
            capture_output=True, text=True, timeout=120)
        row, = csv.DictReader(io.StringIO(run.stdout))
        return float(row["iteration_time_s"])

    def test_answers_what_has_its_quota(self):
        self.start()
        self.server.put("admissionchecks", CHECK)
        check = self.server.wait("admissionchecks", "tangram",
                                 lambda c: c.get("status"))
        self.assertEqual([(c["type"], c["status"])
                          for c in check["status"]["conditions"]],
                         [("Active", "True")])
        pods = [("v100s", 1, 4), ("t4s", 1, 4)]
        state = self.answer("mixed", pods)
        time_s = self.time_on("t4=1,v100=1")
        self.assertEqual(state["state"], "Ready")
        self.assertIn(f"{time_s:.6g} s an iteration", state["message"])
        self.assertEqual([update["name"] for update in state["podSetUpdates"]],
                         ["p0", "p1"])
        self.assertEqual(state["podSetUpdates"][0]["annotations"], {
            "tangram.dev/nodes": "t4=1,v100=1",
            "tangram.dev/iteration-time-s": f"{time_s:.6g}"})
        # The check of another controller is as it was.
        self.assertEqual(state_of(self.answered("mixed"), "another")["state"],
                         "Pending")
        # Eight pods of one GPU are two nodes.
        state = self.answer("small-pods", [("v100s", 8, "8")])
        self.assertIn(f"{self.time_on('t4=0,v100=2'):.6g} s", state["message"])
        self.assertEqual(self.server.refused, [])

    def test_too_small_and_too_slow_are_told_apart(self):
        self.server.put("admissionchecks", CHECK)
        self.start()
        state = self.answer("slow", [("t4s", 1, 4)],
                            {**JOB, "min-tokens-per-s": "1e9"})
        self.assertEqual((state["state"], state["requeueAfterSeconds"]),
                         ("Retry", 600))
        state = self.answer("big", [("t4s", 1, 4)], {
            **JOB, "model": "gpt3-13b", "layers": "20"})
        self.assertEqual(state["state"], "Rejected")
        self.assertRegex(state["message"],
                         r"no plan fits t4=1,v100=0: .*; t4=\d,v100=0 fits")
        self.assertEqual(self.server.refused, [])

    def test_workloads_without_an_answer_are_admitted(self):
        self.server.put("admissionchecks", CHECK)
        self.start()
        cases = {
            "plain": ([("t4s", 1, 4)], {}, "no annotation"),
            "unknown": ([("t4s", 1, 4)], {**JOB, "model": "gpt3-9q"}, "gpt3-9q"),
            "shell": ([("t4s", 1, 4)], {**JOB, "model": "$(x)"}, "a word"),
            "path": ([("t4s", 1, 4)], {**JOB, "model": "../../etc/x"}, "a word"),
            "flavor": ([("a100s", 1, 4)], JOB, "expected one of t4s, v100s"),
            "half": ([("t4s", 1, 2)], JOB, "expected whole nodes of 4"),
            "many": ([("t4s", 999, 4 * 999)], JOB, "t4"),
            "least": ([("t4s", 1, 4)], {**JOB, "min-tokens-per-s": "nan"},
                      "positive number"),
            "none": ([("t4s", 1, 0)], JOB, "no pods with nvidia.com/gpu"),
        }
        for name, (pods, annotations, why) in cases.items():
            with self.subTest(name):
                state = self.answer(name, pods, annotations)
                self.assertEqual(state["state"], "Ready")
                self.assertRegex(state["message"], f"^no opinion: .*{why}")
        self.assertEqual(self.server.refused, [])

    def test_a_service_that_is_gone_or_hangs_holds_no_workload(self):
        self.server.put("admissionchecks", CHECK)
        gone = Coordinator()
        self.addCleanup(gone.end)
        self.start("--coordinator", gone.address, "--seconds", "0.5")
        os.kill(gone.process.pid, signal.SIGSTOP)
        state = self.answer("hangs", [("t4s", 1, 4)])
        self.assertEqual((state["state"], state["message"][:10]),
                         ("Ready", "no opinion"))
        gone.end()
        state = self.answer("gone", [("t4s", 1, 4)])
        self.assertEqual((state["state"], state["message"][:10]),
                         ("Ready", "no opinion"))

    def test_tokens_change_and_certificates_are_checked(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        authority = Authority(folder.name, "ca")
        another = Authority(folder.name, "another")
        server = fake_kubernetes.FakeKubernetes(
            self.schemas, authority.issue("server", san="IP:127.0.0.1"), "first")
        self.addCleanup(server.close)
        self.server = server
        server.put("admissionchecks", CHECK)
        token = os.path.join(folder.name, "token")
        with open(token, "w", encoding="ascii") as file:
            file.write("first\n")
        stranger = self.start("--ca-file", another.cert, "--token-file", token)
        stranger.wait_for("CERTIFICATE_VERIFY_FAILED")
        self.assertEqual(server.unauthorized, 0)
        self.start("--ca-file", authority.cert, "--token-file", token)
        self.assertEqual(self.answer("a", [("t4s", 1, 4)])["state"], "Ready")
        server.token = "second"
        server.forget()
        with open(token, "w", encoding="ascii") as file:
            file.write("second\n")
        self.assertEqual(self.answer("b", [("t4s", 1, 4)])["state"], "Ready")

    def test_nothing_is_lost_with_a_watch(self):
        controller = self.start()
        # The check comes after the Workload that names it.
        pods = [("t4s", 1, 4)]
        of = workload("early", pods)
        self.server.put("workloads", with_quota(of, pods))
        self.server.put("admissionchecks", CHECK)
        self.assertEqual(state_of(self.answered("early"))["state"], "Ready")
        # The server forgets old versions, and fails to write once.
        self.server.forget()
        self.server.fail_next_applies = 1
        self.assertEqual(self.answer("late", pods)["state"], "Ready")
        # Answers that cannot be read.
        self.server.breaks = [
            b'{"type": "MODI', b"null\n", b"[]", b"\xff\n", b'{"items": 1}',
            b'{"type": "ADDED", "object": {}}\n', b"<html>", b""]
        self.server.forget()
        self.assertEqual(self.answer("later", pods)["state"], "Ready")
        # A controller that starts again answers what is pending.
        controller.end()
        of = workload("between", pods)
        self.server.put("workloads", with_quota(of, pods))
        self.start()
        self.assertEqual(state_of(self.answered("between"))["state"], "Ready")
        self.assertEqual(self.server.refused, [])


if __name__ == "__main__":
    harness.main()
