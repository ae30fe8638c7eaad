"""Reading and shrinking plans, schedules and boxes: what needs no PyTorch."""

import contextlib
import io
import json
import tempfile
import unittest

import harness
import plans
import proto_shapes
from plans import degrees
from tangram_runner import boxes, schedule, tiny
from tangram_runner.__main__ import main as run_program
from tangram_runner.__main__ import parse as parse_options
from tangram_runner.errors import NotSupported, PlanError
from tangram_runner.model import Cut
from tangram_runner.read_plan import plan_of, read_plan
from tangram_runner.records import parse


def in_short(order):
    """"F0 F1 B0 …"; with chunks, "F0.1" is microbatch 0 of stage 1."""
    chunks = len({one.stage for one in order}) > 1
    return " ".join(f"{one.kind}{one.microbatch}" + (f".{one.stage}" if chunks else "")
                    for one in order)


def pipeline(num_stages, num_microbatches, **more):
    cuts = [(1, op) for op in range(1, num_stages)]
    data = plans.chain(cuts, [degrees()] * num_stages, microbatch=1,
                       global_batch=num_microbatches, **more)
    return plan_of(data).pipelines[0]


class ScheduleTest(unittest.TestCase):

    def test_1f1b_warms_up_for_the_stages_behind(self):
        three = pipeline(3, 4)
        self.assertEqual(in_short(schedule.passes(three, 0)),
                         "F0 F1 F2 B0 F3 B1 B2 B3")
        self.assertEqual(in_short(schedule.passes(three, 2)),
                         "F0 B0 F1 B1 F2 B2 F3 B3")

    def test_gpipe_runs_all_forward_passes_first(self):
        self.assertEqual(in_short(schedule.passes(pipeline(2, 3, schedule="gpipe"), 1)),
                         "F0 F1 F2 B0 B1 B2")

    def test_warm_up_counts_include_the_pass_before_the_first_backward(self):
        two = pipeline(2, 4, warm_up={"passes": [3, 1]})
        self.assertEqual(in_short(schedule.passes(two, 0)),
                         "F0 F1 F2 B0 F3 B1 B2 B3")

    def test_zb_h1_delays_weight_gradients_by_the_number_of_the_device(self):
        two = pipeline(2, 3, schedule="zb-h1")
        self.assertEqual(in_short(schedule.passes(two, 0)),
                         "F0 F1 B0 W0 F2 B1 W1 B2 W2")
        self.assertEqual(in_short(schedule.passes(two, 1)),
                         "F0 B0 F1 B1 W0 F2 B2 W1 W2")

    def test_interleaved_runs_chunks_in_groups_of_p(self):
        data = plans.chain([(1, 2), (2, 0), (2, 4)], [degrees()] * 4, microbatch=2,
                           schedule="interleaved", virtual_stages=2)
        for i, stage in enumerate(data["plan"]["stages"]):
            stage["gpus"] = [{"node": "n", "first": i % 2, "count": 1}]
        # 4 microbatches, p = 2, v = 2: device 1 warms up with (v - 1) p = 2.
        order = schedule.passes(plan_of(data).pipelines[0], 1)
        self.assertEqual(in_short(order),
                         "F0.1 F1.1 F0.3 B0.3 F1.3 B1.3 F2.1 B0.1 F3.1 B1.1 "
                         "F2.3 B2.3 F3.3 B3.3 B2.1 B3.1")

    def test_routes_each_group_its_share_at_even_distances(self):
        self.assertEqual(schedule.route([3, 1]), [0, 0, 1, 0])
        self.assertEqual(schedule.route([2, 1, 1]), [0, 1, 2, 0])


