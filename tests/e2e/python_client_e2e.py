"""Tests the Python package with a coordinator and a worker."""

import importlib.util
import os
import subprocess
import sys
import unittest

import harness
from certificates import Authority
from daemons import Coordinator, Worker
from harness import C1, Folder

HAS_GRPC = all(importlib.util.find_spec(name) for name in ("grpc", "google"))
MESSAGES = os.path.join(os.path.dirname(harness.BIN), "python")
if HAS_GRPC:
    sys.path[:0] = [MESSAGES, os.path.join(harness.SOURCE, "clients/python")]
    import tangram_client
    from tangram_client import BadInput, Client, Job, JobState, Progress

SMALL = dict(cluster=C1, nodes="t4=1,v100=1", model="gpt3-1.3b", layers=6,
             global_batch=32, parallelizer="uniform")
# Searches for minutes unless it is ended.
LONG = dict(cluster=C1, model="gpt3-13b", global_batch=128,
            effort=1_000_000_000, no_prune_redundant=True, no_early_stop=True)
TOKEN, OTHER_TOKEN, WORKER_TOKEN = (name * 4 for name in
                                    ("alice", "bobby", "wally"))
TOKENS = f"""{TOKEN},alice,team-a,plan
{OTHER_TOKEN},bob,team-b,plan
{WORKER_TOKEN},wally,,work
"""


def request(**options):
    return tangram_client.request(program=harness.TANGRAM, **options)


@unittest.skipUnless(HAS_GRPC,
                     "python3-grpcio or python3-protobuf is not installed")
class ServiceTest(Folder):

    def start(self, *arguments, worker=()):
        self.coordinator = Coordinator(*arguments)
        self.addCleanup(self.coordinator.end)
        self.worker = Worker(self.coordinator.address, "w", *worker)
        self.addCleanup(self.worker.end)

    def client(self, **options):
        client = Client(self.coordinator.address, **options)
        self.addCleanup(client.close)
        return client


class PlanTest(ServiceTest):

    def setUp(self):
        super().setUp()
        self.start()

    def test_plans_as_the_command_does(self):
        updates = []
        plan = self.client().plan(request(**SMALL), on_progress=updates.append)
        self.tangram("plan", "--cluster", C1, "--nodes", "t4=1,v100=1",
                     "--model", "gpt3-1.3b", "--layers", "6", "--global-batch",
                     "32", "--parallelizer", "uniform", "--quiet", "--output",
                     "plan.json")
        by_command = tangram_client.Plan.load(
            os.path.join(self.folder, "plan.json"))
        self.assertTrue(plan)
        self.assertEqual(plan.message.plan, by_command.message.plan)
        self.assertEqual(plan.iteration_time_s, by_command.iteration_time_s)
        self.assertTrue(all(isinstance(u, Progress) for u in updates))
        self.assertEqual(updates[-1].num_workers, 1)
        self.assertTrue(plan._repr_html_().startswith("<svg"))

        plan.save(os.path.join(self.folder, "saved.json"))
        self.assertIn("are the same plan",
                      self.tangram("diff", "plan.json", "saved.json"))
        again = self.client().plan(tangram_client.request_like(plan))
        self.assertEqual(again.message.plan, plan.message.plan)

    def test_answers_for_allocations_name_their_plans(self):
        client = self.client()
        whole = request(**{**SMALL, "nodes": None})
        asked = [{"t4": 1}, {"t4": 1, "v100": 1}]
        answers = list(client.frontier(whole, asked))
        self.assertCountEqual(
            [answer.nodes for answer in answers],
            [{"t4": 1, "v100": 0}, {"t4": 1, "v100": 1}])
        for answer in answers:
            self.assertTrue(answer.has_plan)
            plan = client.kept_plan(answer.plan_id)
            self.assertEqual(plan.iteration_time_s, answer.iteration_time_s)
        again = list(client.frontier(whole, asked))
        self.assertTrue(all(answer.from_cache for answer in again))
        with self.assertRaises(tangram_client.NotFound):
            client.kept_plan(bytes(32))
        for wrong, field in (([{"x": 1}], "allocations"),
                             ([{"t4": -1}], "allocations[0].nodes[0]"),
                             ([{"t4": 999}], "allocations[0].nodes[0]"),
                             ([{}], "allocations[0].nodes"),
                             ([{"t4": 1}] * 2, "allocations[1].nodes"),
                             ([], "allocations")):
            with self.assertRaises(tangram_client.BadInput) as caught:
                list(client.frontier(whole, wrong))
            self.assertEqual(caught.exception.field, field)

    def test_no_plan_fits_is_an_answer(self):
        plan = self.client().plan(request(
            cluster=C1, nodes="t4=1,v100=0", model="gpt3-175b", layers=96,
            global_batch=8, parallelizer="uniform"))
        self.assertFalse(plan)
        self.assertGreater(plan.infeasible.bytes_short, 0)

    def test_bad_input_names_the_field(self):
        with self.assertRaises(BadInput) as caught:
            request(**{**SMALL, "global_batch": 0})
        self.assertEqual(caught.exception.field, "--global-batch")
        self.write("bad.yaml", "groups:\n- {name: a, gpu: T4, nodes: 0}\n")
        with self.assertRaises(BadInput) as caught:
            request(**{**SMALL, "cluster": os.path.join(self.folder,
                                                        "bad.yaml")})
        self.assertTrue(caught.exception.field.endswith(
            "bad.yaml: groups[0].nodes"), caught.exception)

        message = request(**SMALL)
        message.cluster.nodes[0].num_gpus = 0
        with self.assertRaises(BadInput) as caught:
            self.client().plan(message)
        self.assertEqual(caught.exception.field, "cluster.nodes[0].num_gpus")

    def test_gives_up_in_time(self):
        with self.assertRaises(tangram_client.DeadlineExceeded):
            self.client().plan(request(**LONG), timeout_s=1)

    def test_a_coordinator_that_is_gone_is_unavailable(self):
        self.coordinator.end()
        with self.assertRaises(tangram_client.Unavailable):
            self.client().get("any")
        with self.assertRaises(tangram_client.Unavailable):
            self.client().plan(request(**SMALL))


