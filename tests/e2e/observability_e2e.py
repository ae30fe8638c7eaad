"""Tests traces, metrics, logs and `tangram top` of real daemons."""

import json
import os
import re
import shutil
import subprocess
import urllib.request

import harness
from daemons import Coordinator, Worker
from harness import BAD_INPUT, CLUSTER, Folder, JOB, SOURCE

PHASES = {"islands", "profiling", "enumeration", "slice_plans", "composition",
          "evaluation"}


def otlp_spans(text):
    """Returns the spans. Checks each field by the protocol's definition."""
    request = json.loads(text)
    (resource,) = request["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    ids = set()
    for span in scope["spans"]:
        assert re.fullmatch("[0-9a-f]{32}", span["traceId"]), span
        assert re.fullmatch("[0-9a-f]{16}", span["spanId"]), span
        assert span["spanId"] not in ids
        assert span.get("parentSpanId") is None or span["parentSpanId"] in ids
        ids.add(span["spanId"])
        start, end = (int(span[f"{side}TimeUnixNano"])
                      for side in ("start", "end"))
        assert isinstance(span["startTimeUnixNano"], str)
        assert 1.6e18 < start <= end, span
        for attribute in span["attributes"]:
            (kind,) = attribute["value"]
            assert kind in ("stringValue", "intValue", "doubleValue",
                            "boolValue"), attribute
    return scope["spans"]


def chrome_spans(text):
    events = json.loads(text)["traceEvents"]
    for event in events:
        assert event["ph"] in "XM", event
        assert event["ph"] == "M" or event["dur"] >= 0, event
    return [event for event in events if event["ph"] == "X"]


def scrape(daemon):
    port = daemon.wait_for(r"metrics_port\W+(\d+)")[1]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics",
                                timeout=30) as page:
        return page.read().decode()


def names_in(page):
    return set(re.findall(r"^# TYPE (\w+)", page, re.MULTILINE))


def used_names():
    """Returns the metrics that rules and the dashboard name."""
    names = set()
    for path in ("prometheus/recording_rules.yml", "prometheus/alerts.yml",
                 "prometheus/presence_alerts.yml", "grafana/tangram.json"):
        with open(os.path.join(SOURCE, "deploy", path), encoding="utf-8") as f:
            names |= set(re.findall(r"(?<![\w:])tangram_\w+", f.read()))
    return {re.sub("_(bucket|sum|count)$", "", name) for name in names}


class LocalTraceTest(Folder):
    def test_planning_here_is_traced(self):
        self.tangram("plan", *CLUSTER, *JOB, "--quiet", "--trace", "t.json")
        names = {span["name"] for span in chrome_spans(self.read("t.json"))}
        self.assertLessEqual(PHASES | {"plan", "parallelize"}, names)
        self.tangram("plan", *CLUSTER, *JOB, "--quiet", "--trace", "t.json",
                     "--trace-format", "otlp")
        names = {span["name"] for span in otlp_spans(self.read("t.json"))}
        self.assertLessEqual(PHASES | {"plan", "parallelize"}, names)

    def test_a_call_of_a_coordinator_has_no_trace(self):
        self.fails(BAD_INPUT, "--job", "plan", *CLUSTER, *JOB, "--coordinator",
                   "127.0.0.1:1", "--trace", "t.json")


class ServiceTest(Folder):
    def setUp(self):
        super().setUp()
        self.coordinator = Coordinator("--metrics=127.0.0.1:0",
                                       "--log_format=json", "--log_level=debug")
        self.addCleanup(self.coordinator.end)
        self.at = ["--coordinator", self.coordinator.address]
        self.worker = Worker(self.coordinator.address, "w0",
                             "--metrics=127.0.0.1:0", "--log_level=debug")
        self.addCleanup(self.worker.end)

    def run_job(self, name):
        self.tangram("plan", *CLUSTER, *JOB, *self.at, "--job", name, "--quiet")

    def test_a_job_is_traced(self):
        self.run_job("a")
        chrome = chrome_spans(self.tangram("job", "trace", "a", *self.at))
        self.assertLessEqual(PHASES, {span["name"] for span in chrome})
        self.tangram("job", "trace", "a", *self.at, "--format", "otlp", "-o",
                     "a.json")
        spans = otlp_spans(self.read("a.json"))
        lanes = {attribute["value"]["stringValue"]
                 for span in spans for attribute in span["attributes"]
                 if attribute["key"] == "tangram.lane"}
        self.assertEqual(lanes, {"planner", "w0"})

    def test_logs_name_the_job_and_its_queries(self):
        self.run_job("b")
        self.coordinator.wait_for(r'"plan finished"[^\n]*"job":"b"')
        self.coordinator.wait_for(
            r'"query ended","job":"b","query":[1-9]\d*,"adapter"')
        for line in self.coordinator.log().splitlines():
            json.loads(line)
        self.worker.wait_for(r"query answered[^\n]* query=\d+")

    def test_counters_that_alerts_watch_begin_at_zero(self):
        page = scrape(self.coordinator)
        for state in "failed", "given_up":
            self.assertRegex(page, r'tangram_queries_total{adapter="aceso",'
                             rf'state="{state}"}} 0\n')
        for code in "ok", "internal", "unavailable":
            self.assertIn(f'tangram_plans_total{{code="{code}"}} 0\n', page)

    def test_metrics_follow_the_conventions_and_those_in_use_exist(self):
        self.run_job("c")
        pages = [scrape(self.coordinator), scrape(self.worker)]
        self.assertEqual(used_names() - names_in("\n".join(pages)), set())
        self.assertIn('tangram_rpc_requests_total{code="ok",'
                      'method="Jobs/SubmitJob"} 1', pages[0])
        self.assertIn('tangram_jobs_total{event="succeeded"} 1', pages[0])
        if shutil.which("promtool"):
            for page in pages:
                subprocess.run(["promtool", "check", "metrics"], input=page,
                               text=True, check=True, timeout=60)

    def test_top_shows_workers_and_jobs(self):
        self.run_job("d")
        shown = self.tangram("top", *self.at, "--once")
        self.assertRegex(shown, r"workers +1, 1 slot")
        self.assertRegex(shown, r"d +succeeded")
        self.assertRegex(shown, r"w0 +ready +1 +0 ")
        status = self.json_answer("top", *self.at)
        self.assertEqual(status["format_version"], "tangram.status/v1")
        worker, = status["workers"]
        self.assertEqual((worker["worker"], worker["state"], worker["slots"]),
                         ("w0", "ready", 1))
        self.assertIn({"job": "d", "state": "succeeded"}, status["jobs"])


if __name__ == "__main__":
    harness.main()
