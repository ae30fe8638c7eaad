"""Hetu's own code reads the pipelines of an export: its generator makes the same
file of the options, its model takes the weights of each device from it, and its
trainer the samples.
"""

import importlib.util
import json
import os
import sys
import tempfile
import types
import unittest

import upstream

sys.path.append(os.path.join(upstream.SOURCE, "tests/testing"))
import trained_by_gpu  # noqa: E402

HAS_MODULES = all(importlib.util.find_spec(name)
                  for name in ("torch", "omegaconf", "numpy", "yaml"))
LAYERS = 8


class Hetu(upstream.Exports):

    plan_arguments = upstream.PIPELINES_OF

    @classmethod
    def setUpClass(cls):
        checkout = upstream.checkout("Hetu")
        if not HAS_MODULES:
            raise unittest.SkipTest("torch, omegaconf, numpy and yaml are not "
                                    "all installed")
        import hetu_reader
        cls.hetu = hetu_reader.Reader(checkout)
        super().setUpClass()

    def config_of(self, folder):
        from omegaconf import OmegaConf
        os.environ.update(HETU_PLAN=folder, HETU_DATA="data.json",
                          HETU_VOCAB="vocab.json", HETU_MERGES="merges.txt")
        config = OmegaConf.load(os.path.join(folder, "hetu.yaml"))
        OmegaConf.resolve(config)
        return config

    def generated(self, config):
        """Returns what Hetu's generator makes of the options."""
        with tempfile.TemporaryDirectory() as folder:
            config = config.copy()
            config.ds_parallel.ds_parallel_config_path = folder
            self.hetu.generator.main(config)
            return json.loads(upstream.read(folder, "ds_parallel.json"))

    def trainer_of(self, config):
        from omegaconf import OmegaConf
        settings = OmegaConf.to_object(OmegaConf.merge(
            OmegaConf.structured(self.hetu.config.TrainingConfig),
            config.trainer))
        trainer = self.hetu.trainer.Trainer(settings, None, object(), object(),
                                            data_collator=object())
        trainer.trainer_states = types.SimpleNamespace(
            input_ids="tokens", lm_labels="labels")
        trainer.model = types.SimpleNamespace(config=types.SimpleNamespace(
            **{f"multi_{name}_symbol": [[self.hetu.hetu.IntSymbol(1)
                                         for _ in settings.ds_parallel.cp_list]]
               for name in ("seq_lens", "cp_group")}))
        return trainer

    def samples_of(self, config, device):
        """Returns the samples that the trainer feeds, and the microbatches."""
        import numpy
        settings = config.trainer
        self.hetu.use(config.rpc.num_gpus, device)
        trainer = self.trainer_of(config)
        batch = numpy.repeat(numpy.arange(settings.global_load_size)[:, None],
                             settings.max_seq_length, axis=1)
        cp_list = trainer.ds_config.cp_list
        ids = trainer.extract_strategy(cp_list, 0)
        feed, _, microbatches = trainer.prepare_feed_dict(
            {"input_ids": batch, "labels": batch}, settings.global_load_size,
            cp_list, *ids, 0)
        tokens = feed["tokens"].reshape(-1, settings.max_seq_length)
        return tokens[:, 0].tolist(), microbatches

    def check_weights(self, config, folder, plan):
        """Compares the devices of each block with the plan's."""
        self.hetu.use(config.rpc.num_gpus)
        configs = self.trainer_of(config).ds_parallel_configs
        model = {key: value for key, value in config.model.items()
                 if key not in ("tokenizer", "optimizer", "architecture",
                                "config_type")}
        where = trained_by_gpu.numbered(
            [(host["addr"], host["initial_workers"], gpus)
             for host, gpus in trained_by_gpu.hosts_of_hetu(folder)])
        planned, found = trained_by_gpu.plan(plan), {}
        for name, shape, union, groups in self.hetu.parameters_of(model,
                                                                  configs):
            self.assertEqual(union.hetero_dim, -1 if len(groups) > 1 else -3)
            for i, group in enumerate(groups):
                states = union.get(i).states
                split = [n for dim, n in states.items() if dim >= 0]
                if "rmsnorm" not in name:  # Norms are not split.
                    self.assertEqual(split, [group.num_devices])
                    self.assertEqual(states[-1], len(groups))
                if "block" not in name:
                    continue
                layer = int(name.split("block")[1].split("_")[0])
                for device in group.devices:
                    gpu = where[self.hetu.devices.get_index(device)]
                    found.setdefault(gpu, {}).setdefault(layer, []).append(
                        group.num_devices)
        self.assertEqual(
            {gpu: sorted(layers) for gpu, layers in found.items()},
            {gpu: part["layers"] for gpu, part in planned.items()})
        for gpu, layers in found.items():
            for weights in layers.values():  # Two norms, attention and MLP.
                self.assertEqual(weights, [planned[gpu]["tp"]] * 6)

    def check(self, folder, plan):
        config = self.config_of(folder)
        self.assertEqual(self.generated(config), json.loads(
            upstream.read(folder, "ds_parallel.json")))
        self.check_weights(config, folder, plan)
        planned = trained_by_gpu.plan(plan)
        where = trained_by_gpu.numbered(
            [(host["addr"], host["initial_workers"], gpus)
             for host, gpus in trained_by_gpu.hosts_of_hetu(folder)])
        pipelines = {}
        for device in range(config.rpc.num_gpus):
            samples, microbatches = self.samples_of(config, device)
            of_plan = planned[where[device]]
            self.assertEqual(microbatches, of_plan["microbatches"])
            self.assertEqual(len(samples),
                             of_plan["microbatch"] * microbatches)
            pipelines[samples[0]] = samples
        self.assertEqual(
            sorted(i for samples in pipelines.values() for i in samples),
            list(range(config.trainer.global_load_size)))

    def exported(self, plan):
        for pipeline, _ in trained_by_gpu.replicas_of(plan):
            for placed in pipeline["stages"]:
                placed["plan"]["parallelism"]["sequence_parallel"] = True
        folder = self.export("hetu", plan, "--allow-lossy")
        self.assertEqual(trained_by_gpu.hetu(folder), trained_by_gpu.plan(plan))
        return folder

    def test_pipelines_of_unlike_stages_degrees_and_shares(self):
        for make in upstream.uneven, upstream.three_shapes:
            with self.subTest(make.__name__):
                plan = upstream.several(self.plan, make(LAYERS))
                self.check(self.exported(plan), plan)

    def test_sharded_state_and_recomputed_activations(self):
        pipelines = upstream.uneven(LAYERS)
        for pipeline in pipelines:
            pipeline["state_fraction"] = 0.5
        last = pipelines[1]["plan"]["stages"][1]["plan"]
        last["recompute"] = [{"num_layers": 2, "mask": 1 << 7},
                             {"num_layers": 2}]
        plan = upstream.several(self.plan, pipelines)
        plan["replicated_plan"]["sync"] = "zero1"
        folder = self.exported(plan)
        self.check(folder, plan)
        config = json.loads(upstream.read(folder, "ds_parallel.json"))
        self.assertTrue(config["zero"])
        self.assertEqual([config["llama"]["blocks"][f"blocks{i}"]["recompute"]
                          for i in range(4, 8)],
                         [[False, False], [False, True], [False, True],
                          [False, False]])

    def test_one_pipeline(self):
        plan = json.loads(json.dumps(self.plan))
        plan["plan"] = {
            "pipeline_microbatch_size": 4, "stages": [
                upstream.stage(0, 4, 4, 1, [("a100-0", 0, 4)]),
                upstream.stage(4, LAYERS + 2, 2, 1, [("h100-0", 0, 2)])]}
        self.check(self.exported(plan), plan)

    def test_replicas_of_one_pipeline(self):
        plan = json.loads(json.dumps(self.plan))
        plan["plan"] = {
            "pipeline_microbatch_size": 4, "stages": [
                upstream.stage(0, 4, 2, 2, [("a100-0", 0, 4)]),
                upstream.stage(4, LAYERS + 2, 1, 2, [("h100-0", 0, 2)])]}
        self.check(self.exported(plan), plan)

    def test_the_program_makes_padded_batches_know_their_length(self):
        plan = upstream.several(self.plan, upstream.uneven(LAYERS))
        config = self.config_of(self.exported(plan))
        self.hetu.use(config.rpc.num_gpus)
        spec = importlib.util.spec_from_file_location(
            "train_pipelines", os.path.join(os.environ["HETU_PLAN"],
                                            "train_pipelines.py"))
        program = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(program)
        trainer = self.trainer_of(config)
        trainer.__class__ = program.PaddedTrainer
        trainer.model.model = types.SimpleNamespace(h=[])
        trainer._init_config_symbol()
        self.assertEqual(trainer.model.config.max_seqlen_symbol.data, 4096)


if __name__ == "__main__":
    upstream.main()
