"""One stage on one rank: its parameters, and its forward and backward passes.

A stage is a list of segments. A segment is one operator, or a maximal run of
recomputed operators of a layer: of it only the input is kept, and the backward
pass runs it again (1604.06174).
"""

import torch
from torch.utils.checkpoint import checkpoint

from . import data
from .model import Cut, positions_between
from .operators import full_name, operator_at, routing
from .operators.context import Context
from .schedule import splits_backward
from .weights import first_values


class Shard:
    """This rank's part of a parameter, under its name in the model."""

    def __init__(self, name, parameter, box, values):
        self.name = name
        self.parameter = parameter
        self.box = box
        self.values = values.requires_grad_()

    @property
    def gradient(self):
        if self.values.grad is None:
            self.values.grad = torch.zeros_like(self.values)
        return self.values.grad


class StageRun:

    def __init__(self, plan, pipeline, stage, team, fabric, live, settings):
        self.plan, self.pipeline, self.stage, self.team = plan, pipeline, stage, team
        self.fabric = fabric
        self.settings = settings
        self.live = live  # From each cut to its live tensors.
        self.place = team.place(fabric.rank)
        self.is_first = stage.begin == Cut(0, 0)
        self.is_last = stage.end == Cut(len(plan.layers), 0)
        self.shards = {}
        self.steps = [self._operator(layer, op) for layer, op in
                      positions_between(plan.layers, stage.begin, stage.end)]
        self.segments = self._segments()
        self.step = 0
        self.loss = 0.0
        self.held = {}  # From microbatch to its inputs and outputs.
        self.late = {}  # Likewise, for separate weight gradients.
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
                self.shards[name] = Shard(name, parameter, box, values)
            parameters[parameter.name] = self.shards[name].values
        context = Context(spec, self.team, self.place, self.fabric,
                          self.plan.sequence_length,
                          self.plan.global_batch_size * self.plan.sequence_length)
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
            _, operator, context, parameters = step
            tensors.update(operator.forward(context, parameters,
                                            {**tensors, **ids}))
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

    def _recompute(self, steps, tensors, ids):
        names = sorted(tensors)
        outputs = []

        def run(*values):
            result = self._run(steps, dict(zip(names, values)), ids)
            outputs[:] = sorted(result)
            return tuple(result[name] for name in outputs)

        values = checkpoint(run, *(tensors[name] for name in names),
                            use_reentrant=False, preserve_rng_state=False)
        return dict(zip(outputs, values))

    def forward(self, microbatch, inputs):
        """Runs the operators. `inputs` are the live tensors of the first cut.
        Returns those of the last."""
        for tensor in inputs.values():
            if tensor.is_floating_point():
                tensor.requires_grad_()
        ids = self._read_tokens(microbatch)
        tensors = self.at_begin(self.stage.begin, inputs)
        for steps, recomputed in self.segments:
            run = self._recompute if recomputed else self._run
            tensors = run(steps, tensors, ids)
        tensors = self.at_end(self.stage.end, tensors)
        self.held[microbatch] = (inputs, tensors)
        if self.is_last and self.place.tp == 0:
            # The other tp ranks have the same loss.
            self.loss += float(tensors["loss"].detach())
        return tensors

    def backward(self, microbatch, gradients):
        """Takes gradients of the outputs and returns those of the inputs."""
        inputs, outputs = self.held.pop(microbatch)
        # All but choices of experts.
        inputs = {n: t for n, t in inputs.items() if t.requires_grad}
        names = sorted(n for n, t in outputs.items() if t.requires_grad)
        outputs = [outputs[name] for name in names]
        gradients = [gradients.get(name) for name in names]
        leaves = list(inputs.values())
        if splits_backward(self.pipeline.schedule):
            self.late[microbatch] = (outputs, gradients)
            found = leaves and torch.autograd.grad(outputs, leaves, gradients,
                                                   retain_graph=True,
                                                   allow_unused=True)
        else:
            torch.autograd.backward(outputs, gradients)
            found = [leaf.grad for leaf in leaves]
        return {name: torch.zeros_like(leaf) if grad is None else grad
                for (name, leaf), grad in zip(inputs.items(), found)}

    def weight_gradients(self, microbatch):
        """The second half of a backward pass that was split. It differentiates
        the same pass again, for the weights alone."""
        outputs, gradients = self.late.pop(microbatch)
        values = [shard.values for shard in self.shards.values()]
        if not values:
            return
        found = torch.autograd.grad(outputs, values, gradients, allow_unused=True)
        for shard, grad in zip(self.shards.values(), found):
            if grad is not None:
                shard.gradient.add_(grad)
