"""Tests docker-compose.yml: three workers, of which one dies and one hangs.

Also with TLS and tokens. Needs a running Docker, docker-compose, and the
images of the file:

  docker-compose build && docker-compose pull prometheus

Otherwise skips with the reason. TANGRAM_SCREENSHOTS names a folder for
pictures of Prometheus, which need chromium.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import certificates
import harness
from harness import CLUSTER, JOB, SOURCE

IMAGES = ("tangram:dev", "prom/prometheus:v2.42.0")
SCREENSHOTS = os.environ.get("TANGRAM_SCREENSHOTS")
# Silent workers are lost after 25 s, rules are evaluated every 15 s, and a
# machine may be busy.
WAIT_S = 300
# Takes three workers some seconds on four islands.
PLAN = ["--cluster", f"{SOURCE}/deploy/clusters/c3-full-het.yaml", "--model",
        "gpt3-6.7b", "--global-batch", "128", "--runtime", "any",
        "--parallelizer", "aceso", "--effort", "4096"]


def succeeds(*command):
    return subprocess.run(command, capture_output=True, check=False,
                          timeout=60).returncode == 0


def why_not():
    for program in ("docker", "docker-compose"):
        if shutil.which(program) is None:
            return f"no {program}"
    if not succeeds("docker", "version"):
        return "no Docker daemon answers"
    for image in IMAGES:
        if not succeeds("docker", "image", "inspect", image):
            return f"no image {image}"
    return ""


class Project:
    """The services of compose files in a folder, on free ports."""

    def __init__(self, name, folder, *files):
        self._command = ["docker-compose", "-p", f"tangram-{name}-{os.getpid()}",
                         *(f"--file={file}" for file in files)]
        self._folder = folder

    def start(self, workers):
        self.compose("up", "-d", "--no-build", "--scale", f"worker={workers}")

    def end(self):
        self.compose("down", "-v", "-t", "1")

    def compose(self, *arguments):
        return subprocess.run(
            [*self._command, *arguments], cwd=self._folder,
            env=dict(os.environ, COORDINATOR_PORT="0", PROMETHEUS_PORT="0"),
            check=True, capture_output=True, text=True, timeout=300).stdout

    def address(self, service, port):
        return self.compose("port", service, str(port)).strip()

    def workers(self):
        return self.compose("ps", "-q", "worker").split()

    def docker(self, command, container):
        subprocess.run(["docker", command, container], check=True,
                       capture_output=True, timeout=60)


class Composed(harness.Folder):
    @classmethod
    def setUpClass(cls):
        if why_not():
            raise unittest.SkipTest(why_not())

    def start(self, project, workers):
        self.project = project
        self.addCleanup(project.end)
        project.start(workers)
        self.service = ["--coordinator", project.address("coordinator", 7070)]

    def wait(self, ready, what):
        deadline = time.monotonic() + WAIT_S
        while not ready():
            if time.monotonic() > deadline:
                self.fail(f"not so within {WAIT_S} s: {what}\n" +
                          self.project.compose("logs", "--tail=20"))
            time.sleep(0.2)

    def top(self):
        return self.run_tangram("top", "--once", *self.service).stdout

    def wait_for_workers(self, count):
        self.wait(lambda: re.search(fr"^workers +{count},", self.top(),
                                    re.MULTILINE), f"{count} workers")


class ComposeTest(Composed):
    def prometheus_answer(self, path):
        """Returns `data` of an answer of its API; empty before it is up."""
        try:
            with urllib.request.urlopen(f"{self.prometheus}/api/v1/{path}",
                                        timeout=10) as page:
                return json.load(page)["data"]
        except (urllib.error.URLError, ConnectionError):
            return {}

    def targets_up(self):
        return sorted(
            target["labels"]["job"] for target in
            self.prometheus_answer("targets").get("activeTargets", [])
            if target["health"] == "up")

    def firing(self):
        return [alert["labels"]["alertname"] for alert in
                self.prometheus_answer("alerts").get("alerts", [])
                if alert["state"] == "firing"]

    def screenshot(self, path, name):
        if not SCREENSHOTS:
            return
        with tempfile.TemporaryDirectory() as profile:
            subprocess.run(
                ["chromium", "--headless", "--no-sandbox", "--disable-gpu",
                 "--no-first-run", "--disable-background-networking",
                 "--disable-component-update", "--disable-sync",
                 f"--user-data-dir={profile}", "--window-size=1000,700",
                 "--virtual-time-budget=4000", "--hide-scrollbars",
                 f"--screenshot={os.path.abspath(SCREENSHOTS)}/{name}.png",
                 self.prometheus + path],
                check=True, capture_output=True, timeout=120)

    def plan(self, name):
        plan = json.loads(self.read(name))
        # These tell the time, the process and the number of workers.
        del plan["provenance"], plan["notes"]
        return plan

    def test_plans_go_on_and_prometheus_tells(self):
        self.start(Project("plain", SOURCE, "docker-compose.yml"), workers=3)
        self.prometheus = "http://" + self.project.address("prometheus", 9090)
        self.wait_for_workers(3)
        self.wait(lambda: self.targets_up() ==
                  ["tangram-coordinator"] + ["tangram-worker"] * 3, "targets")
        self.screenshot("/classic/targets", "prometheus-targets")
        self.plan_without_two_workers()
        self.lose_workers()
        self.wait(lambda: "TangramWorkersLost" in self.firing(), "an alert")
        self.screenshot("/classic/alerts", "prometheus-alerts")

    def plan_without_two_workers(self):
        self.tangram("plan", *PLAN, "--quiet", "--output", "here.json")
        killed, paused, third = self.project.workers()
        # A hanging worker delays the plan, however soon the rest is done.
        for worker in (paused, third):
            self.project.docker("pause", worker)
        self.tangram("plan", *PLAN, *self.service, "--job", "a", "--detach")
        self.wait(lambda: re.search("[1-9][0-9]* with workers", self.top()),
                  "a query with a worker")
        self.project.docker("kill", killed)
        self.assertIn("running",
                      self.tangram("job", "show", "a", *self.service))
        self.project.docker("unpause", third)
        self.tangram("job", "watch", "a", *self.service, "--output", "there.json")
        self.assertEqual(self.plan("there.json"), self.plan("here.json"))
        self.wait_for_workers(1)
        self.project.docker("unpause", paused)
        self.project.docker("start", killed)
        self.wait_for_workers(3)

    def lose_workers(self):
        """Loses five in all, which is more than the alert tolerates."""
        for worker in self.project.workers():
            self.project.docker("kill", worker)
        self.wait_for_workers(0)


class TlsTest(Composed):
    def test_plans_are_made_for_whom_the_coordinator_knows(self):
        for name in ("docker-compose.yml", "deploy/compose-tls.yml"):
            os.makedirs(os.path.dirname(f"{self.folder}/{name}"), exist_ok=True)
            shutil.copy(f"{SOURCE}/{name}", f"{self.folder}/{name}")
        shutil.copytree(f"{SOURCE}/deploy/prometheus",
                        f"{self.folder}/deploy/prometheus")
        self.make_secrets()
        self.start(Project("tls", self.folder, "docker-compose.yml",
                           "deploy/compose-tls.yml"), workers=1)
        self.service += ["--tls-ca", "secrets/ca.pem"]
        self.wait(lambda: "(healthy)" in self.project.compose("ps"), "healthy")
        plan = ["plan", *CLUSTER, *JOB, *self.service]
        self.tangram(*plan, "--token-file", "secrets/planner.token")
        refused = self.run_tangram(*plan, "--token-file",
                                   "secrets/worker.token")
        self.assertNotEqual(refused.returncode, harness.OK)
        self.assertIn("role", refused.stderr)

    def make_secrets(self):
        """Does what docs/security.md says. The container's user can read it."""
        authority = certificates.Authority(self.folder, "secrets")
        _, key = authority.issue(
            "cert", san="DNS:coordinator,DNS:localhost,IP:127.0.0.1")
        os.rename(key, f"{self.folder}/secrets/key.pem")
        for name, role in (("planner", "plan"), ("worker", "work")):
            token = name * 4
            self.write(f"secrets/{name}.token", token + "\n")
            with open(f"{self.folder}/secrets/tokens.csv", "a",
                      encoding="utf-8") as file:
                file.write(f"{token},{name},{'team' * (role == 'plan')},{role}\n")
        for name in os.listdir(f"{self.folder}/secrets"):
            os.chmod(f"{self.folder}/secrets/{name}", 0o644)
        os.chmod(self.folder, 0o755)


if __name__ == "__main__":
    harness.main()
