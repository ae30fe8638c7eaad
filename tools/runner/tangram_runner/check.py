"""Compares a run with one process that trains the same plan without any degree.

It compares the loss, the gradient of every parameter on every rank that holds
it, and every tensor that crosses a border. So it can say where the first
difference arises: forward, the first border; backward, the last. In float64 it
also compares the weights that the optimizer makes of the gradients.

The one process is of this program too. So what both do wrong is not found, such
as another rule of the optimizer.
"""

import dataclasses

import torch

from .boxes import within
from .fabric import Alone
from .operators.base import live_box
from .optimizer import RATE
from .plan import one_process
from .trainer import Trainer


@dataclasses.dataclass
class Seen:
    """A tensor of one rank: the part `box` of `name`."""
    name: str
    box: tuple
    tensor: torch.Tensor
    pipeline: int
    stage: int
    # "parameter" is its gradient, and "weight" its new value. A tensor that crosses a
    # border is a "value" or "gradient", and has the stage before the border.
    kind: str = "parameter"
    border: int = -1
    microbatch: int = -1
    # The range of the flattened box that the rank has, for parameters and weights.
    part: tuple = None


class Recorder:
    """Collects what a rank computes in one step."""

    def __init__(self, trainer):
        self.trainer = trainer
        self.seen = []
        trainer.watch = self._border

    def _border(self, kind, border, run, microbatch, tensors):
        live = {t.name: t for t in self.trainer.borders[border].live}
        first, _ = run.samples_of(microbatch)
        for name, tensor in tensors.items():
            box = live_box(live[name], run.plan.sequence_length, run.team, run.place)
            samples = (first, first + tensor.shape[0])
            self.seen.append(Seen(name, (samples,) + box[1:], tensor.detach().cpu().clone(),
                                  run.pipeline_index, run.stage.index, kind, border,
                                  microbatch))

    def take(self):
        """Returns all of the step, after its gradients were added up. Gradients are
        without the scale of the loss."""
        for run in self.trainer.runs.values():
            for shard in run.shards.values():
                part, gradient = shard.gradient_part()
                self.seen.append(Seen(shard.name, shard.region, gradient.cpu().clone(),
                                      run.pipeline_index, run.stage.index, part=part))
        seen, self.seen = self.seen, []
        if self.trainer.loss_scale.is_used:
            for one in seen:
                if one.kind != "value":
                    one.tensor = one.tensor.double() / self.trainer.loss_scale.value
        return seen

    def weights(self):
        """Returns the values of all parameters."""
        return [Seen(shard.name, shard.box, values.cpu().clone(), run.pipeline_index,
                     run.stage.index, "weight", part=part)
                for run in self.trainer.runs.values() for shard in run.shards.values()
                for part, values in [shard.value_part()]]


class Reference:
    """One process that trains the plan's model on the plan's data. For a run in 16 bits
    it has 32, and begins with the same weights."""

    def __init__(self, plan, settings, device):
        wide = dataclasses.replace(settings, dtype=settings.compute_dtype)
        self.trainer = Trainer(one_process(plan), Alone(device), wide)
        self.run = self.trainer.runs[0]
        for shard in self.run.shards.values():
            shard.set_box(shard.whole().to(settings.dtype))
        self.cuts = {stage.end for pipeline in plan.pipelines
                     for stage in pipeline.stages[:-1]}
        self.run.watch = self._watch

    def _watch(self, cut, tensors):
        """Keeps the tensors of a cut. What was read before the cut too, such as
        the residual stream, goes on under another name: only the gradient of
        the uses behind the cut crosses it."""
        if cut not in self.cuts:
            return tensors
        tensors = self.run.at_end(cut, tensors)
        tensors = {name: tensor.view_as(tensor) for name, tensor in tensors.items()}
        for tensor in tensors.values():
            if tensor.requires_grad:
                tensor.retain_grad()
        self.tensors[cut] = tensors
        return self.run.at_begin(cut, tensors)

    def step(self, step):
        """Returns the loss and leaves gradients in place."""
        self.tensors = {}
        return self.trainer.gradients(step)

    def greatest(self, seen, cut):
        """The greatest value of the whole tensor of a border of which a rank has seen
        a part."""
        whole = self._of_border(seen, cut)
        return float(whole.abs().max()) if whole.numel() else 0.0

    def take_weights(self, ranks):
        """Goes on with the run's weights, so that differences do not add up."""
        for name, shard in self.run.shards.items():
            whole = shard.whole().clone()
            for seen in (seen for seen_by in ranks for seen in seen_by
                         if seen.name == name):
                put_part(whole, shard.box, seen, seen.tensor.to(whole))
            shard.clear()
            shard.set_box(whole)

    def part(self, seen, cut):
        if seen.kind in ("parameter", "weight"):
            shard = self.run.shards[seen.name]
            whole = shard.gradient if seen.kind == "parameter" else shard.whole()
            return whole[within(seen.box, shard.box)].reshape(-1)[slice(*seen.part)].cpu()
        whole = self._of_border(seen, cut)
        origin = tuple((0, n) for n in whole.shape)
        return whole[within(seen.box, origin)].cpu()

    def _of_border(self, seen, cut):
        whole = self.tensors[cut][seen.name]
        if seen.kind == "gradient":
            whole = (torch.zeros_like(whole) if whole.grad is None else whole.grad)
        return whole.detach()


def put_part(whole, box, seen, values):
    """Sets the elements of `whole`, which is the part `box` of a parameter, that a rank
    has seen."""
    place = within(seen.box, box)
    flat = whole[place].reshape(-1).clone()
    flat[slice(*seen.part)] = values
    whole[place] = flat.view(whole[place].shape)


