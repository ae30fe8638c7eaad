"""Makes the Debian packages and installs them in a bare root, and makes the
wheel of the Python client and imports it."""

import ast
import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import harness
from harness import BIN, C1, SOURCE

BUILD = os.path.dirname(os.path.realpath(BIN))
PACKAGES = ["tangram", "tangram-coordinator", "tangram-worker",
            "python3-tangram"]
PYTHON = os.path.join(SOURCE, "clients/python")
# The Python packages promise this.
OLDEST_PYTHON = (3, 9)


def run(*command, **options):
    result = subprocess.run(command, text=True, capture_output=True,
                            check=False, timeout=300, **options)
    if result.returncode:
        raise AssertionError(f"{command}: {result.stdout}{result.stderr}")
    return result.stdout


def copy_with_libraries(path, root):
    """Copies a file, and the libraries and the loader that it needs."""
    listed = run("ldd", path) if path.endswith(".so") or os.access(
        path, os.X_OK) else ""
    for file in {path, *re.findall(r"(/\S+) \(0x", listed)}:
        target = root + file
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target):
            shutil.copy(os.path.realpath(file), target)


def make_packages(folder):
    """Makes the packages in a folder. Returns their paths by name."""
    # Less compression takes less time.
    run("cpack", "--config", os.path.join(BUILD, "CPackConfig.cmake"),
        "-B", folder, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip")
    return {os.path.basename(path).split("_")[0]: path
            for path in glob.glob(folder + "/*.deb")}


def bare_root(root):
    """What dpkg and its scripts need, and nothing of Tangram."""
    for program in ("/bin/sh", "/usr/bin/dpkg", "/usr/bin/dpkg-deb",
                    "/usr/bin/dpkg-split", "/usr/bin/tar", "/usr/bin/rm",
                    "/usr/bin/diff", "/sbin/ldconfig", "/sbin/start-stop-daemon"):
        copy_with_libraries(program, root)
    for folder in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "tmp", "etc",
                   "usr/local/sbin"):
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    for name in "status", "available":
        with open(os.path.join(root, "var/lib/dpkg", name), "w",
                  encoding="utf-8"):
            pass


@unittest.skipUnless(shutil.which("cpack") and shutil.which("dpkg-shlibdeps"),
                     "no cpack or no dpkg-dev")
