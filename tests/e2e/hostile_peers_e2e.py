"""Callers and workers that try to take the coordinator's memory.

Messages of a few bytes unfold to hundreds in memory. Each is refused by name
before it is parsed, and a good caller is answered right afterwards.
"""

import hashlib
import itertools
import os
import re
import signal
import socket
import threading
import time
import unittest
import urllib.request

import calls
import harness
from calls import grpc
from daemon import Daemon
from daemons import Coordinator, Program, Worker
from harness import BIN, CLUSTER, Folder
from http2 import Http2

PLAN, SUBMIT = "/tangram.v1.Planner/Plan", "/tangram.v1.Jobs/SubmitJob"
WORK = "/tangram.v1.WorkerPool/Work"
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
LIST = "/tangram.v1.Jobs/ListJobs"
CHECK, WATCH = "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"
# Answers of both, encoded.
SERVING, NOT_SERVING, SERVICE_UNKNOWN = b"\x08\x01", b"\x08\x02", b"\x08\x03"
MB = 1 << 20
# The coordinator stays below this with the largest legal request, or with one
# message that is refused.
MOST_MB = 300
# It stays below this with any number of messages at once: 256 MiB, and what it
# takes without them.
MOST_OF_MANY_MB = 450
# It gives freed memory back within seconds.
LEFT_MB = 100
# A field that no message has. It takes 16 times its bytes when it is parsed.
UNKNOWN = b"\x78\x01"
# Methods with requests of a few names and numbers.
SMALL = ("Jobs/GetJob", "Jobs/ListJobs", "Jobs/CancelJob", "Jobs/WatchJob",
         "Jobs/GetJobTrace", "Status/GetStatus", "Workers/ListWorkers",
         "Workers/ReleaseWorker")
TIMEOUT_S = 60
# gRPC ends some of many calls, because others hold all the memory.
REFUSED_OF_MANY = ((grpc.StatusCode.RESOURCE_EXHAUSTED,
                    grpc.StatusCode.UNAVAILABLE) if grpc else ())


def delimited(number, data):
    """A field of bytes: its tag, its length and the bytes."""
    length = b""
    rest = len(data)
    while rest > 127:
        length += bytes([rest & 127 | 128])
        rest >>= 7
    return bytes([number << 3 | 2]) + length + bytes([rest]) + data


