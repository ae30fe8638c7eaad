#!/usr/bin/env python3
"""A small but complete adapter: pipelines of data-parallel stages.

For every number of stages, the layers are divided so that all stages take about
the same time. Each stage gets as many replicas as the microbatch and the nodes
allow, and recomputes either everything or nothing. The worker estimates the
plans and drops those that do not fit in memory.
"""

import tangram_adapter


class EvenSplit(tangram_adapter.Adapter):
    name = "even-split"
    version = "1"
    features = {"data_parallel", "pipeline_parallel", "gradient_accumulation",
                "recompute"}

    def parallelize(self, query):
        plans = []
        for num_stages in range(1, min(len(query.layers), query.num_gpus) + 1):
            dp = replicas(query, query.num_gpus // num_stages)
            cuts = even_cuts([query.layer_seconds(layer, dp=dp)
                              for layer in query.layers], num_stages)
            for recompute in False, True:
                plans.append(tangram_adapter.plan(
                    stage(query, begin, end, dp, recompute)
                    for begin, end in zip(cuts, cuts[1:])))
        return tangram_adapter.answer(plans, search_steps=len(plans))


def stage(query, begin, end, dp, recompute):
    masks = [query.whole_layer(layer) if recompute else 0
             for layer in query.layers[begin:end]]
    return tangram_adapter.stage(begin, end, dp=dp, recompute=masks)


def replicas(query, limit):
    """The most replicas that divide the microbatch and respect the nodes."""
    return max(dp for dp in range(1, limit + 1)
               if query.microbatch % dp == 0 and query.fits_nodes(dp))


def even_cuts(seconds, num_stages):
    """The begin of each stage, and the end of the last; no stage is empty."""
    cuts = [0]
    for number in range(1, num_stages):
        target = sum(seconds) * number / num_stages
        first, last = cuts[-1] + 1, len(seconds) - (num_stages - number)
        cuts.append(min(range(first, last + 1),
                        key=lambda cut: abs(sum(seconds[:cut]) - target)))
    return cuts + [len(seconds)]


if __name__ == "__main__":
    tangram_adapter.serve(EvenSplit())
