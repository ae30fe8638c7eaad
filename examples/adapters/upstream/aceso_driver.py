"""Runs Aceso's search once, in its own process, because it keeps globals.

Usage: aceso_driver.py <checkout> <folder>

Started by aceso.py. Reads job.json and the profiles in the folder, and writes
found.json there.
"""

import json
import os
import sys


class Clock:
    """A clock that counts how often it is read."""

    def __init__(self):
        self.looks = 0

    def time(self):
        self.looks += 1
        return self.looks


def prepare(checkout, folder, job):
    """Sets what upstream has no flags for: any run of operators, a place in a
    longer pipeline, a given microbatch, a budget that is not time."""
    arguments = [sys.argv[0]]
    for name, values in job["arguments"].items():
        arguments += [name, *map(str, values)]
    for name in "--log-path", "--config-save-path", "--profiled-time-path":
        arguments += [name, os.path.join(folder, "")]
    sys.argv = arguments
    sys.path.insert(0, os.path.join(checkout, "search"))
    # pylint: disable=import-error,import-outside-toplevel
    import model_ops_info
    model_ops_info.get_full_op_list = lambda args: job["operators"]
    import aceso_utils
    get_config = aceso_utils.get_config

    def get_config_in_place(num_ops, tp, dp, recompute, _, *others):
        config = get_config(num_ops, tp, dp, recompute, job["microbatch"],
                            *others)
        for stage in config.stages:
            stage.num_stages_behind += job["trailing_stages"]
        return config

    aceso_utils.get_config = get_config_in_place
    import aceso_search
    aceso_search.time = aceso_utils.time = Clock()
    aceso_search.print_search_details = lambda *details: None
    table = aceso_search.action_resource_table
    table[:] = [prim for prim in table
                if prim.name not in ("inc_mbs", "dec_mbs")]
    return aceso_search


def main(checkout, folder):
    with open(os.path.join(folder, "job.json"), encoding="utf-8") as file:
        job = json.load(file)
    aceso_search = prepare(checkout, folder, job)
    configs = []
    aceso_search.dump_config_to_json = (
        lambda config, *where: configs.append(config))
    explored = 0
    for num_stages in job["stage_counts"]:
        result = aceso_search.run_search(num_stages)
        explored += result[2] if result else 0
    found = {"explored": explored,
             "configs": [[{"tp": stage.tp_size[0], "dp": stage.dp_size[0],
                           "recompute": stage.recompute_ops}
                          for stage in config.stages] for config in configs]}
    with open(os.path.join(folder, "found.json"), "w",
              encoding="utf-8") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
