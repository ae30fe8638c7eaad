"""Rank lists of which Sailor's own topology makes whole groups."""

import importlib.util
import json
import sys
import unittest

import upstream


class SailorTopology(upstream.Exports):

    @classmethod
    def setUpClass(cls):
        root = upstream.checkout("sailor")
        upstream.stub_module("deepspeed", comm=None, __path__=[])
        spec = importlib.util.spec_from_file_location(
            "topology", f"{root}/deepspeed/topology.py")
        cls.topology = importlib.util.module_from_spec(spec)
        sys.modules["topology"] = cls.topology
        spec.loader.exec_module(cls.topology)
        super().setUpClass()

    def two_degrees(self):
        plan = self.two_islands()
        plan["plan"]["stages"] = [
            upstream.stage(0, 6, 4, 2, [("t4-0", 0, 4), ("t4-1", 0, 4)]),
            upstream.stage(6, 18, 2, 2, [("v100-0", 0, 4)])]
        return plan

    def test_every_rank_is_in_a_pipeline(self):
        folder = self.export("sailor", self.two_degrees())
        config = json.loads(upstream.read(folder, "cluster_config.json"))
        topology = self.topology.ProcessTopology(
            axes=["pipe", "data", "model"],
            dims=[config["pipeline_parallelism"],
                  config["data_parallelism"], 4],
            input_file=f"{folder}/dist_config.json")
        groups = topology.all_pipeline_parallel_group_ranks
        self.assertEqual(sorted({rank for group in groups for rank in group}),
                         list(range(12)))
        self.assertEqual(groups[0], [0, 8])
        self.assertEqual(groups[-1], [7, 11])


if __name__ == "__main__":
    upstream.main()
