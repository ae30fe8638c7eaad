"""Checks manifests as kustomize renders them, alone and with each component.

Usage: kubernetes_test.py <repository root>

Needs kubectl, except for the rules. Fields are checked against Kubernetes's
schemas if the packages are installed: npm ci in this folder.
"""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

ROOT = pathlib.Path(sys.argv.pop(1))
sys.path.append(str(ROOT / "tests/testing"))
import report_skips  # noqa: E402
HERE = pathlib.Path(__file__).resolve().parent
BASE = ROOT / "deploy" / "kubernetes"
EXAMPLE = ROOT / "examples" / "kubernetes"
PROMETHEUS = ROOT / "deploy" / "prometheus"
ALL = ("tls", "postgres", "monitoring", "autoscaling")
# KEDA in the place of the other autoscaler.
ALL_BY_KEDA = ("tls", "postgres", "monitoring", "keda")
COMPONENTS = ((), *((name,) for name in ALL), ("tls", "postgres"),
              ("postgres", "tls"), ALL, ALL_BY_KEDA)

needs_kubectl = unittest.skipUnless(shutil.which("kubectl"), "no kubectl")


@functools.cache
def render(folder):
    return subprocess.run(
        ["kubectl", "kustomize", "--load-restrictor", "LoadRestrictionsNone",
         folder], check=True, capture_output=True, text=True, timeout=60).stdout


@functools.cache
def render_with(components):
    with tempfile.TemporaryDirectory() as folder:
        base = os.path.relpath(BASE, os.path.realpath(folder))
        names = [f"{base}/{name}" for name in components]
        (pathlib.Path(folder) / "kustomization.yaml").write_text(
            f"resources: [{base}]\ncomponents: [{', '.join(names)}]\n")
        return render(folder)


class Manifests:
    def __init__(self, text):
        self.objects = list(yaml.safe_load_all(text))

    def of(self, kind):
        return [o for o in self.objects if o["kind"] == kind]

    def labels_of_pods(self, kind):
        return self.of(kind)[0]["spec"]["template"]["metadata"]["labels"]

    def dialled(self):
        """Returns the host names of coordinators."""
        text = yaml.dump(self.objects, width=float("inf"))
        found = re.findall(r"(?:--coordinator=|TANGRAM_COORDINATOR: )(\S+)",
                           text)
        return {address.split(":")[0]
                for several in found for address in several.split(",")}


@needs_kubectl
class ComponentsTest(unittest.TestCase):
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
        objects = render_with(("postgres",))
        coordinators = ",".join(
            f"tangram-coordinator-{i}.tangram-coordinators:7070"
            for i in range(2))
        self.assertIn(f"--coordinator={coordinators}\n", objects)
        self.assertIn("serviceName: tangram-coordinators\n", objects)

    def test_the_certificate_has_the_names_that_are_dialled(self):
        names = re.findall(r"^DNS\.\d+ = (\S+)$",
                           (BASE / "tls" / "names.cnf").read_text(), re.M)
        dialled = set().union(*(Manifests(text).dialled() for text in (
            render_with(("tls",)), render_with(("tls", "postgres")),
            render(EXAMPLE))))
        self.assertEqual(len(dialled), 4)
        self.assertEqual(sorted(names), sorted(dialled))

    def test_objects_are_where_the_service_is(self):
        for o in Manifests(render_with(ALL)).objects:
            of = o["metadata"]
            self.assertEqual(of["labels"]["app.kubernetes.io/name"], "tangram")
            if o["kind"] != "Namespace":
                self.assertEqual(of.get("namespace"), "tangram", of["name"])

    def test_a_bare_cluster_knows_every_kind_of_the_base(self):
        for components in COMPONENTS:
            versions = {o["apiVersion"]
                        for o in Manifests(render_with(components)).objects}
            known = {"v1", "apps/v1", "policy/v1", "networking.k8s.io/v1"}
            if "monitoring" in components:
                known.add("monitoring.coreos.com/v1")
            if "autoscaling" in components:
                known.add("autoscaling/v2")
            if "keda" in components:
                known.add("keda.sh/v1alpha1")
            self.assertEqual(versions, known)


def selects(selector, labels):
    assert set(selector) <= {"matchLabels", "matchExpressions"}, selector
    for key, value in selector.get("matchLabels", {}).items():
        if labels.get(key) != value:
            return False
    for term in selector.get("matchExpressions", ()):
        assert term["operator"] == "In", term
        if labels.get(term["key"]) not in term["values"]:
            return False
    return True