class BoxesTest(unittest.TestCase):

    def test_shard_shares_elements_that_parts_outnumber(self):
        self.assertEqual([boxes.shard(2, 4, i) for i in range(4)],
                         [(0, 1), (0, 1), (1, 2), (1, 2)])
        with self.assertRaisesRegex(PlanError, "3; expected a divisor or a multiple"):
            boxes.shard(4, 3, 0)

    def test_moves_from_two_halves_to_a_whole_and_back(self):
        halves = {0: ((0, 4), (0, 2)), 1: ((0, 4), (2, 4))}
        whole = {5: ((0, 4), (0, 4))}
        self.assertEqual(boxes.moves(halves, whole),
                         [(0, 5, halves[0]), (1, 5, halves[1])])
        self.assertEqual(boxes.moves(whole, halves),
                         [(5, 0, halves[0]), (5, 1, halves[1])])

    def test_moves_take_each_element_from_one_of_its_replicas(self):
        whole = ((0, 4),)
        moves = boxes.moves({0: whole, 1: whole}, {1: whole, 2: whole, 3: whole})
        # Rank 1 keeps its own; the others take turns.
        self.assertEqual([(m.source, m.target) for m in moves],
                         [(1, 1), (1, 2), (0, 3)])

    def test_moves_fail_if_something_is_not_sent(self):
        with self.assertRaisesRegex(AssertionError, "2 of 4 elements"):
            boxes.moves({0: ((0, 2),)}, {1: ((0, 4),)})


