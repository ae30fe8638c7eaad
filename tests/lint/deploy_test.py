"""Tests that the files in deploy/ are well formed and fit the programs.

Usage: deploy_test.py <repository root>

Cases whose tool is not installed (promtool, systemd-analyze) skip with the
reason.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
sys.path.append(str(ROOT / "tests/testing"))
import report_skips  # noqa: E402
DEPLOY = ROOT / "deploy"
RULES = DEPLOY / "prometheus"
DASHBOARD = DEPLOY / "grafana" / "tangram.json"
# The daemons and the files that define their flags, besides those of both.
MAINS = {"tangram-coordinator": ROOT / "coordinator" / "main.cc",
         "tangram-worker": ROOT / "worker" / "main.cc"}
COMMON_FLAGS = ROOT / "common" / "daemon" / "daemon.cc"


def needs(tool):
    return unittest.skipUnless(shutil.which(tool), f"{tool} is not installed")


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          timeout=60, **options).stdout


def flags_of(main):
    return set(re.findall(r"ABSL_FLAG\(\s*[\w:<>]+(?:<[\w:]+>)?,\s*(\w+),",
                          main.read_text() + COMMON_FLAGS.read_text()))


class PrometheusTest(unittest.TestCase):
    @needs("promtool")
    def test_rules_pass_their_tests(self):
        for name in ("prometheus.yml", "slurm.yml"):
            run("promtool", "check", "config", RULES / name)
        run("promtool", "test", "rules", RULES / "alerts_test.yml")

    def test_every_alert_has_a_page_and_a_test(self):
        alerts = re.findall(r"- alert: (\w+)", "".join(
            file.read_text() for file in RULES.glob("*alerts.yml")))
        tests = (RULES / "alerts_test.yml").read_text()
        pages = {page.stem for page in (ROOT / "docs/playbook").glob("*.md")}
        self.assertTrue(alerts)
        self.assertEqual(pages, set(alerts))
        for alert in alerts:
            self.assertIn(alert, tests)

    def test_every_metric_exists(self):
        sources = "".join(
            path.read_text() for folder in ("coordinator", "worker", "common")
            for path in (ROOT / folder).rglob("*.cc"))
        # A name may be split over two lines.
        sources = re.sub(r'"\s*\n\s*"', "", sources)
        for rules in [*RULES.glob("*s.yml"), DASHBOARD]:
            for metric in re.findall(r"(?<![\w:])tangram_\w+",
                                     rules.read_text()):
                name = re.sub(r"_(bucket|sum|count)$", "", metric)
                self.assertIn(f'"{name}"', sources, rules.name)


def filled(expression):
    """Returns an expression with the values that Grafana fills in."""
    return (expression.replace("$job", ".*")
            .replace("$__rate_interval", "1m"))


class DashboardTest(unittest.TestCase):
    def setUp(self):
        self.panels = json.loads(DASHBOARD.read_text())["panels"]
        self.expressions = [filled(target["expr"]) for panel in self.panels
                            for target in panel.get("targets", [])]

    def test_panels_have_ids_and_places_of_their_own(self):
        ids = [panel["id"] for panel in self.panels]
        self.assertEqual(len(set(ids)), len(ids))
        taken = set()
        for panel in self.panels:
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                     for y in range(at["y"], at["y"] + at["h"])}
            self.assertTrue(at["x"] + at["w"] <= 24 and not cells & taken,
                            panel["title"])
            taken |= cells

    @staticmethod
    def promtool(action, content):
        # JSON is YAML.
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            json.dump(content, file)
            file.flush()
            run("promtool", action, "rules", file.name)

    @needs("promtool")
    def test_expressions_parse(self):
        self.assertTrue(self.expressions)
        self.promtool("check", {"groups": [{"name": "dashboard", "rules": [
            {"record": f"panel:{i}", "expr": expression}
            for i, expression in enumerate(self.expressions)]}]})

    @needs("promtool")
    def test_values_that_coordinators_share_count_once(self):
        # Values by panel and legend. Two coordinators of one service report 4,
        # and one of another service reports 1. Values that each service shares
        # give 4 + 1; values of each coordinator give 4 + 4 + 1.
        expected = {("Workers", "{{state}}"): 5, ("Workers", "lost"): 5,
                    ("Slots", "slots"): 5,
                    ("Slots", "queries with workers"): 9,
                    ("Jobs", "queued"): 5, ("Jobs", "running"): 9}
        said = {("a", "1"): 4, ("a", "2"): 4, ("b", "3"): 1}
        metrics = set()
        asked = []
        for panel in self.panels:
            for target in panel.get("targets", []):
                value = expected.pop(
                    (panel["title"], target["legendFormat"]), None)
                if value is None:
                    continue
                metrics |= set(re.findall(r"tangram_\w+", target["expr"]))
                asked.append({"expr": f"sum({filled(target['expr'])})",
                              "eval_time": "1m",
                              "exp_samples": [{"value": value}]})
        self.assertEqual(expected, {})
        self.promtool("test", {"tests": [{
            "interval": "15s", "promql_expr_test": asked,
            "input_series": [
                {"series": f'{metric}{{job="{job}", instance="{instance}"}}',
                 "values": f"0x2 {value}x2"}
                for metric in sorted(metrics)
                for (job, instance), value in said.items()]}]})


class SystemdTest(unittest.TestCase):
    @needs("systemd-analyze")
    def test_units_are_valid(self):
        with tempfile.TemporaryDirectory() as folder:
            copies = shutil.copytree(DEPLOY / "systemd",
                                     pathlib.Path(folder) / "systemd")
            for copy in copies.glob("*.service"):
                # Daemons need not be installed here.
                copy.write_text(re.sub(r"=/usr/bin/tangram-\w+", "=/bin/true",
                                       copy.read_text()))
                outcome = subprocess.run(
                    ["systemd-analyze", "verify", "--man=no", copy], timeout=60,
                    capture_output=True, text=True, check=False)
                problems = [line for line in outcome.stderr.splitlines()
                            if copy.name in line]
                self.assertEqual(problems, [])


class SlurmTest(unittest.TestCase):
    def test_script_parses(self):
        for script in (DEPLOY / "slurm" / "tangram.sbatch",
                       ROOT / "examples" / "slurm" / "train.sbatch"):
            run("bash", "-n", script)


class FlagsTest(unittest.TestCase):
    def test_daemons_are_given_flags_that_they_have(self):
        files = [path for path in DEPLOY.rglob("*") if path.is_file()]
        files.append(ROOT / "docker-compose.yml")
        seen = set()
        for path in files:
            # A command is one line, a YAML list below its program, or in the
            # folder of its unit.
            text = re.sub(r"\\\n|\n\s*- (?=--)", " ", path.read_text())
            text = re.sub('"TANGRAM_SECURITY_FLAGS=', path.parent.stem + " ",
                          text)
            for program, rest in re.findall(r"(tangram-\w+)([^\n]*)", text):
                if program not in MAINS:
                    continue
                known = flags_of(MAINS[program])
                for flag in re.findall(r"--(\w+)", rest):
                    seen.add(flag)
                    self.assertIn(flag, known, f"{path.name}: {program}")
        self.assertLessEqual({"drain_s", "token_file"}, seen)


if __name__ == "__main__":
    report_skips.main(sys.argv[1:])