def is_let_in(policies, pod, port, peer, is_neighbour):
    """Returns whether a peer, perhaps in another namespace, reaches the pod."""
    for policy in policies:
        spec = policy["spec"]
        if not selects(spec["podSelector"], pod):
            continue
        for rule in spec["ingress"]:
            ports = [allowed["port"] for allowed in rule["ports"]]
            if port in ports and any(
                    selects(allowed["podSelector"], peer) and
                    (is_neighbour or allowed.get("namespaceSelector") == {})
                    for allowed in rule["from"]):
                return True
    return False


@needs_kubectl
class NetworkTest(unittest.TestCase):
    def setUp(self):
        manifests = Manifests(render_with(()))
        self.policies = manifests.of("NetworkPolicy")
        self.coordinator = manifests.labels_of_pods("StatefulSet")
        self.worker = manifests.labels_of_pods("Deployment")

    def reaches(self, peer, pod, port, is_neighbour=False):
        return is_let_in(self.policies, pod, port, peer, is_neighbour)

    def test_prometheus_reads_metrics_only(self):
        # The operator sets these labels.
        prometheus = {"app.kubernetes.io/name": "prometheus",
                      "app.kubernetes.io/managed-by": "prometheus-operator"}
        self.assertTrue(self.reaches(prometheus, self.coordinator, "metrics"))
        self.assertTrue(self.reaches(prometheus, self.worker, "metrics"))
        self.assertFalse(self.reaches(prometheus, self.coordinator, "grpc"))

    def test_clients_of_other_namespaces_reach_the_coordinator_only(self):
        client = Manifests(render(EXAMPLE)).labels_of_pods("Job")
        self.assertTrue(self.reaches(client, self.coordinator, "grpc"))
        self.assertFalse(self.reaches(client, self.coordinator, "metrics"))
        self.assertFalse(self.reaches(client, self.worker, "metrics"))

    def test_workers_are_those_of_the_namespace(self):
        self.assertTrue(self.reaches(self.worker, self.coordinator, "grpc",
                                     is_neighbour=True))
        self.assertFalse(self.reaches(self.worker, self.coordinator, "grpc"))

    def test_others_reach_nothing(self):
        for peer in {}, {"app.kubernetes.io/name": "tangram"}:
            for pod in self.coordinator, self.worker:
                for port in "grpc", "metrics":
                    self.assertFalse(self.reaches(peer, pod, port, True))

    def test_workers_may_dial_coordinators(self):
        policy = next(p["spec"] for p in self.policies
                      if selects(p["spec"]["podSelector"], self.worker))
        to = policy["egress"][0]["to"][0]["podSelector"]
        self.assertTrue(selects(to, self.coordinator))


class RulesTest(unittest.TestCase):
    def test_rules_are_those_of_prometheus(self):
        config = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
        files = [yaml.safe_load((PROMETHEUS / name).read_text())
                 for name in config["rule_files"]]
        rules = Manifests((BASE / "monitoring" / "rules.yaml").read_text())
        self.assertEqual([o["spec"] for o in rules.of("PrometheusRule")], files,
                         "run scripts/kubernetes-rules")


@needs_kubectl
class MonitoringTest(unittest.TestCase):
    def setUp(self):
        self.manifests = Manifests(render_with(ALL))

    def test_every_pod_has_metrics_and_the_job_that_rules_know(self):
        monitor, = self.manifests.of("PodMonitor")
        for kind in "StatefulSet", "Deployment":
            template = self.manifests.of(kind)[0]["spec"]["template"]
            labels = template["metadata"]["labels"]
            self.assertTrue(selects(monitor["spec"]["selector"], labels))
            ports = [port["name"]
                     for port in template["spec"]["containers"][0]["ports"]]
            for endpoint in monitor["spec"]["podMetricsEndpoints"]:
                self.assertIn(endpoint["port"], ports)
        self.assertEqual(labels["app.kubernetes.io/component"], "worker")

    def test_workers_are_scaled_by_a_figure_that_is_recorded(self):
        scaler, = self.manifests.of("HorizontalPodAutoscaler")
        figure = scaler["spec"]["metrics"][0]["external"]["metric"]["name"]
        rule, = yaml.safe_load((BASE / "autoscaling" / "adapter.yaml")
                               .read_text())["externalRules"]
        self.assertEqual(rule["name"]["as"], figure)
        self.assertIn(rule["seriesQuery"], rule["metricsQuery"])
        # Otherwise the adapter asks for the namespace, which the record lacks.
        self.assertIs(rule["resources"]["namespaced"], False)
        records = [rule.get("record")
                   for rules in self.manifests.of("PrometheusRule")
                   for group in rules["spec"]["groups"]
                   for rule in group["rules"]]
        self.assertIn(rule["seriesQuery"], records)

    def test_only_one_says_how_many_workers_there_are(self):
        for components in COMPONENTS:
            worker, = Manifests(render_with(components)).of("Deployment")
            self.assertEqual("replicas" in worker["spec"],
                             not {"autoscaling", "keda"} & {*components})

    def test_keda_scales_the_workers_by_metrics_that_exist(self):
        manifests = Manifests(render_with(ALL_BY_KEDA))
        scaler, = manifests.of("ScaledObject")
        worker, = manifests.of("Deployment")
        self.assertEqual(scaler["spec"]["scaleTargetRef"]["name"],
                         worker["metadata"]["name"])
        sources = "".join(path.read_text() for path in
                          (ROOT / "coordinator" / "metrics").glob("*.cc"))
        records = (PROMETHEUS / "recording_rules.yml").read_text()
        for trigger in scaler["spec"]["triggers"]:
            query = trigger["metadata"]["query"]
            names = re.findall(r"[a-z:]*tangram_[a-z_:]+", query)
            self.assertTrue(names)
            for name in names:
                self.assertIn(f"record: {name}\n" if ":" in name
                              else f'"{name}"',
                              records if ":" in name else sources)
            if shutil.which("promtool"):
                with tempfile.NamedTemporaryFile("w", suffix=".yml") as rules:
                    yaml.safe_dump({"groups": [{"name": "keda", "rules": [
                        {"record": "keda", "expr": query}]}]}, rules)
                    rules.flush()
                    subprocess.run(["promtool", "check", "rules", rules.name],
                                   check=True, capture_output=True, timeout=60)


