"""Exports whose arguments Megatron-LM's own parser and validator accept."""

import importlib.util
import unittest

import megatron_arguments
import upstream


class MegatronArguments(upstream.Exports):

    @classmethod
    def setUpClass(cls):
        root = upstream.checkout("Megatron-LM")
        if importlib.util.find_spec("torch") is None:
            raise unittest.SkipTest("no Python package torch")
        cls.arguments = megatron_arguments.load(root)
        super().setUpClass()

    def validated(self, folder, world_size):
        words = upstream.read(folder, "megatron.args").split()
        # What is not the plan's.
        words += ["--lr", "0.0001", "--train-iters", "10", "--mock-data"]
        return megatron_arguments.validated(self.arguments, words, 0,
                                            world_size)

    def test_degrees_and_batch_are_those_of_the_plan(self):
        plan = self.two_islands()
        t4, v100 = (stage["gpus"] for stage in plan["plan"]["stages"])
        plan["plan"]["stages"] = [
            upstream.stage(0, 6, 4, 2, upstream.spans(t4)),
            upstream.stage(6, 18, 4, 2, upstream.spans(v100))]
        args = self.validated(self.export("megatron", plan), 16)
        self.assertEqual(
            (args.tensor_model_parallel_size, args.pipeline_model_parallel_size,
             args.data_parallel_size, args.micro_batch_size,
             args.global_batch_size), (4, 2, 2, 2, 128))
        with self.assertRaises(AssertionError):
            self.validated(self.export("megatron", plan), 12)


if __name__ == "__main__":
    upstream.main()
