"""Tests the page that a coordinator serves over HTTP, by its sockets.

tests/browser looks at the page itself.
"""

import http.client
import json
import os
import re
import subprocess
import urllib.parse

import harness
from certificates import Authority
from daemons import Coordinator, Worker
from harness import BAD_INPUT, CLUSTER, Folder, JOB, LONG_JOB, OK

ALICE, BOB, OLGA, WALLY = (name * 4 for name in
                           ("alice", "bobby", "olga", "wally"))
TOKENS = f"""{ALICE},alice,team-a,plan
{BOB},bob,team-b,plan
{OLGA},olga,,operate
{WALLY},wally,,work
"""


class LivePage(Folder):

    def start(self, *arguments, worker=()):
        self.coordinator = Coordinator("--http=127.0.0.1:0", *arguments)
        self.addCleanup(self.coordinator.end)
        self.port = int(self.coordinator.wait_for(r"http_port=(\d+)")[1])
        self.worker = Worker(self.coordinator.address, "w", *worker)
        self.addCleanup(self.worker.end)

    def ask(self, path, method="GET", token=None, host=None):
        """Returns status, headers and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                timeout=30)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if host:
            headers["Host"] = host
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        result = answer.status, dict(answer.getheaders()), answer.read()
        connection.close()
        return result

    def json(self, path, **options):
        status, headers, body = self.ask(path, **options)
        self.assertEqual((status, headers["Content-Type"]),
                         (200, "application/json"), body)
        return json.loads(body)

    def submit(self, job_id, *job, options=()):
        self.tangram("plan", *CLUSTER, *job, "--coordinator",
                     self.coordinator.address, "--job", job_id, "--quiet",
                     *options)


class OpenTest(LivePage):

    def setUp(self):
        super().setUp()
        self.start()

    def test_the_page_runs_nothing_but_its_own_script(self):
        status, headers, body = self.ask("/")
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"], "text/html; charset=utf-8")
        self.assertEqual((headers["X-Content-Type-Options"],
                          headers["X-Frame-Options"],
                          headers["Cache-Control"]),
                         ("nosniff", "DENY", "no-store"))
        page = body.decode()
        self.assertTrue(page.startswith("<!doctype html>"))
        self.assertRegex(page, r"Content-Security-Policy\" content=\"default-src"
                         r" 'none';.*script-src 'sha256-\S+'; .*connect-src"
                         r" 'self'")
        self.assertNotRegex(page, r'(src|href)="?(http|/)')

    def test_says_how_the_coordinator_is_doing(self):
        status = self.json("/api/status")
        [worker] = status["workers"]
        self.assertEqual((worker["name"], worker["slots"]), ("w", 1))
        self.assertGreaterEqual(status["uptime_s"], 0)

    def test_lists_jobs_and_opens_their_plans(self):
        self.assertEqual(self.json("/api/jobs"), {"jobs": []})
        self.submit("nightly", *JOB, options=("--output", "plan.json"))
        [entry] = self.json("/api/jobs")["jobs"]
        self.assertEqual((entry["job"]["job_id"], entry["job"]["state"],
                          entry["progress"]), ("nightly", "SUCCEEDED", None))
        self.assertNotIn("result", entry["job"])
        about = entry["about"]
        self.assertEqual(
            {key: about[key] for key in about if key != "iteration_time_s"},
            {"model": "gpt3-1.3b (6 layers)", "cluster": "c1-compute-het",
             "num_gpus": 8, "global_batch_size": 32, "fits": True})
        self.assertEqual(
            about["iteration_time_s"],
            json.loads(self.read("plan.json"))["evaluation"]["iteration_time_s"])

        report = self.json("/api/reports/nightly")
        self.assertEqual(report["format_version"], "tangram.report/v1")
        self.tangram("report", "plan.json", "-o", "plan.html")
        data = re.search(r'id="data">(.*)</script>', self.read("plan.html"))[1]
        [shown], [expected] = report["plans"], json.loads(data)["plans"]
        self.assertEqual(shown["name"], "nightly")
        self.assertEqual(shown["plan"], expected["plan"])

    def test_shows_progress(self):
        self.tangram("plan", "--cluster", harness.C1, *LONG_JOB,
                     "--coordinator", self.coordinator.address, "--job", "long",
                     "--detach")
        progress = None
        for _ in range(600):  # Each answer takes a while.
            [entry] = self.json("/api/jobs")["jobs"]
            progress = entry["progress"]
            if progress is not None and progress["num_workers"] == 1:
                break
        self.assertEqual(entry["job"]["state"], "RUNNING")
        self.assertIn(progress["phase"],
                      ("QUEUED", "ISLANDS", "PROFILING", "ENUMERATION",
                       "SLICE_PLANS"))
        status, _, body = self.ask("/api/reports/long")
        self.assertEqual(status, 400)
        self.assertIn("expected one that succeeded",
                      json.loads(body)["message"])
        self.tangram("job", "cancel", "long", "--coordinator",
                     self.coordinator.address)

    def test_no_plan_fits_is_a_report(self):
        run = self.run_tangram(
            "plan", "--cluster", harness.C1, "--nodes", "t4=1,v100=0",
            "--model", "gpt3-175b", "--global-batch", "8", "--parallelizer",
            "uniform", "--coordinator", self.coordinator.address, "--job",
            "big")
        self.assertEqual(run.returncode, harness.NO_PLAN, run.stderr)
        [shown] = self.json("/api/reports/big")["plans"]
        self.assertNotIn("plan", shown)
        self.assertGreater(shown["infeasible"]["bytes_short"], 0)

    def test_answers_what_it_knows_and_only_that(self):
        for path in ("/api", "/index.html", "/../../etc/passwd", "/api/jobs/x",
                     "/%2e%2e/x"):
            self.assertEqual(self.ask(path)[0], 404, path)
        self.assertEqual(self.ask("/api/reports/nobody")[0], 404)
        for method in "POST", "PUT", "DELETE", "OPTIONS":
            self.assertEqual(self.ask("/api/jobs", method=method)[0], 405)
        status, headers, body = self.ask("/", method="HEAD")
        self.assertEqual((status, body), (200, b""))
        self.assertGreater(int(headers["Content-Length"]), 1000)

    def test_other_sites_cannot_stand_for_this_machine(self):
        self.assertEqual(self.ask("/api/jobs", host="evil.example")[0], 403)
        self.assertEqual(self.ask("/", host="evil.example:80")[0], 403)
        self.assertEqual(self.ask("/api/jobs", host="unix:evil.example")[0],
                         403)
        self.assertEqual(self.ask("/api/jobs", host="localhost:80")[0], 200)


class SecuredTest(LivePage):

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_callers_see_what_is_theirs(self):
        self.write("tokens", TOKENS)
        for name, token in (("alice", ALICE), ("wally", WALLY)):
            self.write(name, token + "\n")
        self.start(f"--auth_tokens_file={self.path('tokens')}",
                   worker=(f"--token_file={self.path('wally')}",))
        self.submit("mine", *JOB, options=("--token-file", "alice"))

        self.assertEqual(self.ask("/")[0], 200)  # There are no data on it yet.
        for path in "/api/status", "/api/jobs", "/api/reports/mine":
            status, headers, body = self.ask(path)
            self.assertEqual((status, headers["WWW-Authenticate"]),
                             (401, "Bearer"))
            self.assertNotIn(b"mine", body)
            self.assertEqual(self.ask(path, token="x" * 20)[0], 401)
            self.assertEqual(self.ask(path, token=WALLY)[0], 403)

        def names(token):
            return [entry["job"]["job_id"] for entry in
                    self.json("/api/jobs", token=token)["jobs"]]
        self.assertEqual((names(ALICE), names(BOB), names(OLGA)),
                         (["mine"], [], ["team-a/mine"]))
        # Workers belong to no tenant.
        self.assertEqual(self.ask("/api/status", token=ALICE)[0], 403)
        self.assertEqual(len(self.json("/api/status", token=OLGA)["workers"]),
                         1)
        self.assertEqual(len(
            self.json("/api/reports/mine", token=ALICE)["plans"]), 1)
        name = urllib.parse.quote("team-a/mine", safe="")
        self.assertEqual(len(
            self.json(f"/api/reports/{name}", token=OLGA)["plans"]), 1)
        self.assertEqual(self.ask("/api/reports/mine", token=BOB)[0], 404)
        self.assertEqual(self.ask(f"/api/reports/{name}", token=BOB)[0], 404)

    def test_errors_and_the_record_are_those_of_grpc(self):
        self.write("tokens", TOKENS)
        self.write("wally", WALLY + "\n")
        audit = self.path("audit.log")
        self.start(f"--auth_tokens_file={self.path('tokens')}",
                   f"--audit_log={audit}",
                   worker=(f"--token_file={self.path('wally')}",))
        status, _, body = self.ask("/api/reports/nobody", token=ALICE)
        self.assertEqual((status, json.loads(body)["message"]),
                         (404, 'job_id: "nobody" is unknown'))
        self.ask("/api/reports/a%1b%0ab" + "c" * 1000, token=ALICE)
        with open(audit, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual(
            [line["target"] for line in lines],
            ["nobody", ("a? b" + "c" * 1000)[:253] + "..."])
        for line in lines:
            self.assertRegex(line["peer"], r"^ipv4:127\.0\.0\.1:\d+$")

    def refused(self, *arguments):
        run = subprocess.run(
            [os.path.join(harness.BIN, "tangram-coordinator"),
             "--listen=127.0.0.1:0", "--metrics=", "--state_dir=none",
             *arguments], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=60, check=False)
        return run.returncode, run.stderr

    def test_plain_text_does_not_leave_the_machine(self):
        self.write("tokens", TOKENS)
        code, log = self.refused(f"--auth_tokens_file={self.path('tokens')}",
                                 "--http=0.0.0.0:0")
        self.assertEqual(code, BAD_INPUT, log)
        self.assertIn("--http: 0.0.0.0:0: the page travels in plain text", log)
        cert, key = Authority(self.folder, "ca").issue("coordinator")
        code, log = self.refused(f"--tls_cert_file={cert}",
                                 f"--tls_key_file={key}", "--http=0.0.0.0:0")
        self.assertEqual(code, BAD_INPUT, log)

    def test_there_is_none_where_only_certificates_let_callers_in(self):
        cert, key = Authority(self.folder, "ca").issue("coordinator")
        code, log = self.refused(f"--tls_cert_file={cert}",
                                 f"--tls_key_file={key}",
                                 f"--tls_ca_file={cert}", "--http=127.0.0.1:0")
        self.assertEqual(code, BAD_INPUT, log)
        self.assertIn("expected --auth_tokens_file", log)

    def test_a_port_that_is_taken_is_said(self):
        self.start()
        code, log = self.refused(f"--http=127.0.0.1:{self.port}")
        self.assertNotEqual(code, OK)
        self.assertIn("cannot listen on", log)


class OffTest(Folder):

    def test_it_is_off(self):
        coordinator = Coordinator()
        self.addCleanup(coordinator.end)
        coordinator.wait_for(r"http_port=0\b")


if __name__ == "__main__":
    harness.main()
