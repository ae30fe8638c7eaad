"""FlashFlex's own code reads pipelines of unlike stages and shares, and averages
their gradients as one process would."""

import argparse
import importlib.util
import os
import sys
import unittest

import upstream

sys.path.append(os.path.join(upstream.SOURCE, "tests/testing"))
import trained_by_gpu  # noqa: E402

HAS_TORCH = importlib.util.find_spec("torch") is not None
LAYERS = 8


class FlashFlexPipelines(upstream.Exports):

    plan_arguments = upstream.PIPELINES_OF

    @classmethod
    def setUpClass(cls):
        cls.root = upstream.checkout("FlashFlex")
        if not HAS_TORCH:
            raise unittest.SkipTest("python3-torch is not installed")
        super().setUpClass()

    def average(self, pipelines, with_program):
        """Exports; returns what FlashFlex's ranks find."""
        import flashflex_ranks
        document = upstream.several(self.plan, pipelines)
        folder = self.export("flashflex", document, "--allow-lossy")
        self.assertEqual(trained_by_gpu.flashflex(folder),
                         trained_by_gpu.plan(document))
        parser = argparse.ArgumentParser()
        parser.add_argument("--global_bsz_size", type=int, nargs="+")
        options, _ = parser.parse_known_args(
            upstream.launched(folder, "FLASHFLEX", "FlashFlex"))
        self.assertEqual(
            os.path.exists(os.path.join(folder, "weigh_pipelines.py")),
            with_program or not trained_by_gpu.weighs_by_itself(folder))
        return flashflex_ranks.average(self.root, folder,
                                       options.global_bsz_size, with_program)

    def test_samples_of_unlike_pipelines_weigh_the_same(self):
        self.assertEqual(self.average(upstream.uneven(LAYERS), True),
                         (True, []))

    def test_of_several_types_and_degrees_too(self):
        self.assertEqual(self.average(upstream.three_shapes(LAYERS), True),
                         (True, []))

    def test_by_itself_flashflex_weighs_uneven_shares_unlike(self):
        data, wrong = self.average(upstream.uneven(LAYERS), False)
        self.assertTrue(data)
        self.assertEqual(len(wrong), LAYERS + 3)

    def test_by_itself_it_weighs_unlike_tp_unlike(self):
        pipelines = upstream.uneven(LAYERS)
        for pipeline in pipelines:
            pipeline["num_microbatches"] = 16
        _, wrong = self.average(pipelines, False)
        self.assertEqual(len(wrong), LAYERS + 3)

    def test_by_itself_it_mixes_up_the_data_of_ranks_out_of_order(self):
        data, _ = self.average(upstream.three_shapes(LAYERS), False)
        self.assertFalse(data)

    def test_pipelines_may_cross_hosts_in_unlike_order(self):
        self.assertEqual(self.average(upstream.crossing(LAYERS), True),
                         (True, []))

    def test_by_itself_it_takes_ranks_out_of_order_for_other_stages(self):
        in_place, _ = self.average(upstream.crossing(LAYERS), False)
        self.assertFalse(in_place)

    def test_stages_may_come_back_to_a_host(self):
        pipelines = [upstream.replica(
            2, 32, upstream.stage(0, 4, 2, 1, [("a100-0", 0, 2)]),
            upstream.stage(4, 7, 2, 1, [("h100-0", 0, 2)]),
            upstream.stage(7, LAYERS + 2, 1, 1, [("a100-0", 2, 1)]))]
        self.assertEqual(self.average(pipelines, True), (True, []))
        in_place, _ = self.average(pipelines, False)
        self.assertFalse(in_place)

    def test_by_itself_it_mixes_up_the_parts_of_one_pipeline(self):
        pipelines = [upstream.replica(
            2, 32, upstream.stage(0, LAYERS + 2, 2, 1, [("a100-0", 0, 2)]))]
        self.assertEqual(self.average(pipelines, True), (True, []))
        _, wrong = self.average(pipelines, False)
        self.assertEqual(wrong, list(range(1, LAYERS + 1)))

    def test_by_itself_it_weighs_equal_shares_of_one_tp_the_same(self):
        self.assertEqual(self.average(upstream.equal(LAYERS), False),
                         (True, []))


if __name__ == "__main__":
    upstream.main()
