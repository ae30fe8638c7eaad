"""Tests the settings, changes and lists of jobs, webhooks, and what is kept of
tenants: by the command, the Python client and other languages' view of it."""

import base64
import contextlib
import hashlib
import hmac
import http.server
import importlib.util
import json
import os
import stat
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock

import harness
from daemons import BIN, Coordinator, Worker
from harness import BAD_INPUT, C1, CLUSTER, DEADLINE, Folder, JOB, LONG_JOB

HAS_GRPC = all(importlib.util.find_spec(name) for name in ("grpc", "google"))
WHY_NOT = "python3-grpcio or python3-protobuf is not installed"
if HAS_GRPC:
    sys.path[:0] = [os.path.join(os.path.dirname(harness.BIN), "python"),
                    os.path.join(harness.SOURCE, "clients/python")]
    import grpc
    import tangram_client
    from tangram_client import BadInput, Client, JobState

SMALL = dict(cluster=C1, nodes="t4=1,v100=1", model="gpt3-1.3b", layers=6,
             global_batch=32, parallelizer="uniform")
SECRET = "a secret of webhooks with at least 32 bytes"


def request(**options):
    return tangram_client.request(program=harness.TANGRAM,
                                  **{**SMALL, **options})


def eventually(holds):
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class ApiTest(Folder):
    more = ()

    def setUp(self):
        super().setUp()
        self.coordinator = Coordinator(*self.more,
                                       state_dir=f"{self.folder}/state")
        self.addCleanup(self.coordinator.end)
        self.on = ["--coordinator", self.coordinator.address]
        if HAS_GRPC:
            self.client = Client(self.coordinator.address)
            self.addCleanup(self.client.close)

    def add_worker(self):
        worker = Worker(self.coordinator.address, "w")
        self.addCleanup(worker.end)

    def submit(self, name, *more):
        self.tangram("plan", *CLUSTER, *JOB, *self.on, "--job", name,
                     "--detach", *more)

    def cancel(self, name):
        self.tangram("job", "cancel", name, *self.on)
        waited = self.run_tangram("job", "wait", name, *self.on)
        self.assertEqual(waited.returncode, harness.INTERRUPTED, waited.stderr)

    def names(self, *arguments):
        return [line.split()[0] for line in self.tangram(
            "job", "list", *self.on, *arguments).splitlines()[1:]]


