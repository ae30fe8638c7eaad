"""FlagScale's own reader and validator accept the exports.

The reader needs omegaconf, aiohttp, numpy and tqdm, the validator PyTorch. No
process group is made: every rank is told the values of the others.
"""

import argparse
import importlib.util
import os
import sys
import unittest

import upstream


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def need(*modules):
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise unittest.SkipTest(f"no Python package {module}")


def to_namespace(words):
    """Returns FlagScale's command line as its parser would read it."""
    args = argparse.Namespace(
        mtp_num_layers=None, num_layers_per_virtual_pipeline_stage=None,
        virtual_pipeline_model_parallel_size=None,
        expert_tensor_parallel_size_per_process_mesh=None,
        use_partial_reduce_for_shared_embedding=False,
        untie_embeddings_and_output_weights=False,
        standalone_embedding_stage=False, use_distributed_optimizer=False,
        sequence_parallel=False, hetero_use_cpu_communication=False,
        recompute_granularity=None, recompute_method=None,
        recompute_granularity_per_stage_micro_batch=None,
        recompute_method_per_stage_micro_batch=None,
        recompute_num_layers_per_stage_micro_batch=None)
    lists = {"hetero_process_meshes": int, "hetero_pipeline_layer_split": int,
             "hetero_device_types": str,
             "expert_tensor_parallel_size_per_process_mesh": int,
             "recompute_granularity_per_stage_micro_batch": str,
             "recompute_method_per_stage_micro_batch": str,
             "recompute_num_layers_per_stage_micro_batch": str}
    name = None
    for word in words:
        if word.startswith("--"):
            name = word[2:].replace("-", "_")
            setattr(args, name, [] if name in lists else True)
        elif name in lists:
            getattr(args, name).append(lists[name](word))
        else:
            setattr(args, name, int(word) if word.isdigit() else word)
    return args


class FlagScale(upstream.Exports):

    @classmethod
    def setUpClass(cls):
        cls.root = upstream.checkout("FlagScale")
        need("omegaconf", "aiohttp", "numpy", "tqdm")
        sys.path.insert(0, cls.root)
        upstream.stub_module("flagscale", __path__=[f"{cls.root}/flagscale"])
        upstream.stub_module("flagscale.runner",
                             __path__=[f"{cls.root}/flagscale/runner"])
        cls.utils = load("flagscale.runner.utils",
                         f"{cls.root}/flagscale/runner/utils.py")
        os.environ.update(DATA_PATH="data", TOKENIZER_MODEL="tokenizer",
                          HOSTFILE="hostfile")
        super().setUpClass()

    def words(self, folder):
        """Returns the command line that FlagScale makes from the export."""
        from omegaconf import OmegaConf
        config = OmegaConf.to_container(
            OmegaConf.load(f"{folder}/train/plan.yaml"), resolve=True)
        merged = {}
        for section in ("system", "model", "data"):
            merged.update(config[section])
        return self.utils.flatten_dict_to_args(merged)

    def validate(self, folder):
        """Returns the arguments of each rank after FlagScale's validation."""
        need("torch")
        import torch
        if "flagscale.train.arguments" not in sys.modules:
            upstream.stub_module("flagscale.train",
                                 __path__=[f"{self.root}/flagscale/train"])
            upstream.stub_module(
                "flagscale.train.hetero",
                __path__=[f"{self.root}/flagscale/train/hetero"])
            load("flagscale.train.hetero.parallel_context",
                 f"{self.root}/flagscale/train/hetero/parallel_context.py")
            load("flagscale.train.arguments",
                 f"{self.root}/flagscale/train/arguments.py")
        arguments = sys.modules["flagscale.train.arguments"]
        hosts = self.utils.parse_hostfile(f"{folder}/hostfile")
        types = [host["type"] for host in hosts.values()
                 for _ in range(host["slots"])]
        everyone = [{"rank": rank, "device_type": device}
                    for rank, device in enumerate(types)]

        def all_gather_object(gathered, _):
            gathered[:] = everyone

        dist = torch.distributed
        dist.is_initialized = lambda: True
        dist.get_world_size = lambda: len(types)
        dist.all_gather_object = all_gather_object
        ranks = []
        # Takes all ranks if they are few, otherwise some of each stage.
        step = max(1, len(types) // 24)
        for rank, device in list(enumerate(types))[::step]:
            dist.get_rank = lambda rank=rank: rank
            args = to_namespace(self.words(folder))
            args.hetero_current_device_type = device
            args.rank = rank
            validator = arguments.FSTrainArguments(args)
            validator.pre_validate_args()
            validator.post_validate_args()
            ranks.append(args)
        return ranks

    def test_host_file_is_read(self):
        hosts = self.utils.parse_hostfile(
            f"{self.export('flagscale', self.two_islands())}/hostfile")
        self.assertEqual(list(hosts), ["t4-0", "t4-1", "v100-0", "v100-1"])
        self.assertEqual(hosts["v100-1"], {"slots": 4, "type": "V100-16"})

    def test_every_rank_of_two_islands_is_valid(self):
        ranks = self.validate(self.export("flagscale", self.two_islands()))
        self.assertEqual(
            [(a.tensor_model_parallel_size, a.data_parallel_size,
              a.micro_batch_size) for a in (ranks[0], ranks[15])],
            [(4, 2, 2), (2, 4, 1)])
        # 128 sequences in microbatches of 4.
        self.assertEqual(ranks[0].recompute_num_layers_per_stage_micro_batch,
                         [[5] * 32, [0] * 32])

    def check(self, folder, plan):
        """Checks that every rank trains its part of batch and layers."""
        layers = upstream.num_layers(plan)
        for rank in self.validate(folder):
            self.assertEqual(sum(rank.hetero_pipeline_layer_split), layers)
            self.assertEqual(rank.micro_batch_size * rank.data_parallel_size,
                             plan["plan"]["pipeline_microbatch_size"])

    def test_plans_of_the_table(self):
        upstream.check_table(self, "flagscale", self.check)

    def test_a_type_that_comes_back_keeps_the_order_of_the_stages(self):
        plan = self.two_islands()
        plan["plan"]["stages"] = [
            upstream.stage(0, 5, 4, 1, [("t4-0", 0, 4)]),
            upstream.stage(5, 10, 4, 1, [("v100-0", 0, 4)]),
            upstream.stage(10, 18, 4, 1, [("t4-1", 0, 4)])]
        ranks = self.validate(self.export("flagscale", plan))
        mapper = sys.modules[
            "flagscale.train.hetero.parallel_context"].RankMapper(ranks[0])
        self.assertEqual(mapper.to_logical_ranks(list(range(12))),
                         list(range(12)))


if __name__ == "__main__":
    upstream.main()