class JobsTest(ServiceTest):

    def test_a_job_is_submitted_watched_and_found(self):
        self.start()
        client = self.client()
        job = client.submit(request(**SMALL), "nightly", priority=3)
        self.assertEqual((job.job_id, job.priority), ("nightly", 3))

        *updates, end = client.watch("nightly")
        self.assertTrue(updates)
        self.assertTrue(all(isinstance(u, Progress) for u in updates))
        self.assertIsInstance(end, Job)
        self.assertIs(end.state, JobState.SUCCEEDED)
        self.assertEqual(client.get("nightly").plan.message, end.plan.message)
        self.assertEqual(client.wait("nightly").message, end.plan.message)
        self.assertGreaterEqual(end.finished_s, end.submitted_s)

        # The same request returns the same job; another under its name is
        # refused.
        self.assertIs(client.submit(request(**SMALL), "nightly",
                                    priority=3).state, JobState.SUCCEEDED)
        with self.assertRaises(BadInput):
            client.submit(request(**{**SMALL, "layers": 8}), "nightly")
        self.assertEqual([job.job_id for job in client.list()], ["nightly"])
        self.assertEqual(list(client.list([JobState.RUNNING])), [])
        with self.assertRaises(tangram_client.NotFound):
            client.get("other")

    def test_a_job_is_cancelled(self):
        self.start()
        client = self.client()
        client.submit(request(**LONG), "long")
        client.cancel("long")
        with self.assertRaisesRegex(tangram_client.Cancelled, "long"):
            client.wait("long")
        self.assertIs(client.get("long").state, JobState.CANCELLED)


class SecuredTest(ServiceTest):

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_shows_token_and_certificate(self):
        authority = Authority(self.folder, "ca")
        cert, key = authority.issue("coordinator")
        self.write("tokens", TOKENS)
        self.write("alice", TOKEN + "\n")
        self.write("bob", OTHER_TOKEN + "\n")
        self.write("wally", WORKER_TOKEN + "\n")
        self.start(f"--tls_cert_file={cert}", f"--tls_key_file={key}",
                   f"--auth_tokens_file={self.path('tokens')}",
                   worker=(f"--tls_ca_file={authority.cert}",
                           f"--token_file={self.path('wally')}"))
        access = dict(tls_ca=authority.cert)
        alice = self.client(token_file=self.path("alice"), **access)
        alice.submit(request(**SMALL), "mine")
        self.assertTrue(alice.wait("mine"))

        bob = self.client(token_file=self.path("bob"), **access)
        self.assertEqual(list(bob.list()), [])
        with self.assertRaises(tangram_client.NotFound):
            bob.get("mine")
        with self.assertRaises(tangram_client.Denied):
            self.client(**access).get("mine")
        with self.assertRaises(tangram_client.Denied):
            self.client(token_file=self.path("wally"), **access).get("mine")
        with self.assertRaises(tangram_client.Unavailable):
            self.client(tls_ca=Authority(self.folder, "other").cert).get("mine")


class ExampleTest(ServiceTest):

    def test_compares_microbatches(self):
        self.start()
        environment = {**harness.environment(), "TANGRAM": harness.TANGRAM,
                       "PYTHONPATH": os.pathsep.join(sys.path[:2])}
        run = subprocess.run(
            ["/usr/bin/python3",
             os.path.join(harness.SOURCE, "examples/python/microbatches.py"),
             self.coordinator.address, C1, "gpt3-1.3b", "32", "best.svg"],
            cwd=self.folder, env=environment, capture_output=True, text=True,
            timeout=120, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertRegex(run.stdout, r"microbatch +\d+: +[\d.]+ s\n")
        self.assertTrue(self.read("best.svg").startswith("<svg"))


if __name__ == "__main__":
    harness.main()
