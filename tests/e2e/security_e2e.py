"""Tests what callers may do with a coordinator, and that nobody can listen in."""

import json
import os
import queue
import ssl
import subprocess
import time
import unittest
import urllib.request

import calls
import harness
from calls import Client, grpc
from certificates import Authority
from daemons import BIN, Coordinator, Worker
from harness import BAD_INPUT, CLUSTER, Folder, JOB, OK, UNAVAILABLE

PLAN, OPERATE, WORK = {"plan"}, {"operate"}, {"work"}
# From method to the roles that may call it.
ROLES = {
    "/tangram.v1.Planner/Plan": PLAN,
    "/tangram.v1.Frontiers/Frontier": PLAN,
    "/tangram.v1.Jobs/SubmitJob": PLAN,
    "/tangram.v1.Jobs/GetJob": PLAN | OPERATE,
    "/tangram.v1.Jobs/WatchJob": PLAN | OPERATE,
    "/tangram.v1.Jobs/ListJobs": PLAN | OPERATE,
    "/tangram.v1.Jobs/CancelJob": PLAN | OPERATE,
    "/tangram.v1.Jobs/GetJobTrace": PLAN | OPERATE,
    "/tangram.v1.Jobs/WaitJob": PLAN | OPERATE,
    "/tangram.v1.Jobs/UpdateJob": PLAN | OPERATE,
    "/tangram.v1.Jobs/RetryJob": PLAN | OPERATE,
    "/tangram.v1.Jobs/DeleteJob": PLAN | OPERATE,
    "/tangram.v1.Tenants/GetTenantUsage": PLAN | OPERATE,
    "/tangram.v1.Tenants/ExportTenant": PLAN | OPERATE,
    "/tangram.v1.Tenants/EraseTenant": OPERATE,
    "/tangram.v1.Status/GetStatus": OPERATE,
    "/tangram.v1.Workers/ListWorkers": OPERATE,
    "/tangram.v1.Workers/ReleaseWorker": OPERATE,
    "/tangram.v1.WorkerPool/Work": WORK,
}
HEALTH = "/grpc.health.v1.Health/Check"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
ALICE, BOB, OLGA, WALLY = (name * 4 for name in
                           ("alice", "bobby", "olga", "wally"))
TOKENS = f"""# token,name,tenant,roles
{ALICE},alice,team-a,plan
{BOB},bob,team-b,plan
{OLGA},olga,,operate
{WALLY},wally,,work
cert:worker-7,worker-7,,work
"""


def update_of(job_id):
    update = calls.jobs.UpdateJobRequest(job={"job_id": job_id, "priority": 9})
    update.update_mask.paths.append("priority")
    return update


def eventually(holds):
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@unittest.skipUnless(grpc, calls.WHY_NOT)
class Secured(Folder):
    """A test with files of tokens."""

    def setUp(self):
        super().setUp()
        self.tokens = self.path(self.write("tokens.csv", TOKENS))
        for name, token in (("alice", ALICE), ("bob", BOB), ("olga", OLGA),
                            ("wally", WALLY)):
            self.write(name, token + "\n")

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *arguments):
        coordinator = Coordinator(f"--auth_tokens_file={self.tokens}",
                                  *arguments)
        self.addCleanup(coordinator.end)
        return coordinator

    def add_worker(self, address, *arguments):
        worker = Worker(address, "w", f"--token_file={self.path('wally')}",
                        *arguments)
        self.addCleanup(worker.end)
        return worker

    def request(self, job_id, layers=6):
        """Returns a job of the small cluster and model."""
        self.tangram("plan", *CLUSTER, "--model", "gpt3-1.3b", "--layers",
                     str(layers), "--global-batch", "32", "--output",
                     "seed.json")
        plan = json.loads(self.read("seed.json"))
        from google.protobuf import json_format
        whole = {name: plan[name] for name in ("cluster", "model", "training")}
        submit = calls.jobs.SubmitJobRequest(job_id=job_id)
        json_format.ParseDict(whole, submit.request, ignore_unknown_fields=True)
        submit.request.parallelizer = "uniform"
        return submit