class CommandTest(ApiTest):
    def test_jobs_are_labelled_changed_listed_and_deleted(self):
        self.submit("a", "--label", "run=7", "--label", "team=vision",
                    "--keep-days", "2")
        self.submit("b", "--priority", "3")
        self.assertIn("run=7 team=vision", self.tangram(
            "job", "list", *self.on))
        self.assertEqual(self.names("--filter", "labels.run = 7"), ["a"])
        self.assertEqual(self.names("--filter", "NOT labels:run"), ["b"])
        self.assertEqual(self.names("--order-by", "job_id"), ["a", "b"])
        self.assertEqual(self.names("--order-by", "priority desc"), ["b", "a"])
        self.fails(BAD_INPUT, "filter: \"colour\"; expected", "job", "list",
                   *self.on, "--filter", "colour = red")

        self.assertRegex(self.tangram(
            "job", "update", "a", *self.on, "--priority", "9", "--label",
            "run=8"), "job a: (queued|running)")
        self.assertEqual(self.names("--filter", "priority = 9"), ["a"])
        self.assertEqual(self.names("--filter", "labels.team = vision"), [])
        self.fails(BAD_INPUT, "nothing to change", "job", "update", "a",
                   *self.on)

        self.fails(BAD_INPUT, "has not ended", "job", "delete", "a", *self.on)
        self.cancel("a")
        self.assertIn("job a: queued", self.tangram("job", "retry", "a",
                                                    *self.on))
        self.cancel("a")
        self.tangram("job", "delete", "a", *self.on)
        self.assertEqual(self.names(), ["b"])
        self.fails(BAD_INPUT, "is unknown", "job", "delete", "a", *self.on)
        self.tangram("job", "delete", "a", *self.on, "--allow-missing")

    def test_a_job_waits_for_workers_and_its_waiter_gives_up(self):
        self.submit("a")
        self.coordinator.wait_for("job started")
        run = self.run_tangram("job", "wait", "a", *self.on, "--timeout", "1")
        self.assertEqual(run.returncode, DEADLINE, run.stderr)
        self.add_worker()
        self.assertIn("job a: succeeded",
                      self.tangram("job", "wait", "a", *self.on))

    def test_a_job_fails_at_its_deadline(self):
        self.add_worker()
        self.tangram("plan", "--cluster", C1, *LONG_JOB, *self.on, "--job", "a",
                     "--detach", "--deadline", "2")
        run = self.run_tangram("job", "wait", "a", *self.on)
        self.assertEqual(run.returncode, DEADLINE)
        self.assertIn("has not ended by its deadline", run.stderr)
        self.assertIn("job a: queued", self.tangram(
            "job", "retry", "a", *self.on, "--deadline", "1000"))

    def test_another_request_is_told_what_differs(self):
        self.submit("a")
        other = self.run_tangram(
            "plan", *CLUSTER, *["64" if word == "32" else word for word in JOB],
            *self.on, "--job", "a", "--detach")
        self.assertEqual(other.returncode, BAD_INPUT)
        self.assertIn("training.global_batch_size (32, now 64)", other.stderr)

    def test_the_same_request_with_other_settings_is_told_what_differs(self):
        self.submit("a", "--priority", "3", "--label", "run=7", "--deadline",
                    "500")
        self.submit("a", "--priority", "3", "--label", "run=7", "--deadline",
                    "500")
        other = self.run_tangram(
            "plan", *CLUSTER, *JOB, *self.on, "--job", "a", "--detach",
            "--label", "run=8", "--deadline", "5000")
        self.assertEqual(other.returncode, BAD_INPUT)
        for difference in ("priority (3, now 0)",
                           "labels ({run=7}, now {run=8})",
                           "timeout_s (500, now 5000)"):
            self.assertIn(difference, other.stderr)
        self.assertEqual(self.names("--filter", "labels.run = 7"), ["a"])

    def test_names_that_addresses_drop_are_refused(self):
        for name in ".", "..":
            self.fails(BAD_INPUT, "job_id", "plan", *CLUSTER, *JOB, *self.on,
                       "--job", name, "--detach")

    def test_every_command_has_a_json_answer(self):
        def ask(*arguments, code=harness.OK):
            return self.json_answer(*arguments, *self.on, code=code)

        def done(*arguments):
            answer = ask(*arguments)
            return (answer["done"], answer["what"], answer["count"],
                    answer.get("names"))

        names = ask("plan", *CLUSTER, *JOB, "--job", "a", "--detach",
                    "--prepare-node-loss")["names"]
        self.assertEqual((names[0], len(names)), ("a", 3))
        listed = [job["job"] for job in ask("job", "list")["jobs"]]
        self.assertEqual(sorted(listed), sorted(names))
        job, = ask("job", "update", "a", "--priority", "3")["jobs"]
        self.assertEqual((job["job"], job["priority"]), ("a", 3))
        job, = ask("job", "cancel", names[1])["jobs"]
        self.assertIn("cancelled", job["state"])
        self.add_worker()
        job, = ask("job", "wait", "a")["jobs"]
        self.assertEqual(job["state"], "succeeded")
        self.assertTrue(ask("job", "show", "a")["has_plan"])
        self.assertTrue(ask("job", "watch", "a")["has_plan"])
        job, = ask("job", "retry", names[1])["jobs"]
        self.assertEqual(job["job"], names[1])
        ask("job", "wait", names[1])
        ask("job", "wait", names[2])
        worker, = ask("worker", "list")["workers"]
        self.assertEqual(worker["worker"], "w")
        self.assertTrue(ask("health")["serves"])
        self.assertEqual(ask("top")["workers"][0]["worker"], "w")
        usage = ask("tenant", "usage")
        self.assertEqual(usage["ended_jobs"], {"has": 3, "limit": 10000})
        self.assertEqual(done("tenant", "export", "-o", "jobs.jsonl"),
                         ("exported", "job", 3, None))
        self.assertEqual(done("job", "delete", "a"),
                         ("deleted", "job", 1, ["a"]))
        self.assertEqual(usage["tenant"], "")

    def test_what_is_kept_of_a_tenant_is_exported(self):
        self.add_worker()
        self.submit("a")
        self.tangram("job", "wait", "a", *self.on)
        self.submit("b", "--label", "run=7")
        self.tangram("job", "wait", "b", *self.on)
        lines = self.tangram("tenant", "export", *self.on).splitlines()
        records = [json.loads(line) for line in lines]
        self.assertEqual([r["job"]["job_id"] for r in records], ["b", "a"])
        for record in records:
            self.assertIn("cluster", record["job"]["request"])
            self.assertIn("plan", record["job"]["result"])
            self.assertTrue(record["progress"])
        self.assertIn("exported 2 jobs", self.tangram(
            "tenant", "export", *self.on, "-o", "jobs.jsonl"))
        self.assertEqual(self.read("jobs.jsonl").splitlines(), lines)
        self.assertRegex(self.tangram("tenant", "usage", *self.on),
                         r"ended jobs +2 +10,000")
        self.fails(BAD_INPUT, "expected --yes", "tenant", "erase", "x",
                   *self.on)

    def test_nobody_else_reads_the_state(self):
        self.submit("a")
        state = os.path.join(self.folder, "state")
        modes = {name: stat.S_IMODE(os.stat(os.path.join(state, name)).st_mode)
                 for name in os.listdir(state)}
        self.assertIn("jobs.db", modes)
        self.assertEqual(set(modes.values()), {0o600}, modes)
        self.assertEqual(stat.S_IMODE(os.stat(state).st_mode), 0o700)

        # Those of earlier versions are taken away from others, too.
        self.coordinator.end()
        os.chmod(os.path.join(state, "jobs.db"), 0o644)
        self.coordinator = Coordinator(state_dir=state)
        self.addCleanup(self.coordinator.end)
        self.assertEqual(
            stat.S_IMODE(os.stat(os.path.join(state, "jobs.db")).st_mode),
            0o600)


