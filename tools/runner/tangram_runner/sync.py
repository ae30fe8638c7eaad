"""Adds up the gradients of a parameter over everything that holds it.

A loss weighs every token of the global batch alike, so gradients are sums and
never means: over microbatches, over the replicas of a team, and over the teams
that hold the parameter (groups of a mixed stage, pipelines, and the two ends of
a tied embedding).

Pipelines may share the optimizer state of each parameter ("zero1"). Each has a
region, adds up the gradients of it alone, steps it, and sends the new weights to
the others. With "zero2" they also send each other gradients after every pass
instead of keeping the sums of all regions.
"""

import functools
from typing import NamedTuple, Tuple

import torch

from .boxes import clip, moves, shape, volume, within
from .operators import full_name, operator_at
from .operators.attention import key_sharers
from .model import positions_between

# Above the tags of borders: of new weights, and of gradients.
TAG = 1 << 30
GRADIENT_TAG = TAG + (1 << 29)


def parameters_of(plan, stage):
    """From name to Parameter, in the order of the operators."""
    result = {}
    for layer, op in positions_between(plan.layers, stage.begin, stage.end):
        operator = operator_at(plan.layers, layer, op)
        for parameter in operator.parameters(plan.layers[layer]):
            result[full_name(plan.layers, layer, operator, parameter)] = parameter
    return result


class Replicas(NamedTuple):
    """Of a rank and a parameter: ranks with the same box."""
    all: Tuple[int, ...]
    group: Tuple[int, ...]  # Those among which ZeRO shares state.
    equals: Tuple[int, ...]  # Those with the same part of it, one of each group.