class AuditTest(Secured):
    def lines(self):
        return [json.loads(line)
                for line in self.read("audit.log").splitlines()]

    def test_who_did_what_is_recorded_without_secrets(self):
        coordinator = self.start(f"--audit_log={self.path('audit.log')}",
                                 "--worker_wait_s=0", "--metrics=127.0.0.1:0",
                                 "--http=127.0.0.1:0")
        self.assertEqual(os.stat(self.path("audit.log")).st_mode & 0o777, 0o600)
        with grpc.insecure_channel(coordinator.address) as channel:
            alice, olga = (Client(channel, token) for token in (ALICE, OLGA))
            alice.call("/tangram.v1.Jobs/SubmitJob", self.request("nightly"))
            olga.call("/tangram.v1.Jobs/CancelJob",
                      calls.jobs.CancelJobRequest(job_id="team-a/nightly"))
            update = calls.jobs.UpdateJobRequest()
            update.job.job_id = "nightly"
            update.job.labels["run"] = "7"
            update.update_mask.paths.append("labels")
            alice.call("/tangram.v1.Jobs/UpdateJob", update)
            olga.call("/tangram.v1.Tenants/EraseTenant",
                      calls.tenants.EraseTenantRequest(tenant="team-a"))
            alice.code("/tangram.v1.Jobs/GetJob",
                       calls.jobs.GetJobRequest(job_id="other\n"))
            alice.code("/tangram.v1.WorkerPool/Work")
            Client(channel, "nobody's token at all").code(
                "/tangram.v1.Jobs/ListJobs")
        page = coordinator.wait_for(r"http_port=(\d+)")[1]
        urllib.request.urlopen(urllib.request.Request(
            f"http://127.0.0.1:{page}/api/jobs",
            headers={"Authorization": f"Bearer {OLGA}"})).read()
        eventually(lambda: len(self.lines()) >= 8)
        whole = ("message", "caller", "tenant", "target", "code")
        jobs = "/tangram.v1.Jobs/"
        # A line is written when a call has ended, which may be after the answer.
        self.assertCountEqual(
            [tuple(line[name] for name in whole) for line in self.lines()], [
                (jobs + "SubmitJob", "alice", "team-a", "nightly", "ok"),
                (jobs + "CancelJob", "olga", "", "team-a/nightly", "ok"),
                (jobs + "UpdateJob", "alice", "team-a", "nightly", "ok"),
                ("/tangram.v1.Tenants/EraseTenant", "olga", "", "team-a", "ok"),
                (jobs + "GetJob", "alice", "team-a", "other ",
                 "not_found"),
                ("/tangram.v1.WorkerPool/Work", "", "", "",
                 "permission_denied"),
                (jobs + "ListJobs", "", "", "", "unauthenticated"),
                (jobs + "ListJobs", "olga", "", "", "ok")])
        for line in self.lines():
            if line["caller"]:
                self.assertRegex(line["peer"], r"127\.0\.0\.1(:|%3A)\d+")
        for secret in ALICE, OLGA, "nobody's token", "hidden_size":
            self.assertNotIn(secret, self.read("audit.log"))
        metrics = coordinator.wait_for(r"metrics_port=(\d+)")[1]
        with urllib.request.urlopen(
                f"http://127.0.0.1:{metrics}/metrics") as text:
            text = text.read().decode()
        for code in "unauthenticated", "permission_denied":
            self.assertIn("tangram_authentication_failures_total"
                          f'{{code="{code}"}} 1\n', text)

    def test_a_file_that_cannot_be_is_refused(self):
        run = subprocess.run(
            [os.path.join(BIN, "tangram-coordinator"), "--state_dir=none",
             f"--audit_log={self.folder}"], capture_output=True, text=True,
            timeout=60)
        self.assertEqual(run.returncode, BAD_INPUT)
        self.assertIn("--audit_log: ", run.stderr)


