"""Manifests as kustomize renders them, alone and with each component.

Usage: kubernetes_test.py <repository root>

Needs kubectl. Fields are checked against Kubernetes's schemas where the
packages are installed: npm ci in this folder.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
HERE = pathlib.Path(__file__).resolve().parent
BASE = ROOT / "deploy" / "kubernetes"
COMPONENTS = ([], ["tls"], ["postgres"], ["tls", "postgres"],
              ["postgres", "tls"])


def render(folder):
    return subprocess.run(
        ["kubectl", "kustomize", "--load-restrictor", "LoadRestrictionsNone",
         folder], check=True, capture_output=True, text=True, timeout=60).stdout


def render_with(components):
    with tempfile.TemporaryDirectory() as folder:
        base = os.path.relpath(BASE, os.path.realpath(folder))
        names = [f"{base}/{name}" for name in components]
        (pathlib.Path(folder) / "kustomization.yaml").write_text(
            f"resources: [{base}]\ncomponents: [{', '.join(names)}]\n")
        return render(folder)


@unittest.skipUnless(shutil.which("kubectl"), "no kubectl")
class KubernetesTest(unittest.TestCase):
    def test_tls_is_a_component(self):
        for components in COMPONENTS:
            objects = render_with(components)
            count = 2 if "tls" in components else 0
            self.assertEqual(objects.count("mountPath: /etc/tangram"), count)
            for flag in ("--tls_key_file=/etc/tangram/tls.key",
                         "--token_file=/etc/tangram/token"):
                self.assertEqual(flag in objects, "tls" in components)

    def test_several_coordinators_keep_nothing_of_their_own(self):
        for components in COMPONENTS:
            several = "postgres" in components
            objects = render_with(components)
            self.assertEqual("volumeClaimTemplates" in objects, not several)
            self.assertEqual("--state_dir=" in objects, not several)
            self.assertEqual("--database=postgresql://\n" in objects, several)
            self.assertEqual("name: coordinator-database" in objects, several)

    def test_workers_serve_every_coordinator(self):
        objects = render_with(["postgres"])
        coordinators = ",".join(
            f"tangram-coordinator-{i}.tangram-coordinators:7070"
            for i in range(2))
        self.assertIn(f"--coordinator={coordinators}\n", objects)
        self.assertIn("serviceName: tangram-coordinators\n", objects)

    @unittest.skipUnless(shutil.which("node"), "no node")
    @unittest.skipUnless((HERE / "node_modules").is_dir(),
                         "no packages: run npm ci in tests/kubernetes")
    def test_fields_are_those_of_the_schemas(self):
        for objects in (render_with(["tls", "postgres"]), render_with([]),
                        render(ROOT / "examples" / "kubernetes")):
            checked = self.check(objects)
            self.assertEqual(checked.returncode, 0, checked.stderr)
        wrong = self.check(objects.replace("backoffLimit", "backofLimit"))
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("'\"backofLimit\"' does not exist", wrong.stderr)

    def check(self, objects):
        return subprocess.run(["node", HERE / "validate.mjs"], input=objects,
                              capture_output=True, text=True, timeout=120,
                              check=False)


if __name__ == "__main__":
    unittest.main(verbosity=1)
