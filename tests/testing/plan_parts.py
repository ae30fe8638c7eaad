"""Parts of plan files that tests write by hand."""


def stage(begin, end, tp, gpus, dp=1, recompute=None):
    """Makes a stage; `gpus` are (node, first, count)."""
    return {"plan": {"begin": {"layer": begin}, "end": {"layer": end},
                     "parallelism": {"tp_degree": tp, "cp_degree": 1,
                                     "dp_degree": dp, "ep_degree": 1},
                     "recompute": recompute or [
                         {"num_layers": end - begin, "mask": 0}]},
            "gpus": [{"node": node, "first": first, "count": count}
                     for node, first, count in gpus], "island": -1}


def replica(microbatch, count, *stages):
    """Makes one of several pipelines."""
    return {"num_microbatches": count,
            "plan": {"pipeline_microbatch_size": microbatch,
                     "stages": list(stages)}}


def uneven(layers):
    """tp 4 on A100, 2 and 1 on H100; shares of 40 and 24 samples."""
    return [replica(2, 20, stage(0, layers + 2, 4, [("a100-0", 0, 4)])),
            replica(2, 12, stage(0, 6, 2, [("h100-0", 0, 2)]),
                    stage(6, layers + 2, 1, [("h100-1", 1, 1)]))]


def equal(layers):
    """Two unlike cuts, tp 2 everywhere, 32 samples each in microbatches of 2
    and 4."""
    return [replica(2, 16, stage(0, 4, 2, [("a100-0", 0, 2)]),
                    stage(4, layers + 2, 2, [("a100-0", 2, 2)])),
            replica(4, 8, stage(0, 7, 2, [("h100-0", 0, 2)]),
                    stage(7, layers + 2, 2, [("h100-1", 0, 2)]))]
