"""Sends a thousand malformed requests of many kinds.

Each gets the right status with the path of the field at fault. A good request
is answered right afterwards.
"""

import json
import math
import random
import unittest

import calls
import harness
from calls import Client, grpc
from daemons import Coordinator, Worker
from harness import CLUSTER, Folder

SEED = 7
NUM_REQUESTS = 1000
SUBMIT, PLAN = "/tangram.v1.Jobs/SubmitJob", "/tangram.v1.Planner/Plan"
LIST, GET = "/tangram.v1.Jobs/ListJobs", "/tangram.v1.Jobs/GetJob"
MAX_INT = 2**31 - 1


def bad_double(rng, also=()):
    return rng.choice([-1.0, math.nan, math.inf, -math.inf, *also])


def bad_count(rng):
    return rng.choice([0, -1, -MAX_INT - 1, MAX_INT])


def bad_index(rng, size):
    return rng.choice([-1, size, size + rng.randrange(1000), MAX_INT])


def any_of(rng, items):
    index = rng.randrange(len(items))
    return index, items[index]


class Kinds:
    """Each method breaks a good request and returns the path at fault."""

    def no_cluster(self, request, rng):
        request.ClearField("cluster")
        return "cluster"

    def no_model(self, request, rng):
        request.ClearField("model")
        return "model"

    def no_training(self, request, rng):
        request.ClearField("training")
        return "training"

    def gpus_of_a_node(self, request, rng):
        i, node = any_of(rng, request.cluster.nodes)
        node.num_gpus = bad_count(rng)
        return f"cluster.nodes[{i}].num_gpus"

    def group_of_a_node(self, request, rng):
        i, node = any_of(rng, request.cluster.nodes)
        node.group = bad_index(rng, len(request.cluster.groups))
        return f"cluster.nodes[{i}].group"

    def device_of_a_node(self, request, rng):
        i, node = any_of(rng, request.cluster.nodes)
        node.device = bad_index(rng, len(request.cluster.devices))
        return f"cluster.nodes[{i}].device"

    def link_in_a_node(self, request, rng):
        i, node = any_of(rng, request.cluster.nodes)
        node.intra_node.bandwidth_bytes_per_s = bad_double(rng, [0.0])
        return f"cluster.nodes[{i}].intra_node.bandwidth_bytes_per_s"

    def names_of_nodes(self, request, rng):
        i, node = any_of(rng, request.cluster.nodes)
        node.names.append(rng.choice(["", node.names[0]]))
        return f"cluster.nodes[{i}].names"

    def long_names(self, request, rng):
        name = "n" * rng.randrange(300, 3000)
        i, node = any_of(rng, request.cluster.nodes)
        choice = rng.randrange(6)
        if choice == 0:
            node.names[0] = name
            return f"cluster.nodes[{i}].names"
        if choice == 1:
            request.model.name = name
            return "model.name"
        if choice == 2:
            request.cluster.name = name
            return "cluster.name"
        if choice == 3:
            request.cluster.devices[0].type = name
            return "cluster.devices[0].type"
        if choice == 4:
            request.cluster.groups[0] = name
            return "cluster.groups[0]"
        request.parallelizer = name
        return "parallelizer"

    def memory_of_a_device(self, request, rng):
        i, device = any_of(rng, request.cluster.devices)
        device.memory_bytes = bad_double(rng, [0.0])
        return f"cluster.devices[{i}].memory_bytes"

    def flops_of_a_device(self, request, rng):
        i, device = any_of(rng, request.cluster.devices)
        device.peak_flops.fp16 = bad_double(rng)
        return f"cluster.devices[{i}].peak_flops.fp16"

    def efficiency_of_a_device(self, request, rng):
        i, device = any_of(rng, request.cluster.devices)
        device.efficiency.gemm_max_fraction = bad_double(rng)
        return f"cluster.devices[{i}].efficiency.gemm_max_fraction"

    def rows_of_links(self, request, rng):
        if rng.random() < 0.5:
            del request.cluster.links[-1]
        else:
            request.cluster.links.add()
        return "cluster.links"

    def links_of_a_row(self, request, rng):
        i, row = any_of(rng, request.cluster.links)
        if rng.random() < 0.5:
            row.link_types.append(0)
        else:
            row.link_types[0] = bad_index(rng, len(request.cluster.link_types))
        return f"cluster.links[{i}].link_types"

    def latency_of_a_link(self, request, rng):
        i, link = any_of(rng, request.cluster.link_types)
        link.latency_s = bad_double(rng)
        return f"cluster.link_types[{i}].latency_s"

    def size_of_a_layer(self, request, rng):
        i, layer = any_of(rng, request.model.layer_types)
        layer.hidden_size = bad_count(rng)
        return f"model.layer_types[{i}].hidden_size"

    def kind_of_a_layer(self, request, rng):
        i, layer = any_of(rng, request.model.layer_types)
        layer.kind = rng.choice([0, 9, -1])
        return f"model.layer_types[{i}].kind"

    def type_of_a_run(self, request, rng):
        i, run = any_of(rng, request.model.layers)
        run.layer_type = bad_index(rng, len(request.model.layer_types))
        return f"model.layers[{i}].layer_type"

    def length_of_a_run(self, request, rng):
        i, run = any_of(rng, request.model.layers)
        run.count = bad_count(rng)
        return f"model.layers[{i}].count"

    def batch(self, request, rng):
        request.training.global_batch_size = bad_count(rng)
        return "training.global_batch_size"

    def sequence(self, request, rng):
        request.training.sequence_length = bad_count(rng)
        return "training.sequence_length"

    def precision(self, request, rng):
        request.training.precision = rng.choice([0, 17, -3])
        return "training.precision"

    def parallelizer(self, request, rng):
        request.parallelizer = ""
        return "parallelizer"

    def tolerance(self, request, rng):
        request.options.compute_tolerance = bad_double(rng)
        return "options.compute_tolerance"

    def steps(self, request, rng):
        request.options.max_search_steps = rng.choice([0, -1, -2**63])
        return "options.max_search_steps"

    def microbatch(self, request, rng):
        request.options.pipeline_microbatch_size = rng.choice([-1, -MAX_INT])
        return "options.pipeline_microbatch_size"


