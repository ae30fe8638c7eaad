"""Plans with several microbatch sizes, as jobs that run side by side, and draws
the best plan.

Usage: microbatches.py HOST:PORT CLUSTER.yaml MODEL GLOBAL_BATCH OUT.svg
Needs python3-grpcio, the command `tangram`, and clients/python in PYTHONPATH.
"""

import sys

import tangram_client


def main(address, cluster, model, global_batch, picture):
    sizes = [size for size in (1, 2, 4, 8) if int(global_batch) % size == 0]
    plans = {}
    with tangram_client.Client(address) as client:
        for size in sizes:
            request = tangram_client.request(
                cluster=cluster, model=model, global_batch=global_batch,
                microbatch=size)
            client.submit(request, f"{model}-microbatch-{size}")
        for size in sizes:
            plans[size] = client.wait(f"{model}-microbatch-{size}")
    for size, plan in plans.items():
        result = (f"{plan.iteration_time_s:7.2f} s" if plan
                  else f"no plan fits: {plan.infeasible.reason}")
        print(f"microbatch {size:3}: {result}")
    fitting = [plan for plan in plans.values() if plan]
    if not fitting:
        return 3
    best = min(fitting, key=lambda plan: plan.iteration_time_s)
    with open(picture, "w", encoding="utf-8") as file:
        file.write(best._repr_svg_())
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
