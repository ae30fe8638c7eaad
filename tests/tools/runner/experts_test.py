"""Mixtures of experts: plans that train right, and faults that are found."""

import unittest
from unittest import mock

import harness
import random_plans
from plans import DEEPSEEK, GSHARD, LATENT, MIXTRAL, NEMOTRON, chain, degrees, model

if harness.HAS_TORCH:
    import torch
    import trains
    from tangram_runner import sync
    from tangram_runner.operators import base, experts, routing
    from tangram_runner.plan import Parallelism, Place


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class ExpertsTest(unittest.TestCase):

    def test_each_degree_alone(self):
        for alone in (degrees(tp=2), degrees(tp=2, sp=True), degrees(dp=2),
                      degrees(dp=2, ep=2), degrees(cp=2, ep=2),
                      degrees(dp=2, ep=2, fsep=True)):
            with self.subTest(str(alone)):
                trains.right(self, chain([], [alone], of=model(**MIXTRAL)), steps=2)

    def test_all_degrees_together(self):
        for fsep in False, True:
            for sp in False, True:
                with self.subTest(fsep=fsep, sp=sp):
                    both = degrees(tp=2, cp=2, dp=2, ep=4, sp=sp, zero=1, fsep=fsep)
                    trains.right(self, chain([], [both], of=model(**GSHARD), mask=0x1fff))

    def test_experts_with_replicas(self):
        data = chain([], [degrees(dp=4, ep=2, zero=1)], of=model(**MIXTRAL), microbatch=4)
        trains.right(self, data, steps=2)

    def test_a_cut_before_each_operator(self):
        for op in range(6, 13):
            with self.subTest(op):
                first = degrees(tp=2, dp=2, ep=2, sp=op % 2 == 1)
                second = degrees(tp=2, cp=2, ep=2, sp=op % 2 == 0, fsep=True)
                trains.right(self, chain([(1, op), (2, op)], [first, second, degrees()],
                                         of=model(**DEEPSEEK), mask=0x1bff))

    def test_cuts_inside_the_experts_in_16_bits(self):
        for precision in "FP16", "BF16":
            for op in range(6, 10):
                with self.subTest(precision=precision, op=op):
                    data = chain([(1, op)], [degrees(dp=2, ep=2)] * 2,
                                 of=model(**MIXTRAL))
                    data["training"]["precision"] = precision
                    code, text = trains.run(data, check=False)
                    self.assertEqual(code, 0, text)

    def test_a_rank_whose_experts_get_no_token(self):
        """It talks to the others while they recompute. Here one has no row to make
        again, with fully sharded experts, dropped outputs and ZeRO 2."""
        trains.right(self, random_plans.random_plan(770016), steps=2)

    def test_pipelines_and_groups_with_unlike_expert_degrees(self):
        data = chain([(1, 9)], [degrees(), degrees(dp=4, ep=4, fsep=True)], microbatch=4,
                     global_batch=8, of=model(**GSHARD))
        other = chain([(1, 11)], [degrees(tp=2, sp=True), degrees(dp=2, ep=2)],
                      microbatch=2, of=model(**GSHARD))
        first, last = data["plan"]["stages"]
        for stage in other["plan"]["stages"]:
            stage["gpus"][0]["node"] = "m"
        first["gpus"] = [{"node": "k", "count": 3}]
        del first["plan"]["parallelism"]
        first["mixed"] = {"sharing": "lock-step", "groups": [
            {"parallelism": degrees(dp=2, ep=2), "share": 2},
            {"parallelism": degrees(), "share": 2}]}
        data["replicated_plan"] = {"pipelines": [
            {"plan": data.pop("plan"), "num_microbatches": 2},
            {"plan": other["plan"], "num_microbatches": 3}]}
        data["training"]["global_batch_size"] = 14
        trains.right(self, data, steps=2)

    def test_experts_of_another_width(self):
        for alone in (degrees(tp=2), degrees(tp=2, sp=True), degrees(dp=2, ep=2, zero=1),
                      degrees(tp=2, cp=2, dp=2, ep=4, sp=True, zero=3, fsep=True)):
            for of in LATENT, NEMOTRON:
                with self.subTest(str(alone), biases=of is LATENT):
                    trains.right(self, chain([], [alone], of=model(**of), mask=0x1fff),
                                 steps=2)

    def test_a_cut_before_each_operator_of_experts_of_another_width(self):
        for op in range(6, 13):
            with self.subTest(op):
                first = degrees(tp=2, dp=2, ep=2, sp=op % 2 == 1)
                second = degrees(tp=2, cp=2, ep=2, sp=op % 2 == 0, fsep=True)
                trains.right(self, chain([(1, op), (2, op)], [first, second, degrees()],
                                         of=model(**LATENT), mask=0x1bff))

    def test_stages_between_dispatch_and_combine_alone(self):
        ends = [(1, 8), (1, 9), (1, 10), (1, 11)]
        each = [degrees(tp=2, sp=True), degrees(dp=2, ep=2), degrees(tp=2),
                degrees(tp=2, sp=True), degrees(cp=2, ep=2, fsep=True)]
        trains.right(self, chain(ends, each, of=model(1, **GSHARD), num_layers=3))


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class PlacementTest(unittest.TestCase):

    def homes(self, loads, **degree):
        chosen = torch.tensor([e for e, load in enumerate(loads) for _ in range(load)])
        return routing.place_experts(chosen, len(loads), Parallelism(**degree)).tolist()

    def test_plain_experts_are_adjacent(self):
        self.assertEqual(self.homes([9, 9, 1, 1], ep_degree=2), [0, 0, 1, 1])

    def test_fully_sharded_experts_even_out_the_load(self):
        self.assertEqual(self.homes([9, 9, 1, 1], ep_degree=2, fsep=True), [0, 1, 0, 1])
        # Each rank has room for as many as without.
        self.assertEqual(self.homes([9, 1, 1, 1], ep_degree=2, fsep=True), [0, 1, 1, 0])

    def test_what_a_rank_holds(self):
        weight = base.Parameter("w", (8, 6, 4), 1, hidden=2, expert=True)
        place = Place(1, 1, 1)  # The fourth replica, so the last of its ep group.
        plain = Parallelism(tp_degree=2, cp_degree=2, dp_degree=2, ep_degree=2)
        self.assertEqual(weight.box(plain, place), ((4, 8), (3, 6), (0, 4)))
        sharded = Parallelism(tp_degree=2, cp_degree=2, dp_degree=2, ep_degree=2, fsep=True)
        self.assertEqual(weight.box(sharded, place), ((0, 8), (3, 6), (2, 4)))


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class FaultTest(unittest.TestCase):
    """Faults of experts that are spread over ranks. Only stage 1 has such."""

    def finds(self, *texts, model_of=None, **degree):
        data = chain([(1, 3), (1, 12)], [degrees(dp=2), degrees(**degree), degrees()],
                     of=model(1, **(model_of or GSHARD)), num_layers=3)
        trains.wrong(self, data, *texts)

    def test_copies_beyond_a_capacity_that_are_dropped(self):
        to_experts = routing.Routing.to_experts

        def wrong(self, copies, step=None):
            rows = to_experts(self, copies, step)
            if self.context.parallelism.ep_degree > 1:
                rows = torch.cat([rows[:1] * 0, rows[1:]])
            return rows

        with mock.patch.object(routing.Routing, "to_experts", wrong):
            self.finds("stage 1 is the first that goes wrong: the value of y at the "
                       "border of stages 1 and 2", dp=2, ep=2)

    def test_a_bias_that_each_tensor_parallel_rank_adds(self):
        def wrong(context, parameters, live):
            place = context.place
            context.place = place._replace(tp=0)
            try:
                return experts._down(context, parameters, live)
            finally:
                context.place = place

        # Only tp ranks of stage 1 are others than the first.
        down = experts.OPERATORS[4]
        object.__setattr__(down, "forward", wrong)
        self.addCleanup(object.__setattr__, down, "forward", experts._down)
        self.finds("stage 1 is the first that goes wrong: the value of y", tp=2)

    def test_experts_that_are_fetched_in_another_order(self):
        fetch = experts.fetch

        def wrong(context, r, values, hidden):
            found = fetch(context, r, values, hidden)
            return found.flip(0) if context.parallelism.fsep else found

        with mock.patch.object(experts, "fetch", wrong):
            self.finds("stage 1 is the first that goes wrong: the value of y",
                       dp=2, ep=2, fsep=True)

    def test_tokens_that_other_tensor_parallel_ranks_do_not_get(self):
        to_experts = routing.Routing.to_experts

        def wrong(self, copies, step=None):
            # Rows of the other tp ranks are lost.
            return to_experts(self, copies, routing.PLACE if step else None)

        with mock.patch.object(routing.Routing, "to_experts", wrong):
            self.finds("stage 1 is the first that goes wrong: the value of y",
                       tp=2, sp=True)

    def test_replicas_of_experts_that_do_not_add_up(self):
        replicas = sync.replicas

        def wrong(team, parameter, rank):
            if parameter.expert and team.parallelism.ep_degree > 1:
                return (rank,)
            return replicas(team, parameter, rank)

        with mock.patch.object(sync, "replicas", wrong):
            self.finds("all borders are right; wrong inside stage 1",
                       "gradient of 1.expert_down.weight", dp=2, cp=2, ep=2)


if __name__ == "__main__":
    harness.main()