KINDS = [name for name in dir(Kinds) if not name.startswith("_")]


@unittest.skipUnless(grpc, calls.WHY_NOT)
class BadRequestsTest(Folder):
    def setUp(self):
        super().setUp()
        coordinator = Coordinator()
        self.addCleanup(coordinator.end)
        worker = Worker(coordinator.address, "w")
        self.addCleanup(worker.end)
        self.channel = grpc.insecure_channel(
            coordinator.address,
            options=[("grpc.max_send_message_length", -1)])
        self.addCleanup(self.channel.close)
        self.client = Client(self.channel)
        self.good = self.good_request()

    def good_request(self):
        from google.protobuf import json_format
        self.tangram("plan", *CLUSTER, "--model", "gpt3-1.3b", "--layers", "2",
                     "--global-batch", "8", "--output", "plan.json")
        plan = json.loads(self.read("plan.json"))
        request = calls.planner.PlanRequest(parallelizer="uniform")
        json_format.ParseDict(
            {name: plan[name] for name in ("cluster", "model", "training")},
            request, ignore_unknown_fields=True)
        return request

    def answers(self):
        """Asserts that a good request has a plan."""
        update = self.client.call(PLAN, self.good)
        self.assertTrue(update.result.plan.stages)

    def expect(self, wanted, path, request, field=""):
        code, text = self.client.code(path, request)
        self.assertEqual(code, wanted, f"{path} {text}")
        self.assertTrue(text.startswith(field), f"{text!r}; wanted {field!r}")

    def test_each_names_its_field(self):
        rng = random.Random(SEED)
        for n in range(NUM_REQUESTS):
            kind = KINDS[n % len(KINDS)]
            with self.subTest(kind=kind, n=n):
                bad = calls.planner.PlanRequest()
                bad.CopyFrom(self.good)
                field = getattr(Kinds(), kind)(bad, rng)
                if rng.random() < 0.5:
                    self.expect(grpc.StatusCode.INVALID_ARGUMENT, PLAN, bad,
                                field)
                else:
                    submit = calls.jobs.SubmitJobRequest(job_id=f"j{n}",
                                                         request=bad)
                    self.expect(grpc.StatusCode.INVALID_ARGUMENT, SUBMIT,
                                submit, "request." + field)
            if n % 50 == 0:
                self.answers()
        self.answers()
        self.assertFalse(self.client.call(LIST).jobs)

    def test_names_and_pages_of_jobs(self):
        invalid = grpc.StatusCode.INVALID_ARGUMENT
        for name in "", "a b", "a/b", "x" * 129, "é", "a\n":
            submit = calls.jobs.SubmitJobRequest(job_id=name, request=self.good)
            self.expect(invalid, SUBMIT, submit, "job_id: ")
            self.expect(grpc.StatusCode.NOT_FOUND if name else invalid, GET,
                        calls.jobs.GetJobRequest(job_id=name), "job_id: ")
        self.expect(invalid, LIST,
                    calls.jobs.ListJobsRequest(page_size=-1), "page_size")
        for field, value in (("page_token", "x"), ("filter", "colour = red"),
                             ("filter", "(" * 500), ("filter", "x" * 5000),
                             ("order_by", "state")):
            self.expect(invalid, LIST,
                        calls.jobs.ListJobsRequest(**{field: value}), field)
        for field, value in (("timeout_s", float("nan")), ("timeout_s", -1),
                             ("keep_s", float("inf")), ("labels", {"a b": ""}),
                             ("labels", {"a": "\n"})):
            self.expect(invalid, SUBMIT, calls.jobs.SubmitJobRequest(
                job_id="a", request=self.good, **{field: value}), field)
        self.expect(invalid, LIST, calls.jobs.ListJobsRequest(states=[77]),
                    "states")
        self.answers()

    def test_damaged_bytes_do_no_harm(self):
        rng = random.Random(SEED)
        good = calls.jobs.SubmitJobRequest(job_id="j", request=self.good)
        encoded = good.SerializeToString()
        for n in range(100):
            data = bytearray(encoded)
            for _ in range(rng.randrange(1, 20)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            if n % 2:
                data = data[:rng.randrange(len(data))]
            try:
                self.channel.unary_unary(SUBMIT)(bytes(data), timeout=30)
            except grpc.RpcError as error:
                # gRPC returns UNIMPLEMENTED for a message that cannot be
                # decoded.
                self.assertIn(error.code(),
                              (grpc.StatusCode.INVALID_ARGUMENT,
                               grpc.StatusCode.ALREADY_EXISTS,
                               grpc.StatusCode.UNIMPLEMENTED))
        self.answers()

    def test_messages_that_are_too_large_are_refused(self):
        large = calls.planner.PlanRequest()
        large.CopyFrom(self.good)
        large.model.name = "m" * (65 << 20)
        self.expect(grpc.StatusCode.RESOURCE_EXHAUSTED, PLAN, large)
        large.CopyFrom(self.good)
        large.cluster.nodes[0].names.extend(f"n{i}" for i in range(1 << 17))
        self.expect(grpc.StatusCode.INVALID_ARGUMENT, PLAN, large,
                    "cluster.nodes: ")
        large.CopyFrom(self.good)
        large.model.layers[1].count = 1 << 14
        self.expect(grpc.StatusCode.INVALID_ARGUMENT, PLAN, large,
                    "model.layers")
        self.answers()

    def test_workers_that_say_nothing_sensible(self):
        work = "/tangram.v1.WorkerPool/Work"
        for edit, field in (
                (lambda m: None, "hello"),
                (lambda m: setattr(m.hello, "capacity", 1), "hello.name"),
                (lambda m: setattr(m.hello, "name", "w" * 1000), "hello.name"),
                (lambda m: (setattr(m.hello, "name", "w"),
                            setattr(m.hello, "capacity", MAX_INT)),
                 "hello.capacity"),
                (lambda m: (setattr(m.hello, "name", "w"),
                            setattr(m.hello, "capacity", 1)),
                 "hello.adapters")):
            message = calls.pool.WorkerMessage()
            edit(message)
            self.expect(grpc.StatusCode.INVALID_ARGUMENT, work, iter([message]),
                        field)
        self.answers()


if __name__ == "__main__":
    harness.main()
