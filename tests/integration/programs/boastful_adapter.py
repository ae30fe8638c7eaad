"""An adapter whose word on memory is wrong.

It offers pipelines of equal stages with and without recomputation, states their
times, and claims that each fits with any number of trailing stages.
"""

import tangram_adapter

ANY_NUMBER = 1 << 20


class Boastful(tangram_adapter.Adapter):
    name = "boastful"
    version = "1"
    features = {"data_parallel", "pipeline_parallel", "gradient_accumulation",
                "recompute"}

    def parallelize(self, query):
        plans = []
        for num_stages in range(1, min(len(query.layers), query.num_gpus) + 1):
            cuts = [len(query.layers) * i // num_stages
                    for i in range(num_stages + 1)]
            for recompute in False, True:
                plans.append(boast(query, cuts, recompute))
        return tangram_adapter.answer(plans)


def boast(query, cuts, recompute):
    plan = tangram_adapter.plan(
        tangram_adapter.stage(begin, end, recompute=[
            query.whole_layer(layer) if recompute else 0
            for layer in query.layers[begin:end]])
        for begin, end in zip(cuts, cuts[1:]))
    for stage, begin, end in zip(plan.stages, cuts, cuts[1:]):
        seconds = sum(map(query.layer_seconds, query.layers[begin:end]))
        stage.time_s = seconds * (1.3 if recompute else 1)
        stage.backward_s = stage.time_s * 2 / 3
    plan.max_trailing_stages = ANY_NUMBER
    return plan


if __name__ == "__main__":
    tangram_adapter.serve(Boastful())
