"""Megatron-LM's own parser reads layouts as the plan's stages."""

import importlib.util
import sys
import unittest

import upstream


def load_layout():
    """Loads only megatron.core.transformer.pipeline_parallel_layer_layout."""
    root = upstream.checkout("Megatron-LM")
    folder = f"{root}/megatron/core/transformer"
    upstream.stub_module("megatron.core", parallel_state=None, __path__=[])
    upstream.stub_module("megatron.core.parallel_state")
    upstream.stub_module("megatron.core._rank_utils",
                         safe_get_rank=lambda: 0)
    upstream.stub_module("megatron.core.transformer", __path__=[folder])
    modules = {}
    for name in ("enums", "pipeline_parallel_layer_layout"):
        full = f"megatron.core.transformer.{name}"
        spec = importlib.util.spec_from_file_location(
            full, f"{folder}/{name}.py")
        modules[name] = importlib.util.module_from_spec(spec)
        sys.modules[full] = modules[name]
        spec.loader.exec_module(modules[name])
    return modules["pipeline_parallel_layer_layout"].PipelineParallelLayerLayout


class MegatronLayout(upstream.Exports):

    @classmethod
    def setUpClass(cls):
        cls.layout_class = load_layout()
        super().setUpClass()

    def layout(self, plan, *options):
        words = upstream.read(self.export("megatron", plan, *options),
                              "megatron.args").split()
        options = dict(zip(words, words[1:]))
        layout = self.layout_class(
            options["--pipeline-model-parallel-layout"],
            int(options["--pipeline-model-parallel-size"]))
        layout.validate_layer_layout(int(options["--num-layers"]), None)
        return layout

    def test_holds_the_layers_of_each_stage(self):
        layout = self.layout(self.two_islands(), "--allow-lossy")
        self.assertEqual(
            [[x.name for x in stage[0]] for stage in layout.layout],
            [["embedding"] + ["decoder"] * 5,
             ["decoder"] * 11 + ["loss"]])

    def test_holds_an_embedding_alone(self):
        plan = self.two_islands()
        t4, v100 = (s["gpus"] for s in plan["plan"]["stages"])
        plan["plan"]["stages"] = [upstream.stage(0, 1, 4, 2, upstream.spans(t4)),
                                  upstream.stage(1, 18, 4, 2, upstream.spans(v100))]
        layout = self.layout(plan)
        self.assertEqual([len(stage[0]) for stage in layout.layout], [1, 17])


if __name__ == "__main__":
    upstream.main()
