"""The Python package for adapters, and the adapters that come as examples.

Usage: tangram_adapter_test.py <repository root> <generated messages>
"""

import importlib.util
import pathlib
import sys
import unittest
from types import SimpleNamespace

ROOT, MESSAGES = (pathlib.Path(argument) for argument in sys.argv[1:3])
sys.path.append(str(ROOT / "tests/testing"))
import report_skips  # noqa: E402
HAS_GRPC = all(importlib.util.find_spec(name) for name in ("grpc", "google"))
if HAS_GRPC:
    sys.path[:0] = [str(MESSAGES), str(ROOT / "clients/python")]
    import tangram_adapter
    from tangram_adapter.messages import model_pb2, parallelizer_service_pb2


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def model_of(num_layers):
    """Embedding, transformer layers, head."""
    kinds = model_pb2.LayerSpec
    return model_pb2.Model(
        layer_types=[kinds(kind=kinds.EMBEDDING), kinds(kind=kinds.TRANSFORMER),
                     kinds(kind=kinds.HEAD)],
        layers=[model_pb2.LayerRun(layer_type=0, count=1),
                model_pb2.LayerRun(layer_type=1, count=num_layers),
                model_pb2.LayerRun(layer_type=2, count=1)])


def layers_of(atom):
    return [run.layer_type for run in atom.runs for _ in range(run.count)]


@unittest.skipUnless(HAS_GRPC, "python3-grpcio is not installed")
class AdapterTest(unittest.TestCase):

    def atoms(self, layers_per_atom):
        adapter = tangram_adapter.Adapter()
        adapter.layers_per_atom = layers_per_atom
        slices = adapter.slice_model(model_of(5)).slices
        self.assertEqual([(s.begin_atom, s.end_atom) for s in slices],
                         [(i, i + 1) for i in range(len(slices))])
        return [layers_of(atom) for atom in slices]

    def test_an_atom_is_a_layer(self):
        self.assertEqual(self.atoms(1), [[0], [1], [1], [1], [1], [1], [2]])

    def test_larger_atoms_take_the_ends_along(self):
        self.assertEqual(self.atoms(2), [[0, 1, 1], [1, 1], [1, 2]])
        self.assertEqual(self.atoms(9), [[0, 1, 1, 1, 1, 1, 2]])

    def test_slices_are_joined_in_order(self):
        adapter = tangram_adapter.Adapter()
        atoms = adapter.slice_model(model_of(2))
        pair = model_pb2.SliceList(layer_types=atoms.layer_types,
                                   slices=atoms.slices[:2])
        joined = adapter.concatenate(pair).slices
        self.assertEqual(len(joined), 1)
        self.assertEqual((joined[0].begin_atom, joined[0].end_atom), (0, 2))
        self.assertEqual(layers_of(joined[0]), [0, 1])

    def test_masks_are_run_length_encoded(self):
        plan = tangram_adapter.stage((1, 3), (4, 2), tp=2,
                                     recompute=[1, 1, 0, 5]).plan
        self.assertEqual((plan.begin.layer, plan.begin.op), (1, 3))
        self.assertEqual((plan.end.layer, plan.end.op), (4, 2))
        self.assertEqual([(r.num_layers, r.mask) for r in plan.recompute],
                         [(2, 1), (1, 0), (1, 5)])
        with self.assertRaisesRegex(RuntimeError, "1 recompute masks for 2"):
            tangram_adapter.stage(0, 2, recompute=[0])

    def test_estimates_are_found_by_layer_and_degrees(self):
        request = parallelizer_service_pb2.ParallelizeRequest()
        request.context.islands.add(num_nodes=2, gpus_per_node=4)
        request.context.training.global_batch_size = 32
        request.query.pipeline_microbatch_size = 4
        request.context.slices.slices.add(
            runs=[model_pb2.LayerRun(layer_type=0, count=3)])
        request.estimates.layers.add(tp_degree=2, dp_degree=1).operators.add(
            forward_s=1, backward_s=2)
        query = tangram_adapter.Query(request)
        self.assertEqual(query.layers, [0, 0, 0])
        self.assertEqual((query.num_gpus, query.num_microbatches), (8, 8))
        self.assertEqual(query.layer_seconds(0, tp=2), 3)
        self.assertIsNone(query.estimate(0, tp=4))
        self.assertEqual([n for n in range(1, 9) if query.fits_nodes(n)],
                         [1, 2, 4, 8])