class RolesTest(Secured):
    def setUp(self):
        super().setUp()
        self.coordinator = self.start("--worker_wait_s=0")
        channel = grpc.insecure_channel(self.coordinator.address)
        self.addCleanup(channel.close)
        self.channel = channel

    def as_caller(self, token):
        return Client(self.channel, token)

    def test_the_table_is_whole(self):
        self.assertEqual(set(calls.methods()), set(ROLES))

    def test_the_unknown_get_nothing(self):
        for token in None, "nobody's token at all", ALICE[:-1]:
            for path in ROLES:
                code, text = self.as_caller(token).code(path)
                self.assertEqual(code, grpc.StatusCode.UNAUTHENTICATED, path)
                self.assertRegex(text, "authorization: missing|token: unknown")
        with self.assertRaises(grpc.RpcError) as caught:
            list(self.channel.stream_stream(REFLECTION)(iter([b""])))
        self.assertEqual(caught.exception.code(),
                         grpc.StatusCode.UNAUTHENTICATED)

    def test_the_known_get_what_their_role_allows(self):
        for token, role in (ALICE, "plan"), (OLGA, "operate"), (WALLY, "work"):
            for path, roles in ROLES.items():
                code, text = self.as_caller(token).code(path)
                if role in roles:
                    self.assertNotIn(code, (grpc.StatusCode.PERMISSION_DENIED,
                                            grpc.StatusCode.UNAUTHENTICATED))
                else:
                    self.assertEqual(code, grpc.StatusCode.PERMISSION_DENIED,
                                     (path, role))
                    self.assertIn("needs the role", text)

    def test_methods_that_do_not_exist(self):
        call = self.channel.unary_unary("/tangram.v1.Jobs/DropAll")
        with self.assertRaises(grpc.RpcError) as caught:
            call(b"", metadata=[("authorization", f"Bearer {ALICE}")])
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)

    def test_probes_need_no_token(self):
        self.assertEqual(self.channel.unary_unary(HEALTH)(b""), b"\x08\x01")
        self.tangram("health", "--coordinator", self.coordinator.address)

    def test_command_and_worker_show_their_tokens(self):
        self.add_worker(self.coordinator.address)
        on = ["--coordinator", self.coordinator.address]
        self.tangram("plan", *CLUSTER, *JOB, *on, "--token-file", "alice")
        self.fails(BAD_INPUT, "authorization: missing", "plan", *CLUSTER, *JOB,
                   *on)
        self.fails(BAD_INPUT, "needs the role plan, which wally does not have",
                   "plan", *CLUSTER, *JOB, *on, "--token-file", "wally")

    def test_tokens_change_while_it_runs(self):
        new_token = "another-token-of-alice"
        client = self.as_caller(new_token)
        lists = lambda: (client.code("/tangram.v1.Jobs/ListJobs")[0] ==
                         grpc.StatusCode.OK)
        self.assertFalse(lists())
        self.write("new", TOKENS.replace(ALICE, new_token))
        os.replace(self.path("new"), self.tokens)
        eventually(lists)
        self.assertEqual(
            self.as_caller(ALICE).code("/tangram.v1.Jobs/ListJobs")[0],
            grpc.StatusCode.UNAUTHENTICATED)
        # A file that cannot be read changes nothing.
        self.write("tokens.csv", f"{new_token},a line cut sho")
        eventually(lambda: lists() and "line 1: 2 fields" in
                   self.coordinator.log())
        self.assertTrue(lists())
        self.assertNotIn(new_token, self.coordinator.log())

    def test_a_file_that_could_not_be_read_is_tried_again(self):
        # The time stamp stays, as when the permissions of a file are corrected.
        code = lambda: self.as_caller(BOB).code("/tangram.v1.Jobs/ListJobs")[0]
        self.write("tokens.csv", TOKENS.replace(f"{ALICE},", f"{ALICE};"))
        as_at_first = os.stat(self.tokens)
        eventually(lambda: code() == grpc.StatusCode.OK and
                   "cannot be read again" in self.coordinator.log())
        self.write("new", TOKENS.replace(BOB, BOB.upper()))
        os.utime(self.path("new"), ns=(as_at_first.st_atime_ns,
                                       as_at_first.st_mtime_ns))
        os.replace(self.path("new"), self.tokens)
        eventually(lambda: code() == grpc.StatusCode.UNAUTHENTICATED)
        self.assertEqual(
            self.coordinator.log().count("cannot be read again"), 1)


