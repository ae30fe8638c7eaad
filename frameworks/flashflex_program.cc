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
"""

import os
import sys

import torch

sys.path.insert(0, os.getcwd())
import hexiscale.fsdp_comm_utils as exchange  # noqa: E402
import llama_train as program  # noqa: E402

average = exchange._param_not_sharded_hook


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
