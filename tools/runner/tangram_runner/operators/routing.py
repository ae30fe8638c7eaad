"""Where tokens go: each has k copies, one for each expert that it chose.

In token order, copies lie beside their token: (sample, token, k, ...). In expert
order, each rank holds the copies for its experts as rows, sorted by expert and
then by token. Dispatch goes from the first to the second, combine back. No copy is
dropped, however many an expert gets.

Stages end in token order, because only the tokens decide who holds an expert's
rows. `settle` and `resume` convert what lives at a cut.
"""

import torch

from .. import sharing
from ..boxes import shard
from .base import CHOICES, SUMS

# Under sequence parallelism, tp ranks hold parts of the tokens, but need all of them for
# their parts of the experts. On the way there, each gets the rows of the others, or
# keeps its own among zeros. On the way back it adds up all rows, or keeps its own.
GATHER, PLACE = sharing.gather_from, sharing.place_part
SUM, OWN = sharing.sum_scatter, sharing.own_part


def gather_choices(context, chosen):
    """From the choices of this rank's tokens to those of its ep group:
    (ep rank, sample, token, k)."""
    parts = context.fabric.all_gather(chosen, context.token_ranks)
    step = len(parts) // context.parallelism.ep_degree
    return torch.stack([torch.cat(parts[i:i + step], 1)
                        for i in range(0, len(parts), step)])


def place_experts(chosen, num_experts, parallelism):
    """Returns the ep rank of each expert.

    Plain expert parallelism gives each rank adjacent experts. Fully sharded experts
    (LAER-MoE) belong to all, so each microbatch may spread them by their load: the
    busiest first, each to the rank with the least load that has room.
    """
    ranks = parallelism.ep_degree
    room = num_experts // ranks
    if not parallelism.fsep:
        return torch.arange(num_experts, device=chosen.device) // room
    load = torch.bincount(chosen.flatten(), minlength=num_experts).tolist()
    homes, loads, counts = [0] * num_experts, [0] * ranks, [0] * ranks
    for expert in sorted(range(num_experts), key=lambda e: (-load[e], e)):
        home = min((r for r in range(ranks) if counts[r] < room),
                   key=lambda r: (loads[r], r))
        homes[expert] = home
        loads[home] += load[expert]
        counts[home] += 1
    return torch.tensor(homes, device=chosen.device)


