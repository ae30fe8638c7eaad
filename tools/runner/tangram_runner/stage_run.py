"""One stage on one rank: its parameters, and its forward and backward passes.

A stage is a list of segments. A segment is one operator, or a maximal run of
recomputed operators of a layer: of it only the input is kept, and the backward
pass runs it again (kept.py). Its output is kept by the next operator, unless the
layer drops outputs.
"""

import functools

import torch

from . import data
from .kept import Keeper, Pass, Segment
from .memory import Memory
from .model import Cut, positions_between
from .operators import full_name, operator_at, routing
from .operators.context import Context
from .parameters import Shard
from .products import PutOff
from .schedule import splits_backward
from .sync import region, replicas_of
from .weights import first_values


class StageRun:

    def __init__(self, plan, pipeline_index, stage, team, fabric, live, settings):
        pipeline = plan.pipelines[pipeline_index]
        self.pipeline_index = pipeline_index
        self.plan, self.pipeline, self.stage, self.team = plan, pipeline, stage, team
        self.fabric = fabric
        self.settings = settings
        self.live = live  # From each cut to its live tensors.
        self.memory = Memory(fabric.device)
        self.keeper = Keeper(self.memory, stage.offload.activations)
        self.put_off = PutOff(self.keeper) if splits_backward(pipeline.schedule) else None
        self.place = team.place(fabric.rank)
        self.is_first = stage.begin == Cut(0, 0)
        self.is_last = stage.end == Cut(len(plan.layers), 0)
        self.shards = {}
        self.steps = [self._operator(layer, op) for layer, op in
                      positions_between(plan.layers, stage.begin, stage.end)]
        self.segments = self._segments()
        self.step = 0
        self.loss = 0.0
        # Multiplies the gradients, so that small ones do not vanish in 16 bits.
        self.loss_scale = 1.0
        self.held = {}  # From microbatch to its Pass.
        # From name to (tensor, function that makes it again), in a forward pass.
        self.dropped = {}
        # Called with (cut, tensors) between operators, if set. Returns tensors
        # to go on with.
        self.watch = None

    def _operator(self, layer, op):
        operator = operator_at(self.plan.layers, layer, op)
        spec = self.plan.layers[layer]
        parameters = {}
        for parameter in operator.parameters(spec):
            name = full_name(self.plan.layers, layer, operator, parameter)
            if name not in self.shards:
                box = parameter.box(self.team.parallelism, self.place)
                values = first_values(self.settings.seed, name, parameter, box,
                                      self.settings.dtype, self.fabric.device)
                own = region(self.plan, self.pipeline_index, parameter, box)
                self.shards[name] = Shard(
                    name, parameter, box, own, values,
                    replicas_of(self.team, parameter, self.fabric.rank), self)
            parameters[parameter.name] = self.shards[name]
        context = Context(spec, self.team, self.place, self.fabric,
                          self.plan.sequence_length,
                          self.plan.global_batch_size * self.plan.sequence_length,
                          self.put_off)
        return Cut(layer, op), operator, context, parameters

    def _segments(self):
        """Lists of steps, with whether they are recomputed."""
        segments = []
        for step in self.steps:
            layer, op = step[0]
            recomputed = bool(self.stage.masks[layer] >> op & 1)
            if (recomputed and segments and segments[-1][1]
                    and segments[-1][0][-1][0].layer == layer):
                segments[-1][0].append(step)
            else:
                segments.append(([step], recomputed))
        return segments

    def _cut_after(self, step):
        cut = step[0]
        after = Cut(cut.layer, cut.op + 1)
        if after.op == len(self.plan.layers[cut.layer].operators):
            after = Cut(cut.layer + 1, 0)
        return after

    def samples_of(self, microbatch):
        """This replica's samples of a microbatch, in the global batch."""
        first = (self.pipeline.first_sample
                 + microbatch * self.pipeline.microbatch_size)
        begin, end = self.team.samples_of(self.place)
        return first + begin, first + end

    def _read_tokens(self, microbatch):
        """Inputs and targets of a pass, for the ends of the model."""
        if not (self.is_first or self.is_last):
            return {}
        vocabulary = self.plan.layers[0].vocab_size
        tokens, targets = data.batch(
            self.settings.seed, self.step, self.samples_of(microbatch),
            self.steps[0][2].token_range, vocabulary, self.plan.sequence_length,
            self.fabric.device)
        return {"tokens": tokens, "targets": targets}

    def _run(self, steps, tensors, ids):
        """Runs operators and keeps only what lives after them."""
        tensors = dict(tensors)
        for step in steps:
            tensors.update(self._operate(step, tensors, ids))
            after = self._cut_after(step)
            names = {live.name for live in self.live[after]} | {"loss"}
            tensors = {n: t for n, t in tensors.items() if n in names}
            if self.watch:
                tensors = self.watch(after, tensors)
        return tensors

    def at_begin(self, cut, tensors):
        """From what lives at a cut to what the operators after it read."""
        return routing.resume(self.live[cut], tensors, self._context(cut))

    def at_end(self, cut, tensors):
        """From what the operators before a cut wrote to what lives there."""
        return routing.settle(self.live[cut], tensors, self._context(cut))

    def _context(self, cut):
        """Of an operator in the layer of a cut, if this stage has any there."""
        return next((context for at, _, context, _ in self.steps
                     if at.layer == cut.layer), None)

    def _operate(self, step, tensors, ids):
        """Runs one operator. Between operators, 16-bit tensors have 16 bits; inside,
        sums are in float32."""
        _, operator, context, shards = step
        parameters = {name: shard.use() for name, shard in shards.items()}
        wide = self.settings.compute_dtype
        live = {name: tensor.to(wide) if tensor.is_floating_point() else tensor
                for name, tensor in tensors.items()}
        again = [(parameters[name], shard.whole) for name, shard in shards.items()]
        for name, tensor, make in self._dropped_of(tensors):
            again.append((live[name], lambda make=make: make().to(wide)))
        def forward(tensors):
            return operator.forward(context, parameters, {**tensors, **ids})

        with self.keeper.instead(again):
            written = forward(live)
        return {name: tensor.to(self.settings.dtype)
                if tensor.is_floating_point() and name != "loss" else tensor
                for name, tensor in written.items()}

    def _dropped_of(self, tensors):
        return [(name, tensor, make) for name, (tensor, make) in self.dropped.items()
                if tensors.get(name) is tensor]

    def _recompute(self, steps, tensors, ids):
        with self.keeper.instead([(tensor, make) for _, tensor, make
                                  in self._dropped_of(tensors)]):
            segment = Segment(lambda inputs: self._run(steps, inputs, ids), tensors,
                              self.keeper)
        results = segment.forward()
        if steps[0][0].layer in self.stage.drops_outputs:
            for name, tensor in results.items():
                if tensors.get(name) is not tensor and tensor.requires_grad:
                    self.dropped[name] = (tensor, functools.partial(segment.output, name))
        return results

    def forward(self, microbatch, inputs):
        """Runs the operators. `inputs` are the live tensors of the first cut.
        Returns those of the last."""
        one = Pass(self.fabric.device)
        ids = self._read_tokens(microbatch)
        tensors = self.at_begin(self.stage.begin, one.enter(inputs))
        with self.keeper.hooks():
            for steps, recomputed in self.segments:
                run = self._recompute if recomputed else self._run
                tensors = run(steps, tensors, ids)
            tensors = self.at_end(self.stage.end, tensors)
        one.leave(tensors)
        self.dropped = {}
        self.held[microbatch] = one
        if self.is_last and self.place.tp == 0:
            # The other tp ranks have the same loss.
            self.loss += float(tensors["loss"].detach())
        return tensors

    def backward(self, microbatch, gradients):
        """Takes gradients of the outputs and returns those of the inputs."""
        if self.is_last:
            gradients = {"loss": torch.tensor(self.loss_scale, device=self.fabric.device,
                                              dtype=self.settings.compute_dtype)}
        found = self.held.pop(microbatch).backward(gradients)
        if self.put_off:
            self.put_off.end_pass(microbatch)
        return found

    def weight_gradients(self, microbatch):
        """The second half of a backward pass that was split."""
        self.put_off.run(microbatch)
