#include "frameworks/flashflex_program.h"

namespace tangram {

const char kFlashFlexProgram[] =
    R"py("""Trains with FlashFlex so that every sample of a batch weighs the same.

Takes the place of llama_train.py in a checkout of FlashFlex and takes its
options. By itself, FlashFlex
* averages the means of its pipelines: samples of small shares weigh more. Here
  the loss of pipeline r is times R * samples of r / samples of the batch.
* averages what tp does not split over all ranks of a layer: where tp differs,
  pipelines of higher tp weigh more. Here each rank weighs 1 / tp.
* guesses the pipeline of a rank from the first ranks of all pipelines. Here the
  layout decides, and each pipeline takes its part of one global batch.
* takes a rank's place among the sorted ranks of a pipeline for its stage. Here
  the layout decides.
* loses groups of pipelines whose ranks do not rise, and so does not average
  their gradients. Here groups keep their order.
* averages gradients of one pipeline alone over the ranks of tp, which hold
  unlike parts. Here they do not leave the rank.
"""

import os
import sys
import types

import torch

sys.path.insert(0, os.getcwd())
import hexiscale.fsdp_comm_utils as exchange  # noqa: E402
import hexiscale.heterogeneous_pipeline as passes  # noqa: E402
import llama_train as program  # noqa: E402
from hexiscale import CommGroup  # noqa: E402

average = exchange._param_not_sharded_hook
make_group = CommGroup.__init__
set_hooks = passes.PipelineParallel.wrap_modules_data_parallel_comm_hook


def pipeline_of(layouts, rank):
    """Returns the pipeline of a rank in pp_layouts."""
    return next(r for r, stages in enumerate(layouts)
                if any(rank in stage for stage in stages))


def this_pipeline():
    return pipeline_of(program.get_hetero_groups()["pp_layouts"],
                       torch.distributed.get_rank())


def weight_of(shares, pipeline):
    """Returns the factor that makes a mean of means the mean of the batch."""
    return len(shares) * shares[pipeline] / sum(shares)


class WeighedLoss(program.CrossEntropyLoss):

    def forward(self, *arguments):
        weight = weight_of(program.get_args().global_bsz_size, this_pipeline())
        return super().forward(*arguments) * weight


class Share(torch.utils.data.Sampler):
    """The samples of one pipeline: its part of each global batch."""

    def __init__(self, size, shares, pipeline, shuffle):
        self.size, self.batch, self.shuffle = size, sum(shares), shuffle
        self.first = sum(shares[:pipeline])
        self.count = shares[pipeline]

    def __len__(self):
        return self.size // self.batch * self.count

    def __iter__(self):
        order = (torch.randperm(self.size,
                                generator=torch.Generator().manual_seed(0))
                 if self.shuffle else torch.arange(self.size)).tolist()
        for start in range(0, self.size - self.batch + 1, self.batch):
            first = start + self.first
            yield from order[first:first + self.count]


def share_of_data(dataset, bsz, shuffle=True, args=None):
    share = Share(len(dataset), bsz, this_pipeline(), shuffle)
    return torch.utils.data.DataLoader(dataset, batch_size=share.count,
                                       sampler=share)


def average_over_pipelines(config, gradient):
    """Lets the ranks of a pipeline weigh 1 / tp where tp differs."""
    layer = config.layer_count
    if layer >= config.layer_start:
        groups = config.tp_groups[layer]
        sizes = [len(group) for group in groups]
        own = next(len(group) for group in groups
                   if config.current_rank in group)
        factor = sum(sizes) / len(sizes) / own
        first = 0
        for split, count in zip(config.tp_dim[layer - config.layer_start],
                                config.numels[layer - config.layer_start]):
            if split == -1 and len(set(sizes)) > 1:
                gradient[first:first + count].mul_(factor)
            first += count
    average(config, gradient)


def make_group_in_order(group, ranks):
    """Keeps the order of pipelines, by which groups are looked up."""
    make_group(group, ranks)
    group.ranks = list(ranks)


class StagesAsRanks:
    """torch.distributed, in which a rank's place in its pipeline is its stage."""

    def __getattr__(self, name):
        return getattr(torch.distributed, name)

    def get_rank(self, group=None):
        rank = torch.distributed.get_rank()
        if group is None:
            return rank
        stages = program.get_hetero_groups()["tp_rank_groups"]
        return next(s for s, ranks in enumerate(stages) if rank in ranks)


def set_hooks_of_one_pipeline_too(model, groups, args, dp_types):
    """FlashFlex leaves one pipeline the hook of FSDP. It counts pipelines."""
    several = types.SimpleNamespace(hetero_configs=2 * args.hetero_configs)
    set_hooks(model, groups, several, dp_types)


CommGroup.__init__ = make_group_in_order
passes.dist = StagesAsRanks()
passes.PipelineParallel.wrap_modules_data_parallel_comm_hook = (
    set_hooks_of_one_pipeline_too)
program.CrossEntropyLoss = WeighedLoss
program.get_distributed_dataloader = share_of_data
exchange._param_not_sharded_hook = average_over_pipelines

if __name__ == "__main__":
    program.initialize_megatron(extra_args_provider=program.add_arguments)
    program.args = program.get_args()
    program.set_seed()
    program.train(*program.create_model(program.args), program.args)
)py";

}  // namespace tangram
