"""What is drawn from a seed: the same on every rank, and other numbers for any other
seed, step, sample or name."""

import itertools
import unittest

import harness

if harness.HAS_TORCH:
    import torch
    from tangram_runner import data, weights
    from tangram_runner.operators.base import matrix

SEEDS = 0, 1, 2, 1 << 20, 1 << 32, (1 << 63) - 1


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class SeedsTest(unittest.TestCase):

    def tokens(self, seed, step, sample, tokens=(0, 64)):
        return data.batch(seed, step, (sample, sample + 1), tokens, 1000, 64,
                          torch.device("cpu"))

    def test_tokens(self):
        drawn = {tuple(self.tokens(seed, step, sample)[0][0].tolist())
                 for seed in SEEDS for step in (0, 1, 255, 256, 257, 1 << 20)
                 for sample in (0, 1, 1 << 24)}
        self.assertEqual(len(drawn), len(SEEDS) * 6 * 3)

    def test_a_rank_draws_its_part(self):
        inputs, targets = self.tokens(1, 2, 3)
        part, next_tokens = self.tokens(1, 2, 3, (16, 32))
        self.assertTrue(torch.equal(part, inputs[:, 16:32]))
        self.assertTrue(torch.equal(next_tokens, targets[:, 16:32]))
        self.assertTrue(torch.equal(inputs[:, 1:], targets[:, :-1]))

    def test_weights(self):
        parameter = matrix("w", (4, 4), 4)
        drawn = [weights.first_values(seed, name, parameter, ((0, 4), (0, 4)),
                                      torch.float32, torch.device("cpu"))
                 for seed in SEEDS for name in ("1.q.weight", "1.k.weight")]
        for one, other in itertools.combinations(drawn, 2):
            self.assertFalse(torch.equal(one, other))


if __name__ == "__main__":
    harness.main()
