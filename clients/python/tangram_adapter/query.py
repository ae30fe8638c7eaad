"""The question that an adapter answers."""

import math

from tangram_adapter.messages import model_pb2


class Query:
    """A slice of a model, an island of equal GPUs, and training settings."""

    def __init__(self, request):
        context = request.context
        self.request = request          # tangram.v1.ParallelizeRequest
        self.training = context.training
        self.island = context.islands[0]
        self.device = self.island.device
        self.num_gpus = self.island.num_nodes * self.island.gpus_per_node
        self.layer_types = context.slices.layer_types
        # The type of each layer of the slice, as an index into layer_types.
        self.layers = [run.layer_type for run in context.slices.slices[0].runs
                       for _ in range(run.count)]
        # Samples that all replicas of a stage process together.
        self.microbatch = request.query.pipeline_microbatch_size
        self.num_microbatches = (self.training.global_batch_size
                                 // self.microbatch)
        self.trailing_stages = request.query.trailing_stages
        self.max_search_steps = request.query.max_search_steps
        # Slower plans are dropped: the sum of the stages' times and, for each
        # microbatch but the first, the slowest stage.
        self.limit_s = request.query.limit_s or math.inf
        self._estimates = {
            (e.layer_type, e.tp_degree, e.dp_degree): e
            for e in request.estimates.layers}

    def fits_nodes(self, gpus_per_stage):
        """Whether consecutive stages of this size respect node boundaries: each
        is inside a node or takes whole nodes."""
        per_node = self.island.gpus_per_node
        return per_node % gpus_per_stage == 0 or gpus_per_stage % per_node == 0

    def estimate(self, layer_type, tp=1, dp=1):
        """A tangram.v1.LayerEstimate; None if the split is impossible."""
        return self._estimates.get((layer_type, tp, dp))

    def operators(self, layer_type):
        """Names of the layer's operators, in execution order."""
        return [op.name for op in self.estimate(layer_type).operators]

    def whole_layer(self, layer_type):
        """The mask that recomputes a whole transformer layer; 0 for an
        embedding or head."""
        if self.layer_types[layer_type].kind != model_pb2.LayerSpec.TRANSFORMER:
            return 0
        return (1 << len(self.operators(layer_type))) - 1

    def layer_seconds(self, layer_type, tp=1, dp=1):
        """Seconds of the forward and backward pass of one microbatch."""
        return sum(op.forward_s + op.backward_s
                   for op in self.estimate(layer_type, tp, dp).operators)