def relative_error(found, expected, least):
    """Greatest difference, relative to the greatest expected value."""
    if found.numel() == 0:
        return 0.0
    error = float((found - expected).abs().max())
    if error != error:
        return float("inf")
    return error / max(float(expected.abs().max()), least, 1e-300)


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """The greatest difference, relative to the greatest value of a tensor."""
    of_tensors: float
    # Gradients that vanish by symmetry, such as those of key biases, are rounding
    # errors of the others. So differences are relative to at least this fraction of
    # the greatest gradient.
    least_gradient: float
    # Borders likewise, where a tensor may be as good as zero.
    least_border: float = 0.0
    # The differences of weights are relative to at least a step of the optimizer, as
    # Adam makes steps of rounding errors too. None: not compared, as in fewer bits
    # these steps are whole ones. Then each step of the one process begins with the
    # weights of the run.
    of_weights: float = None


TOLERANCES = {"float64": Tolerance(1e-9, 1e-4, of_weights=1e-6),
              "float32": Tolerance(1e-3, 1e-4),
              "float16": Tolerance(0.1, 0.1, 0.1),
              "bfloat16": Tolerance(0.45, 0.1, 0.1)}


class Comparison:
    """What differs in one step by more than a tolerance."""

    def __init__(self, plan, reference, loss, expected_loss, ranks, tolerances):
        self.plan = plan
        self.tolerances = tolerances
        self.tolerance = tolerances.of_tensors
        self.loss_error = abs(loss - expected_loss) / max(abs(expected_loss), 1e-300)
        if self.loss_error != self.loss_error:
            self.loss_error = float("inf")
        greatest = max(float(s.gradient.abs().max())
                       for s in reference.run.shards.values())
        self.wrong = []
        self.names = set()
        self._check_cover(reference, ranks)
        self.greatest_error = 0.0
        for rank, seen_by in enumerate(ranks):
            for seen in seen_by:
                cut, least = None, tolerances.least_gradient * greatest
                if seen.kind != "parameter":
                    stages = plan.pipelines[seen.pipeline].stages
                    cut = stages[seen.border].end
                    least = tolerances.least_border * reference.greatest(seen, cut)
                else:
                    self.names.add(seen.name)
                error = relative_error(seen.tensor, reference.part(seen, cut), least)
                if seen.kind == "parameter":
                    self.greatest_error = max(self.greatest_error, error)
                if error > self.tolerance:
                    self.wrong.append((error, rank, seen))

    def add_weights(self, reference, ranks):
        """Compares the weights of all ranks after the step."""
        for rank, seen_by in enumerate(ranks):
            for seen in seen_by:
                error = relative_error(seen.tensor, reference.part(seen, None), RATE)
                if error > max(self.tolerances.of_weights, self.tolerance):
                    self.wrong.append((error, rank, seen))

    def _check_cover(self, reference, ranks):
        """Finds elements of gradients that no rank has."""
        self.missing = []
        by_name = {}
        for seen in (seen for seen_by in ranks for seen in seen_by
                     if seen.kind == "parameter"):
            by_name.setdefault(seen.name, []).append(seen)
        for name, shard in reference.run.shards.items():
            found = torch.zeros(shard.shape, dtype=torch.bool)
            for seen in by_name.get(name, []):
                put_part(found, shard.box, seen, True)
            if not found.all():
                self.missing.append(f"  gradient of {name}: no rank has "
                                    f"{int((~found).sum())} of {found.numel()} elements")

    @property
    def is_right(self):
        return not (self.wrong or self.missing) and self.loss_error <= self.tolerance

    def lines(self):
        """The report, most telling first."""
        if self.is_right:
            return [f"right: loss and {len(self.names)} gradients equal one process "
                    f"(greatest relative difference {self.greatest_error:.1e})"]
        lines = [f"wrong: loss differs by {self.loss_error:.1e}, "
                 f"{len({s.name for _, _, s in self.wrong if s.kind == 'parameter'})} "
                 f"of {len(self.names)} gradients differ"]
        culprit, found = self._origin()
        lines += found + self.missing
        kinds = {w[2].kind for w in self.wrong}
        # Weights are wrong too where gradients are.
        kind, what = (("weight", "new value") if kinds == {"weight"} else
                      ("parameter", "gradient"))
        parameters = sorted((w for w in self.wrong if w[2].kind == kind),
                            key=lambda w: (self._stage(w[2]) != culprit, -w[0]))
        lines += [f"  {what} of {seen.name} on rank {rank}, "
                  f"{self._stage(seen)}: differs by {error:.1e}"
                  for error, rank, seen in parameters[:10]]
        if len(parameters) > 10:
            lines.append(f"  and {len(parameters) - 10} more")
        return lines

    def _stage(self, seen):
        return self.plan.stage_name(seen.pipeline, seen.stage)

    def _origin(self):
        """The stage where the first difference arises, in the order of
        computation, and lines that say so."""
        values = [w for w in self.wrong if w[2].kind == "value"]
        gradients = [w for w in self.wrong if w[2].kind == "gradient"]
        if values:
            error, rank, seen = min(values, key=lambda w: w[2].border)
            culprit = seen.border
        elif gradients:
            error, rank, seen = max(gradients, key=lambda w: w[2].border)
            culprit = seen.border + 1
        else:
            stages = sorted({self._stage(w[2]) for w in self.wrong})
            inside = ", ".join(stages) or "the loss"
            return None, [f"  all borders are right; wrong inside {inside}"]
        name = self.plan.stage_name(seen.pipeline, culprit)
        return name, [f"  {name} is the first that goes wrong: the {seen.kind} "
                      f"of {seen.name} at the border of stages {seen.border} and "
                      f"{seen.border + 1}, microbatch {seen.microbatch}, rank {rank}, "
                      f"differs by {error:.1e}"]
