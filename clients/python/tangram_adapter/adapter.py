"""The base class of adapters."""

from tangram_adapter.messages import model_pb2, parallelizer_pb2


class Adapter:
    """A parallelizer: the four functions of parallelizer.h.

    Only parallelize() must be implemented. Raise ValueError for a query that
    makes no sense, and NotImplementedError for a model that the adapter does
    not know; every other exception is the adapter's fault. If no plan fits,
    return no_plan(). The same query must have the same answer in every process.
    """

    name = ""  # Of the parallelizer; must differ from all others.
    version = "1"  # Must change whenever answers may change.

    # Names of fields of ParallelizerFeatures that plans may use.
    features = frozenset()

    # Transformer layers in each atom. With more than one there are fewer
    # queries; embedding and head then belong to their neighbours' atoms.
    layers_per_atom = 1

    def slice_model(self, model):
        """Returns the atoms of a tangram.v1.Model as a SliceList, in order."""
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
        """Joins a SliceList of two slices into one of one slice."""
        head, tail = slices.slices
        joined = model_pb2.SliceList(layer_types=slices.layer_types)
        joined.slices.add(begin_atom=head.begin_atom, end_atom=tail.end_atom,
                          runs=[*head.runs, *tail.runs])
        return joined

    def profile(self, request):
        """Returns a PerformanceProfile: lower bounds on every plan."""
        return request.bound

    def parallelize(self, query):
        """Answers a Query with answer() or no_plan()."""
        raise NotImplementedError(f"{self.name} plans nothing")

    def describe(self):
        """Returns a tangram.v1.Adapter."""
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