class SliceTest(ApiTest):
    more = ("--max_concurrent_plans=1", "--job_slice_s=1")

    def test_a_long_job_makes_room_and_goes_on(self):
        self.add_worker()
        self.tangram("plan", "--cluster", C1, *LONG_JOB, *self.on, "--job",
                     "long", "--detach")
        self.coordinator.wait_for("job started")
        self.submit("short")
        self.assertIn("job short: succeeded",
                      self.tangram("job", "wait", "short", *self.on))
        self.coordinator.wait_for("job put back")
        eventually(lambda: self.names("--filter", "state = RUNNING AND "
                                      "attempts >= 2") == ["long"])


@unittest.skipUnless(HAS_GRPC, WHY_NOT)
class ClientTest(ApiTest):
    more = ("--max_ended_jobs_per_tenant=3", "--worker_wait_s=1")

    def test_everything_about_jobs_is_in_the_client(self):
        client = self.client
        job = client.submit(request(), "a", labels={"run": "7"}, deadline_s=500,
                            keep_s=60)
        self.assertEqual((job.labels, job.keep_s), ({"run": "7"}, 60))
        self.assertGreater(job.deadline_s, time.time())
        self.assertEqual(client.request_of("a"), request())
        with self.assertRaises(tangram_client.DeadlineExceeded):
            client.wait("a", timeout_s=0.2)
        changed = client.update("a", priority=5, labels={"run": "8"},
                                deadline_s=0)
        self.assertEqual((changed.priority, changed.labels, changed.deadline_s),
                         (5, {"run": "8"}, None))
        # A wrong clock of the caller changes nothing.
        clock = unittest.mock.Mock(wraps=time, time=lambda: 0)
        with unittest.mock.patch("tangram_client.client.time", clock):
            changed = client.update("a", deadline_s=500)
        self.assertGreater(changed.deadline_s, time.time() + 400)
        client.update("a", deadline_s=0)
        only = client.get("a", fields=["state", "labels"])
        self.assertEqual((only.job_id, only.labels), ("", {"run": "8"}))
        self.assertIsNone(client.get("a", fields=["labels"]).state)
        with self.assertRaises(BadInput) as caught:
            list(client.list(fields=["request"]))
        self.assertEqual(caught.exception.field, "read_mask")
        self.assertEqual([job.job_id for job in client.list(
            filter='labels.run = "8"', order_by="priority desc")], ["a"])
        client.cancel("a")
        eventually(lambda: client.get("a").state is JobState.CANCELLED)
        self.assertIs(client.retry("a").state, JobState.QUEUED)
        self.add_worker()
        self.assertTrue(client.wait("a", timeout_s=60))
        with self.assertRaises(BadInput):
            client.retry("a")
        usage = client.usage()
        self.assertEqual((usage.ended_jobs, usage.max_ended_jobs), (1, 3))
        self.assertGreater(usage.stored_bytes, 1000)
        records = list(client.export())
        self.assertEqual(records[0].job.job_id, "a")
        self.assertEqual(records[0].job.request, request())
        client.delete("a")
        client.delete("a", allow_missing=True)
        self.assertEqual(list(client.list()), [])

    def test_errors_have_details(self):
        with self.assertRaises(tangram_client.NotFound) as caught:
            self.client.get("nothing")
        self.assertEqual(caught.exception.resource, "nothing")
        with self.assertRaises(BadInput) as caught:
            self.client.submit(request(), "a", labels={"bad name": "x"})
        self.assertEqual(caught.exception.field, "labels")
        with self.assertRaises(BadInput) as caught:
            self.client.submit(request(), "a", webhook="https://example.org/")
        self.assertIn("--webhook_secret_file", str(caught.exception))
        with self.assertRaises(tangram_client.Unavailable) as caught:
            self.client.plan(request())
        self.assertEqual(caught.exception.retry_after_s, 1)

    def test_a_tenant_keeps_a_bounded_number_of_jobs(self):
        for i in range(3):
            self.client.submit(request(), f"job{i}")
            self.client.cancel(f"job{i}")
            eventually(lambda: self.client.get(f"job{i}").state.is_end)
        with self.assertRaises(tangram_client.Unavailable) as caught:
            self.client.submit(request(), "more")
        self.assertIn("--max_ended_jobs_per_tenant", str(caught.exception))
        # One that is queued again frees its place.
        self.assertIs(self.client.retry("job2").state, JobState.QUEUED)
        self.client.cancel("job2")
        eventually(lambda: self.client.get("job2").state.is_end)
        # Submitting one of them again takes no room.
        self.client.submit(request(), "job0")
        self.client.delete("job1")
        self.client.submit(request(), "more")

    def test_a_name_that_is_freed_at_that_moment_can_be_taken(self):
        requests = [request(), request(global_batch=64)]
        missing = []
        num_deleted = 0
        end = time.monotonic() + 5

        def submit(wanted):
            with Client(self.coordinator.address) as client:
                while time.monotonic() < end:
                    try:
                        client.submit(wanted, "a")
                    except tangram_client.NotFound as error:
                        missing.append(error)
                    except BadInput:
                        pass  # The other request has the name.

        threads = [threading.Thread(target=submit, args=(wanted,))
                   for wanted in requests]
        for thread in threads:
            thread.start()
        while time.monotonic() < end:
            with contextlib.suppress(BadInput):
                self.client.cancel("a")
                self.client.delete("a")
                num_deleted += 1
        for thread in threads:
            thread.join()
        self.assertEqual(missing, [])
        self.assertGreater(num_deleted, 10)

    def test_pages_survive_deletions_and_large_sizes(self):
        messages = importlib.import_module("tangram.v1.job_service_pb2")
        for i in range(3):
            self.client.submit(request(), f"job{i}")
            self.client.cancel(f"job{i}")
            eventually(lambda: self.client.get(f"job{i}").state.is_end)
        page = lambda **fields: self.client._call(
            "Jobs/ListJobs", messages.ListJobsRequest(**fields),
            messages.ListJobsResponse)
        first = page(page_size=1)
        self.assertEqual([job.job_id for job in first.jobs], ["job2"])
        self.client.delete("job2")
        second = page(page_size=1000000, page_token=first.next_page_token)
        self.assertEqual([job.job_id for job in second.jobs], ["job1", "job0"])
        self.assertEqual(second.next_page_token, "")
        for bad in (dict(page_size=-1),
                    dict(page_token=first.next_page_token, filter="priority=0"),
                    dict(page_token="job2")):
            with self.assertRaises(BadInput):
                page(**bad)

    def test_a_plan_is_made_anew_if_the_caller_says_so(self):
        self.add_worker()
        first = self.client.plan(request())
        again = self.client.plan(request())
        self.assertEqual(again.message.provenance, first.message.provenance)
        anew = self.client.plan(request(), skip_cache=True)
        self.assertNotEqual(anew.message.provenance, first.message.provenance)
        self.assertEqual(anew.message.plan, first.message.plan)

    def test_clients_that_know_less_are_understood(self):
        """Unknown fields are skipped, and absent ones have their defaults."""
        channel = grpc.insecure_channel(self.coordinator.address)
        self.addCleanup(channel.close)
        submit = channel.unary_unary("/tangram.v1.Jobs/SubmitJob")
        body = request().SerializeToString()
        old = b"\x0a\x03old" + b"\x12" + varint(len(body)) + body
        self.assertIn(b"old", submit(old))
        # Field 2047 of a later version.
        self.assertIn(b"old", submit(old + b"\xf8\x7f\x01"))
        listed = channel.unary_unary("/tangram.v1.Jobs/ListJobs")(b"")
        self.assertIn(b"old", listed)


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


