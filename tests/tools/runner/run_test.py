"""Plans that train as one process does, and faults that the comparison finds."""

import contextlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import harness
import program
from plans import GPT, LLAMA, MIXTRAL, chain, degrees, model

if harness.HAS_TORCH:
    import torch
    import trains
    from tangram_runner import __main__ as command
    from tangram_runner import room
    from tangram_runner import border, launch, stage_run, support, sync
    from tangram_runner.errors import NotSupported, PlanError
    from tangram_runner.job import settings_of
    from tangram_runner.operators.context import Context
    from tangram_runner.read_plan import plan_of
    from tangram_runner.trainer import Trainer


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class RunTest(unittest.TestCase):

    def trains_right(self, data, steps=1, small=True):
        trains.right(self, data, steps, small)

    def test_each_degree_alone(self):
        for alone in (degrees(tp=2), degrees(tp=2, sp=True), degrees(dp=2),
                      degrees(cp=2), degrees(dp=2, zero=1)):
            with self.subTest(str(alone)):
                self.trains_right(chain([], [alone]), steps=2)

    def test_all_degrees_together(self):
        self.trains_right(chain([], [degrees(tp=2, cp=2, dp=2, sp=True, zero=1)]))

    def test_real_sizes(self):
        self.trains_right(chain([(1, 7)], [degrees(tp=2), degrees(dp=2)]), small=False)

    def test_a_cut_before_each_operator(self):
        for op in range(10):
            with self.subTest(op):
                self.trains_right(chain([(2, op)], [degrees(tp=2, sp=op % 2 == 1),
                                                    degrees(dp=2)]))

    def test_unlike_degrees_on_both_sides(self):
        self.trains_right(chain([(1, 3), (1, 8), (2, 4)],
                                [degrees(), degrees(tp=2, dp=2), degrees(tp=4, sp=True),
                                 degrees(cp=2, dp=2)]))

    def test_the_ends_of_a_tied_embedding_with_unlike_degrees(self):
        self.trains_right(chain([(2, 0)], [degrees(tp=2, dp=2),
                                           degrees(tp=4, sp=True, zero=1)]), steps=3)

    def test_zero_over_a_part_of_dp(self):
        for zero in (1, 2, 3):
            with self.subTest(zero):
                self.trains_right(
                    chain([(2, 0)], [degrees(dp=4, zero=zero, zero_degree=2),
                                     degrees(dp=4, tp=2, zero=zero, zero_degree=2)],
                          microbatch=4),
                    steps=3)
        self.trains_right(chain([], [degrees(dp=4, ep=2, zero=3, zero_degree=2)],
                                of=model(**MIXTRAL), microbatch=4), steps=2)

    def test_grouped_queries_and_more_ranks_than_key_heads(self):
        of = model(**{**LLAMA, "num_kv_heads": 2, "qk_norm": True, "qkv_bias": True})
        self.trains_right(chain([(1, 2), (1, 3), (2, 4)],
                                [degrees(tp=2), degrees(tp=8), degrees(tp=4, sp=True),
                                 degrees(tp=2, cp=2)], of=of))

    def test_latent_attention(self):
        for q_rank in 0, 12:
            with self.subTest(q_rank):
                of = model(**{**LLAMA, "num_kv_heads": 8, "head_dim": 12,
                              "q_lora_rank": q_rank, "kv_lora_rank": 16,
                              "rope_head_dim": 4})
                self.trains_right(chain([(1, 2), (2, 1)],
                                        [degrees(tp=2, sp=True), degrees(tp=4, cp=2),
                                         degrees(dp=2)], of=of, mask=0x3fe), steps=2)

    def test_sliding_window_over_context_parallel_ranks(self):
        of = model(**{**LLAMA, "sliding_window": 4})
        self.trains_right(chain([(2, 0)], [degrees(cp=4), degrees(cp=2, tp=2)], of=of))

    def test_recomputation_masks(self):
        for mask in (0x004, 0x3ff, 0x081, 0x2a5):
            with self.subTest(mask):
                self.trains_right(chain([(1, 3)], [degrees(tp=2, sp=True), degrees(dp=2)],
                                        mask=mask))

    def test_recomputed_ends_of_the_model_see_the_tokens_of_their_microbatch(self):
        data = chain([(1, 3)], [degrees(dp=2), degrees(tp=2)])
        stages = data["plan"]["stages"]
        stages[0]["plan"]["recompute"][0]["mask"] = 1
        stages[1]["plan"]["recompute"][-1]["mask"] = 2
        self.trains_right(data)

    def test_two_dimensions_of_tensor_parallelism(self):
        for of in (GPT, {**LLAMA, "num_kv_heads": 2, "qk_norm": True, "qkv_bias": True}):
            self.trains_right(chain(
                [(1, 3), (1, 8), (2, 4)],
                [degrees(tp=8, tp_y_degree=2), degrees(tp=2, sp=True),
                 degrees(tp=4, cp=2, tp_y_degree=4, zero=1),
                 degrees(tp=4, tp_y_degree=2)], of=model(**of), mask=0x2a5), steps=2)

    def test_schedules(self):
        for more in ({"schedule": "gpipe"}, {"schedule": "1f1b"}, {"schedule": "zb-h1"},
                     {"warm_up": {"passes": [5, 2, 1]}}):
            with self.subTest(str(more)):
                self.trains_right(chain([(1, 5), (2, 2)], [degrees(tp=2), degrees(),
                                                           degrees(dp=2)],
                                        mask=0x3fc, global_batch=16, **more))

    def test_interleaved_chunks(self):
        data = chain([(1, 2), (1, 6), (2, 0), (2, 4), (3, 1)], [degrees(tp=2)] * 6,
                     schedule="interleaved", virtual_stages=3)
        for i, stage in enumerate(data["plan"]["stages"]):
            stage["gpus"] = [{"node": "n", "first": i % 2 * 2, "count": 2}]
        self.trains_right(data, steps=2)

    def test_two_pipelines_with_uneven_shares(self):
        first = chain([(1, 3)], [degrees(tp=2), degrees()])
        second = chain([(2, 4)], [degrees(), degrees(dp=3)], microbatch=3)
        for stage in second["plan"]["stages"]:
            stage["gpus"][0]["node"] = "m"
        del second["plan"]["stages"][0]["gpus"][0]["first"]
        data = {**first, "replicated_plan": {"pipelines": [
            {"plan": first.pop("plan"), "num_microbatches": 4},
            {"plan": second.pop("plan"), "num_microbatches": 2}]}}
        data.pop("plan")
        data["training"]["global_batch_size"] = 14
        self.trains_right(data, steps=2)

    def test_groups_in_lock_step_and_routed(self):
        for sharing, shares in ("lock-step", (3, 1)), ("routed", (2, 4)):
            with self.subTest(sharing):
                data = chain([(1, 4)], [degrees(tp=2), degrees(dp=2)], microbatch=4,
                             global_batch=24)
                stage = data["plan"]["stages"][0]
                del stage["plan"]["parallelism"]
                stage["gpus"] = [{"node": "m", "count": 3}]
                stage["mixed"] = {"sharing": sharing, "groups": [
                    {"parallelism": degrees(), "share": shares[0]},
                    {"parallelism": degrees(tp=2), "share": shares[1]}]}
                self.trains_right(data)


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class BorderTest(unittest.TestCase):

    def test_inputs_of_the_next_passes_arrive_while_one_runs(self):
        plan = plan_of(chain([(1, 3)], [degrees(), degrees()], schedule="gpipe"))

        def work(fabric):
            trainer = Trainer(plan, fabric, settings_of(plan, 1, "float32"))
            run, = trainer.runs.values()
            events, expect, forward = [], fabric.expect, run.forward
            fabric.expect = lambda *what: events.append("expects") or expect(*what)
            run.forward = lambda *what: events.append("runs") or forward(*what)
            trainer.gradients(0)
            everyone = fabric.gather_objects(events)
            return everyone[1] if everyone else ()

        self.assertEqual(launch.spawn(2, work)[:5],
                         ["expects"] * 3 + ["runs", "expects"])

    def test_pipelines_are_ready_for_gradients_before_they_send_any(self):
        one = chain([], [degrees()])
        two = chain([], [degrees()])
        two["plan"]["stages"][0]["gpus"][0]["node"] = "m"
        data = {**one, "replicated_plan": {"pipelines": [
            {"plan": of.pop("plan"), "num_microbatches": 2} for of in (one, two)]}}
        data.pop("plan")
        plan = plan_of(data)

        def work(fabric):
            trainer = Trainer(plan, fabric, settings_of(plan, 1, "float32"))
            events, expect, send = [], fabric.expect, fabric.send
            fabric.expect = lambda *what: events.append("expects") or expect(*what)
            fabric.send = lambda *what: events.append("sends") or send(*what)
            trainer.gradients(0)
            return events

        self.assertEqual(launch.spawn(2, work), ["expects", "sends"])

    def test_messages_of_columns(self):
        # Gradients may come with any strides, even of one number.
        whole = torch.arange(8, dtype=torch.float64).view(4, 2)
        for part in whole[:, 1:], whole[1:2, 1]:
            message = border.as_bytes(part)
            self.assertEqual(message.view(torch.float64).tolist(),
                             part.flatten().tolist())


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class FaultTest(unittest.TestCase):
    """Faults of stage 1 of 3 alone. One process has no stage 1, so it is right."""

    def setUp(self):
        self.data = chain([(1, 3), (2, 1)], [degrees(tp=2), degrees(tp=2, dp=2, sp=True),
                                             degrees(dp=2)])

    def finds(self, *texts):
        trains.wrong(self, self.data, *texts)

    def test_a_value_that_goes_wrong(self):
        forward = stage_run.StageRun.forward

        def wrong(self, microbatch, inputs):
            outputs = forward(self, microbatch, inputs)
            if self.stage.index == 1:
                outputs["x"] = outputs["x"] * 1.001
            return outputs

        with mock.patch.object(stage_run.StageRun, "forward", wrong):
            self.finds("stage 1 is the first that goes wrong: the value of x at the "
                       "border of stages 1 and 2")

    def test_a_gradient_that_does_not_cross_the_border(self):
        backward = stage_run.StageRun.backward

        def wrong(self, microbatch, gradients):
            found = backward(self, microbatch, gradients)
            if self.stage.index == 1:
                found["x"] = torch.zeros_like(found["x"])
            return found

        with mock.patch.object(stage_run.StageRun, "backward", wrong):
            self.finds(trains.SAME_LOSS, "stage 1 is the first that goes "
                       "wrong: the gradient of x at the border of stages 0 and 1")

    def test_replicas_that_do_not_add_up(self):
        within_team = sync.GradientSync._within_team

        def wrong(self, run):
            if run.stage.index != 1:
                within_team(self, run)

        with mock.patch.object(sync.GradientSync, "_within_team", wrong):
            self.finds("all borders are right; wrong inside stage 1",
                       "gradient of 1.mlp_norm.weight")

    def test_a_part_that_tp_ranks_do_not_add_up(self):
        leave = Context.leave_tp

        def wrong(self, tensor):
            if self.parallelism.sequence_parallel:
                return tensor[:, :tensor.shape[1] // 2]
            return leave(self, tensor)

        with mock.patch.object(Context, "leave_tp", wrong):
            self.finds("stage 1 is the first that goes wrong: the value of")

    def test_samples_that_are_mixed_up_at_a_border(self):
        expect = border.Exchange.expect

        def wrong(self, fabric, dtype):
            take = expect(self, fabric, dtype)
            if fabric.rank in (2, 3):
                return lambda: {n: t.flip(1) for n, t in take().items()}
            return take

        with mock.patch.object(border.Exchange, "expect", wrong):
            self.finds("stage 0 is the first that goes wrong: the value of")

    def planar(self):
        self.data = chain([(1, 3), (2, 8)], [degrees(tp=2), degrees(tp=4, tp_y_degree=2),
                                             degrees(dp=2)])

    def test_a_norm_over_the_features_of_one_rank(self):
        mean = Context.mean

        def wrong(self, x):
            if self.parallelism.tp_y_degree > 1:
                return x.mean(-1, keepdim=True)
            return mean(self, x)

        self.planar()
        with mock.patch.object(Context, "mean", wrong):
            self.finds("stage 1 is the first that goes wrong: the value of")

    def test_products_whose_parts_are_not_added_up(self):
        leave = Context.leave_first

        def wrong(self, tensor, dim, size):
            with mock.patch("tangram_runner.sharing.sum_over", lambda t, *_: t):
                return leave(self, tensor, dim, size)

        self.planar()
        with mock.patch.object(Context, "leave_first", wrong):
            self.finds("stage 1 is the first that goes wrong: the value of")

    def test_a_rank_that_fails_ends_the_others(self):
        def wrong(self, microbatch, inputs):
            if self.stage.index == 1:
                raise ValueError("out of memory")
            return forward(self, microbatch, inputs)

        forward = stage_run.StageRun.forward
        told = io.StringIO()
        with mock.patch.object(stage_run.StageRun, "forward", wrong), \
                contextlib.redirect_stderr(told):
            self.assertIsNone(trains.run(self.data)[0])
        # Only the first rank that fails says why.
        self.assertRegex(told.getvalue(), r"\Atangram: rank [2-5]: Traceback")
        self.assertEqual(told.getvalue().count("Traceback"), 1)
        self.assertIn("ValueError: out of memory", told.getvalue())


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class SupportTest(unittest.TestCase):

    def refuses(self, message, data):
        with self.assertRaises((NotSupported, PlanError)) as caught:
            support.check_supported(plan_of(data))
        self.assertEqual(str(caught.exception), message)

    def test_what_is_missing_is_named(self):
        data = chain([], [degrees()])
        data["training"]["precision"] = "FP8"
        with self.assertRaises(NotSupported) as caught:
            support.check_precision(plan_of(data))
        self.assertEqual(str(caught.exception),
                         "not supported yet: FP8, except with --check or --dtype")

    def test_sizes_that_a_degree_does_not_divide(self):
        self.refuses("stage 0: MLP width 130; expected a multiple of the "
                     "tensor-parallel degree, 4",
                     chain([], [degrees(tp=4)], of=model(**GPT, ffn_hidden_size=130)))
        self.refuses("stage 0: experts' width 34; expected a multiple of the "
                     "tensor-parallel degree, 4",
                     chain([], [degrees(tp=4)],
                           of=model(**{**MIXTRAL, "expert_ffn_hidden_size": 34})))
        self.refuses("stage 0: hidden size 64; expected a multiple of ep_degree, 3, by "
                     "which FSEP splits experts",
                     chain([], [degrees(dp=3, ep=3, fsep=True)], microbatch=3,
                           global_batch=9, of=model(**{**MIXTRAL, "num_experts": 6})))
        self.refuses("stage 0: experts' latent size 28; expected a multiple of ep_degree, "
                     "3, by which FSEP splits experts",
                     chain([], [degrees(dp=3, ep=3, fsep=True)], microbatch=3,
                           global_batch=9, of=model(**{**MIXTRAL, "num_experts": 6,
                                                       "expert_latent_size": 28})))


class CommandTest(unittest.TestCase):

    def ends(self, code, text, *arguments):
        done = program.run(*arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(text, done.stdout + done.stderr)

    @unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
    def test_a_reader_that_goes_away_ends_the_run_quietly(self):
        with tempfile.NamedTemporaryFile("w") as file:
            json.dump(chain([(1, 3)], [degrees(), degrees()]), file)
            file.flush()
            with subprocess.Popen(
                    ["/usr/bin/python3", harness.RUNNER, file.name, "--tiny", "--steps",
                     "100000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    text=True) as run:
                self.assertIn("step 0: loss", run.stdout.readline())
                run.stdout.close()
                self.assertEqual(run.stderr.read(), "")
        self.assertEqual(run.returncode, 3)

    @unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
    def test_ranks_that_a_launcher_starts(self):
        # The environment that torchrun gives its processes.
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with tempfile.NamedTemporaryFile("w") as file:
            json.dump(chain([(1, 3)], [degrees(), degrees()]), file)
            file.flush()
            ranks = [subprocess.Popen(
                ["/usr/bin/python3", "-m", "tangram_runner", file.name, "--tiny",
                 "--check"], cwd=harness.RUNNER, stdout=subprocess.PIPE, text=True,
                env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2",
                     "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1",
                     "MASTER_PORT": str(port)}) for rank in range(2)]
            texts = [rank.communicate()[0] for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0, 0])
        self.assertIn("right: loss and 36 gradients", texts[0])
        self.assertEqual(texts[1], "")

    @unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
    def test_another_number_of_ranks_than_the_plan_has(self):
        with tempfile.NamedTemporaryFile("w") as file, \
                mock.patch.dict("os.environ", RANK="0", WORLD_SIZE="3"):
            json.dump(chain([], [degrees(dp=2)]), file)
            file.flush()
            self.ends(2, "WORLD_SIZE: 3; expected 2", file.name)

    @unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
    def test_a_launcher_that_says_too_little(self):
        right = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                 "MASTER_PORT": "1234"}
        with tempfile.NamedTemporaryFile("w") as file:
            json.dump(chain([], [degrees(dp=2)]), file)
            file.flush()
            for name, value, text in (
                    ("RANK", "9" * 5000, "RANK: 999"),
                    ("MASTER_PORT", "0", "MASTER_PORT: 0; expected an integer from 1"),
                    ("RANK", "x", "RANK: x; expected an integer from 0 to 1"),
                    ("RANK", "2", "RANK: 2; expected an integer from 0 to 1"),
                    ("LOCAL_RANK", "-1", "LOCAL_RANK: -1; expected an integer from 0"),
                    ("MASTER_PORT", "", "MASTER_PORT: ; expected an integer from 1 to"),
                    ("MASTER_ADDR", "", "MASTER_ADDR: not set; expected the host of")):
                with self.subTest(text), mock.patch.dict("os.environ",
                                                         {**right, name: value}):
                    self.ends(2, text, file.name)
            for name in "RANK", "WORLD_SIZE":
                with self.subTest(name), mock.patch.dict("os.environ", right):
                    del os.environ[name]
                    self.ends(2, f"{name}: not set; expected", file.name)

    @unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
    def test_ranks_that_cannot_meet(self):
        with tempfile.NamedTemporaryFile("w") as file, socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            json.dump(chain([], [degrees(dp=2)]), file)
            file.flush()
            with mock.patch.dict("os.environ", RANK="0", WORLD_SIZE="2",
                                 MASTER_ADDR="127.0.0.1",
                                 MASTER_PORT=str(taken.getsockname()[1])):
                self.ends(3, "tangram: rank 0: cannot meet the other ranks at 127.0.0.1",
                          file.name)

    @unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
    def test_a_folder_that_cannot_be_made_is_refused_before_the_run(self):
        with tempfile.NamedTemporaryFile("w") as file:
            json.dump(chain([], [degrees()]), file)
            file.flush()
            self.ends(2, f"--profile-folder: {file.name}/x; expected a folder",
                      file.name, "--measure", "--tangram", "true", "--profile-folder",
                      f"{file.name}/x")

    @unittest.skipIf(harness.HAS_TORCH, "not applicable: PyTorch is installed")
    def test_says_that_pytorch_is_missing(self):
        self.ends(2, "tangram: PyTorch is missing: apt-get install "
                  "--no-install-recommends python3-torch", "plan.json")

    @unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
    def test_exit_codes(self):
        with tempfile.NamedTemporaryFile("w") as file:
            json.dump(chain([(1, 3)], [degrees(dp=2), degrees()]), file)
            file.flush()
            self.ends(0, "right: loss and 36 gradients", file.name, "--tiny", "--check")
            self.ends(0, "step 1: loss", file.name, "--steps", "2")
            # No two orders of additions give the same float64.
            self.ends(1, "wrong: loss differs by", file.name, "--check", "--tolerance",
                      "1e-30")
        self.ends(2, "tangram: nowhere.json: No such file or directory; expected a plan "
                  "file", "nowhere.json")
        self.ends(2, "tangram: argument --steps: 0; expected a positive integer",
                  "nowhere.json", "--steps", "0")

    @unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
    def test_a_plan_that_this_machine_cannot_hold(self):
        told = io.StringIO()
        with tempfile.NamedTemporaryFile("w") as file, \
                mock.patch.object(room, "available_bytes", lambda on_gpus: 5e6), \
                contextlib.redirect_stderr(told):
            json.dump(chain([], [degrees(dp=2)]), file)
            file.flush()
            self.assertEqual(command.main([file.name]), 0)
            self.assertEqual(command.main([file.name, "--check"]), 2)
        # Two replicas and one process beside them, of 8-byte numbers.
        self.assertRegex(told.getvalue(), r"\Atangram: \S+: plan: 0\.0 GB of weights, "
                         r"gradients and optimizer state, .*; expected at most 0\.0 GB, "
                         r"which this machine has, or --tiny\n\Z")


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class KilledTest(unittest.TestCase):

    def test_a_killed_rank_is_named_and_ends_the_others(self):
        for num_ranks in 1, 3:
            with self.subTest(num_ranks):
                told = io.StringIO()
                with contextlib.redirect_stderr(told):
                    self.assertIsNone(launch.spawn(num_ranks, _kill_last))
                self.assertEqual(
                    told.getvalue(), f"tangram: rank {num_ranks - 1}: killed by SIGKILL, "
                    "as the kernel does when memory runs out\n")

    def test_ranks_end_with_their_parent(self):
        for how in signal.SIGTERM, signal.SIGKILL:
            with self.subTest(how.name):
                parent = subprocess.Popen(
                    [sys.executable, "-c", PAUSED, str(harness.RUNNER)],
                    stdout=subprocess.PIPE, text=True)
                for _ in range(2):
                    self.assertEqual(parent.stdout.readline(), "ready\n")
                parent.send_signal(how)
                # The output ends once no rank holds it.
                self.assertEqual(parent.communicate()[0], "")
                self.assertEqual(parent.returncode, -how)


# Two ranks that wait for a signal.
PAUSED = """
import os, signal, sys
sys.path.append(sys.argv[1])
from tangram_runner import launch

def work(fabric):
    os.write(1, b"ready\\n")
    signal.pause()

launch.spawn(2, work)
"""


def _kill_last(fabric):
    last = int(os.environ["WORLD_SIZE"]) - 1
    if fabric.rank == last:
        os.kill(os.getpid(), signal.SIGKILL)
    fabric.receive(1, torch.float32, last, tag=1)  # An error.


if __name__ == "__main__":
    harness.main()