def replicas_of(team, parameter, rank):
    ranks = replicas(team, parameter, rank)
    places, degree = team.places(), team.parallelism.sharing_dp
    groups = {}
    for other in ranks:
        groups.setdefault(places[other].dp // degree, []).append(other)
    group = groups[places[rank].dp // degree]
    return Replicas(ranks, tuple(group), tuple(
        other[group.index(rank)] for other in groups.values()))


def replicas(team, parameter, rank):
    """The ranks whose gradients of their box of the parameter add up."""
    places = team.places()
    p = team.parallelism
    mine = places[rank]
    box = parameter.box(p, mine)
    return tuple(r for r, at in places.items() if parameter.box(p, at) == box
                 and (parameter.is_partial(p) or at.tp == mine.tp))


def holders(plan):
    """From each parameter's name to the (stage, team) pairs that hold it."""
    result = {}
    for r, pipeline in enumerate(plan.pipelines):
        for stage in pipeline.stages:
            for name, parameter in parameters_of(plan, stage).items():
                for team in stage.teams:
                    result.setdefault(name, []).append((r, stage.index, team, parameter))
    return result


def groups_of(plan):
    """All groups of ranks that stages and this file need."""
    groups = set()
    for pipeline in plan.pipelines:
        for stage in pipeline.stages:
            parameters = parameters_of(plan, stage)
            for team in stage.teams:
                places = team.places()
                for same in _sames(team.parallelism):
                    parts = {}
                    for rank, at in places.items():
                        parts.setdefault(same(at), []).append(rank)
                    groups |= {tuple(part) for part in parts.values()}
                for parameter in set(parameters.values()):
                    for rank in places:
                        groups |= {*replicas_of(team, parameter, rank)}
                groups |= _key_groups(plan, stage, team)
    return groups


def _sames(p):
    """What ranks of a group have in common, for each kind of group."""
    return ((lambda at: (at.cp, at.dp)), (lambda at: (at.tp, at.dp)),
            (lambda at: (at.tp,)), (lambda at: ()),
            (lambda at: (p.x(at), at.cp, at.dp)), (lambda at: (p.y(at), at.cp, at.dp)),
            (lambda at: (at.tp, p.expert_group(at))), p.expert_group)


def _key_groups(plan, stage, team):
    """Tensor-parallel ranks that share a key and value head."""
    layers = {plan.layers[layer] for layer, _ in
              positions_between(plan.layers, stage.begin, stage.end)}
    return {key_sharers(layer, team, place) for layer in layers if layer.cached_heads
            for place in team.places().values()}


def region(plan, pipeline, parameter, box):
    """The part of a box whose optimizer state a pipeline has: with zero1 and zero2 a
    slab of the parameter along its longest dimension."""
    if plan.sync == "all-reduce":
        return box
    before = sum(p.state_fraction for p in plan.pipelines[:pipeline])
    after = before + plan.pipelines[pipeline].state_fraction
    size = max(parameter.shape)
    dim = parameter.shape.index(size)
    last = pipeline == len(plan.pipelines) - 1
    slab = [(0, n) for n in parameter.shape]
    slab[dim] = round(before * size), size if last else round(after * size)
    return clip(box, tuple(slab))


class GradientSync:
    """Of one rank with its stages' runs."""

    def __init__(self, plan, fabric, runs):
        self.plan, self.fabric, self.runs = plan, fabric, runs
        held = holders(plan)
        # Parameters of several teams, in one order.
        self.shared = {name: held[name] for name in sorted(held) if len(held[name]) > 1}
        self.most_holders = max(map(len, self.shared.values()), default=0)
        self.kept = {}  # From (name, holder) to its own sum of a region, with zero2.
        self.new = {}  # From (name, holder) to new values of a region.
        self.moves = {}  # From (number of a name, sender, receiver) to Moves.

    def after_pass(self, run, microbatch):
        """A pass of `run` has added the gradients of its parameters."""
        if self.plan.sync == "zero2":
            self._within_team(run)
            self._send_gradients(run, microbatch)

    def __call__(self):
        """After the last pass: leaves the complete sum of each region."""
        # Before anything is sent: what says that a rank is ready to receive would wait
        # behind what it sends to the same rank.
        arriving = [self._expect(run) for run in self.runs]
        if self.plan.sync != "zero2":
            for run in self.runs:
                self._within_team(run)
            for run in self.runs:
                self._send_gradients(run, 0)
        for run, messages in zip(self.runs, arriving):
            self._receive_gradients(run, messages)

    def _within_team(self, run):
        """One all-reduce for all parameters with the same replicas. With ZeRO 2,
        each pass has added up its gradients over the ranks that share their sums."""
        buckets = {}
        for shard in run.shards.values():
            if len(shard.summands) > 1:
                buckets.setdefault(shard.summands, []).append(shard)
        for ranks, shards in sorted(buckets.items()):
            sums = [shard.flat_sums() for shard in shards]
            flat = self.fabric.all_reduce(torch.cat(sums), ranks, keep=False)
            for shard, part in zip(shards, flat.split([len(own) for own in sums])):
                shard.set_sums(part)

    # Between teams: each gets the sums of the others in its own layout. All add in
    # the same order, so that copies of a parameter stay equal.
    def _held_by(self, run):
        """Yields (name, its number, holders, index of `run` among them, shard)."""
        for number, (name, held) in enumerate(self.shared.items()):
            for i, (r, stage, team, _) in enumerate(held):
                if (r, stage) == (run.pipeline_index, run.stage.index) and (
                        team == run.team):
                    yield name, number, held, i, run.shards[name]

    def _tag(self, number, i, j, turn):
        """Of a parameter's message from its holder i to its holder j, like no other:
        two ranks may send and receive in unlike orders."""
        n = self.most_holders
        return TAG + ((turn * len(self.shared) + number) * n + i) * n + j

    def _turns(self, holder):
        """The microbatches after which a holder sends its gradients."""
        if self.plan.sync != "zero2":
            return [0]
        r, _, team, _ = holder
        return [m for m in range(self.plan.pipelines[r].num_microbatches)
                if team.runs(m)]

    def _moves(self, number, held, i, j):
        """Of gradients, to the receiver's region. Each replica receives a part of it."""
        if (number, i, j) not in self.moves:
            self.moves[number, i, j] = moves(
                _layout(held[i]), {rank: self._part(held[j], rank, box)
                                   for rank, box in _layout(held[j]).items()})
        return self.moves[number, i, j]

    def _part(self, holder, rank, box):
        """What a replica receives of the region of its box."""
        _, _, team, parameter = holder
        ranks = replicas(team, parameter, rank)
        return _even_parts(self._region(holder, box), len(ranks))[ranks.index(rank)]

    def _region(self, holder, box):
        return region(self.plan, holder[0], holder[3], box)

    def _send_gradients(self, run, turn):
        """One message to each rank and stage that needs gradients of this stage."""
        buckets = {}
        for name, number, held, i, shard in self._held_by(run):
            whole = shard.take_box()
            mine = whole[within(shard.region, shard.box)]
            if shard.region != shard.box:
                mine = mine.clone()  # Not to keep all of the box.
            before = self.kept.get((name, i))
            self.kept[name, i] = mine if before is None else before + mine
            for j, receiver in enumerate(held):
                for move in self._moves(number, held, i, j) if i != j else ():
                    if move.source == self.fabric.rank:
                        part = whole[within(move.box, shard.box)]
                        buckets.setdefault((move.target, *receiver[:2]), []).append(
                            part.reshape(-1))
        mine = run.pipeline_index, run.stage.index
        for (target, *stage), parts in buckets.items():
            self.fabric.send(torch.cat(parts), target,
                             self._gradient_tag(mine, stage, turn))

    def _gradient_tag(self, sender, receiver, turn):
        counts = [len(pipeline.stages) for pipeline in self.plan.pipelines]
        one, other = (sum(counts[:r]) + stage for r, stage in (sender, receiver))
        return GRADIENT_TAG + (turn * sum(counts) + one) * sum(counts) + other

    def _receive_gradients(self, run, messages):
        parts = self._received(messages)
        totals = []
        for name, _, held, j, shard in self._held_by(run):
            own = self._part(held[j], self.fabric.rank, shard.box)
            # A group without microbatches has none of its own.
            mine = self.kept.pop((name, j), None)
            if mine is not None:
                parts[name, j] = mine[within(own, shard.region)]
            terms = [parts[name, i] for i in range(len(held)) if (name, i) in parts]
            totals.append((shard, own, functools.reduce(torch.add, terms)))
        self._share(totals)

    def _expect(self, run):
        """Starts to receive gradients. Returns for each message the ((name, sender),
        this rank's part, box) of what it has, and a function that waits for it."""
        buckets, messages = {}, []
        for name, number, held, j, shard in self._held_by(run):
            own = self._part(held[j], self.fabric.rank, shard.box)
            for i, sender in enumerate(held):
                if i == j:
                    continue
                for move in self._moves(number, held, i, j):
                    if move.target == self.fabric.rank:
                        _, moved = buckets.setdefault((move.source, *sender[:2]),
                                                      (sender, []))
                        moved.append(((name, i), own, move.box))
        mine = run.pipeline_index, run.stage.index
        for (source, *stage), (sender, moved) in buckets.items():
            size = sum(volume(box) for _, _, box in moved)
            for turn in self._turns(sender):
                what = (size, run.settings.gradient_dtype, source,
                        self._gradient_tag(stage, mine, turn))
                # With zero2 there are many, so one after the other.
                messages.append((moved, functools.partial(self.fabric.receive, *what)
                                 if self.plan.sync == "zero2"
                                 else self.fabric.expect(*what)))
        return messages

    def _received(self, messages):
        """From (name, sender) to the sum of what it sent for this rank's part, if it
        sent any."""
        parts = {}
        for moved, take in messages:
            sizes = [volume(box) for _, _, box in moved]
            for (key, own, box), values in zip(moved, take().split(sizes)):
                values = values.view(shape(box))
                if box == own and key not in parts:
                    parts[key] = values
                    continue
                if key not in parts:
                    parts[key] = values.new_zeros(shape(own))
                parts[key][within(box, own)] += values
        return parts

    def _share(self, totals):
        """Replicas gather the parts of each other, all at once."""
        groups = {}
        for shard, own, total in totals:
            if own == shard.region:
                shard.set_region_sums(total)
            else:
                groups.setdefault(shard.replicas.all, []).append((shard, own, total))
        for ranks, shared in sorted(groups.items()):
            flat = torch.cat([total.reshape(-1) for _, _, total in shared])
            rows = self.fabric.all_gather(flat, ranks)
            begin = 0
            for shard, own, total in shared:
                end = begin + total.numel()
                dim = next(i for i, pair in enumerate(own) if pair != shard.region[i])
                shard.set_region_sums(torch.cat(
                    [row[begin:end].view(total.shape) for row in rows], dim))
                begin = end

    def _receive(self, tensor, box, to_come, tag):
        for move in to_come:
            if move.target == self.fabric.rank:
                part = self.fabric.receive(volume(move.box), tensor.dtype,
                                           move.source, tag)
                tensor[within(move.box, box)] += part.view(shape(move.box))

    # New weights of regions.
    def shares_state(self, name):
        """Whether pipelines send each other new values of a parameter."""
        return self.plan.sync != "all-reduce" and name in self.shared

    def keep_new(self, run, shard, values):
        """Sends the new values of a region to the holders in other pipelines."""
        for name, number, held, i, _ in self._held_by(run):
            if name != shard.name:
                continue
            self.new[name, i] = values
            for j, receiver in enumerate(held):
                for move in self._weight_moves(held, i, receiver):
                    if move.source == self.fabric.rank:
                        part = values[within(move.box, shard.region)]
                        self.fabric.send(part.reshape(-1), move.target,
                                         self._tag(number, i, j, 0))

    def _weight_moves(self, held, i, receiver):
        """The first holder of a pipeline sends its region to the other pipelines."""
        sender = held[i]
        first = next(k for k, holder in enumerate(held) if holder[0] == sender[0])
        if first != i or receiver[0] == sender[0]:
            return []
        return moves({rank: self._region(sender, box)
                      for rank, box in _layout(sender).items()},
                     {rank: region(self.plan, sender[0], sender[3], box)
                      for rank, box in _layout(receiver).items()})

    def gather_new(self):
        """Puts the parameters of all regions together."""
        for run in self.runs:
            for name, number, held, j, shard in self._held_by(run):
                if (name, j) not in self.new:
                    continue
                mine = self.new.pop((name, j))
                whole = torch.zeros(shape(shard.box), dtype=mine.dtype,
                                    device=mine.device)
                whole[within(shard.region, shard.box)] = mine
                for i in range(len(held)):
                    self._receive(whole, shard.box, self._weight_moves(held, i, held[j]),
                                  self._tag(number, i, j, 0))
                shard.set_box(whole)


def _even_parts(box, count):
    """Equal parts along the longest dimension, or the box `count` times."""
    sizes = [end - begin for begin, end in box]
    size = max(sizes)
    if count == 1 or min(sizes) == 0 or size % count:
        return [box] * count
    dim, length = sizes.index(size), size // count
    begin = box[dim][0]
    return [(*box[:dim], (begin + i * length, begin + (i + 1) * length), *box[dim + 1:])
            for i in range(count)]


def _layout(holder):
    _, _, team, parameter = holder
    return {rank: parameter.box(team.parallelism, place)
            for rank, place in team.places().items()}
