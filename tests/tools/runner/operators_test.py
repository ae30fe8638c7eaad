"""The operators hold the parameters, and their cuts the tensors, that the cost
model counts."""

import math
import unittest

import harness
from plans import DEEPSEEK, GPT, GSHARD, LATENT, LLAMA, MIXTRAL, model

if harness.HAS_TORCH:
    from tangram_runner.model import Cut
    from tangram_runner.operators import live_tensors, operator_at
    from tangram_runner.read_model import read_layers
    from tangram_runner.records import Record


def layers_of(**options):
    fields = model(1, **options)
    return read_layers(Record(fields, "model", tuple(fields)))


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class OperatorsTest(unittest.TestCase):

    def elements(self, **options):
        """Elements of a token that live before each operator of a layer. Choices of
        experts and their weights do not count."""
        layers = layers_of(**options)
        live = live_tensors(layers)
        return [sum(math.prod(tensor.features) for tensor in live[Cut(1, op)]
                    if tensor.name not in ("e", "w"))
                for op in range(len(layers[1].operators))]

    def test_cuts_carry_what_the_cost_model_counts(self):
        # BoundaryBytes: the input of the operator, and inside a branch the
        # residual stream. h = 64, 8 heads of 8, f = 128.
        h, f = 64, 128
        self.assertEqual(self.elements(**GPT),
                         [h, h + h, h + 3 * h, h + h, h + h, h, h + h, h + f, h + f,
                          h + h])
        # 4 key and value heads, and two matrices before the activation.
        self.assertEqual(self.elements(**LLAMA),
                         [h, h + h, h + 2 * h, h + h, h + h, h, h + h, h + 2 * f,
                          h + f, h + h])

    def test_cuts_between_experts_carry_k_copies(self):
        # k = 2 and 3 experts of width 32; the stream, and shared experts' output.
        h = 64
        self.assertEqual(self.elements(**MIXTRAL)[6:],
                         [h + h, h + h, h + 2 * h, h + 2 * 2 * 32, h + 2 * 32, h + 2 * h,
                          h + h])
        self.assertEqual(self.elements(**DEEPSEEK)[6:],
                         [h + h, 2 * h + h, 2 * h + 3 * h, 2 * h + 3 * 2 * 32,
                          2 * h + 3 * 32, 2 * h + 3 * h, h + h])
        # Between router and sum, copies are as wide as the experts, 24.
        self.assertEqual(self.elements(**LATENT)[6:],
                         [h + h, 2 * h + 24, 2 * h + 2 * 24, 2 * h + 2 * 32,
                          2 * h + 2 * 32, 2 * h + 2 * 24, h + h])

    def parameters(self, **options):
        layers = layers_of(**options)
        return sum(math.prod(parameter.shape) for op in range(len(layers[1].operators))
                   for parameter in operator_at(layers, 1, op).parameters(layers[1]))

    def test_a_layer_has_the_parameters_that_the_model_counts(self):
        # ParameterCount of model_spec.cc; h = 64, f = 128.
        h, f = 64, 128
        gpt = 2 * 2 * h + 4 * h * (h + 1) + f * (h + 1) + h * (f + 1)
        self.assertEqual(self.parameters(**GPT), gpt)
        # Half as many key and value heads; norms of queries and keys.
        llama = 2 * h + 3 * h * h + 3 * h * f
        self.assertEqual(self.parameters(**LLAMA), llama)
        self.assertEqual(self.parameters(**LLAMA, qk_norm=True), llama + 2 * 8)
        self.assertEqual(self.parameters(**LLAMA, qkv_bias=True), llama + 2 * h)
        # r_q (h + H d + 1) + h (r_kv + d_rope) + r_kv (H (d - d_rope + d_v) + 1)
        latent = {**LLAMA, "num_kv_heads": 8, "q_lora_rank": 12, "kv_lora_rank": 16,
                  "rope_head_dim": 4}
        qkv = 12 * (h + 64 + 1) + h * (16 + 4) + 16 * (8 * (4 + 8) + 1)
        self.assertEqual(self.parameters(**latent), 2 * h + qkv + h * h + 3 * h * f)
        # Experts of width 32, and biases of each; one shared expert of width 48.
        attention = gpt - f * (h + 1) - h * (f + 1)
        self.assertEqual(self.parameters(**GSHARD),
                         attention + h * 4 + 4 * (32 * (h + 1) + h * (32 + 1)))
        # The experts are 24 wide, one shared expert of width 48 as wide as the layer.
        self.assertEqual(self.parameters(**LATENT),
                         attention + h * 4 + 4 * (32 * (24 + 1) + 24 * (32 + 1))
                         + 24 * (h + 1) + h * (24 + 1) + 48 * (h + 1) + h * (48 + 1))
        self.assertEqual(self.parameters(**MIXTRAL) - llama + 3 * h * f,
                         h * 8 + 8 * 3 * h * 32)
        # As `latent`, with 12 elements of a head instead of 8.
        qkv += 12 * 8 * 4 + 16 * 8 * 4
        self.assertEqual(self.parameters(**DEEPSEEK), 2 * h + qkv + h * h + h * 8
                         + 8 * 3 * h * 32 + 3 * h * 48)


if __name__ == "__main__":
    harness.main()
