"""Adds up the gradients of a parameter over everything that holds it.

A loss weighs every token of the global batch alike, so gradients are sums and
never means: over microbatches, over the replicas of a team, and over the teams
that hold the parameter (groups of a mixed stage, pipelines, and the two ends of
a tied embedding).
"""

import torch

from .boxes import moves, shape, volume, within
from .operators import full_name, operator_at
from .operators.attention import key_sharers
from .model import positions_between

TAG = 1 << 30  # Above the tags of borders.


def parameters_of(plan, stage):
    """From name to Parameter, in the order of the operators."""
    result = {}
    for layer, op in positions_between(plan.layers, stage.begin, stage.end):
        operator = operator_at(plan.layers, layer, op)
        for parameter in operator.parameters(plan.layers[layer]):
            result[full_name(plan.layers, layer, operator, parameter)] = parameter
    return result


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
                    groups |= {replicas(team, parameter, rank) for rank in places}
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


class GradientSync:
    """Of one rank with its stages' runs."""

    def __init__(self, plan, fabric, runs):
        self.fabric = fabric
        self.runs = runs
        self.holders = holders(plan)

    def __call__(self):
        for run in self.runs:
            self._within_team(run)
        self._between_teams()

    def _within_team(self, run):
        """One all-reduce for all parameters with the same replicas."""
        buckets = {}
        for shard in run.shards.values():
            ranks = replicas(run.team, shard.parameter, self.fabric.rank)
            buckets.setdefault(ranks, []).append(shard)
        for ranks, shards in sorted(buckets.items()):
            if len(ranks) == 1:
                continue
            flat = torch.cat([shard.gradient.reshape(-1) for shard in shards])
            flat = self.fabric.all_reduce(flat, ranks)
            for shard in shards:
                size = shard.gradient.numel()
                part, flat = flat[:size], flat[size:]
                shard.values.grad = part.view(shard.values.shape).clone()

    def _between_teams(self):
        """Each team gets the sums of the others in its own layout. All add in
        the same order, so that copies of a parameter stay equal."""
        shared = {name: held for name, held in self.holders.items() if len(held) > 1}
        received = {}
        for send_first in (True, False):
            for number, (name, held) in enumerate(sorted(shared.items())):
                for i, sender in enumerate(held):
                    for j, receiver in enumerate(held):
                        if i == j:
                            continue
                        tag = TAG + (number * len(held) + i) * len(held) + j
                        if send_first:
                            self._send(name, sender, receiver, tag)
                        else:
                            got = self._receive(name, sender, receiver, tag)
                            if got is not None:
                                received[name, i, j] = got
        for name, held in shared.items():
            for j, (r, stage, team, _) in enumerate(held):
                shard = self._shard(name, r, stage, team)
                if shard is None:
                    continue
                total = torch.zeros_like(shard.values)
                for i in range(len(held)):
                    total += shard.gradient if i == j else received[name, i, j]
                shard.values.grad = total

    def _shard(self, name, pipeline, stage, team):
        if self.fabric.rank not in team.ranks:
            return None
        for run in self.runs:
            if run.stage.index == stage and run.pipeline_index == pipeline:
                return run.shards[name]
        return None

    def _moves(self, sender, receiver):
        layouts = [{rank: parameter.box(team.parallelism, place)
                    for rank, place in team.places().items()}
                   for _, _, team, parameter in (sender, receiver)]
        return moves(*layouts), layouts

    def _send(self, name, sender, receiver, tag):
        shard = self._shard(name, *sender[:3])
        if shard is None:
            return
        for move in self._moves(sender, receiver)[0]:
            if move.source == self.fabric.rank:
                part = shard.gradient[within(move.box, shard.box)]
                self.fabric.send(part.reshape(-1), move.target, tag)

    def _receive(self, name, sender, receiver, tag):
        shard = self._shard(name, *receiver[:3])
        if shard is None:
            return None
        result = torch.zeros_like(shard.values)
        for move in self._moves(sender, receiver)[0]:
            if move.target == self.fabric.rank:
                part = self.fabric.receive(volume(move.box), result.dtype,
                                           move.source, tag)
                result[within(move.box, shard.box)] = part.view(shape(move.box))
        return result