class DebTest(harness.Folder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(made.cleanup)
        cls.debs = make_packages(made.name)

    def contents(self, name):
        return set(re.findall(r" \./(\S*[^/\s])$",
                              run("dpkg-deb", "-c", self.debs[name]), re.M))

    def test_packages_hold_what_is_theirs(self):
        self.assertEqual(sorted(self.debs), sorted(PACKAGES))
        everything = [self.contents(name) for name in PACKAGES]
        self.assertEqual(sum(map(len, everything)), len(set.union(*everything)))
        cli, coordinator, worker, python = everything
        self.assertIn("usr/share/tangram/runner/__main__.py", cli)
        self.assertTrue(any("man1/tangram-plan" in file for file in cli))
        for daemon, files in (("coordinator", coordinator), ("worker", worker)):
            self.assertIn(f"usr/bin/tangram-{daemon}", files)
            self.assertIn(f"usr/lib/systemd/system/tangram-{daemon}.service",
                          files)
        self.assertIn("usr/lib/python3/dist-packages/tangram_client/plans.py",
                      python)
        self.assertIn("usr/lib/python3/dist-packages/tangram/v1/plan_pb2.py",
                      python)
        for name in PACKAGES[:3]:
            depends = run("dpkg-deb", "-f", self.debs[name], "Depends")
            self.assertRegex(depends, r"libgrpc\+\+1\.51")
            self.assertNotIn("-dev", depends)

    @unittest.skipUnless(os.geteuid() == 0, "not root")
    def test_they_install_in_a_bare_root_and_plan_there(self):
        root = os.path.join(self.folder, "root")
        bare_root(root)
        # The libraries that the dependencies would bring.
        for program in "tangram", "tangram-coordinator", "tangram-worker":
            for file in re.findall(r"(/\S+) \(0x",
                                   run("ldd", os.path.join(BIN, program))):
                copy_with_libraries(file, root)
        for name, path in self.debs.items():
            shutil.copy(path, os.path.join(root, "tmp", name + ".deb"))
        inside = ["chroot", root]
        print(run(*inside, "/usr/bin/dpkg", "--force-depends", "--install",
                  *(f"/tmp/{name}.deb" for name in PACKAGES)))
        shutil.copy(C1, os.path.join(root, "tmp/c1.yaml"))
        run(*inside, "/usr/bin/tangram", "plan", "--cluster", "/tmp/c1.yaml",
            "--nodes", "t4=1,v100=1", *harness.MODEL, "--output",
            "/tmp/plan.json")
        self.assertTrue(os.path.getsize(os.path.join(root, "tmp/plan.json")))
        for daemon in "tangram-coordinator", "tangram-worker":
            run(*inside, f"/usr/bin/{daemon}", "--version")
        run(*inside, "/usr/bin/dpkg", "--force-depends", "--remove", *PACKAGES)
        self.assertFalse(glob.glob(root + "/usr/bin/tangram*"))

    def test_an_image_of_the_command_is_small(self):
        """What a container of the command alone would hold."""
        root = os.path.join(self.folder, "image")
        run("dpkg-deb", "-x", self.debs["tangram"], root)
        copy_with_libraries(os.path.join(root, "usr/bin/tangram"), root + "/x")
        for name in "doc", "man":
            shutil.rmtree(os.path.join(root, "usr/share", name))
        shutil.rmtree(root + "/x" + root)
        size = sum(os.path.getsize(os.path.join(folder, file))
                   for folder, _, files in os.walk(root) for file in files)
        print(f"image of the command: {size / 1e6:.1f} MB")
        self.assertLess(size, 80e6)


class WheelTest(harness.Folder):
    def test_sources_are_of_the_oldest_python(self):
        for path in glob.glob(PYTHON + "/tangram_*/*.py"):
            with open(path, encoding="utf-8") as file:
                ast.parse(file.read(), path, feature_version=OLDEST_PYTHON)

    def test_the_version_is_that_of_the_build(self):
        def version(name, pattern):
            with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
                return re.search(pattern, file.read())[1]
        self.assertEqual(
            version("clients/python/pyproject.toml", r'\nversion = "(.*)"'),
            version("CMakeLists.txt", r"project\(tangram VERSION (\S+)"))

    @unittest.skipUnless(os.path.isdir("/usr/lib/python3/dist-packages/wheel"),
                         "no python3-wheel")
    @unittest.skipUnless(os.path.isdir("/usr/lib/python3/dist-packages/pip"),
                         "no python3-pip")
    def test_the_wheel_draws_a_plan(self):
        sources = os.path.join(self.folder, "python")
        shutil.copytree(PYTHON, sources,
                        ignore=shutil.ignore_patterns("__pycache__", "tangram"))
        # `generate` finds the messages beside the folder of its own.
        run(os.path.join(PYTHON, "generate"), sources)
        environment = dict(os.environ, PYTHONPATH="", PIP_NO_CACHE_DIR="1")
        run("/usr/bin/python3", "-m", "pip", "wheel", "--no-deps", "--no-index",
            "--no-build-isolation", "-w", self.folder, sources, env=environment)
        [wheel] = glob.glob(self.folder + "/tangram_client-*-py3-none-any.whl")
        installed = os.path.join(self.folder, "installed")
        shutil.unpack_archive(wheel, installed, "zip")
        self.tangram("plan", *harness.CLUSTER, *harness.MODEL, "--quiet",
                     "--output", "plan.json")
        html = run("/usr/bin/python3", "-c",
                   "import sys, tangram_client, tangram_adapter\n"
                   "plan = tangram_client.Plan.load(sys.argv[1])\n"
                   "print(tangram_client.__file__, plan._repr_html_())\n",
                   os.path.join(self.folder, "plan.json"),
                   env=dict(environment, PYTHONPATH=installed))
        self.assertIn(installed, html)
        self.assertIn("<svg", html)
        self.assertIn("<table", html)


if __name__ == "__main__":
    harness.main()
