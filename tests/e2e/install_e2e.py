"""Tests that `cmake --install` puts files where deploy/systemd expects them."""

import os
import re
import subprocess

import harness
from certificates import Authority
from daemon import Daemon
from harness import BIN, CLUSTER, Folder, JOB, SOURCE, UNAVAILABLE

UNITS = os.path.join(SOURCE, "deploy/systemd")
TOKEN = "worker-worker-worker"


def unit(name):
    with open(os.path.join(UNITS, name), encoding="utf-8") as file:
        return file.read()


def exec_start(name, credentials, **environment):
    """Returns the command of a service with its security.conf.

    Reads them as systemd does. Credentials are in a folder.
    """
    text = unit(f"{name}.service") + unit(f"{name}.service.d/security.conf")
    assert set(re.findall(r"^LoadCredential=(\S+):", text, re.MULTILINE)) == \
        set(os.listdir(credentials))
    # The last of two values of a variable counts.
    variables = dict(re.findall(r'"(\w+)=([^"]*)"', text)) | environment
    command = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)[1]
    command = re.sub(r"\$\{?(\w+)\}?", lambda m: variables[m[1]], command)
    return command.replace("%d", credentials).split()


class InstallTest(Folder):
    def setUp(self):
        super().setUp()
        self.root = os.path.join(self.folder, "root")
        subprocess.run(
            ["cmake", "--install", os.path.dirname(BIN), "--prefix", "/usr"],
            env=dict(os.environ, DESTDIR=self.root), check=True,
            stdout=subprocess.DEVNULL, timeout=120)

    def start(self, command):
        daemon = Daemon([self.root + command[0], *command[1:]])
        self.addCleanup(daemon.end)
        return daemon

    def credentials(self, name, files):
        folder = os.path.join(self.folder, name)
        os.mkdir(folder)
        for file, content in files.items():
            self.write(os.path.join(name, file), content)
        return folder

    def test_programs_of_units_exist_and_no_others(self):
        programs = {"tangram", "tangram-coordinator", "tangram-worker"}
        self.assertEqual(set(os.listdir(self.root + "/usr/bin")), programs)
        for name in programs - {"tangram"}:
            paths = re.findall(r"(?:ExecStart=|file:)(/\S+)",
                               unit(f"{name}.service"))
            self.assertEqual(len(paths), 2)
            for path in paths:
                self.assertTrue(os.path.isfile(self.root + path), path)

    def test_the_runner_is_found_beside_the_program(self):
        runner = self.root + "/usr/share/tangram/runner"
        self.assertEqual(sorted(os.listdir(runner)),
                         ["README.md", "__main__.py", "tangram_runner"])
        self.assertNotIn("__pycache__", [
            name for _, folders, _ in os.walk(runner) for name in folders])
        self.tangram("plan", *CLUSTER, *JOB, "--quiet", "--output", "plan.json")

        def message():
            return subprocess.run(
                [self.root + "/usr/bin/tangram", "run", "plan.json"],
                cwd=self.folder, text=True, capture_output=True, check=False,
                env=dict(os.environ, TANGRAM_PYTHON="/no/python"),
                timeout=120).stderr
        self.assertIn("TANGRAM_PYTHON: /no/python", message())
        os.rename(runner, runner + "-away")
        self.assertIn(f"the runner is missing: expected {runner}", message())

    def test_secured_services_work_and_refuse_plain_text(self):
        authority = Authority(self.folder, "ca")
        cert, key = authority.issue("coordinator")
        coordinator = self.start(exec_start(
            "tangram-coordinator",
            self.credentials("c", {
                "cert.pem": self.read(cert), "key.pem": self.read(key),
                "tokens.csv": f"{TOKEN},wally,,work\n"}),
            TANGRAM_COORDINATOR_FLAGS=
            "--listen=127.0.0.1:0 --metrics=127.0.0.1:0 --state_dir=none"))
        port = coordinator.wait_for(r"\bport\W+(\d+)")[1]
        self.fails(UNAVAILABLE, "cannot be reached", "health", "--coordinator",
                   f"127.0.0.1:{port}")
        worker = self.start(exec_start(
            "tangram-worker",
            self.credentials("w", {"ca.pem": self.read(authority.cert),
                                   "token": TOKEN}),
            TANGRAM_COORDINATOR=f"localhost:{port}",
            TANGRAM_WORKER_FLAGS="--metrics=127.0.0.1:0 --threads=1"))
        worker.wait_for("connected")


if __name__ == "__main__":
    harness.main()
