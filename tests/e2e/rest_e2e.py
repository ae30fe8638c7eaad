"""Tests REST with JSON, by curl as users call it."""

import contextlib
import http.client
import json
import os
import re
import select
import shutil
import socket
import ssl
import subprocess
import threading
import time
import unittest
import urllib.request

import harness
from certificates import Authority
from daemons import Coordinator, Worker
from harness import BIN, CLUSTER, Folder, JOB, LONG_JOB, C1

ALICE, BOB, OLGA, WALLY = (name * 4 for name in
                           ("alice", "bobby", "olga", "wally"))
TOKENS = f"""{ALICE},alice,team-a,plan
{BOB},bob,team-b,plan
{OLGA},olga,,operate
{WALLY},wally,,work
"""


@unittest.skipUnless(shutil.which("curl"), "curl is not installed")
class RestTest(Folder):
    scheme = "http"

    def start(self, *arguments):
        self.coordinator = Coordinator("--rest=127.0.0.1:0", *arguments)
        self.addCleanup(self.coordinator.end)
        port = self.coordinator.wait_for(r"rest_port\W+(\d+)")[1]
        self.url = f"{self.scheme}://127.0.0.1:{port}"

    def curl(self, *arguments):
        """Returns the status and the answer of a request."""
        run = subprocess.run(
            ["curl", "--silent", "--show-error", "--max-time", "60",
             "--noproxy", "*", "--write-out", "\n%{http_code}", *arguments],
            cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        body, _, status = run.stdout.rpartition("\n")
        return int(status), body

    def ask(self, method, path, body=None, token=None):
        arguments = ["-X", method, self.url + path]
        if method != "GET":
            arguments += ["-H", "Content-Type: application/json"]
        if body is not None:
            arguments += ["--data", body if isinstance(body, str)
                          else json.dumps(body)]
        if token:
            arguments += ["-H", f"Authorization: Bearer {token}"]
        status, answer = self.curl(*arguments)
        return status, json.loads(answer)

    def error(self, *arguments, **more):
        status, answer = self.ask(*arguments, **more)
        return status, answer["error"]["status"], answer["error"]["message"]

    def plan_request(self, *options):
        self.tangram("plan", *(options or (*CLUSTER, *JOB)), "--request",
                     "request.json")
        return json.loads(self.read("request.json"))


class OpenTest(RestTest):
    def setUp(self):
        super().setUp()
        # With room for several large requests at once, however slow they are.
        self.start("--worker_wait_s=1", "--max_requests_mb=2048",
                   "--max_requests_mb_per_tenant=2048")

    def test_a_plan_is_that_of_the_command(self):
        worker = Worker(self.coordinator.address, "w")
        self.addCleanup(worker.end)
        self.plan_request()
        status, answer = self.curl(
            "-X", "POST", self.url + "/v1/plans", "-H",
            "Content-Type: application/json", "--data", "@request.json")
        self.assertEqual(status, 200)
        self.tangram("plan", *CLUSTER, *JOB, "--output", "plan.json",
                     "--coordinator", self.coordinator.address)
        by_command = json.loads(self.read("plan.json"))
        self.assertEqual(json.loads(answer)["plan"]["stages"],
                         by_command["plan"]["stages"])
        # The answer is a plan file.
        self.write("rest.json", answer)
        self.assertIn("are the same plan",
                      self.tangram("diff", "plan.json", "rest.json"))

    def test_tokens_of_odd_characters_are_refused(self):
        for token in "a\tb", "\u00e9":
            status, code, _ = self.error("GET", "/v1/jobs", token=token)
            self.assertEqual((status, code), (401, "UNAUTHENTICATED"))
        self.assertEqual(self.ask("GET", "/v1/jobs")[0], 200)

    def test_large_bodies_hold_up_no_small_request(self):
        """Each takes a second or two to parse."""
        large = '{"cluster":{"nodes":[' + "{}," * 1_500_000 + "{}]}}"
        self.write("large.json", large)
        ended = []

        def ask_much():
            ended.append(self.curl(
                "-X", "POST", self.url + "/v1/plans", "-H",
                "Content-Type: application/json", "--data", "@large.json")[0])

        threads = [threading.Thread(target=ask_much) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(0.5)  # Most of the bodies are there.
        for _ in range(4):
            self.assertEqual(self.ask("GET", "/v1/status")[0], 200)
        self.assertEqual(ended, [])
        for thread in threads:
            thread.join()
        self.assertEqual(set(ended), {400})

    def test_slow_connections_beside_calls_that_wait(self):
        """Together they are more than the server keeps."""
        count = 2300
        self.allow_open_files(2 * count)
        self.ask("POST", "/v1/jobs",
                 {"job_id": "a", "request": self.plan_request()})
        wait = (b"POST /v1/jobs/a:wait HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        port = int(self.url.rpartition(":")[2])
        slow = []
        for i in range(count):
            peer = socket.create_connection(("127.0.0.1", port))
            self.addCleanup(peer.close)
            peer.sendall(b"GET /v1/jobs HTTP/1.1\r\nX: " if i >= 500 else wait)
            slow += [peer] if i >= 500 else []
        ended = threading.Event()

        def send_a_byte_now_and_then():
            while not ended.wait(3):
                for peer in slow:
                    try:
                        peer.sendall(b"x")
                    except OSError:
                        pass

        sender = threading.Thread(target=send_a_byte_now_and_then)
        sender.start()
        try:
            status, _ = self.curl("--max-time", "20", self.url + "/v1/jobs")
        finally:
            ended.set()
            sender.join()
        self.assertEqual(status, 200)

    def test_jobs_are_submitted_changed_listed_and_deleted(self):
        request = self.plan_request()
        status, job = self.ask("POST", "/v1/jobs", {
            "job_id": "a", "request": request, "labels": {"run": "7"}})
        self.assertEqual((status, job["state"], job["labels"]),
                         (200, "QUEUED", {"run": "7"}))
        status, job = self.ask("PATCH", "/v1/jobs/a?update_mask=priority",
                               {"priority": 4})
        self.assertEqual((status, job["priority"]), (200, 4))
        status, page = self.ask(
            "GET", "/v1/jobs?filter=labels.run%20%3D%207&read_mask=job_id")
        self.assertEqual(page["jobs"], [{"job_id": "a"}])
        self.assertEqual(self.error("DELETE", "/v1/jobs/a")[:2],
                         (400, "FAILED_PRECONDITION"))
        status, job = self.ask("POST", "/v1/jobs/a:wait", {"timeout_s": 0.2})
        self.assertEqual(status, 200)
        self.assertIn(job["state"], ("QUEUED", "RUNNING"))
        self.ask("POST", "/v1/jobs/a:cancel")
        status, job = self.ask("POST", "/v1/jobs/a:wait", {})
        self.assertEqual((status, job["state"]), (200, "CANCELLED"))
        self.assertEqual(self.ask("DELETE", "/v1/jobs/a"), (200, {}))
        self.assertEqual(self.ask("GET", "/v1/jobs"),
                         (200, {"jobs": [], "next_page_token": ""}))

    def test_errors_are_those_of_googles_apis(self):
        status, answer = self.ask("GET", "/v1/jobs/nothing")
        error = answer["error"]
        self.assertEqual((status, error["code"], error["status"]),
                         (404, 404, "NOT_FOUND"))
        self.assertEqual(error["details"], [
            {"@type": "type.googleapis.com/google.rpc.ResourceInfo",
             "resourceType": "tangram.v1.Job", "resourceName": "nothing"}])
        request = self.plan_request()
        request["training"]["global_batch_size"] = 0
        status, answer = self.ask("POST", "/v1/plans", request)
        self.assertEqual(status, 400)
        violation = answer["error"]["details"][0]["fieldViolations"][0]
        self.assertEqual(violation["field"], "training.global_batch_size")
        status, answer = self.ask("POST", "/v1/plans", self.plan_request())
        self.assertEqual((status, answer["error"]["details"][0]["@type"]),
                         (503, "type.googleapis.com/google.rpc.RetryInfo"))

        status, answer = self.ask("PUT", "/v1/jobs", "{}")
        self.assertEqual((status, answer["error"]["code"],
                          answer["error"]["status"]),
                         (405, 405, "UNIMPLEMENTED"))
        large = os.path.join(self.folder, "large.json")
        with open(large, "wb") as file:
            file.write(b" " * (33 << 20))
        self.assertEqual(self.error("POST", "/v1/plans", f"@{large}")[:2],
                         (413, "INVALID_ARGUMENT"))
        for bad in "a%00b", "a%zz", "%ff", "a%":
            self.assertEqual(self.error("GET", f"/v1/jobs/{bad}")[:2],
                             (400, "INVALID_ARGUMENT"), bad)
        self.assertEqual(self.error("GET", "/v1/nothing")[0], 404)
        self.assertEqual(self.error("POST", "/v1/jobs", "{")[0], 400)
        self.assertEqual(self.error("GET", "/v1/jobs?page_size=x")[0], 400)
        self.assertEqual(self.error("GET", "/v1/jobs?colour=red")[0], 400)
        self.assertEqual(self.error("POST", "/v1/plans", "[" * 100000)[0], 400)

    def test_pages_of_other_sites_cannot_ask(self):
        status, _ = self.curl("-H", "Host: evil.example",
                              self.url + "/v1/jobs")
        self.assertEqual(status, 403)
        for kind in ("text/plain", "application/x-www-form-urlencoded",
                     "application/jsonp", "application/json-patch+json"):
            status, _ = self.curl("-X", "POST", "-H", f"Content-Type: {kind}",
                                  "--data", "{}", self.url + "/v1/jobs")
            self.assertEqual(status, 400)

    def test_a_client_that_goes_away_ends_its_plan(self):
        worker = Worker(self.coordinator.address, "w")
        self.addCleanup(worker.end)
        self.plan_request("--cluster", C1, *LONG_JOB)
        curl = subprocess.Popen(
            ["curl", "--silent", "--noproxy", "*", "-X", "POST", "-H",
             "Content-Type: application/json", "--data", "@request.json",
             self.url + "/v1/plans"], cwd=self.folder)
        self.coordinator.wait_for("plan started")
        curl.kill()
        curl.wait()
        self.coordinator.wait_for("plan (ended|failed).*[Cc]ancelled")

    def test_silent_connections_keep_nobody_out(self):
        host, port = self.url.split("//")[1].split(":")
        silent = [socket.create_connection((host, int(port)))
                  for _ in range(300)]
        self.addCleanup(lambda: [each.close() for each in silent])
        for each in silent[:100]:
            each.send(b"POST /v1/jobs HTTP/1.1\r\nContent-Length: 1000\r\n\r\n")
        self.assertEqual(self.ask("GET", "/v1/jobs")[0], 200)

    def test_it_stops_with_calls_under_way(self):
        self.ask("POST", "/v1/jobs", {"job_id": "a",
                                      "request": self.plan_request()})
        caller = http.client.HTTPConnection(self.url.split("//")[1], timeout=60)
        self.addCleanup(caller.close)
        # The connection is served once it has had an answer.
        caller.request("GET", "/v1/jobs/a")
        self.assertEqual(caller.getresponse().read()[:1], b"{")
        caller.request("POST", "/v1/jobs/a:wait",
                       headers={"Content-Type": "application/json"})
        time.sleep(0.5)
        self.assertEqual(self.coordinator.end(15), 0)
        answer = caller.getresponse()
        self.assertEqual(answer.status, 503)
        self.assertEqual(answer.headers["Retry-After"], "1")
        self.assertIn(b'"status":"UNAVAILABLE"', answer.read())

    def test_json_may_name_its_encoding(self):
        status, _ = self.curl(
            "-X", "POST", "-H", "Content-Type: application/json; charset=utf-8",
            "--data", "{}", self.url + "/v1/jobs/nothing:cancel")
        self.assertEqual(status, 404)


class UnreadTest(RestTest):
    def setUp(self):
        super().setUp()
        self.start("--max_replies_mb=8", "--metrics=127.0.0.1:0")

    def num_unread(self):
        port = self.coordinator.wait_for(r"metrics_port\W+(\d+)")[1]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
            return int(re.search(r"tangram_unread_replies_total (\d+)",
                                 page.read().decode())[1])

    def test_answers_that_nobody_reads_end(self):
        request = self.plan_request()
        request["cluster"]["nodes"][0]["names"] = [
            f"node-{i}".ljust(200, "x") for i in range(30_000)]
        self.write("job.json", json.dumps({"job_id": "a", "request": request}))
        self.assertEqual(self.ask("POST", "/v1/jobs", "@job.json")[0], 200)
        host, port = self.url.split("//")[1].split(":")
        peers = []
        for _ in range(4):
            peer = socket.create_connection((host, int(port)), timeout=20)
            self.addCleanup(peer.close)
            peer.sendall(b"GET /v1/jobs/a?read_mask=request HTTP/1.1\r\n"
                         b"Host: localhost\r\n\r\n")
            self.assertTrue(peer.recv(1))
            time.sleep(1)
            peers.append(peer)
        self.assertGreaterEqual(self.num_unread(), 2)
        # The first one has ended, and not whole.
        count = 0
        with contextlib.suppress(ConnectionError):
            while part := peers[0].recv(1 << 20):
                count += len(part)
        self.assertLess(count, 6_000_000)
        # Callers who read have theirs.
        status, job = self.ask("GET", "/v1/jobs/a?read_mask=request")
        self.assertEqual(status, 200)
        self.assertEqual(len(job["request"]["cluster"]["nodes"][0]["names"]),
                         30_000)


class GreedyTest(RestTest):
    TENANTS = [f"greedy-{i}" for i in range(5)]

    def setUp(self):
        super().setUp()
        self.write("tokens.csv", TOKENS + "".join(
            f"{name * 3},{name},{name},plan\n" for name in self.TENANTS))
        self.start(f"--auth_tokens_file={self.folder}/tokens.csv")

    def submit_as_all(self):
        """Submits the job for which a crowd waits."""
        self.allow_open_files(6000)
        job = {"job_id": "a", "request": self.plan_request()}
        for name in self.TENANTS:
            self.assertEqual(
                self.ask("POST", "/v1/jobs", job, token=name * 3)[0], 200)

    def wait_as(self, name, count):
        """Returns connections with calls that wait for a job."""
        host, port = self.url.split("//")[1].split(":")
        peers = []
        for _ in range(count):
            peer = socket.create_connection((host, int(port)), timeout=20)
            self.addCleanup(peer.close)
            peer.sendall(b"POST /v1/jobs/a:wait?read_mask=state HTTP/1.1\r\n"
                         b"Host: localhost\r\nAuthorization: Bearer " +
                         (name * 3).encode() + b"\r\nContent-Type: "
                         b"application/json\r\nContent-Length: 2\r\n\r\n{}")
            peers.append(peer)
        return peers

    def plan_all_at_once(self, body):
        """Returns the statuses of the tenants' calls and the peak in MiB."""
        self.write("large.json", body)
        statuses = []

        def ask(name):
            statuses.append(self.ask("POST", "/v1/plans", "@large.json",
                                     token=name * 3)[0])

        threads = [threading.Thread(target=ask, args=(name,))
                   for name in self.TENANTS[:4]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pid = self.coordinator.process.pid
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            peak_kib = int(re.search(r"VmHWM:\s+(\d+)", file.read())[1])
        return statuses, peak_kib >> 10

    def test_large_bodies_of_several_tenants_take_bounded_memory(self):
        """Those that wait to be parsed take no more than their bytes."""
        keys = ",".join(f'"{i}":""' for i in range(1_000_000))
        statuses, peak = self.plan_all_at_once(
            '{"planner_options":{' + keys + "}}")
        self.assertEqual(statuses, [400] * 4)
        self.assertLess(peak, 160)
        statuses, peak = self.plan_all_at_once(
            '{"cluster":{"nodes":[' + "{}," * 5_000_000 + "{}]}}")
        self.assertEqual(statuses, [429] * 4)
        self.assertLess(peak, 235)

    def test_calls_of_a_few_tenants_that_wait_keep_nobody_out(self):
        self.submit_as_all()
        first, *others = self.TENANTS
        peers = self.wait_as(first, 520)
        # Some are beyond its part, whichever the server took last.
        poll = select.poll()
        for peer in peers:
            poll.register(peer, select.POLLIN)
        by_fd = {peer.fileno(): peer for peer in peers}
        refused = by_fd[poll.poll(20_000)[0][0]]
        answer = http.client.HTTPResponse(refused)
        answer.begin()
        self.assertEqual((answer.status, answer.headers["Retry-After"]),
                         (429, "5"))
        error = json.loads(answer.read())["error"]
        self.assertEqual(error["status"], "RESOURCE_EXHAUSTED")
        self.assertIn(f"tenant {first} has 512 requests under way",
                      error["message"])
        for name in others:
            self.wait_as(name, 512)
        started = time.time()
        self.assertEqual(self.ask("GET", "/v1/jobs", token=ALICE)[0], 200)
        self.assertLess(time.time() - started, 10)
        # Those that waited longest have their answers.
        answers = []
        for peer in peers[:20]:
            if peer is not refused:
                answer = http.client.HTTPResponse(peer)
                answer.begin()
                answers.append((answer.status, json.loads(answer.read())))
        self.assertTrue(
            {(200, "QUEUED"), (200, "RUNNING")} &
            {(status, body.get("state")) for status, body in answers}, answers)

    def test_waits_that_begin_again_at_once_keep_nobody_out(self):
        """While the coordinator looks, once a second, whose clients are gone."""
        self.submit_as_all()
        poll = select.epoll()
        waits = {}

        def wait_as(name):
            [peer] = self.wait_as(name, 1)
            waits[peer.fileno()] = peer, name
            poll.register(peer, select.EPOLLIN)

        for name in self.TENANTS:
            for _ in range(320):
                wait_as(name)
        num_answers = 0
        end = time.time() + 6
        while time.time() < end:
            for fileno, _ in poll.poll(1, 20):
                peer, name = waits.pop(fileno)
                poll.unregister(fileno)
                # In such a crowd, some connections end without an answer.
                with contextlib.suppress(ConnectionError):
                    num_answers += peer.recv(12) == b"HTTP/1.1 200"
                peer.close()
                wait_as(name)
        self.assertGreater(num_answers, 100)
        self.assertIsNone(self.coordinator.process.poll())
        self.assertEqual(self.ask("GET", "/v1/jobs", token=ALICE)[0], 200)


class SecuredTest(RestTest):
    scheme = "https"

    def setUp(self):
        super().setUp()
        self.write("tokens.csv", TOKENS)
        authority = Authority(self.folder, "ca")
        cert, key = authority.issue("coordinator")
        self.ca = authority.cert
        self.audit = os.path.join(self.folder, "audit.log")
        self.start(f"--auth_tokens_file={self.folder}/tokens.csv",
                   f"--tls_cert_file={cert}", f"--tls_key_file={key}",
                   f"--audit_log={self.audit}")

    def curl(self, *arguments):
        return super().curl("--cacert", self.ca, *arguments)

    def test_roles_and_tenants_are_those_of_grpc(self):
        self.assertEqual(self.error("GET", "/v1/jobs")[:2],
                         (401, "UNAUTHENTICATED"))
        self.assertEqual(self.error("GET", "/v1/jobs", token="x" * 20)[0], 401)
        # Two callers are none.
        self.assertEqual(self.curl(
            self.url + "/v1/jobs", "-H", f"Authorization: Bearer {ALICE}",
            "-H", f"Authorization: Bearer {BOB}")[0], 401)
        self.assertEqual(self.error("GET", "/v1/jobs", token=WALLY)[:2],
                         (403, "PERMISSION_DENIED"))
        self.assertEqual(self.error("GET", "/v1/workers", token=ALICE)[0], 403)
        self.assertEqual(self.ask("GET", "/v1/workers", token=OLGA)[0], 200)
        job = {"job_id": "a", "request": self.plan_request()}
        self.assertEqual(self.ask("POST", "/v1/jobs", job, token=ALICE)[0], 200)
        self.assertEqual(self.error("GET", "/v1/jobs/a", token=BOB)[0], 404)
        self.assertEqual(self.error("GET", "/v1/jobs/team-a/a",
                                    token=BOB)[0], 404)
        self.assertEqual(self.ask("GET", "/v1/jobs/team-a/a",
                                  token=OLGA)[1]["job_id"], "team-a/a")
        status, usage = self.ask("GET", "/v1/tenants/team-a:usage",
                                 token=ALICE)
        self.assertEqual((status, usage["unfinished_jobs"]), (200, 1))
        self.assertEqual(self.error("GET", "/v1/tenants/team-a:usage",
                                    token=BOB)[0], 403)
        self.assertEqual(self.error("POST", "/v1/tenants/team-a:erase", {},
                                    token=ALICE)[0], 403)
        self.assertEqual(self.ask("POST", "/v1/tenants/team-a:erase", {},
                                  token=OLGA), (200, {"jobs": "1"}))

    def test_the_audit_log_says_who_asked_from_where(self):
        self.ask("GET", "/v1/jobs/a", token=ALICE)
        # A line may follow the answer.
        while not self.read("audit.log"):
            time.sleep(0.01)
        self.ask("GET", "/v1/jobs", token="x" * 20)
        # Folded by caller: one hides no other.
        for token in (ALICE, BOB):
            self.error("GET", "/v1/workers", token=token)
        lines = [json.loads(line)
                 for line in self.read("audit.log").splitlines()]
        self.assertEqual([(line["message"], line["caller"], line["code"])
                          for line in lines],
                         [("/tangram.v1.Jobs/GetJob", "alice", "not_found"),
                          ("/tangram.v1.Jobs/ListJobs", "",
                           "unauthenticated"),
                          ("/tangram.v1.Workers/ListWorkers", "alice",
                           "permission_denied"),
                          ("/tangram.v1.Workers/ListWorkers", "bob",
                           "permission_denied")])
        for line in lines:
            self.assertRegex(line["peer"], r"^ipv4:127\.0\.0\.1:\d+$")

    def is_served_by(self, version):
        context = ssl.create_default_context(cafile=self.ca)
        # The library offers old versions only with old ciphers.
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = version
        host, port = self.url[len("https://"):].split(":")
        try:
            with socket.create_connection((host, int(port))) as peer:
                with context.wrap_socket(peer, server_hostname=host):
                    return True
        except (ssl.SSLError, ConnectionError):
            return False

    def test_old_versions_of_tls_are_refused(self):
        versions = ssl.TLSVersion
        self.assertEqual(
            [self.is_served_by(version) for version in
             (versions.TLSv1, versions.TLSv1_1, versions.TLSv1_2,
              versions.TLSv1_3)], [False, False, True, True])

    def test_tokens_do_not_travel_in_plain_text(self):
        run = subprocess.run(
            [os.path.join(BIN, "tangram-coordinator"), "--rest=0.0.0.0:0",
             "--listen=127.0.0.1:0", "--metrics=", "--state_dir=none",
             f"--auth_tokens_file={self.folder}/tokens.csv"],
            capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 2)
        self.assertIn("--rest: 0.0.0.0:0; expected --tls_cert_file", run.stderr)


if __name__ == "__main__":
    harness.main()
