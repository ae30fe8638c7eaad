"""Installs the Debian packages with apt in a root that debootstrap makes from
the mirror of this machine, and plans there: by the command, by the daemons as
their units start them, and by the Python client."""

import glob
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

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


def mirror():
    """The mirror of this Debian that apt uses, and the name of the release."""
    with open("/etc/os-release", encoding="utf-8") as file:
        codename = re.search(r"^VERSION_CODENAME=(\w+)", file.read(), re.M)[1]
    targets = subprocess.run(
        ["apt-get", "indextargets", "--format",
         "$(REPO_URI) $(CODENAME) $(COMPONENT)", "Created-By: Packages"],
        capture_output=True, text=True, check=True).stdout
    found = re.search(rf"^(\S+) {codename} main$", targets, re.M)
    return (found[1], codename) if found else None


def why_not():
    """Why no root can be made here, or None."""
    if os.geteuid():
        return "not root"
    for program, package in (("cpack", "cmake"), ("unshare", "util-linux"),
                             ("dpkg-shlibdeps", "dpkg-dev"),
                             ("debootstrap", "debootstrap")):
        if not shutil.which(program):
            return f"no {program} (package {package})"
    if not os.path.exists("/etc/debian_version"):
        return "no Debian, whose release the packages are for"
    if not mirror():
        return "apt has no mirror of this release"
    return None


@unittest.skipIf(why_not(), why_not())
class BareDebianTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = folder.name + "/root"
        address, codename = mirror()
        made = subprocess.run(
            ["debootstrap", "--variant=minbase", codename, cls.root, address],
            capture_output=True, text=True, check=False, timeout=900)
        if made.returncode:
            if "Failed getting release file" in made.stdout + made.stderr:
                raise unittest.SkipTest(f"{address} cannot be reached")
            raise AssertionError(made.stdout + made.stderr)
        for name, path in make_packages(folder.name + "/packages").items():
            shutil.copy(path, f"{cls.root}/tmp/{name}.deb")
        shutil.copy(C1, cls.root + "/tmp/c1.yaml")

    def command(self, *arguments):
        """A command in the root, with the processes of its own."""
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child",
                f"--mount-proc={self.root}/proc", "chroot", self.root,
                "/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
                "DEBIAN_FRONTEND=noninteractive", *arguments]

    def inside(self, *arguments):
        run = subprocess.run(self.command(*arguments), capture_output=True,
                             text=True, check=False, timeout=900,
                             stdin=subprocess.DEVNULL)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout + run.stderr

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
