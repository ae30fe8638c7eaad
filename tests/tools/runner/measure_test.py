"""`--measure`: the pieces that it is made of, and what it prints. Times are not looked
at: they are those of a busy machine."""

import json
import pathlib
import subprocess
import tempfile
import unittest

import harness
import plans
import program
import random_plans
from plans import LLAMA, MIXTRAL, chain, degrees, model

if harness.HAS_TORCH:
    from tangram_runner import machine, measure_run, pieces, timed_run
    from tangram_runner.fabric import Alone
    from tangram_runner.job import settings_of
    from tangram_runner.operators import live_tensors
    from tangram_runner.plan import one_process
    from tangram_runner.read_plan import plan_of
    from tangram_runner.silent import Silent
    from tangram_runner.stage_run import StageRun
    from tangram_runner.write_plan import Seat, plan_file

TANGRAM = harness.BINARIES / "tangram"
LINK = [{"bytes": 1000, "seconds": 1e-3}, {"bytes": 300000, "seconds": 4e-3}]


def ticks():
    """A clock that ticks with every look."""
    now = [0.0]

    def clock():
        now[0] += 1
        return now[0]
    return clock


def stage_run(data, stage, rank):
    plan = plan_of(data)
    one = plan.pipelines[0].stages[stage]
    return StageRun(plan, 0, one, one.teams[0], Silent(rank, Alone("cpu").device),
                    live_tensors(plan.layers), settings_of(plan, 1, "float32"))


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class PlanFileTest(unittest.TestCase):

    def test_reading_what_was_written_gives_the_plan(self):
        for seed in range(60):
            with self.subTest(seed):
                plan = plan_of(random_plans.random_plan(seed))
                seats = machine.seats_of(plan)
                counts = {}
                for seat in seats.values():
                    counts[seat.node] = max(counts.get(seat.node, 0), seat.index + 1)
                file = plan_file(plan, plans.cluster(counts), seats)
                self.assertEqual(plan_of(json.loads(json.dumps(file))), plan)

    def test_seats_are_those_of_devices(self):
        plan = plan_of(chain([(1, 3)], [degrees(tp=2), degrees()]))
        self.assertEqual(machine.seats_of(plan), {
            0: Seat("pipeline-0-stage-0", 0), 1: Seat("pipeline-0-stage-0", 1),
            2: Seat("pipeline-0-stage-1", 0)})


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class PiecesTest(unittest.TestCase):

    def test_a_stage_touches_whole_layers_and_their_operators(self):
        run = stage_run(chain([(1, 3)], [degrees(), degrees()]), 0, 0)
        found = pieces.pieces_of(run)
        names = [(piece.layer.kind, piece.operator) for piece in found]
        self.assertEqual(names[:4], [("EMBEDDING", None), ("EMBEDDING", "embedding"),
                                     ("TRANSFORMER", None),
                                     ("TRANSFORMER", "attention_norm")])
        self.assertEqual(len(names), 13)

    def test_operators_on_routed_tokens_are_timed_in_their_layer_alone(self):
        run = stage_run(chain([], [degrees()], num_layers=3, of=model(1, **MIXTRAL)), 0, 0)
        names = [piece.operator for piece in pieces.pieces_of(run)
                 if piece.layer.is_transformer]
        self.assertEqual(names, [
            None, "attention_norm", "qkv_projection", "attention_core",
            "output_projection", "attention_residual", "mlp_norm", "mlp_residual"])

    def test_a_share_of_a_core_is_felt_by_the_mean_of_a_block(self):
        now = [0.0]

        def step():
            # Every fifth step waits for the process's turn.
            now[0] += 0.001
            begin = now[0]
            now[0] += 0.006 if round(1e3 * now[0]) % 5 == 0 else 0.001
            return [now[0] - begin]

        seconds, = pieces.steady(step, lambda: now[0])
        self.assertGreater(seconds, 0.0015)

    def test_ranks_that_talk_take_as_many_steps(self):
        counts = []
        for once_s in (0.1, 0.3):
            now, steps = [0.0], []

            def step(now=now, steps=steps, once_s=once_s):
                now[0] += once_s
                steps.append(once_s)
                return [once_s]
            pieces.steady(step, lambda now=now: now[0], agree=lambda _: 0.02)
            counts.append(len(steps))
        self.assertEqual(*counts)

    def test_numbers_of_samples_share_an_entry(self):
        plan = plan_of(chain([], [degrees()]))
        p = plan.pipelines[0].stages[0].teams[0].parallelism
        figures = {pieces.Piece(layer, None, p, samples):
                   pieces.Figures(1.0, 2.0, 8, 3.0, 16)
                   for samples in (4, 1) for layer in plan.layers}
        measured = measure_run.Measured([figures], [(1e9, 1e9)], [1e9], [], {})
        layers = machine.profile(plan, machine.Device("cpu", (0,)), measured)["layers"]
        self.assertEqual([[point["samples"] for point in one["points"]]
                          for one in layers], [[1, 4]] * 3)

    def test_teams_of_one_size_share_a_table_of_the_slowest(self):
        plan = plan_of(chain([], [degrees()]))
        fast, slow = LINK, [{**LINK[0], "seconds": 9.0}, LINK[1]]
        measured = measure_run.Measured(
            [{}] * 6, [(1e9, 1e9)] * 6, [1e9] * 6,
            [((0, 1), "all_reduce", fast), ((2, 3), "all_reduce", slow),
             ((2, 3), "all_gather", fast), ((4, 5), "all_reduce", fast)], {})
        device = machine.Device("cpu", (0, 1, 2, 3))
        self.assertEqual(machine.profile(plan, device, measured)["collectives"], [
            {"op": "all_reduce", "ranks": 2, "nodes": 1, "points": slow},
            {"op": "all_gather", "ranks": 2, "nodes": 1, "points": fast}])

    def test_figures_of_a_split_layer(self):
        for p in (degrees(tp=2, sp=True), degrees(tp=2), degrees(dp=2, zero=3),
                  degrees(dp=2, ep=2), degrees(dp=2, ep=2, fsep=True)):
            of = model(**MIXTRAL) if p["ep_degree"] > 1 else model(**LLAMA)
            with self.subTest(p):
                run = stage_run(chain([], [p], of=of), 0, 0)
                for piece, (begin, end) in pieces.pieces_of(run).items():
                    figures = pieces.measure(run, piece, begin, end, ticks())
                    # Two looks at the clock a pass.
                    self.assertEqual((figures.forward_s, figures.backward_s), (1, 1))
                    if not piece.operator and piece.layer.is_transformer:
                        self.assertGreater(figures.saved_bytes, 0)
                        self.assertGreater(figures.state_bytes, 0)

    def test_state_of_a_layer_is_that_of_its_parameters(self):
        run = stage_run(chain([], [degrees()], of=model(**LLAMA)), 0, 0)
        piece, (begin, end) = next((piece, cuts) for piece, cuts in
                                   pieces.pieces_of(run).items()
                                   if piece.layer.is_transformer)
        count = sum(shard.values.size for name, shard in run.shards.items()
                    if name.startswith("1."))
        figures = pieces.measure(run, piece, begin, end, ticks())
        # Weights, gradients and two moments of 4 bytes.
        self.assertEqual(figures.state_bytes, 16 * count)


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class TimesTest(unittest.TestCase):

    def test_a_transfer_is_seen_where_the_receiver_waits(self):
        sender, receiver = timed_run.Times(), timed_run.Times()
        # Two microbatches: the receiver waits for the first, and computes on while the
        # second arrives.
        for tag, began, ready, end in (7, 1.0, 0.0, 1.5), (8, 2.0, 4.0, 4.5):
            sender.sent[(0, 0, 0), tag, 0, 1].append(began)
            receiver.received[(0, 0, 0), tag, 0, 1].append((ready, end))
        self.assertEqual(timed_run.border_seconds([sender, receiver], 0, 0), 0.5)
        self.assertIsNone(timed_run.border_seconds([sender, receiver], 0, 1))

    def test_gradients_add_up_from_when_the_last_rank_is_ready(self):
        ranks = [timed_run.Times(syncs=[(1.0, 9.0)], gathers=[0.5]),
                 timed_run.Times(syncs=[(7.0, 9.5)], gathers=[0.25])]
        self.assertEqual(timed_run.sync_seconds(ranks, (0, 1)), 3.0)

    def test_a_link_is_the_line_through_its_points(self):
        self.assertEqual(machine.link(LINK), {
            "latency_s": 1e-3, "bandwidth_bytes_per_s": 1e8,
            "pair_bandwidth_bytes_per_s": 1e8})
        # Noise: the large message was the faster one.
        noisy = [LINK[0], {"bytes": 100000, "seconds": 1e-3}]
        self.assertEqual(machine.link(noisy)["bandwidth_bytes_per_s"], 2e8)

    def test_links_between_devices_are_those_of_their_first_ranks(self):
        plan = plan_of(chain([(1, 3), (2, 0)], [degrees(tp=2), degrees(), degrees()]))
        self.assertEqual(machine.pairs_of(plan), [(0, 2, (0, 0, 0)), (2, 3, (0, 1, 0)),
                                                  (0, 1, None)])
        slow = [LINK[0], {"bytes": 300000, "seconds": 7e-3}]
        measured = measure_run.Measured([], [(1e9, 1e9)] * 4, [1e9] * 4, [],
                                        {(0, 2): LINK, (2, 3): slow, (0, 1): LINK})
        cluster = machine.cluster(plan, measured)
        rates = [[cluster["link_types"][i]["bandwidth_bytes_per_s"] for i in
                  row["link_types"]] for row in cluster["links"]]
        # The first and the third device never talk: as slow as the slowest.
        self.assertEqual(rates, [[5e7, 1e8, 5e7], [1e8, 5e7, 5e7], [5e7, 5e7, 5e7]])
        self.assertEqual(cluster["nodes"][0]["intra_node"]["bandwidth_bytes_per_s"], 1e8)

    def test_one_process_has_nothing_to_say(self):
        plan = one_process(plan_of(chain([], [degrees(dp=2)])))
        self.assertEqual(machine.pairs_of(plan), [])


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
@unittest.skipUnless(TANGRAM.exists(), "the command is not built")
class CommandTest(unittest.TestCase):

    def measure(self, data, *options):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "plan.json"
            path.write_text(json.dumps(data), encoding="utf-8")
            return program.run(path, "--tiny", "--measure", "--tangram", TANGRAM,
                               *options)

    def test_predicted_stands_beside_measured(self):
        cases = {
            "pipeline": chain([(2, 3)], [degrees(), degrees()], mask=0x0f0,
                              of=model(**LLAMA)),
            "tensor parallel": chain([], [degrees(tp=2, sp=True)], of=model(**LLAMA)),
            "tensor parallel in two dimensions": chain(
                [], [degrees(tp=4, tp_y_degree=2)], of=model(**LLAMA)),
            "experts": chain([], [degrees(dp=2, ep=2, zero=1)], of=model(**MIXTRAL)),
            "fully sharded experts": chain([], [degrees(dp=2, ep=2, fsep=True)],
                                           of=model(**MIXTRAL))}
        for name, data in cases.items():
            with self.subTest(name):
                done = self.measure(data)
                self.assertEqual(done.returncode, 0, done.stderr)
                rows = {line[:32].strip(): line[32:] for line in done.stdout.splitlines()}
                for row in ("iteration", "stage 0 forward", "stage 0 backward",
                            "stage 0 optimizer", "stage 0 activations"):
                    self.assertRegex(rows[row], r"\d (ms|MB) +\d+\.\d+ (ms|MB)")
                self.assertEqual("stage 0 to 1 and back" in rows, name == "pipeline")
                self.assertEqual("stage 0 gradient sync" in rows, "experts" in name)
                self.assertIn("measured share of predicted compute: 100 %", done.stdout)
                if name == "pipeline":
                    self.assertIn("+0 %", rows["stage 0 weights"])
                    self.assertIn("+0 %", rows["stage 0 gradients"])

    def test_profiles_are_kept_and_read(self):
        with tempfile.TemporaryDirectory() as folder:
            data = chain([(1, 3)], [degrees(), degrees()], of=model(**LLAMA))
            self.assertEqual(self.measure(data, "--profile-folder", folder).returncode, 0)
            names = sorted(path.name for path in pathlib.Path(folder).iterdir())
            self.assertEqual(names, ["measured-plan.json", "pipeline-0-stage-0.json",
                                     "pipeline-0-stage-1.json"])
            shown = subprocess.run(
                [TANGRAM, "profile", "show", pathlib.Path(folder) / names[1]],
                capture_output=True, text=True, check=False)
            self.assertEqual(shown.returncode, 0, shown.stderr)

    def test_what_cannot_be_timed_together(self):
        done = self.measure(chain([], [degrees()]), "--check")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--measure: given with --check or --dtype", done.stderr)

    def test_a_command_that_does_not_predict(self):
        done = self.measure(chain([], [degrees()]), "--tangram", "/no/tangram")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--tangram: /no/tangram; expected", done.stderr)


if __name__ == "__main__":
    harness.main()