@needs_kubectl
class KueueTest(unittest.TestCase):
    def setUp(self):
        self.manifests = Manifests(render_with(("kueue",)))
        self.pod = next(
            d for d in self.manifests.of("Deployment")
            if d["metadata"]["name"] == "tangram-kueue")["spec"]["template"]

    def test_its_arguments_are_those_of_the_program(self):
        sys.path.append(str(ROOT / "clients/python"))
        from tangram_schedulers.kueue.__main__ import _parser
        container, = self.pod["spec"]["containers"]
        self.assertEqual(container["args"][:3],
                         ["python3", "-m", "tangram_schedulers.kueue"])
        options = _parser().parse_args(container["args"][3:])
        cluster, = self.manifests.of("ConfigMap")
        groups = yaml.safe_load(cluster["data"]["cluster.yaml"])["groups"]
        self.assertEqual({g["name"]: g["gpus_per_node"] for g in groups},
                         dict(dict(options.flavor).values()))
        volume, = self.pod["spec"]["volumes"]
        self.assertEqual(volume["configMap"]["name"],
                         cluster["metadata"]["name"])

    def test_it_may_do_what_it_does_and_no_more(self):
        role, = self.manifests.of("ClusterRole")
        may = {(resource, verb) for rule in role["rules"]
               for resource in rule["resources"] for verb in rule["verbs"]}
        self.assertEqual(may, {(r, v) for r in ("admissionchecks", "workloads")
                               for v in ("list", "watch")}
                         | {(f"{r}/status", "patch")
                            for r in ("admissionchecks", "workloads")})
        binding, = self.manifests.of("ClusterRoleBinding")
        account, = self.manifests.of("ServiceAccount")
        self.assertEqual(binding["subjects"][0]["name"],
                         account["metadata"]["name"])
        self.assertEqual(binding["subjects"][0]["namespace"],
                         account["metadata"]["namespace"])

    def test_it_reaches_the_coordinator(self):
        coordinator = self.manifests.labels_of_pods("StatefulSet")
        self.assertTrue(is_let_in(
            self.manifests.of("NetworkPolicy"), coordinator, "grpc",
            self.pod["metadata"]["labels"], is_neighbour=True))

    def test_the_check_is_of_the_controller(self):
        sys.path.append(str(ROOT / "clients/python"))
        from tangram_schedulers.kueue import controller
        check = yaml.safe_load((BASE / "kueue" / "check.yaml").read_text())
        self.assertEqual(check["spec"]["controllerName"], controller.CONTROLLER)
        self.assertEqual(check["apiVersion"], controller.API_VERSION)


@needs_kubectl
@unittest.skipUnless(shutil.which("node"), "no node")
@unittest.skipUnless((HERE / "node_modules").is_dir(),
                     "no packages: run npm ci in tests/kubernetes")
class SchemasTest(unittest.TestCase):
    def test_fields_are_those_of_the_schemas(self):
        for objects in (render_with(ALL), render_with(ALL_BY_KEDA),
                        render_with(()), render(EXAMPLE)):
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
    report_skips.main(sys.argv[1:])
