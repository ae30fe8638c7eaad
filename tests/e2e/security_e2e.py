"""Tests what callers may do with a coordinator, and what it records of them."""

import json
import os
import queue
import signal
import subprocess
import urllib.request

import calls
import harness
from calls import Client, grpc, retry_after_s
from harness import BAD_INPUT, BIN, CLUSTER, JOB
from secured import ALICE, BOB, OLGA, TOKENS, WALLY, Secured, eventually

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
def update_of(job_id):
    update = calls.jobs.UpdateJobRequest(job={"job_id": job_id, "priority": 9})
    update.update_mask.paths.append("priority")
    return update


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
                ("/tangram.v1.WorkerPool/Work", "alice", "team-a", "",
                 "permission_denied"),
                (jobs + "ListJobs", "", "", "", "unauthenticated"),
                (jobs + "ListJobs", "olga", "", "", "ok")])
        for line in self.lines():
            # gRPC does not tell the gate who is refused from where.
            if line["code"] not in ("permission_denied", "unauthenticated"):
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

    def test_strangers_do_not_push_out_the_lines_of_others(self):
        coordinator = self.start(f"--audit_log={self.path('audit.log')}")
        with grpc.insecure_channel(coordinator.address) as channel:
            Client(channel, OLGA).call(
                "/tangram.v1.Tenants/EraseTenant",
                calls.tenants.EraseTenantRequest(tenant="team-a"))
            eventually(lambda: len(self.lines()) == 1)
            pending = [channel.unary_unary(f"/{i}").future(b"", timeout=60)
                       for i in range(300)]
            for call in pending:
                self.assertEqual(call.code(), grpc.StatusCode.UNAUTHENTICATED)
            for _ in range(20):
                Client(channel, "nobody's token at all").code(
                    "/tangram.v1.Jobs/ListJobs")
        coordinator.end(signal.SIGTERM)
        self.assertEqual(
            [(line["message"], line["code"], line.get("times", 1))
             for line in self.lines()],
            [("/tangram.v1.Tenants/EraseTenant", "ok", 1),
             ("unknown", "unauthenticated", 1),
             ("/tangram.v1.Jobs/ListJobs", "unauthenticated", 1),
             ("/tangram.v1.Jobs/ListJobs", "unauthenticated", 19),
             ("unknown", "unauthenticated", 299)])

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
                self.assertIn(f'job_id: "{name}" is unknown', text)
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
        refused = [self.alice.start(plan, request) for _ in range(3)]
        delays_s = {retry_after_s(call) for call in refused}
        self.assertEqual(len(delays_s), 3)  # Not all come back at once.
        self.assertTrue(all(2 < delay_s < 3 for delay_s in delays_s), delays_s)
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
        job = self.request("nightly")
        job.request.model.name = "our next model"
        self.alice.call("/tangram.v1.Jobs/SubmitJob", job)
        heard = b""
        for message in stream:
            heard += message.SerializeToString()
            if message.leases:
                break
        for secret in ALICE, "alice", "team-a", "nightly", "our next model":
            self.assertNotIn(secret.encode(), heard)


if __name__ == "__main__":
    harness.main()