class ReadPlanTest(unittest.TestCase):

    def setUp(self):
        self.data = plans.chain([(1, 3), (2, 0)], [degrees(tp=2), degrees(dp=2),
                                                   degrees()])
        self.stages = self.data["plan"]["stages"]

    def refuses(self, message):
        with self.assertRaises((PlanError, NotSupported)) as caught:
            plan_of(self.data)
        self.assertEqual(str(caught.exception), message)

    def test_layers_with_mamba_or_of_one_part(self):
        layer = self.data["model"]["layer_types"][1]
        layer["mixer"] = "MAMBA2"
        self.refuses("not supported yet: layers with Mamba, or without attention")
        layer["mixer"] = "ATTENTION"
        layer["no_mlp"] = True
        self.refuses("not supported yet: layers without an MLP")

    def test_ranks_are_numbered_in_the_order_of_the_file(self):
        plan = plan_of(self.data)
        self.assertEqual([stage.teams[0].ranks for stage in plan.pipelines[0].stages],
                         [(0, 1), (2, 3), (4,)])
        self.assertEqual(plan.num_ranks, 5)
        self.assertEqual(plan.pipelines[0].stages[1].begin, Cut(1, 3))

    def test_examples_are_read(self):
        plan = read_plan(harness.ROOT / "examples/plans/mixed-stages.json")
        teams = plan.pipelines[0].stages[0].teams
        self.assertEqual([len(team.microbatches) for team in teams], [12, 4])
        plan = read_plan(harness.ROOT / "examples/plans/two-pipelines.json")
        self.assertEqual(plan.pipelines[1].first_sample, 50)

    def test_another_version(self):
        self.data["format_version"] = "tangram.plan/v2"
        self.refuses('format_version: "tangram.plan/v2"; expected "tangram.plan/v1"')

    def test_a_file_that_is_no_plan(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("{")
            file.flush()
            with self.assertRaisesRegex(PlanError, "no JSON"):
                read_plan(file.name)

    def test_stages_that_leave_a_gap(self):
        self.stages[1]["plan"]["begin"]["op"] = 4
        self.refuses("plan.stages[1].plan.begin: layer 1 operator 4; expected "
                     "layer 1 operator 3")

    def test_stages_that_end_early(self):
        self.stages[2]["plan"].update(end={"layer": 3, "op": 0}, recompute=[
            {"num_layers": 1}])
        self.refuses("plan.stages[2].plan.end: layer 3; expected layer 4, the end "
                     "of all layers")

    def test_a_gpu_twice(self):
        self.stages[2]["gpus"][0]["first"] = 1
        self.refuses("plan.stages[2].gpus[0]: GPU 1 of node n again; expected each "
                     "GPU at most once in a plan")

    def test_degrees_that_are_not_the_number_of_gpus(self):
        self.stages[1]["gpus"][0]["count"] = 1
        self.refuses("plan.stages[1].gpus: 1 GPUs; expected 2, as tp x cp x dp")

    def test_a_degree_that_does_not_divide(self):
        self.data["plan"]["pipeline_microbatch_size"] = 1
        self.refuses("plan.stages[1].dp_degree: 2; expected a divisor of the 1 "
                     "samples of a microbatch")

    def test_expert_parallelism_without_experts(self):
        self.stages[1]["plan"]["parallelism"]["ep_degree"] = 2
        self.refuses("plan.stages[1].ep_degree: 2; expected 1, as no layer has experts")

    def test_fully_sharded_experts_on_one_rank(self):
        self.stages[1]["plan"]["parallelism"]["fsep"] = True
        self.refuses("plan.stages[1].fsep: true; expected false, as ep_degree is 1")

    def test_zero_over_a_part_of_dp(self):
        split = self.stages[1]["plan"]["parallelism"]
        split["zero_degree"] = 2
        self.refuses("plan.stages[1].zero_degree: 2; expected none, as zero_stage is 0")
        split.update(zero_stage=1, zero_degree=3)
        self.refuses("plan.stages[1].zero_degree: 3; expected a divisor of the 2 dp "
                     "ranks")

    def test_two_dimensions_of_tensor_parallelism_beside_another_split(self):
        split = self.stages[0]["plan"]["parallelism"]
        split.update(tp_y_degree=2, sequence_parallel=True)
        self.refuses("plan.stages[0].tp_y_degree: 2; expected 1 with sequence_parallel")
        split["sequence_parallel"] = False
        self.data["model"] = plans.model(**plans.MIXTRAL)
        self.refuses("plan.stages[0].tp_y_degree: 2; expected 1, as layer 1 has experts "
                     "or latent attention")

    def test_a_mask_with_bits_of_no_operator(self):
        self.stages[2]["plan"]["recompute"][1]["mask"] = 4
        self.refuses("plan.stages[2].plan.recompute: mask 0x4; expected bits of the "
                     "operators of layer 3 only")

    def test_an_unknown_field_of_a_stage(self):
        self.stages[0]["twist"] = 1
        self.refuses("plan.stages[0].twist: an unknown field; expected one of gpus, "
                     "island, made_by, mixed, plan")

    def test_warm_up_counts_that_rise(self):
        self.data["plan"]["warm_up"] = {"passes": [1, 2, 1]}
        self.refuses("plan.warm_up.passes: [1, 2, 1]; expected 3 positive numbers "
                     "that fall along the stages")

    def test_groups_that_do_not_share_the_whole(self):
        del self.stages[1]["plan"]["parallelism"]
        self.stages[1]["mixed"] = {"sharing": "lock-step", "groups": [
            {"parallelism": degrees(), "share": 1},
            {"parallelism": degrees(), "share": 2}]}
        self.refuses("plan.stages[1].mixed.groups: 2 with a sum of shares of 3; "
                     "expected at least two with a sum of 2")

    def at(self, path):
        """The object that holds the last name of a path, and that name."""
        *names, last = path.split(".")
        data = self.data
        for name in names:
            data = data[int(name) if name.isdigit() else name]
        return data, int(last) if last.isdigit() else last

    def refuses_each(self, cases):
        for path, value, message in cases:
            with self.subTest(path=path, value=str(value)[:40]):
                self.setUp()
                data, name = self.at(path)
                data[name] = value
                self.refuses(message)

    def test_integers_out_of_range_or_of_another_kind(self):
        huge = 1 << 40
        self.refuses_each([
            ("training.global_batch_size", huge, "training.global_batch_size: "
             f"{huge}; expected an integer from 1 to 16777216"),
            ("training.sequence_length", True, "training.sequence_length: true; "
             "expected an integer from 1 to 16777216"),
            ("plan.virtual_stages", True, "plan.virtual_stages: true; expected an "
             "integer from 1 to 16384"),
            ("plan.warm_up", {"passes": [1.5]}, "plan.warm_up.passes: 1.5; expected "
             "an integer from 1 to 16384"),
            ("plan.stages.0.gpus.0.count", 10**9, "plan.stages[0].gpus[0].count: "
             "1000000000; expected an integer from 1 to 1024"),
            ("plan.stages.0.plan.parallelism.zero_stage", True, "plan.stages[0].plan."
             "parallelism.zero_stage: true; expected an integer from 0 to 3"),
            ("plan.stages.0.plan.recompute.0.mask", "-0", "plan.stages[0].plan."
             "recompute[0].mask: \"-0\"; expected an integer from 0 to 4294967295"),
            ("plan.stages.0.plan.recompute.0.mask", -1, "plan.stages[0].plan."
             "recompute[0].mask: -1; expected an integer from 0 to 4294967295"),
            ("model.layer_types.1.head_dim", 0, "model.layer_types[1].head_dim: 0; "
             "expected an integer from 1 to 16384"),
            ("model.layer_types.1.sliding_window", -5, "model.layer_types[1]."
             "sliding_window: -5; expected an integer from 0 to 16777216"),
            ("model.layer_types.0.num_experts", 4, "model.layer_types[0].num_experts: 4; "
             "expected 0, as the layer is EMBEDDING"),
            ("model.layer_types.1.shared_expert_ffn_hidden_size", 4, "model.layer_types[1]."
             "shared_expert_ffn_hidden_size: 4; expected 0, as num_experts is 0"),
            ("model.layer_types.1.expert_latent_size", 4, "model.layer_types[1]."
             "expert_latent_size: 4; expected 0, as num_experts is 0"),
            ("model.layer_types.1.num_kv_heads", 0, "model.layer_types[1]."
             "num_kv_heads: 0; expected an integer from 1 to 4096"),
            ("model.layers.1.count", 1e9, "model.layers[1].count: 1000000000.0; "
             "expected an integer from 1 to 16383")])

    def test_values_of_another_type(self):
        self.refuses_each([
            ("plan", [], "plan: []; expected an object"),
            ("plan.stages", {}, "plan.stages: {}; expected a list"),
            ("plan.stages.0.gpus.0", "a", 'plan.stages[0].gpus[0]: "a"; expected an '
             "object"),
            ("plan.stages.0.gpus.0.node", ["a"], 'plan.stages[0].gpus[0].node: ["a"]; '
             "expected a text"),
            ("plan.stages.0.plan.parallelism.sequence_parallel", 1, "plan.stages[0]."
             "plan.parallelism.sequence_parallel: 1; expected true or false"),
            ("plan.stages.0.plan.offload", {"weights": "NaN"}, "plan.stages[0].plan."
             'offload.weights: "NaN"; expected a fraction from 0 to 1')])

    def test_enum_values_that_are_unknown(self):
        self.refuses_each([
            ("training.precision", "FOO", 'training.precision: "FOO"; expected one of '
             "FP32, FP16, BF16, FP8"),
            ("training.optimizer", None, "training.optimizer: null; expected one of "
             "ADAM, SGD"),
            ("model.layer_types.1.kind", 0, "model.layer_types[1].kind: 0; expected one "
             "of EMBEDDING, TRANSFORMER, HEAD")])

    def test_fields_that_are_unknown_or_written_twice(self):
        self.refuses_each([
            ("plan.stages.0.gpus.0.twist", 1, "plan.stages[0].gpus[0].twist: an unknown "
             "field; expected one of count, first, node"),
            ("training.globalBatchSize", 8, "training.globalBatchSize: a second time; "
             "expected each field once")])
        for path in "twist", "model.twist", "plan.warm_up", "plan.stages.0.plan.twist":
            with self.subTest(path), self.assertRaisesRegex(PlanError, "unknown field"):
                self.setUp()
                data, name = self.at(path)
                data[name] = {"twist": 1}
                plan_of(self.data)

    def test_sections_that_change_no_result(self):
        self.refuses_each([
            ("evaluation", 3, "evaluation: 3; expected an object"),
            ("evaluation", {"twist": 1}, "evaluation.twist: an unknown field; expected "
             "one of bubble_fraction, iteration_time_s, measured_fraction, "
             "model_flops_utilization, samples_per_s, stages, tokens_per_s, violations"),
            ("islands", [{}, {"id": "one"}], 'islands[1].id: "one"; expected an integer'),
            ("notes", ["right", 1], "notes[1]: 1; expected a text"),
            ("planner_options", {"a": 1}, 'planner_options: {"a": 1}; expected an object '
             "of texts"),
            ("cluster.devices.0.efficiency", [], "cluster.devices[0].efficiency: []; "
             "expected an object"),
            ("cluster.links", {}, "cluster.links: {}; expected a list"),
            ("stats", {"truncated": "perhaps"}, 'stats.truncated: "perhaps"; expected '
             "true or false")])
        self.setUp()
        self.data.update(evaluation={"iterationTimeS": "Infinity", "stages": [
            {"in_flight": "3", "forward_s": 1, "replicas": None}]}, stats=None,
            planner_options={"max_search_steps": "5"})
        self.assertEqual(plan_of(self.data).num_ranks, 5)

    def test_shapes_are_those_of_the_proto_files(self):
        text = (harness.RUNNER / "tangram_runner/shapes.txt").read_text(encoding="utf-8")
        self.assertEqual(text, proto_shapes.shapes(harness.ROOT),
                         "run tests/tools/runner/proto_shapes.py")

    def test_more_than_one_answer(self):
        self.data["replicated_plan"] = {}
        self.refuses("plan: several answers; expected either plan or infeasible, or "
                     "replicated_plan alone")

    def test_gpus_that_the_cluster_lacks(self):
        self.data["cluster"] = plans.cluster({"m": 4, "n": 4})
        self.refuses("plan.stages[2].gpus[0]: GPU 4 of node n; expected one of its 4 "
                     "GPUs, counted from 0")
        self.stages[2]["gpus"][0].update(node="nowhere", first=0)
        self.refuses('plan.stages[2].gpus[0].node: "nowhere"; expected a node of the '
                     "cluster")
        self.stages[2]["gpus"][0]["node"] = "m"
        self.assertEqual(plan_of(self.data).num_ranks, 5)

    def test_a_file_without_a_cluster(self):
        for cluster in None, {}, {"nodes": []}:
            with self.subTest(cluster):
                self.data["cluster"] = cluster
                self.refuses("cluster.nodes: none; expected the nodes that the plan is "
                             "for")

    def test_context_parallelism_without_its_kernels(self):
        split = self.stages[1]["plan"]["parallelism"]
        split.update(dp_degree=1, cp_degree=2)
        self.assertEqual(plan_of(self.data).num_ranks, 5)
        self.data["training"]["flash_attention"] = False
        self.refuses("plan.stages[1].cp_degree: 2; expected 1, as "
                     "training.flash_attention is false")
        self.data["training"].update(flash_attention=True, sequence_length=18)
        self.refuses("plan.stages[1].cp_degree: 2; expected twice it to divide the "
                     "sequence length, 18")
        self.data["training"]["sequence_length"] = 16
        self.data["cluster"]["devices"][0]["supports_flash_attention"] = False
        self.refuses("plan.stages[1].cp_degree: 2; expected 1, as flash attention does "
                     "not run on test-gpu (node n)")

    def test_offloading_without_a_host_link(self):
        self.stages[0]["plan"]["offload"] = {"weights": 0.5}
        del self.data["cluster"]["devices"][0]["host"]
        self.refuses("plan.stages[0].plan.offload: given; expected none, as the host link "
                     "of node n is not known")

    def test_warm_up_counts_with_blocking_transfers(self):
        self.data["plan"]["warm_up"] = {"passes": [4, 2, 1]}
        self.data["training"].update(blocking_transfers=True, buffered_sends=True)
        self.assertEqual(plan_of(self.data).pipelines[0].warm_up, (4, 2, 1))
        self.data["training"]["buffered_sends"] = False
        self.refuses("plan.warm_up.passes: given; expected none, as with "
                     "blocking_transfers stages would wait for each other in a ring")

    def test_chunks_of_a_device_that_differ(self):
        data = plans.chain([(1, 2), (2, 0), (2, 4)], [degrees(dp=2) for _ in range(4)],
                           schedule="interleaved", virtual_stages=2)
        self.data, stages = data, data["plan"]["stages"]
        for i, stage in enumerate(stages):
            stage["gpus"] = [{"node": "n", "first": 2 * (i % 2), "count": 2}]
        stages[2]["plan"]["parallelism"]["zero_stage"] = 1
        self.refuses("plan.stages[2].plan.parallelism: other degrees or options; "
                     "expected those of stages[0], a chunk of the same device")
        stages[2]["plan"]["parallelism"]["zero_stage"] = 0
        stages[2]["gpus"][0]["first"] = 2
        self.refuses("plan.stages[2].gpus: other GPUs or another order; expected those "
                     "of stages[0], a chunk of the same device")

    def test_mixed_stages_beside_what_excludes_them(self):
        self.data["training"]["blocking_transfers"] = True
        plan, stage = self.data["plan"], self.stages[1]
        stage["mixed"] = {"sharing": "routed", "groups": [
            {"parallelism": degrees(), "share": 2}, {"parallelism": degrees(), "share": 2}]}
        self.refuses("plan.stages[1].plan.parallelism: given; expected none, as each "
                     "group has its own")
        del stage["plan"]["parallelism"]
        self.refuses("plan.stages[1].mixed.sharing: routed; expected lock-step, as "
                     "training.blocking_transfers is set")
        plan["schedule"] = "zb-h1"
        self.refuses("plan.stages[1].mixed: the schedule zb-h1; expected 1f1b or gpipe "
                     "with replicas that differ")

    def test_state_fractions_that_do_not_fit_the_synchronisation(self):
        self.data["replicated_plan"] = {"sync": "zero1", "pipelines": [
            {"plan": self.data.pop("plan"), "num_microbatches": 4}]}
        self.refuses("replicated_plan.pipelines[0].state_fraction: 0.0; expected a "
                     "fraction above 0, at most 1")
        self.data["replicated_plan"]["sync"] = "all-reduce"
        self.data["replicated_plan"]["pipelines"][0]["state_fraction"] = 1
        self.refuses("replicated_plan.pipelines[0].state_fraction: 1.0; expected none "
                     "with all-reduce")

    def test_spellings_of_protobuf(self):
        right = plan_of(self.data)
        training = self.data["training"]
        training["sequenceLength"] = float(training.pop("sequence_length"))
        training.update(global_batch_size=str(training["global_batch_size"]),
                        precision=2, fp32_gradients="False")
        self.data["plan"].update(schedule=None, warmUp=None)
        self.data["replicated_plan"] = None
        self.stages[0]["plan"]["parallelism"]["sequence_parallel"] = "false"
        self.stages[0]["gpus"].append(None)
        self.assertEqual(plan_of(self.data), right)

    def test_texts_that_protobuf_refuses(self):
        for text, message in (
                ('{"plan": 1, "plan": 2}', 'field "plan": a second time; expected each'),
                ('{"name": "\\ud800"}', "half of a surrogate pair; expected Unicode"),
                ("[" * 100000, "values in too many others; expected less nesting"),
                ('{"plan": NaN}', "NaN is no number"),
                ("[]", "no object; expected a plan file")):
            with self.subTest(text[:30]), self.assertRaisesRegex(PlanError, message):
                parse(text, "p.json")

    def test_layers_that_do_not_fit_each_other(self):
        layers = self.data["model"]["layer_types"]
        layers[2]["vocab_size"] = 100
        self.refuses("model.layers: vocab_size [100, 256]; expected one vocab_size in "
                     "all layers that have it")
        layers[1]["num_kv_heads"] = 3
        self.refuses("model.layer_types[1].num_kv_heads: 3; expected a divisor of "
                     "num_heads, 8")


class OptionsTest(unittest.TestCase):

    def test_numbers_that_mean_nothing(self):
        for option, value in (("--steps", "0"), ("--steps", "-1"),
                              ("--tolerance", "nan"), ("--tolerance", "-1"),
                              ("--tolerance", "inf"), ("--max-processes", "0")):
            told = io.StringIO()
            with (self.subTest(option=option, value=value),
                  contextlib.redirect_stderr(told),
                  self.assertRaises(SystemExit) as ended):
                parse_options(["p.json", f"{option}={value}"])
            self.assertEqual(ended.exception.code, 2)
            self.assertIn(f"{option}: {value}; expected", told.getvalue())


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class ProcessesTest(unittest.TestCase):

    def test_more_processes_than_allowed(self):
        data = plans.chain([(1, 3)], [degrees(dp=2), degrees()])
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(data, file)
            file.flush()
            told = io.StringIO()
            with contextlib.redirect_stderr(told):
                self.assertEqual(run_program(["--max-processes=2", file.name]), 2)
        self.assertIn("plan: 3 GPUs, and so processes; expected at most 2 on one machine, "
                      "or a greater --max-processes", told.getvalue())


class TinyTest(unittest.TestCase):

    def test_structure_stays_and_sizes_shrink(self):
        plan = read_plan(harness.ROOT / "examples/plans/mixed-stages.json")
        small = tiny.tiny(plan)
        self.assertEqual(len(small.layers), len(plan.layers))
        self.assertEqual(small.pipelines[0].stages, plan.pipelines[0].stages)
        self.assertLess(small.layers[1].hidden_size, 65)
        self.assertLess(small.sequence_length, 65)

    def test_samples_are_those_of_the_smaller_microbatches(self):
        data = plans.chain([(1, 3)], [degrees(dp=4), degrees(dp=2)], microbatch=16,
                           global_batch=64)
        small = tiny.tiny(plan_of(data)).pipelines[0]
        self.assertEqual(small.microbatch_size, 4)
        self.assertEqual(small.num_microbatches, 4)
        self.assertEqual({stage.teams[0].num_samples for stage in small.stages}, {4})

    def test_heads_are_shared_as_before(self):
        # Multi-head, grouped, one key head for all, degrees beyond the key heads.
        self.assertEqual(tiny.tiny_heads(32, 32, [1, 2]), (2, 2))
        self.assertEqual(tiny.tiny_heads(64, 8, [1, 2, 8]), (16, 8))
        self.assertEqual(tiny.tiny_heads(32, 8, [1, 4]), (8, 4))
        self.assertEqual(tiny.tiny_heads(32, 1, [1, 4]), (4, 1))
        self.assertEqual(tiny.tiny_heads(64, 8, [2, 16]), (16, 2))
        self.assertEqual(tiny.tiny_heads(8, 2, [4, 8]), (8, 1))

    def test_experts_stay_a_multiple_of_every_expert_parallel_degree(self):
        data = plans.chain([(1, 3)], [degrees(dp=4, ep=4), degrees(dp=2, ep=2)],
                           of=plans.model(**{**plans.MIXTRAL, "num_experts": 128}),
                           microbatch=4)
        layer = tiny.tiny(plan_of(data)).layers[1]
        self.assertEqual((layer.num_experts, layer.experts_per_token), (4, 2))

    def test_experts_of_another_width_keep_one(self):
        data = plans.chain([], [degrees(dp=4, ep=4, fsep=True)], microbatch=4,
                           of=plans.model(**plans.NEMOTRON))
        layer = tiny.tiny(plan_of(data)).layers[1]
        self.assertEqual((layer.hidden_size, layer.expert_latent_size), (16, 8))

    def test_every_degree_still_divides(self):
        for tp in 1, 2, 4, 8:
            for cp in 1, 2, 3:
                data = plans.chain([(1, 3)], [degrees(tp=tp, cp=cp, sp=True),
                                              degrees(tp=2)], sequence=48)
                small = tiny.tiny(plan_of(data))
                layer = small.layers[1]
                for size in (layer.num_heads, layer.ffn_hidden_size,
                             small.layers[0].vocab_size, small.sequence_length // cp):
                    self.assertEqual(size % tp, 0)


if __name__ == "__main__":
    harness.main()
