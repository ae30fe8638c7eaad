"""Runs deploy/slurm/tangram.sbatch on four nodes of a real Slurm."""

import json
import os
import re
import shutil
import tempfile
import unittest

import harness
import slurm_cluster
from certificates import Authority
from harness import C1, CLUSTER, JOB, SOURCE

SCRIPT = os.path.join(SOURCE, "deploy/slurm/tangram.sbatch")
RULES = os.path.join(SOURCE, "deploy/prometheus")
NODES = {"a1": ("a100", 8), "a2": ("a100", 8),
         "v1": ("v100", 4), "v2": ("v100", 4)}
# Takes a second of two workers.
LONGER = ["--cluster", C1, "--nodes", "t4=2,v100=2", "--model", "gpt3-6.7b",
          "--global-batch", "128", "--runtime", "any", "--parallelizer", "aceso"]


@slurm_cluster.needed
class SlurmServiceTest(harness.Folder):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.cluster = slurm_cluster.SlurmCluster(folder.name, NODES)
        cls.addClassCleanup(cls.cluster.close)

    def plan(self, name):
        plan = json.loads(self.read(name))
        # These tell the time, the process and the number of workers.
        del plan["provenance"], plan["notes"]
        return plan

    def on_login(self, *command, **environment):
        return self.cluster.run(*command, folder=self.folder, **environment)

    def serve(self, **environment):
        """Returns the job and the address of a service."""
        job = self.cluster.submit("--nodes=4", "--cpus-per-task=2", SCRIPT,
                                  folder=self.folder, METRICS_PORT="9090",
                                  **environment)
        address = f"tangram-{job}.address"
        self.cluster.wait(
            lambda: os.path.exists(os.path.join(self.folder, address)), job)
        return job, self.read(address).strip()

    def top(self, address, **environment):
        return self.on_login("tangram", "top", "--once", "--coordinator",
                             address, **environment)

    def workers(self, address, **environment):
        """Returns the nodes with workers."""
        return sorted(re.findall(r"^ *(\w+)-\d+ ",
                                 self.top(address, **environment),
                                 re.MULTILINE))

    def end(self, job):
        self.cluster.run("scancel", job)
        self.assertEqual(self.cluster.end_of(job), "CANCELLED")

    def assert_drained(self, job):
        log = self.read(f"slurm-{job}.out")
        self.assertEqual(log.count('"coordinator stopped"'), 1, log)
        self.assertEqual(log.count('"worker stopped"'), 4, log)

    def test_a_worker_that_is_killed_changes_no_plan(self):
        self.tangram("plan", *LONGER, "--quiet", "--output", "here.json")
        job, address = self.serve()
        self.cluster.wait(lambda: self.workers(address) == sorted(NODES),
                          "a worker on each node")
        service = ["--coordinator", address]
        self.on_login("tangram", "plan", *LONGER, *service, "--job", "a",
                      "--detach")
        self.cluster.wait(
            lambda: re.search("[1-9][0-9]* with workers", self.top(address)),
            "a query with a worker")
        self.cluster.run("pkill", "-KILL", "-x", "tangram-worker", on="v1")
        self.on_login("tangram", "job", "watch", "a", *service, "--output",
                      "there.json")
        self.assertEqual(self.plan("there.json"), self.plan("here.json"))
        self.assertEqual(self.workers(address), ["a1", "a2", "v2"])
        self.end(job)

    def test_cancelling_drains_the_daemons_and_leaves_nothing(self):
        job, address = self.serve()
        self.cluster.wait(lambda: self.workers(address) == sorted(NODES),
                          "a worker on each node")
        self.end(job)
        self.assert_drained(job)
        self.assertEqual(os.listdir(self.folder), [f"slurm-{job}.out"])
        for node in NODES:
            self.assertEqual(self.cluster.run("pgrep", "tangram", on=node,
                                              check=False), "")

    def test_plans_and_ends(self):
        self.tangram("plan", *CLUSTER, *JOB, "--quiet", "--output", "here.json")
        job = self.cluster.submit("--nodes=4", SCRIPT, "plan", *CLUSTER, *JOB,
                                  "--output", "there.json", folder=self.folder)
        self.assertEqual(self.cluster.end_of(job), "COMPLETED")
        self.assertEqual(self.plan("there.json"), self.plan("here.json"))
        self.assert_drained(job)
        job = self.cluster.submit("--nodes=4", SCRIPT, "plan", *CLUSTER,
                                  "--model", "x", "--global-batch", "8",
                                  folder=self.folder)
        self.assertEqual(self.cluster.end_of(job), "FAILED")

    def test_flags_bring_tls_and_tokens(self):
        authority = Authority(self.folder, "ca")
        # The first node of the job.
        cert, key = authority.issue("coordinator", san="DNS:a1")
        self.write("tokens.csv", "operator-operator,olga,,operate\n"
                                 "worker-worker-worker,wally,,work\n")
        self.write("olga", "operator-operator\n")
        self.write("wally", "worker-worker-worker\n")
        shown = {"TANGRAM_TLS_CA": authority.cert,
                 "TANGRAM_TOKEN_FILE": f"{self.folder}/olga"}
        job, address = self.serve(
            TANGRAM_COORDINATOR_FLAGS=f"--tls_cert_file={cert} "
            f"--tls_key_file={key}\n"
            f"--auth_tokens_file={self.folder}/tokens.csv",
            TANGRAM_WORKER_FLAGS=f"--tls_ca_file={authority.cert} "
            f"--token_file={self.folder}/wally", **shown)
        self.cluster.wait(
            lambda: self.workers(address, **shown) == sorted(NODES),
            "a worker on each node")
        with self.assertRaisesRegex(AssertionError, "cannot be reached"):
            self.top(address)
        with self.assertRaisesRegex(AssertionError, "authorization"):
            self.top(address, TANGRAM_TLS_CA=authority.cert)
        self.end(job)
        self.assert_drained(job)

    @unittest.skipUnless(shutil.which("prometheus"), "no prometheus")
    def test_prometheus_finds_coordinator_and_workers(self):
        shutil.copytree(RULES, f"{self.folder}/prometheus")
        configuration = self.read("prometheus/slurm.yml")
        self.assertIn("/srv/tangram/", configuration)
        self.write("prometheus/slurm.yml",
                   configuration.replace("/srv/tangram/", f"{self.folder}/"))
        job, _ = self.serve()
        self.cluster.start("prometheus", "--config.file=prometheus/slurm.yml",
                           "--storage.tsdb.path=data", folder=self.folder)
        expected = {f'{{job="tangram-coordinator-{job}"}}': 1,
                    '{job="tangram-worker"}': 4}
        self.cluster.wait(lambda: self.query("sum by (job) (up)") == expected,
                          "Prometheus")
        self.end(job)

    def query(self, expression):
        """Returns values by labels; nothing if Prometheus does not answer yet."""
        out = self.cluster.run("promtool", "query", "instant",
                               "http://localhost:9090", expression, check=False)
        return {labels: float(value) for labels, value in
                re.findall(r"^(\S+) => (\S+) @", out, re.MULTILINE)}


if __name__ == "__main__":
    harness.main()
