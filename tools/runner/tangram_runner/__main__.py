"""Command: trains a plan, or checks what it trains."""

import argparse
import math
import os
import shutil
import sys

from .errors import CannotMeet, NotSupported, PlanError, say

RIGHT, WRONG, BAD_INPUT, FAILED = range(4)
# gloo connects each pair of them.
MAX_PROCESSES = 128


def _positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text}; expected a positive integer")
    return value


def _difference(text):
    value = float(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text}; expected a number from 0")
    return value


class _Parser(argparse.ArgumentParser):

    def error(self, message):
        say(message)
        sys.exit(BAD_INPUT)


def parse(arguments):
    parser = _Parser(
        prog="tangram_runner", description="Trains a Tangram plan, one process for "
        "each GPU of the plan: under torchrun those that it starts, otherwise "
        "processes of this machine.")
    parser.add_argument("plan", help="plan file, as `tangram plan --output` writes it")
    parser.add_argument("--tiny", action="store_true",
                        help="keep the plan's structure and shrink all sizes")
    parser.add_argument("--steps", type=_positive, default=1, help="iterations (1)")
    parser.add_argument("--check", action="store_true",
                        help="compare the loss, gradients, what crosses borders, and "
                        "new weights with one process")
    parser.add_argument("--dtype", choices=("float64", "float32", "float16", "bfloat16"),
                        help="float64 with --check, otherwise the plan's precision")
    parser.add_argument("--memory", action="store_true",
                        help="print the bytes of each stage by kind and place")
    parser.add_argument("--measure", action="store_true",
                        help="time layers, operators and transfers on this machine, "
                        "predict the run from them, and print both")
    parser.add_argument("--tangram", default="tangram", metavar="PROGRAM",
                        help="the program that predicts, with --measure (tangram)")
    parser.add_argument("--profile-folder", metavar="FOLDER",
                        help="keep the profiles and the plan for this machine, with "
                        "--measure")
    parser.add_argument("--seed", type=int, default=1,
                        help="of the first weights and the tokens (1)")
    parser.add_argument("--tolerance", type=_difference,
                        help="greatest relative difference (1e-9; more with --dtype)")
    parser.add_argument("--max-processes", type=_positive, default=MAX_PROCESSES,
                        metavar="N", help="most processes to start on this machine "
                        f"({MAX_PROCESSES})")
    options = parser.parse_args(arguments)
    if options.measure and (options.check or options.dtype):
        parser.error("--measure: given with --check or --dtype; expected the plan's "
                     "precision, and time for nothing else")
    return options


def _check_processes(num_ranks, most):
    """Each takes memory and a start, so that far too many stop a machine."""
    if num_ranks > most:
        raise PlanError("plan", f"{num_ranks} GPUs, and so processes", f"at most {most} "
                        "on one machine, or a greater --max-processes")


def _make_folder(path):
    """Before a run whose figures would be lost without it."""
    try:
        os.makedirs(path, exist_ok=True)
        writable = os.access(path, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        raise PlanError("--profile-folder", path, "a folder that can be written")


def main(arguments):
    options = parse(arguments)
    # A rank is one thread: processes share the cores. Libraries read it when loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from .read_plan import read_plan
    from .tiny import tiny
    try:
        import torch
    except ImportError:
        say("PyTorch is missing: apt-get install --no-install-recommends python3-torch")
        return BAD_INPUT
    from . import launch
    from .job import DTYPES, Job, settings_of
    from .measure_run import MeasureJob
    from .room import check_room
    from .support import check_choices, check_precision, check_supported
    try:
        plan = read_plan(options.plan)
        if options.tiny:
            plan = tiny(plan)
        check_supported(plan)
        if not options.check and not options.dtype:
            check_precision(plan)
        if options.check and options.dtype in ("float16", "bfloat16"):
            check_choices(plan)
        launch.check_world(plan.num_ranks)
        if options.measure:
            job = MeasureJob(plan, settings_of(plan, options.seed, DTYPES[plan.precision]),
                             options)
        else:
            job = Job(plan, options)
        if not launch.started_by_torchrun():
            _check_processes(plan.num_ranks, options.max_processes)
            check_room(plan, job.settings, options.check)
        if options.measure and not shutil.which(options.tangram):
            raise PlanError("--tangram", options.tangram, "a program that can be run")
        if options.profile_folder:
            _make_folder(options.profile_folder)
    except (PlanError, NotSupported) as error:
        text = str(error)
        say(text if text.startswith(f"{options.plan}: ") else f"{options.plan}: {text}")
        return BAD_INPUT
    if not launch.started_by_torchrun():
        result = launch.spawn(plan.num_ranks, job)
        return FAILED if result is None else result
    try:
        return launch.join(job)
    except (CannotMeet, PlanError, OSError) as error:
        say(error)
        return FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