class Routing:
    """The way of the copies of an ep group, for one microbatch. Copies are numbered
    by the ep rank of their token, then in token order."""

    def __init__(self, context, chosen):
        self.context = context
        self.fabric = context.fabric
        self.me = context.expert_rank
        self.choices = chosen.shape[1:]  # Samples, tokens and k of one ep rank.
        num_experts = context.layer.num_experts
        self.homes = place_experts(chosen, num_experts, context.parallelism)
        self.experts = (self.homes == self.me).nonzero()[:, 0]  # Of this rank.
        chosen = chosen.flatten(1)
        self.targets = self.homes[chosen]
        here = (self.targets == self.me).flatten().nonzero()[:, 0]
        expert, order = torch.sort(chosen.flatten()[here], stable=True)
        self.rows = here[order]
        # Rows of each expert of this rank.
        self.sizes = torch.bincount(expert, minlength=num_experts)[self.experts].tolist()

    def _among(self, part, parts):
        """Which copies of an ep rank belong to part `part` of the tokens."""
        _, tokens, _ = self.choices
        begin, end = shard(tokens, parts, part)
        mask = torch.zeros(self.choices, dtype=torch.bool, device=self.targets.device)
        mask[:, begin:end] = True
        return mask.flatten()

    def _way(self, parts):
        """Returns this rank's copies in the order of sending, the numbers of copies
        to and from each ep rank, and how many arrive at each tp rank. The last item
        takes what they got, one after the other, to expert order."""
        arrived, sizes = [], []
        mine = self.context.place.tp if parts > 1 else 0
        for part in range(parts):
            here = (self.targets == self.me) & self._among(part, parts)
            arrived.append(here.flatten().nonzero()[:, 0])
            sizes.append(len(arrived[-1]))
            if part == mine:
                received = here.sum(1).tolist()
        own = self.targets[self.me][self._among(mine, parts)]
        order = torch.sort(own, stable=True)[1]
        sent = torch.bincount(own, minlength=len(self.targets)).tolist()
        index = torch.empty(self.targets.numel(), dtype=torch.long,
                            device=self.targets.device)
        arrived = torch.cat(arrived)
        index[arrived] = torch.arange(len(arrived), device=index.device)
        return order, sent, received, sizes, index[self.rows]

    def _parts(self, step):
        """Whether each tp rank moves its part of the tokens or, if `step` is None or
        all hold all tokens, everything."""
        p = self.context.parallelism
        return p.tp_degree if step and p.sequence_parallel else 1

    def to_experts(self, copies, step=None):
        """From token order to rows of this rank's experts. `step` is GATHER, PLACE,
        or None if tp ranks hold features of all tokens."""
        parts = self._parts(step)
        order, sent, received, sizes, arrange = self._way(parts)
        rows = copies.flatten(0, 2).index_select(0, order)
        rows = sharing.all_to_all(rows, self.fabric, self.context.ep_ranks, sent, received)
        if parts > 1:
            rows = step(rows, self.fabric, self.context.tp_ranks, 0, sizes)
        return rows.index_select(0, arrange)

    def to_tokens(self, rows, step=None):
        """The way back. `step` is SUM, OWN or None."""
        parts = self._parts(step)
        order, sent, received, sizes, arrange = self._way(parts)
        rows = rows.index_select(0, torch.argsort(arrange))
        if parts > 1:
            rows = step(rows, self.fabric, self.context.tp_ranks, 0, sizes)
        rows = sharing.all_to_all(rows, self.fabric, self.context.ep_ranks, received, sent)
        copies = rows.index_select(0, torch.argsort(order))
        samples, tokens, k = self.choices
        return copies.view(samples, tokens // parts, k, *rows.shape[1:])


def resume(live, tensors, context):
    """From the tensors that live at a stage's first cut to those that its operators
    read."""
    routed = [tensor for tensor in live if tensor.routed]
    if not routed:
        return tensors
    chosen = gather_choices(context, tensors["e"])
    routing = Routing(context, chosen)
    result = {**tensors, "e": chosen}
    for one in routed:
        if one.routed == CHOICES:
            continue
        copies, step = tensors[one.name], None
        if one.split is None:
            step = PLACE if one.routed == SUMS else GATHER
            if not context.parallelism.sequence_parallel:
                # Every tp rank has the same copies.
                copies = (sharing.divide(copies, context.parallelism.tp_degree)
                          if one.routed == SUMS else context.enter_tp(copies))
        result[one.name] = routing.to_experts(copies, step)
    return result


def settle(live, tensors, context):
    """From what a stage's operators wrote to what lives at its last cut: whole values
    in token order, of which equal ranks expect equal, whole gradients."""
    routed = [tensor for tensor in live if tensor.routed]
    if not routed:
        return tensors
    chosen = tensors["e"]
    routing = Routing(context, chosen)
    begin, end = context.stream_part(chosen.shape[2])
    result = {**tensors, "e": chosen[context.expert_rank][:, begin:end]}
    for one in routed:
        if one.routed == CHOICES:
            continue
        step = None
        if one.split is None:
            step = SUM if one.routed == SUMS else OWN
        copies = routing.to_tokens(tensors[one.name], step)
        if one.split is None and not context.parallelism.sequence_parallel:
            # The gradients of rows are parts, which tp ranks add up: in dispatch.
            copies = (context.leave_tp(copies) if one.routed == SUMS else
                      sharing.scale_gradient(copies, 1 / context.parallelism.tp_degree))
        result[one.name] = copies
    return result
