"""A bare Debian of the release of this machine, which debootstrap makes."""

import os
import re
import shutil
import subprocess
import unittest


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


def why_not(*programs):
    """Why no root can be made here, or a (program, package) is missing, or
    None."""
    if os.geteuid():
        return "not root"
    for program, package in (("unshare", "util-linux"),
                             ("debootstrap", "debootstrap"), *programs):
        if not shutil.which(program):
            return f"no {program} (package {package})"
    if not os.path.exists("/etc/debian_version"):
        return "no Debian, whose release the packages are for"
    if not mirror():
        return "apt has no mirror of this release"
    return None


class BareRootTest(unittest.TestCase):
    """A test with a root in `root`, which all of its cases share."""

    @classmethod
    def make_root(cls, folder):
        cls.root = folder + "/root"
        address, codename = mirror()
        made = subprocess.run(
            ["debootstrap", "--variant=minbase", codename, cls.root, address],
            capture_output=True, text=True, check=False, timeout=900)
        if made.returncode:
            if "Failed getting release file" in made.stdout + made.stderr:
                raise unittest.SkipTest(f"{address} cannot be reached")
            raise AssertionError(made.stdout + made.stderr)

    def command(self, *arguments):
        """A command in the root, with the processes of its own."""
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child",
                f"--mount-proc={self.root}/proc", "chroot", self.root,
                "/usr/bin/env", "-i",
                "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "DEBIAN_FRONTEND=noninteractive", *arguments]

    def inside(self, *arguments, timeout_s=900):
        run = subprocess.run(self.command(*arguments), capture_output=True,
                             text=True, check=False, timeout=timeout_s,
                             stdin=subprocess.DEVNULL)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout + run.stderr
