"""What an adapter is."""

from tangram_adapter.messages import model_pb2, parallelizer_pb2


class Adapter:
    """A parallelizer: the four functions of parallelizer.h.

    Only parallelize() must be implemented. Raise ValueError for a query that
    makes no sense and NotImplementedError for a model that the adapter does not
    know; any other exception is the adapter's fault. That no plan fits is an
    answer. The same query must have the same answer, in any process.
    """

    name = ""      # Of the parallelizer; not that of another one.
    version = "1"  # Changes whenever answers may change.

    # What it searches over: names of fields of ParallelizerFeatures.
    features = frozenset()

    # Transformer layers that an atom holds. With more than one there are fewer
    # queries; the embedding and the head then go with their neighbours.
    layers_per_atom = 1

    def slice_model(self, model):
        """tangram.v1.Model -> SliceList: its atoms, in order."""
        layers = [run.layer_type for run in model.layers
                  for _ in range(run.count)]
        slices = model_pb2.SliceList(layer_types=model.layer_types)
        for number, atom in enumerate(self._atoms(model, layers)):
            slices.slices.add(
                begin_atom=number, end_atom=number + 1,
                runs=[model_pb2.LayerRun(layer_type=layer, count=1)
                      for layer in atom])
        return slices

    def concatenate(self, slices):
        """SliceList of two -> SliceList of one."""
        head, tail = slices.slices
        joined = model_pb2.SliceList(layer_types=slices.layer_types)
        joined.slices.add(begin_atom=head.begin_atom, end_atom=tail.end_atom,
                          runs=[*head.runs, *tail.runs])
        return joined

    def profile(self, request):
        """ProfileRequest -> PerformanceProfile: what no plan can do without."""
        return request.bound

    def parallelize(self, query):
        """Query -> SlicePlanSet, made with answer() or no_plan()."""
        raise NotImplementedError(f"{self.name} plans nothing")

    def describe(self):
        """-> tangram.v1.Adapter"""
        return parallelizer_pb2.Adapter(
            name=self.name, version=self.version,
            features=parallelizer_pb2.ParallelizerFeatures(
                **{feature: True for feature in self.features}))

    def _atoms(self, model, layers):
        if self.layers_per_atom == 1:
            return [[layer] for layer in layers]
        transformer = model_pb2.LayerSpec.TRANSFORMER
        atoms = [[]]
        count = 0  # Transformer layers of the last atom.
        for layer in layers:
            if model.layer_types[layer].kind == transformer:
                if count == self.layers_per_atom:
                    atoms.append([])
                    count = 0
                count += 1
            atoms[-1].append(layer)
        return atoms
