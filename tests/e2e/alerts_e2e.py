"""Fires alerts by the faults that they are for: Prometheus watches real daemons.

Rules are those of deploy/prometheus, without the time for which they wait.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest
import urllib.error
import urllib.request

import calls
import harness
from calls import Client, grpc
from certificates import Authority
from daemons import Coordinator, Worker
from harness import CLUSTER, Folder, SOURCE
from postgres import Postgres

PROMETHEUS = shutil.which("prometheus")
WORST_S = 120  # The machine may be busy.
TOKENS = {"plan": "planner" * 4, "work": "worker" * 4}
RULES = ("recording_rules.yml", "alerts.yml")
REFUSED = 150  # More than an alert bears in a quarter of an hour.


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@unittest.skipUnless(PROMETHEUS, "prometheus is not installed")
@unittest.skipUnless(grpc, calls.WHY_NOT)
class AlertsTest(Folder):
    def setUp(self):
        super().setUp()
        self.postgres = Postgres()
        self.addCleanup(self.postgres.close)
        self.write("tokens.csv", "".join(
            f"{token},{role},{'team' if role == 'plan' else ''},{role}\n"
            for role, token in TOKENS.items()))
        self.write("work", TOKENS["work"])
        self.ca = Authority(self.folder, "ca")
        # Certificates of the tests last two days: they expire within two weeks.
        self.cert, self.key = self.ca.issue("coordinator")
        self.port, self.metrics = free_port(), free_port()
        self.coordinator = None
        self.addCleanup(lambda: self.coordinator and self.coordinator.end())
        self.start_prometheus()

    def path(self, name):
        return os.path.join(self.folder, name)

    def start_coordinator(self):
        self.coordinator = Coordinator(
            f"--database={self.postgres.connection}",
            f"--metrics=127.0.0.1:{self.metrics}", "--max_jobs_per_tenant=1",
            f"--tls_cert_file={self.cert}", f"--tls_key_file={self.key}",
            f"--auth_tokens_file={self.path('tokens.csv')}",
            listen=f"127.0.0.1:{self.port}", state_dir=None)

    def start_prometheus(self):
        for name in RULES:
            with open(f"{SOURCE}/deploy/prometheus/{name}",
                      encoding="utf-8") as file:
                self.write(name, re.sub(r"for: \w+", "for: 0s", file.read()))
        self.write("prometheus.yml", json.dumps({
            "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms",
                       "evaluation_interval": "500ms"},
            "rule_files": [self.path(name) for name in RULES],
            "scrape_configs": [{
                "job_name": "tangram-coordinator",
                "static_configs": [
                    {"targets": [f"127.0.0.1:{self.metrics}"]}]}]}))
        port = free_port()
        self.prometheus_at = f"http://127.0.0.1:{port}"
        prometheus = subprocess.Popen(
            [PROMETHEUS, f"--config.file={self.path('prometheus.yml')}",
             f"--storage.tsdb.path={self.path('tsdb')}",
             f"--web.listen-address=127.0.0.1:{port}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(prometheus.wait)
        self.addCleanup(prometheus.kill)

    def ask(self, what):
        try:
            with urllib.request.urlopen(
                    f"{self.prometheus_at}/api/v1/{what}", timeout=10) as page:
                return json.load(page)["data"]
        except (urllib.error.URLError, ConnectionError):
            return {}

    def firing(self):
        return {alert["labels"]["alertname"]
                for alert in self.ask("alerts").get("alerts", [])
                if alert["state"] == "firing"}

    def await_alert(self, name, fires=True):
        deadline = time.monotonic() + WORST_S
        while (name in self.firing()) != fires:
            self.assertLess(time.monotonic(), deadline,
                            f"{name}: {self.firing()}")
            time.sleep(0.2)

    def await_scrapes(self, number=3):
        """Waits until Prometheus has seen the coordinator so often."""
        query = "query?query=count_over_time(up[1h])"
        def count():
            result = self.ask(query).get("result", [])
            return int(result[0]["value"][1]) if result else 0
        goal = count() + number
        deadline = time.monotonic() + WORST_S
        while count() < goal:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)

    def client(self, token):
        with open(self.ca.cert, "rb") as file:
            credentials = grpc.ssl_channel_credentials(file.read())
        channel = grpc.secure_channel(f"127.0.0.1:{self.port}", credentials)
        self.addCleanup(channel.close)
        return Client(channel, token)

    def submit(self, client, name):
        self.tangram("plan", *CLUSTER, "--model", "gpt3-1.3b", "--layers", "4",
                     "--global-batch", "16", "--runtime", "any", "--output",
                     "seed.json")
        from google.protobuf import json_format
        plan = json.loads(self.read("seed.json"))
        submit = calls.jobs.SubmitJobRequest(job_id=name)
        json_format.ParseDict(
            {key: plan[key] for key in ("cluster", "model", "training")},
            submit.request, ignore_unknown_fields=True)
        submit.request.parallelizer = "uniform"
        return [client.code("/tangram.v1.Jobs/SubmitJob", submit)[0]
                for submit.job_id in
                (f"{name}-{i}" for i in range(REFUSED))]

    def test_each_fault_fires_its_alert(self):
        self.start_coordinator()
        self.await_scrapes()
        self.await_alert("TangramCertificateExpires")
        self.await_alert("TangramNoWorkers")
        for name in ("TangramAuthenticationFails", "TangramTenantRefused",
                     "TangramWorkersLost", "TangramStoreFails",
                     "TangramRestarts", "TangramCoordinatorDown"):
            self.assertNotIn(name, self.firing())

        workers = [Worker(f"127.0.0.1:{self.port}", f"w{i}",
                          f"--tls_ca_file={self.ca.cert}",
                          f"--token_file={self.path('work')}")
                   for i in range(5)]
        self.await_alert("TangramNoWorkers", fires=False)
        for worker in workers:
            worker.end(signal.SIGKILL)
        self.await_alert("TangramWorkersLost")

        nobody = self.client("nobody's token at all")
        for _ in range(REFUSED):
            self.assertEqual(nobody.code("/tangram.v1.Jobs/ListJobs")[0],
                             grpc.StatusCode.UNAUTHENTICATED)
        self.await_alert("TangramAuthenticationFails")

        codes = self.submit(self.client(TOKENS["plan"]), "job")
        self.assertEqual(codes.count(grpc.StatusCode.RESOURCE_EXHAUSTED),
                         REFUSED - 1)
        self.await_alert("TangramTenantRefused")

        self.postgres.stop()
        self.await_alert("TangramStoreFails")
        self.postgres.start()

        for _ in range(4):
            self.coordinator.end()
            self.start_coordinator()
            self.await_scrapes()
        self.await_alert("TangramRestarts")
        self.await_alert("TangramCoordinatorDown", fires=False)
        self.coordinator.end()
        self.await_alert("TangramCoordinatorDown")


if __name__ == "__main__":
    harness.main()
