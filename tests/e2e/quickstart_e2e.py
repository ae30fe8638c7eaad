"""Runs scripts/quickstart in a bare Debian that debootstrap makes from the
mirror of this machine. Its compiler, options and packages are not those of the
release, whose plan must be the same."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import bare_root
import harness


def plan_options():
    """The options that scripts/quickstart plans with."""
    with open(harness.SOURCE + "/scripts/quickstart", encoding="utf-8") as file:
        text = file.read().replace("\\\n", " ")
    line = next(line for line in text.splitlines() if "/tangram plan" in line)
    return line.partition("/tangram ")[2].split()


def without_times(path):
    """The plan in a file, and all that led to it but how long that took."""
    with open(path, encoding="utf-8") as file:
        plan = json.load(file)
    for part in (plan["provenance"], *plan["provenance"]["phases"]):
        del part["wall_s"]
    return plan


def made_here(folder, names):
    """What a clone would not have. web/build is a script."""
    made = {".git", "build", "node_modules"}
    return [name for name in names
            if name in made and os.path.isdir(os.path.join(folder, name))]


@unittest.skipIf(bare_root.why_not(), bare_root.why_not())
class QuickstartTest(bare_root.BareRootTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.make_root(cls.folder)
        shutil.copytree(harness.SOURCE, cls.root + "/src", symlinks=True,
                        ignore=made_here)

    def test_it_plans_in_a_bare_debian_as_the_release_does(self):
        printed = self.inside("/src/scripts/quickstart", timeout_s=3000)
        self.assertIn("iteration time", printed)
        self.assertIn("build/launch/launch.sh", printed)
        planned = f"{self.root}/src/build/plan.json"
        options = plan_options()
        path = os.path.join(self.folder, "plan.json")
        options[options.index("--output") + 1] = path
        run = subprocess.run(
            [harness.TANGRAM, *options], cwd=harness.SOURCE,
            capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(run.returncode, harness.OK, run.stderr)
        self.assertEqual(without_times(planned), without_times(path))
        self.inside("cmake", "--install", "/src/build/quickstart")
        self.inside("tangram", "--version")


if __name__ == "__main__":
    harness.main()