class Receiver(http.server.BaseHTTPRequestHandler):
    """Keeps the events that it gets. Fails the first one."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.events.append((dict(self.headers), body))
        self.send_response(500 if len(self.server.events) == 1 else 204)
        self.end_headers()

    def log_message(self, *_):
        pass


class WebhookTest(ApiTest):
    def setUp(self):
        Folder.setUp(self)
        self.write("secret", SECRET + "\n")
        self.secret = f"--webhook_secret_file={self.folder}/secret"

    def start(self, *more):
        self.more = (self.secret, *more)
        ApiTest.setUp(self)

    def serve(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        server.events = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server, f"http://127.0.0.1:{server.server_port}/hook?a=b"

    def test_a_webhook_is_told_again_until_it_hears(self):
        server, url = self.serve()
        self.start("--webhook_allow_private")
        self.add_worker()
        self.submit("a", "--webhook", url)
        eventually(lambda: len(server.events) >= 2)
        (first, _), (second, body) = server.events[:2]
        event = json.loads(body)
        self.assertEqual(event["type"], "job.ended")
        self.assertEqual((event["job"]["job_id"], event["job"]["state"]),
                         ("a", "SUCCEEDED"))
        self.assertNotIn("result", event["job"])
        headers = {name.lower(): value for name, value in second.items()}
        self.assertEqual(headers["webhook-id"],
                         {n.lower(): v for n, v in first.items()}["webhook-id"])
        key = subprocess.run(
            [os.path.join(BIN, "tangram-coordinator"), self.secret,
             "--print_webhook_key=-"], check=True, capture_output=True,
            text=True).stdout.strip()
        self.assertTrue(key.startswith("whsec_"))
        signed = ".".join([headers["webhook-id"], headers["webhook-timestamp"],
                           body.decode()])
        digest = hmac.new(base64.b64decode(key[len("whsec_"):]),
                          signed.encode(), hashlib.sha256).digest()
        self.assertEqual(headers["webhook-signature"],
                         "v1," + base64.b64encode(digest).decode())
        time.sleep(1.2)  # Longer than the sender looks for the next.
        self.assertEqual(len(server.events), 2)

    def test_private_addresses_are_refused_by_default(self):
        server, url = self.serve()
        self.start()
        refused = self.run_tangram("plan", *CLUSTER, *JOB, *self.on, "--job",
                                   "a", "--detach", "--webhook", url)
        self.assertEqual(refused.returncode, BAD_INPUT)
        self.assertIn("webhook: ", refused.stderr)
        self.submit("b", "--webhook", url.replace("http:", "https:"))
        self.tangram("job", "cancel", "b", *self.on)
        self.coordinator.wait_for("a webhook has failed.*private network")
        self.assertEqual(server.events, [])

    def test_a_short_secret_is_refused(self):
        self.write("secret", "short")
        run = subprocess.run(
            [os.path.join(BIN, "tangram-coordinator"), self.secret,
             "--state_dir=none", "--listen=127.0.0.1:0", "--metrics="],
            capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 2)
        self.assertIn("--webhook_secret_file", run.stderr)


if __name__ == "__main__":
    harness.main()
