"""Sailor's own topology makes complete groups from the rank lists."""

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

    def pipelines(self, folder):
        """Returns the ranks of each pipeline."""
        config = json.loads(upstream.read(folder, "cluster_config.json"))
        topology = self.topology.ProcessTopology(
            axes=["pipe", "data", "model"],
            dims=[config["pipeline_parallelism"],
                  config["data_parallelism"],
                  len(config["tp_degrees"][0][0])],
            input_file=f"{folder}/dist_config.json")
        return topology.all_pipeline_parallel_group_ranks

    def check(self, folder, plan):
        """Checks that all ranks are in pipelines, all layers in stages."""
        stages = plan["plan"]["stages"]
        world = sum(g["count"] for s in stages for g in s["gpus"])
        groups = self.pipelines(folder)
        self.assertEqual(sorted({rank for group in groups for rank in group}),
                         list(range(world)))
        self.assertEqual({len(group) for group in groups}, {len(stages)})
        config = json.loads(upstream.read(folder, "cluster_config.json"))
        self.assertEqual(sum(config["num_layers_per_stage"]),
                         upstream.num_layers(plan))
        return groups

    def test_plans_of_the_table(self):
        upstream.check_table(self, "sailor", self.check)

    def test_every_rank_is_in_a_pipeline(self):
        plan = self.two_degrees()
        groups = self.check(self.export("sailor", plan), plan)
        self.assertEqual(groups[0], [0, 8])
        self.assertEqual(groups[-1], [7, 11])


if __name__ == "__main__":
    upstream.main()
