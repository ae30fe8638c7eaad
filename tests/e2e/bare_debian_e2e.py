"""Installs the Debian packages with apt in a root that debootstrap makes from
the mirror of this machine, and plans there: by the command, by the daemons as
their units start them, and by the Python client."""

import glob
import re
import shlex
import shutil
import tempfile
import unittest

import bare_root
import harness
from daemon import Daemon
from harness import C1
from packages_e2e import PACKAGES, make_packages

ROOT_OPTIONS = ["--cluster", "/tmp/c1.yaml", "--nodes", "t4=1,v100=1",
                *harness.MODEL]
CLIENT = """
from tangram_client import Client, request
with Client("{address}") as client:
    plan = client.plan(request(cluster="/tmp/c1.yaml", nodes="t4=1,v100=1",
                               model="gpt3-1.3b", layers=6, global_batch=32))
assert plan.iteration_time_s > 0
plan.save("/tmp/client.json")
"""


def why_not():
    """Why no root can be made here, or None."""
    return bare_root.why_not(("cpack", "cmake"),
                             ("dpkg-shlibdeps", "dpkg-dev"))


@unittest.skipIf(why_not(), why_not())
class BareDebianTest(bare_root.BareRootTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.make_root(folder.name)
        for name, path in make_packages(folder.name + "/packages").items():
            shutil.copy(path, f"{cls.root}/tmp/{name}.deb")
        shutil.copy(C1, cls.root + "/tmp/c1.yaml")

    def install(self, *packages):
        self.inside("apt-get", "install", "-y", "-qq",
                    "--no-install-recommends", *packages)

    def start(self, name, **changes):
        """Starts a daemon by the line of its unit, with settings that are those
        of /etc/default. Returns it."""
        with open(f"{self.root}/lib/systemd/system/{name}.service",
                  encoding="utf-8") as file:
            unit = file.read()
        settings = dict(
            setting.split("=", 1) for line in
            re.findall(r"^Environment=(.*)$", unit, re.M)
            for setting in shlex.split(line))
        settings.update(changes)
        line = re.search(r"^ExecStart=(.*)$", unit, re.M)[1]
        line = re.sub(r"\$\{?(\w+)\}?", lambda m: settings[m[1]], line)
        daemon = Daemon(self.command(*shlex.split(line)))
        self.addCleanup(daemon.end)
        return daemon

    def holds_plan(self, name):
        with open(f"{self.root}/tmp/{name}", encoding="utf-8") as file:
            self.assertIn("tangram.plan/v1", file.read())

    def test_packages_install_plan_and_go(self):
        self.inside("apt-get", "update", "-qq")
        self.install("/tmp/tangram.deb")
        self.inside("tangram", "plan", *ROOT_OPTIONS, "-o", "/tmp/plan.json")
        self.holds_plan("plan.json")

        self.install("/tmp/tangram-coordinator.deb", "/tmp/tangram-worker.deb",
                     "systemd")
        self.inside("systemd-analyze", "verify", *(
            f"/lib/systemd/system/tangram-{daemon}.service"
            for daemon in ("coordinator", "worker")))
        coordinator = self.start(
            "tangram-coordinator", TANGRAM_COORDINATOR_FLAGS=
            "--listen=127.0.0.1:0 --metrics= --state_dir=/tmp/state")
        address = "127.0.0.1:" + coordinator.wait_for(r"\bport\W+(\d+)")[1]
        worker = self.start("tangram-worker", TANGRAM_COORDINATOR=address,
                            TANGRAM_WORKER_FLAGS="--metrics=")
        worker.wait_for("connected")
        self.inside("tangram", "plan", *ROOT_OPTIONS, "--coordinator", address,
                    "-o", "/tmp/served.json")
        self.holds_plan("served.json")

        self.install("/tmp/python3-tangram.deb")
        self.inside("python3", "-c", CLIENT.format(address=address))
        self.holds_plan("client.json")

        self.inside("apt-get", "purge", "-y", "-qq", *PACKAGES)
        self.assertEqual([path for name in ("usr/bin/tangram*",
                                            "usr/share/tangram*",
                                            "usr/lib/systemd/system/tangram*",
                                            "usr/lib/python3/*/tangram*")
                          for path in glob.glob(f"{self.root}/{name}")], [])


if __name__ == "__main__":
    harness.main()