class TenantTest(Secured):
    def setUp(self):
        super().setUp()
        self.coordinator = self.start("--max_jobs_per_tenant=2",
                                      "--max_calls_per_tenant=1",
                                      "--max_watches_per_tenant=2")
        channel = grpc.insecure_channel(self.coordinator.address)
        self.addCleanup(channel.close)
        self.alice, self.bob, self.olga, self.wally = (
            Client(channel, token) for token in (ALICE, BOB, OLGA, WALLY))

    def jobs_of(self, client):
        return [job.job_id
                for job in client.call("/tangram.v1.Jobs/ListJobs").jobs]

    def test_jobs_of_others_are_not_there(self):
        job = self.request("nightly")
        self.alice.call("/tangram.v1.Jobs/SubmitJob", job)
        for name in "nightly", "team-a/nightly":
            for method, message in (("GetJob", calls.jobs.GetJobRequest),
                                    ("WatchJob", calls.jobs.WatchJobRequest),
                                    ("CancelJob",
                                     calls.jobs.CancelJobRequest),
                                    ("WaitJob", calls.jobs.WaitJobRequest),
                                    ("RetryJob", calls.jobs.RetryJobRequest),
                                    ("DeleteJob", calls.jobs.DeleteJobRequest),
                                    ("UpdateJob", update_of)):
                code, text = self.bob.code(f"/tangram.v1.Jobs/{method}",
                                           message(job_id=name))
                self.assertEqual(code, grpc.StatusCode.NOT_FOUND, method)
                self.assertIn(" is unknown", text)
        for method in "GetTenantUsage", "ExportTenant", "EraseTenant":
            message = calls.methods()[f"/tangram.v1.Tenants/{method}"]
            self.assertEqual(
                self.bob.code(f"/tangram.v1.Tenants/{method}",
                              message.input_type._concrete_class(
                                  tenant="team-a"))[0],
                grpc.StatusCode.PERMISSION_DENIED, method)
        self.assertEqual(self.jobs_of(self.alice), ["nightly"])
        # The other tenant's job of the same name is another job.
        self.bob.call("/tangram.v1.Jobs/SubmitJob", self.request("nightly", 4))
        self.assertEqual(self.jobs_of(self.alice), ["nightly"])
        self.assertEqual(self.jobs_of(self.bob), ["nightly"])

    def test_operators_see_all(self):
        job = self.request("nightly")
        for client in self.alice, self.bob:
            client.call("/tangram.v1.Jobs/SubmitJob", job)
        self.assertEqual(self.jobs_of(self.olga),
                         ["team-b/nightly", "team-a/nightly"])
        self.olga.call("/tangram.v1.Jobs/CancelJob",
                       calls.jobs.CancelJobRequest(job_id="team-a/nightly"))
        eventually(lambda: self.state(self.alice) == calls.jobs.Job.CANCELLED)
        self.assertNotEqual(self.state(self.bob), calls.jobs.Job.CANCELLED)

    def state(self, client):
        request = calls.jobs.GetJobRequest(job_id="nightly")
        return client.call("/tangram.v1.Jobs/GetJob", request).state

    def test_a_tenant_has_so_many_jobs(self):
        job = self.request("a")
        submit = "/tangram.v1.Jobs/SubmitJob"
        for job.job_id in "a", "b":
            self.alice.call(submit, job)
        job.job_id = "c"
        code, text = self.alice.code(submit, job)
        self.assertEqual(code, grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertIn('tenant "team-a" has 2 jobs that have not ended, as many '
                      'as --max_jobs_per_tenant allows', text)
        self.bob.call(submit, job)
        job.job_id = "b"
        self.alice.call(submit, job)  # The job exists already.
        self.alice.call("/tangram.v1.Jobs/CancelJob",
                        calls.jobs.CancelJobRequest(job_id="b"))
        job.job_id = "c"
        eventually(lambda: self.alice.code(submit, job)[0] ==
                   grpc.StatusCode.OK)

    def test_a_tenant_has_so_many_calls(self):
        request = self.request("a").request
        plan = "/tangram.v1.Planner/Plan"
        first = self.alice.start(plan, request)  # Waits for a worker.
        next(first)
        for _ in range(3):
            code, text = self.alice.code(plan, request)
            self.assertEqual(code, grpc.StatusCode.RESOURCE_EXHAUSTED)
            self.assertIn("--max_calls_per_tenant", text)
        self.coordinator.wait_for("plan refused")  # The log may arrive late.
        self.assertEqual(self.coordinator.log().count("plan refused"), 1)
        other = self.bob.start(plan, request)
        next(other)
        other.cancel()
        first.cancel()
        def is_free():
            again = self.alice.start(plan, request)
            try:
                next(again)
                return True
            except grpc.RpcError:
                return False
            finally:
                again.cancel()
        eventually(is_free)

    def test_a_tenant_has_so_many_watches(self):
        for client in self.alice, self.bob:
            client.call("/tangram.v1.Jobs/SubmitJob", self.request("a"))
        # Without a worker, the watches last.
        watch = lambda client: client.start(
            "/tangram.v1.Jobs/WatchJob",
            calls.jobs.WatchJobRequest(job_id="a"), 120)
        three = [watch(self.alice) for _ in range(3)]
        eventually(lambda: any(call.done() for call in three))
        refused, = (call for call in three if call.done())
        self.assertEqual(refused.code(), grpc.StatusCode.RESOURCE_EXHAUSTED)
        self.assertIn('tenant "team-a" has 2 watches under way, as many as '
                      '--max_watches_per_tenant allows', refused.details())
        # Others have separate places, and ended calls free theirs.
        for call in three:
            call.cancel()
        others = [watch(self.bob) for _ in range(2)]
        self.alice.call("/tangram.v1.Jobs/CancelJob",
                        calls.jobs.CancelJobRequest(job_id="a"))
        ends = lambda: list(watch(self.alice))[-1].job.state
        def is_free():
            try:
                return ends() == calls.jobs.Job.CANCELLED
            except grpc.RpcError:
                return False
        eventually(is_free)
        self.assertFalse(any(call.done() for call in others))
        for call in others:
            call.cancel()

    def test_workers_learn_of_no_tenant(self):
        messages = queue.Queue()
        hello = calls.pool.WorkerMessage()
        hello.hello.name = "spy"
        hello.hello.capacity = 4
        adapter = hello.hello.adapters.add()
        adapter.name, adapter.version = "uniform", "1"
        messages.put(hello)
        stream = self.wally.start("/tangram.v1.WorkerPool/Work",
                                  iter(messages.get, None))
        self.addCleanup(stream.cancel)
        self.addCleanup(messages.put, None)
        self.alice.call("/tangram.v1.Jobs/SubmitJob", self.request("nightly"))
        heard = b""
        for message in stream:
            heard += message.SerializeToString()
            if message.leases:
                break
        for secret in ALICE, "alice", "team-a", "nightly":
            self.assertNotIn(secret.encode(), heard)


class WorkerSourcesTest(Folder):
    """The names by which the coordinator knows workers, whatever they say."""

    def list_workers(self, coordinator, worker, *access):
        address = coordinator.address
        self.addCleanup(coordinator.end)
        daemon = Worker(address, "any-name", *worker)
        self.addCleanup(daemon.end)
        return self.tangram("worker", "list", "--coordinator", address,
                            *access)

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_a_token_names_its_worker(self):
        tokens = self.path(self.write("tokens.csv", TOKENS))
        for name, token in (("wally", WALLY), ("olga", OLGA)):
            self.write(name, token + "\n")
        listed = self.list_workers(
            Coordinator(f"--auth_tokens_file={tokens}"),
            [f"--token_file={self.path('wally')}"], "--token-file", "olga")
        self.assertIn(" wally@127.0.0.1 ", listed)

    def test_a_certificate_names_its_worker(self):
        ca = Authority(self.folder, "ca")
        cert, key = ca.issue("server")
        worker_cert, worker_key = ca.issue("worker-7")
        listed = self.list_workers(
            Coordinator(f"--tls_cert_file={cert}", f"--tls_key_file={key}",
                        f"--tls_ca_file={ca.cert}"),
            [f"--tls_ca_file={ca.cert}", f"--tls_cert_file={worker_cert}",
             f"--tls_key_file={worker_key}"],
            "--tls-ca", ca.cert, "--tls-cert", cert, "--tls-key", key)
        self.assertIn(" worker-7@127.0.0.1 ", listed)

    def test_without_either_its_host_does(self):
        listed = self.list_workers(Coordinator(), [])
        self.assertIn(" 127.0.0.1 ", listed)


class TlsTest(Secured):
    def setUp(self):
        super().setUp()
        self.ca = Authority(self.folder, "ca")
        self.cert, self.key = self.ca.issue("server")

    def start_tls(self, *arguments):
        return self.start(f"--tls_cert_file={self.cert}",
                          f"--tls_key_file={self.key}", *arguments)

    def start_mutual(self, *arguments):
        return self.start_tls(f"--tls_ca_file={self.ca.cert}", *arguments)

    def open_channel(self, address, *key_and_cert):
        contents = []
        for name in self.ca.cert, *key_and_cert:
            with open(name, "rb") as file:
                contents.append(file.read())
        channel = grpc.secure_channel(address,
                                      grpc.ssl_channel_credentials(*contents))
        self.addCleanup(channel.close)
        return channel

    def test_command_and_worker_by_tls(self):
        address = self.start_tls().address
        self.add_worker(address, f"--tls_ca_file={self.ca.cert}")
        self.tangram("plan", *CLUSTER, *JOB, "--coordinator", address,
                     "--tls-ca", self.ca.cert, "--token-file", "alice")

    def test_strangers_are_not_talked_to(self):
        address = self.start_tls().address
        other = Authority(self.folder, "other")
        self.fails(UNAVAILABLE, "cannot be reached", "health", "--coordinator",
                   address)
        self.fails(UNAVAILABLE, "no certificate for this name", "health",
                   "--coordinator", address, "--tls-ca", other.cert)
        self.cert, self.key = self.ca.issue("elsewhere", "DNS:example.org")
        self.fails(UNAVAILABLE, "no certificate for this name", "health",
                   "--coordinator", self.start_tls().address, "--tls-ca",
                   self.ca.cert)

    def test_mutual_tls_needs_a_certificate(self):
        address = self.start_mutual().address
        on = ["health", "--coordinator", address, "--tls-ca", self.ca.cert]
        self.assertEqual(self.run_tangram(*on).returncode, UNAVAILABLE)
        for authority, code in ((Authority(self.folder, "other"), UNAVAILABLE),
                                (self.ca, OK)):
            cert, key = authority.issue("someone")
            run = self.run_tangram(*on, "--tls-cert", cert, "--tls-key", key)
            self.assertEqual(run.returncode, code)

    def test_a_certificate_has_roles(self):
        address = self.start_mutual().address
        for name, code in (("worker-7", grpc.StatusCode.PERMISSION_DENIED),
                           ("worker-8", grpc.StatusCode.UNAUTHENTICATED)):
            cert, key = self.ca.issue(name)
            client = Client(self.open_channel(address, key, cert))
            self.assertEqual(client.code("/tangram.v1.Jobs/ListJobs")[0], code)
        cert, key = self.ca.issue("worker-7")
        worker = Worker(address, "w", f"--tls_ca_file={self.ca.cert}",
                        f"--tls_cert_file={cert}", f"--tls_key_file={key}")
        self.addCleanup(worker.end)

    def shown(self, address):
        host, port = address.split(":")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return ssl.get_server_certificate((host, int(port)),
                                          ca_certs=self.ca.cert, timeout=30)

    def test_certificates_change_under_running_calls(self):
        coordinator = self.start_tls()
        address = coordinator.address
        alice = Client(self.open_channel(address), ALICE)
        alice.call("/tangram.v1.Jobs/SubmitJob", self.request("a"))
        watch = alice.start("/tangram.v1.Jobs/WatchJob",
                            calls.jobs.WatchJobRequest(job_id="a"), 120)
        before = self.shown(address)
        new_cert, new_key = self.ca.issue("rotated")
        os.replace(new_key, self.key)
        os.replace(new_cert, self.cert)
        eventually(lambda: self.shown(address) != before)
        # The job waits for a worker, which sees the new certificate.
        self.add_worker(address, f"--tls_ca_file={self.ca.cert}")
        updates = list(watch)
        self.assertEqual(updates[-1].job.state, calls.jobs.Job.SUCCEEDED)
        self.assertNotIn("worker left", coordinator.log())


class StartTest(Secured):
    """Unsafe or impossible settings are reported at once."""

    def refuses(self, message, program, *arguments):
        run = subprocess.run([os.path.join(BIN, program), *arguments],
                             cwd=self.folder, capture_output=True, text=True,
                             timeout=60)
        self.assertEqual(run.returncode, BAD_INPUT, run.stderr)
        self.assertIn(message, run.stderr)

    def coordinator(self, message, *arguments):
        self.refuses(message, "tangram-coordinator", "--listen=127.0.0.1:0",
                     "--metrics=", "--state_dir=none", *arguments)

    def test_files_at_fault_are_named(self):
        ca = Authority(self.folder, "ca")
        cert, key = ca.issue("one")
        _, other_key = ca.issue("two")
        self.coordinator("--tls_cert_file: /no/cert: No such file",
                         "--tls_cert_file=/no/cert", f"--tls_key_file={key}")
        self.coordinator("--tls_key_file: missing", f"--tls_cert_file={cert}")
        self.coordinator(f"--tls_key_file: {other_key}: not the key of "
                         f"--tls_cert_file ({cert})", f"--tls_cert_file={cert}",
                         f"--tls_key_file={other_key}")
        self.coordinator("no certificate in it", f"--tls_cert_file={key}",
                         f"--tls_key_file={key}")
        self.coordinator("--tls_ca_file: needs", f"--tls_ca_file={ca.cert}")
        self.coordinator("--auth_tokens_file: /no/tokens: No such file",
                         "--auth_tokens_file=/no/tokens")
        self.coordinator("--jwt_keys_file: needs --jwt_issuer",
                         "--jwt_keys_file=keys.json")
        self.refuses("--tls_cert_file: needs --tls_ca_file", "tangram-worker",
                     "--metrics=", f"--tls_cert_file={cert}",
                     f"--tls_key_file={key}")

    def test_numbers_beyond_sense_are_refused(self):
        worker = lambda message, *arguments: self.refuses(
            message, "tangram-worker", "--metrics=",
            "--coordinator=127.0.0.1:1", *arguments)
        worker("--threads: 4097; expected 0 to 4096", "--threads=4097")
        worker("--name: 257 bytes; expected at most 256", "--name=" + 257 * "n")
        worker("--drain_s: inf; expected 0 to 1e+06", "--drain_s=inf")
        for number in "0", "-1", "nan", "inf":
            for flag in "--adapter_search_s", "--adapter_memory_gb":
                worker(f"{flag}: {number}; expected more than 0",
                       f"{flag}={number}")
        self.coordinator("--drain_s: 1e+10; expected 0 to 1e+06",
                         "--drain_s=1e10")

    def test_a_bad_line_is_named_without_its_token(self):
        self.write("tokens.csv", "a-secret-of-alice,alice,team a,plan\n")
        self.coordinator(f'tokens.csv: line 1.tenant: "team a"; expected',
                         "--auth_tokens_file=tokens.csv")

    def test_tokens_do_not_travel_in_plain_text(self):
        self.coordinator("--listen: 0.0.0.0:0: callers would send tokens",
                         "--listen=0.0.0.0:0",
                         f"--auth_tokens_file={self.tokens}")
        self.fails(BAD_INPUT, "would be sent to example.org:1 in plain text",
                   "health", "--coordinator", "example.org:1", "--token-file",
                   "alice")
        self.refuses("would be sent to example.org:1", "tangram-worker",
                     "--metrics=", "--coordinator=example.org:1",
                     f"--token_file={self.path('wally')}")

    def test_plain_text_beyond_this_machine_is_warned_of(self):
        coordinator = Coordinator(listen="0.0.0.0:0")
        self.addCleanup(coordinator.end)
        coordinator.wait_for("connections are not encrypted")

    def test_adapter_programs_get_no_credentials(self):
        _, key = Authority(self.folder, "ca").issue("one")
        with open(key, "rb") as inherited:
            subprocess.run(
                [os.path.join(BIN, "tangram-worker"), "--metrics=",
                 "--coordinator=127.0.0.1:1",
                 f"--token_file={self.path('wally')}",
                 "--adapter_isolation=none",
                 "--adapter=exec:env > env; ls -l /proc/self/fd > fds; "
                 "cat /proc/$PPID/environ > parent; exit 3"],
                cwd=self.folder, env={**os.environ, "SECRET": "of the worker"},
                pass_fds=[inherited.fileno()], capture_output=True, check=False,
                timeout=60)
        self.assertIn("TANGRAM_ADAPTER_SOCKET", self.read("env"))
        self.assertNotIn("SECRET", self.read("env"))
        self.assertIn("/dev/null", self.read("fds"))
        self.assertNotIn(".key", self.read("fds"))
        if os.getuid() != 0:  # Root can read everything.
            self.assertEqual(self.read("parent"), "")

    def test_a_sandbox_hides_the_credentials(self):
        token = self.path("wally")

        def told(isolation):
            run = subprocess.run(
                [os.path.join(BIN, "tangram-worker"), "--metrics=",
                 "--coordinator=127.0.0.1:1", f"--token_file={token}",
                 f"--adapter_isolation={isolation}",
                 f"--adapter=exec:id -u; cat {token}; exit 3"],
                cwd=self.folder, capture_output=True, check=False, text=True,
                timeout=60)
            self.assertEqual(run.returncode, BAD_INPUT)
            return run.stderr

        self.assertIn(WALLY, told("none"))
        if "--adapter_isolation: required; " in told("required"):
            self.skipTest("the system allows no sandbox")
        for isolation in "required", "auto":
            text = told(isolation)
            self.assertIn("65534 | cat: ", text)
            self.assertIn("No such file", text)
            self.assertNotIn(WALLY, text)

    def test_probes_have_a_port_of_their_own(self):
        ca = Authority(self.folder, "ca")
        cert, key = ca.issue("one")
        coordinator = self.start(f"--tls_cert_file={cert}",
                                 f"--tls_key_file={key}",
                                 "--health=127.0.0.1:0")
        port = coordinator.wait_for(r"health_port=(\d+)")[1]
        self.tangram("health", "--coordinator", f"127.0.0.1:{port}")
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            self.assertEqual(
                Client(channel, ALICE).code("/tangram.v1.Jobs/ListJobs")[0],
                grpc.StatusCode.UNIMPLEMENTED)


if __name__ == "__main__":
    harness.main()
