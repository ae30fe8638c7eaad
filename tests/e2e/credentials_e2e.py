"""Tests certificates and tokens of daemons: that nobody can listen in, and that unsafe
settings are refused."""

import os
import ssl
import subprocess

import calls
import harness
from calls import Client, grpc
from certificates import Authority
from daemons import BIN, Coordinator, Worker
from harness import BAD_INPUT, CLUSTER, Folder, JOB, OK, UNAVAILABLE
from secured import ALICE, OLGA, TOKENS, WALLY, Secured, eventually


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