@unittest.skipUnless(HAS_GRPC, "python3-grpcio is not installed")
class ExamplesTest(unittest.TestCase):

    def test_even_cuts_leave_no_stage_empty(self):
        even_cuts = load(ROOT / "examples/adapters/even_split.py").even_cuts
        self.assertEqual(even_cuts([1, 1, 1, 1], 2), [0, 2, 4])
        self.assertEqual(even_cuts([9, 1, 1, 1], 3), [0, 1, 2, 4])
        self.assertEqual(even_cuts([1, 1, 9], 3), [0, 1, 2, 3])

    def test_cuts_of_aceso_inside_attention_are_moved_behind_it(self):
        aceso = load(ROOT / "examples/adapters/upstream/aceso.py")
        operators = [(layer, op, name) for layer in range(2)
                     for name, op in aceso.TRANSFORMER]
        # The first stage ends after the softmax of the first layer.
        plan = aceso.plan_of(operators, [
            {"tp": 2, "dp": 1, "recompute": [0, 0, 1, 1]},
            {"tp": 1, "dp": 4, "recompute": [1, 1] + 20 * [0]}])
        first, second = (stage.plan for stage in plan.stages)
        # Layer 0 up to the operator after attention, which is the third.
        self.assertEqual((first.end.layer, first.end.op), (0, 3))
        self.assertEqual([r.mask for r in first.recompute], [1 << 2])
        self.assertEqual((second.begin.layer, second.begin.op), (0, 3))
        self.assertEqual((second.end.layer, second.end.op), (2, 0))
        self.assertEqual([r.mask for r in second.recompute], [0])
        self.assertEqual(second.parallelism.dp_degree, 4)

    def test_a_stage_of_aceso_inside_attention_is_none(self):
        aceso = load(ROOT / "examples/adapters/upstream/aceso.py")
        operators = [(0, op, name) for name, op in aceso.TRANSFORMER]
        stages = [{"tp": 1, "dp": 1, "recompute": [0] * count}
                  for count in (3, 1, 9)]
        self.assertIsNone(aceso.plan_of(operators, stages))

    def test_galvatron_gives_the_ends_to_the_outer_stages(self):
        galvatron = load(ROOT / "examples/adapters/upstream/galvatron.py")
        query = SimpleNamespace(layers=[0, 1, 1, 1, 2],
                                whole_layer=lambda layer_type: 7)
        layers = SimpleNamespace(types={galvatron.TRANSFORMER: 1})
        strategies = [SimpleNamespace(tp_size=2, dp_size=4, checkpoint=c,
                                      dp_type=SimpleNamespace(value="zero3"))
                      for c in (True, False, True)]
        plan = galvatron.plan_of(query, layers, {
            "strategy_list": strategies, "pp_stage_list": [1, 2]})
        first, last = (stage.plan for stage in plan.stages)
        self.assertEqual((first.begin.layer, first.end.layer), (0, 2))
        self.assertEqual((last.begin.layer, last.end.layer), (2, 5))
        self.assertEqual([r.mask for r in first.recompute], [0, 7])
        self.assertEqual([r.mask for r in last.recompute], [0, 7, 0])
        self.assertEqual((first.parallelism.zero_stage,
                          first.parallelism.tp_degree,
                          first.parallelism.dp_degree), (3, 2, 4))


if __name__ == "__main__":
    report_skips.main(verbosity=2)