@unittest.skipUnless(grpc, calls.WHY_NOT)
class HostilePeersTest(Folder):
    def start(self, *flags):
        self.coordinator = Coordinator(*flags)
        self.addCleanup(self.coordinator.end)
        self.address = self.coordinator.address

    def open_channel(self):
        channel = grpc.insecure_channel(
            self.address, options=[("grpc.max_send_message_length", -1),
                                   ("grpc.use_local_subchannel_pool", 1)])
        self.addCleanup(channel.close)
        return channel

    def outcome(self, start):
        """The status code and the text of a call of raw bytes."""
        try:
            answer = start(self.open_channel())
            for _ in answer if hasattr(answer, "__iter__") else ():
                pass
            return grpc.StatusCode.OK, ""
        except grpc.RpcError as error:
            return error.code(), error.details()

    def work(self, *messages):
        return self.outcome(lambda channel: channel.stream_stream(WORK)(
            iter(messages), timeout=TIMEOUT_S))

    def plan(self, request):
        return self.outcome(lambda channel: channel.unary_stream(PLAN)(
            request, timeout=TIMEOUT_S))

    def submit(self, request):
        return self.outcome(lambda channel: channel.unary_unary(SUBMIT)(
            request, timeout=TIMEOUT_S))

    def hello(self, name="w", adapters=(("uniform", "1"),)):
        message = calls.pool.WorkerMessage()
        message.hello.name = name
        message.hello.capacity = 1
        for adapter, version in adapters:
            message.hello.adapters.add(name=adapter, version=version)
        return message.SerializeToString()

    def memory_mb(self, figure):
        with open(f"/proc/{self.coordinator.process.pid}/status",
                  encoding="utf-8") as status:
            return int(re.search(rf"{figure}:\s+(\d+)", status.read())[1]) / 1024

    def expect_peak(self, most_mb=MOST_MB):
        self.assertLess(self.memory_mb("VmHWM"), most_mb)

    def expect_memory_back(self):
        deadline = time.monotonic() + TIMEOUT_S
        while self.memory_mb("VmRSS") > LEFT_MB:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.2)

    def expect_refused(self, result, text, most_mb=MOST_MB):
        code, details = result
        self.assertEqual(code, grpc.StatusCode.RESOURCE_EXHAUSTED, details)
        self.assertRegex(details, text)
        self.expect_peak(most_mb)

    def plans(self):
        """Asserts that a good caller gets a plan."""
        worker = Worker(self.address, "good")
        self.addCleanup(worker.end)
        self.tangram("plan", *CLUSTER, "--model", "gpt3-1.3b", "--layers", "2",
                     "--global-batch", "8", "--parallelizer", "uniform",
                     "--quiet", "--output", "plan.json", "--coordinator",
                     self.address)

    def test_messages_of_workers(self):
        self.start()
        empty_answers = b"\x12\x00" * (29 * MB)
        self.expect_refused(
            self.work(self.hello(), empty_answers),
            r"^message: \d+ bytes that take more than \d+ MiB in memory")
        self.expect_refused(self.work(self.hello(), UNKNOWN * (29 * MB)),
                            "^WorkerMessage: at least 65538 bytes of fields "
                            "that this version does not know; "
                            "expected at most 65536$")
        self.expect_refused(self.work(empty_answers),
                            "^hello: 60817408 bytes; expected at most 65536$")
        self.plans()

    def test_requests(self):
        self.start()
        # Empty runs of nodes.
        request = delimited(1, b"\x22\x00" * (15 * MB))
        job = delimited(1, b"j") + delimited(2, request)
        refused = r"^request: takes at least \d+ MiB .*--max_requests_mb"
        self.expect_refused(self.plan(request), refused)
        self.expect_refused(self.submit(job), refused)
        for call in lambda: self.plan(request), lambda: self.submit(job):
            for result in self.at_once(4, call):
                self.expect_refused(result, refused, MOST_OF_MANY_MB)
        self.plans()

    def at_once(self, count, call):
        """The results of a call that many make at the same time."""
        results = []
        threads = [threading.Thread(target=lambda: results.append(call()))
                   for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(results), count)
        return results

    def test_large_messages_of_many(self):
        self.start()
        message = delimited(15, bytes(28 * MB))
        for count, call in (
                (70, lambda: self.work(self.hello(), message)),
                (60, lambda: self.plan(message))):
            for code, details in self.at_once(count, call):
                self.assertIn(code, REFUSED_OF_MANY, details)
            self.expect_peak(MOST_OF_MANY_MB)
        self.expect_memory_back()
        self.plans()

    def test_large_requests_for_little(self):
        self.start()
        for count, most_mb in (1, MOST_MB), (4, MOST_OF_MANY_MB):
            for method in SMALL:
                path = "/tangram.v1." + method
                for result in self.at_once(count, lambda: self.outcome(
                        lambda channel: channel.unary_stream(path)(
                            UNKNOWN * (29 * MB), timeout=TIMEOUT_S))):
                    self.expect_refused(
                        result, r"^\w+Request: 60817408 bytes; "
                        "expected at most 65536$", most_mb)
        self.plans()

    def test_large_probes(self):
        self.start("--health=127.0.0.1:0")
        port = re.search(r"health_port=(\d+)", self.coordinator.log())[1]
        addresses = self.address, f"127.0.0.1:{port}"
        for count, refused, most_mb in (
                (1, REFUSED_OF_MANY[:1], MOST_MB),
                (8, REFUSED_OF_MANY, MOST_OF_MANY_MB)):
            for address, method in itertools.product(addresses, (CHECK, WATCH)):
                self.address = address
                for code, details in self.at_once(count, lambda: self.outcome(
                        lambda channel: channel.unary_stream(method)(
                            UNKNOWN * (29 * MB), timeout=TIMEOUT_S))):
                    self.assertIn(code, refused, details)
                self.expect_peak(most_mb)
        self.expect_memory_back()

    def test_compressed_messages_are_not_unfolded(self):
        """gRPC would hold each whole, at a thousand times its bytes."""
        self.start("--health=127.0.0.1:0")
        port = re.search(r"health_port=(\d+)", self.coordinator.log())[1]
        message = delimited(15, bytes(400 * MB))
        for address in self.address, f"127.0.0.1:{port}":
            self.address = address
            for encoding in grpc.Compression.Gzip, grpc.Compression.Deflate:
                code, details = self.outcome(
                    lambda channel: channel.unary_unary(CHECK)(
                        message, timeout=TIMEOUT_S, compression=encoding))
                self.assertEqual(code, grpc.StatusCode.UNIMPLEMENTED, details)
                self.assertIn("Compression algorithm", details)
        self.expect_peak(LEFT_MB)

    def test_replies_that_nobody_reads(self):
        """Each takes some 0.8 MB for as long as the connection lasts."""
        self.start("--max_replies_mb=32", "--metrics=127.0.0.1:0")
        self.tangram("plan", *CLUSTER, "--model", "gpt3-1.3b", "--global-batch",
                     "8", "--parallelizer", "uniform", "--request",
                     "request.json")
        from google.protobuf import json_format

        job = calls.jobs.SubmitJobRequest()
        json_format.Parse(self.read("request.json"), job.request)
        for k in range(64):
            job.labels[f"k{k}".ljust(60, "x")] = "v" * 63
        for i in range(100):
            job.job_id = f"j{i}"
            code, details = self.submit(job.SerializeToString())
            self.assertEqual(code, grpc.StatusCode.OK, details)
        silent = Http2(self.address)
        self.addCleanup(silent.close)
        for _ in range(10):
            for _ in range(30):
                silent.call(LIST)
            time.sleep(0.5)
            self.assertEqual(self.outcome(
                lambda channel: channel.unary_unary(LIST)(
                    b"", timeout=TIMEOUT_S))[0], grpc.StatusCode.OK)
        self.expect_peak(200)
        port = self.coordinator.wait_for(r"metrics_port\W+(\d+)")[1]
        metrics = urllib.request.urlopen(
            f"http://127.0.0.1:{port}/metrics").read().decode()
        ended = re.search(r"tangram_unread_replies_total (\d+)", metrics)[1]
        self.assertGreater(int(ended), 100)

    def test_probes_learn_that_it_stops(self):
        self.start()
        channel = self.open_channel()
        check = channel.unary_unary(CHECK)
        self.assertEqual(check(b"", timeout=TIMEOUT_S), SERVING)
        other = delimited(1, b"other")
        with self.assertRaises(grpc.RpcError) as caught:
            check(other, timeout=TIMEOUT_S)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.NOT_FOUND)
        watch = channel.unary_stream(WATCH)
        unknown = watch(other, timeout=TIMEOUT_S)
        self.assertEqual(next(unknown), SERVICE_UNKNOWN)
        unknown.cancel()
        known = watch(b"", timeout=TIMEOUT_S)
        self.assertEqual(next(known), SERVING)
        self.coordinator.end(signal.SIGTERM)
        self.assertEqual(next(known), NOT_SERVING)
        with self.assertRaises(grpc.RpcError):
            next(known)

    def test_reflection_is_off(self):
        self.start()
        for size in 0, 29 * MB:
            for code, details in self.at_once(4, lambda: self.outcome(
                    lambda channel: channel.stream_stream(REFLECTION)(
                        iter([UNKNOWN * size]), timeout=TIMEOUT_S))):
                self.assertIn(code, (grpc.StatusCode.UNIMPLEMENTED,
                                     grpc.StatusCode.RESOURCE_EXHAUSTED), details)
        # Nothing is read.
        self.expect_peak()
        self.plans()

    def test_answers_without_a_lease(self):
        self.start()
        body = b"\x08\x07" + delimited(3, b"")  # Lease 7.
        answer = delimited(
            2, body + delimited(9, hashlib.sha256(body).digest()[:16]))
        code, details = self.work(self.hello(), *[answer] * 20)
        self.assertEqual(code, grpc.StatusCode.FAILED_PRECONDITION, details)
        self.assertIn("answers.id: 7; expected a lease of this stream", details)
        self.plans()

    def test_adapters_of_a_worker(self):
        self.start()
        many = [(f"a{i}", "1") for i in range(33)]
        for adapters, text in (
                (many, "hello.adapters: 33; expected"),
                ([("a" * 200, "1")], "hello.adapters[0].name: 200 bytes"),
                ([("a", "1" * 200)], "hello.adapters[0].version: 200 bytes")):
            code, details = self.work(self.hello(adapters=adapters))
            self.assertEqual(code, grpc.StatusCode.INVALID_ARGUMENT, details)
            self.assertTrue(details.startswith(text), details)

    def test_streams_of_a_source(self):
        self.start("--max_streams_per_source=3")
        streams = []
        for _ in range(3):
            ended = threading.Event()
            self.addCleanup(ended.set)
            def messages(wait=ended):
                yield self.hello()
                wait.wait()
            stream = self.open_channel().stream_stream(WORK)(messages())
            next(stream)  # The coordinator has taken the worker.
            streams.append(stream)
        self.expect_refused(
            self.work(self.hello()),
            r'^worker source "127.0.0.1": 4 streams; expected at most 3')
        streams[0].cancel()
        # gRPC tells the coordinator of the end at some later time.
        while self.work(self.hello())[0] != grpc.StatusCode.OK:
            pass

    def test_silent_and_slow_connections(self):
        """1,000 of both on every port. The next caller is answered in a
        second."""
        count = 1000
        self.allow_open_files(11 * count)
        self.coordinator = Program(
            "tangram-coordinator", "--listen=127.0.0.1:0", "--state_dir=none",
            "--metrics=127.0.0.1:0", "--http=127.0.0.1:0",
            "--health=127.0.0.1:0", "--rest=127.0.0.1:0")
        self.addCleanup(self.coordinator.end)
        ready = self.coordinator.wait_for("coordinator ready.*")[0]
        ports = {name: int(port) for name, port in
                 re.findall(r"(\w*port)=(\d+)", ready)}
        self.assertEqual(len(ports), 5)
        for port in ports.values():
            for i in range(2 * count):
                peer = socket.create_connection(("127.0.0.1", port))
                self.addCleanup(peer.close)
                if i < count:
                    peer.sendall(b"PRI *" if i % 2 else b"GET /metrics HT")
        began = time.monotonic()
        for name, path in (("metrics_port", "metrics"),
                           ("http_port", "api/jobs"), ("rest_port", "v1/jobs")):
            url = f"http://127.0.0.1:{ports[name]}/{path}"
            with urllib.request.urlopen(url, timeout=TIMEOUT_S) as page:
                self.assertEqual(page.status, 200)
        for name in "port", "health_port":
            self.address = f"127.0.0.1:{ports[name]}"
            self.assertEqual(self.outcome(
                lambda channel: channel.unary_unary(CHECK)(
                    b"", timeout=TIMEOUT_S))[0], grpc.StatusCode.OK)
        # Five calls.
        self.assertLess(time.monotonic() - began, 5)

    def test_silent_connections_to_the_last_descriptor(self):
        """Some descriptors stay unused, and the connections end by
        themselves."""
        count = 512
        self.allow_open_files(2 * count)
        self.coordinator = Daemon(
            ["prlimit", f"--nofile={count}",
             os.path.join(BIN, "tangram-coordinator"), "--listen=127.0.0.1:0",
             "--state_dir=none", "--metrics="])
        self.addCleanup(self.coordinator.end)
        port = self.coordinator.wait_for(r"\bport\W+(\d+)")[1]
        self.address = f"127.0.0.1:{port}"
        for _ in range(count):
            peer = socket.create_connection(("127.0.0.1", int(port)))
            self.addCleanup(peer.close)
        self.coordinator.wait_for("connection refused.*few descriptors")
        open_files = f"/proc/{self.coordinator.process.pid}/fd"
        self.assertLess(len(os.listdir(open_files)), count * 7 // 8)
        self.assertEqual(self.outcome(
            lambda channel: channel.unary_unary(CHECK)(
                b"", timeout=TIMEOUT_S, wait_for_ready=True))[0],
                         grpc.StatusCode.OK)

    def test_workers_that_come_and_go(self):
        self.start()
        for i in range(30):
            self.assertEqual(self.work(self.hello(f"w{i}"))[0],
                             grpc.StatusCode.OK)
        self.coordinator.wait_for("worker joined")
        log = self.coordinator.log()
        self.assertEqual(log.count("worker joined"), 1, log)
        self.assertLessEqual(log.count("worker left"), 1, log)


if __name__ == "__main__":
    harness.main()
