"""Runs `tangram run` as its users do, and with stand-ins for the runner."""

import importlib.util
import json
import os
import signal
import subprocess
import unittest

import harness
from harness import (BAD_INPUT, CLUSTER, Folder, INTERRUPTED, JOB, NO_PLAN, OK,
                     TANGRAM, environment)

TRAINS_WRONG, RUN_FAILED = 7, 8
HAS_TORCH = importlib.util.find_spec("torch") is not None
NO_TORCH = "python3-torch is not installed"

# A leader and two ranks, one of which ignores SIGTERM, that run until a signal.
RANKS = """
import os, signal, sys
ranks = []
for rank in range(2):
    rank_id = os.fork()
    if rank_id == 0:
        if rank:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            print(*ranks, os.getpid(), os.getppid(), flush=True)
        signal.pause()
        signal.pause()
    ranks.append(rank_id)
signal.pause()
"""


class RunTest(Folder):
    """A plan that was made once, and an environment for the command."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.plan = subprocess.run(
            [TANGRAM, "plan", *CLUSTER, *JOB, "--pp", "2", "--output", "-"],
            check=True, capture_output=True, text=True, timeout=120).stdout

    def setUp(self):
        super().setUp()
        self.write("plan.json", self.plan)
        self.environment = environment()
        for name in "TANGRAM_RUNNER", "TANGRAM_PYTHON":
            self.environment.pop(name, None)

    def run_tangram(self, *arguments):
        return subprocess.run([TANGRAM, *arguments], cwd=self.folder,
                              env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=280,
                              check=False)

    def start(self, *arguments):
        run = subprocess.Popen([TANGRAM, "run", *arguments], cwd=self.folder,
                               env=self.environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True)
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.kill)
        return run

    def edit(self, edit):
        plan = json.loads(self.plan)
        edit(plan)
        return self.write("edited.json", json.dumps(plan))

    def stand_in(self, program):
        """Makes `program` the runner, and a Python that claims to have PyTorch."""
        for name in "runner", "packages":
            os.mkdir(os.path.join(self.folder, name))
        self.write("runner/__main__.py", program)
        self.write("packages/torch.py", "")
        self.environment.update(
            TANGRAM_RUNNER=os.path.join(self.folder, "runner"),
            TANGRAM_PYTHON="/usr/bin/python3",
            PYTHONPATH=os.path.join(self.folder, "packages"))

    def hide_torch(self):
        os.mkdir(os.path.join(self.folder, "packages"))
        self.write("packages/sitecustomize.py",
                   "import sys\nsys.path = [p for p in sys.path if not "
                   "p.endswith('-packages')]\n")
        self.environment["PYTHONPATH"] = os.path.join(self.folder, "packages")


class InputTest(RunTest):
    def test_a_bad_plan_is_named_before_anything_is_started(self):
        self.environment["TANGRAM_PYTHON"] = "/no/python"
        self.write("cut.json", self.plan[:-100])
        self.fails(BAD_INPUT, "cut.json: not valid JSON", "run", "cut.json")

        def overlap(plan):
            plan["plan"]["stages"][1]["plan"]["begin"] = {"layer": 0, "op": 0}
        self.fails(BAD_INPUT, "edited.json: plan.stages[1].plan.begin", "run",
                   self.edit(overlap))
        self.fails(BAD_INPUT, "missing.json", "run", "missing.json")

    def test_a_file_without_a_plan_says_why(self):
        name = self.edit(lambda plan: (
            plan.pop("plan"), plan.pop("evaluation"),
            plan.update(infeasible={"reason": "too big", "bytes_short": 1e9})))
        run = self.run_tangram("run", name)
        self.assertEqual((run.returncode, run.stderr), (NO_PLAN, ""))
        self.assertIn("too big", run.stdout)

    def test_options_are_checked(self):
        self.fails(BAD_INPUT, "--steps: 0; expected a positive integer", "run",
                   "plan.json", "--steps", "0")
        self.fails(BAD_INPUT, "--seed: -1; expected a number of at least 0",
                   "run", "plan.json", "--seed=-1")


class MissingTest(RunTest):
    def test_pytorch(self):
        self.hide_torch()
        self.fails(BAD_INPUT, "PyTorch is missing: apt-get install "
                   "--no-install-recommends python3-torch", "run", "plan.json")

    def test_a_folder_called_torch_is_not_pytorch(self):
        self.hide_torch()
        os.mkdir(os.path.join(self.folder, "torch"))
        self.write("torch/__init__.py", "")
        self.fails(BAD_INPUT, "PyTorch is missing", "run", "plan.json")

    def test_what_variables_name(self):
        self.environment["TANGRAM_PYTHON"] = "/no/python"
        self.fails(BAD_INPUT, "TANGRAM_PYTHON: /no/python; expected a Python "
                   "with PyTorch", "run", "plan.json")
        self.environment["TANGRAM_RUNNER"] = "/no/runner"
        self.fails(BAD_INPUT, "TANGRAM_RUNNER: /no/runner; expected the folder "
                   "of the runner", "run", "plan.json")


class StandInTest(RunTest):
    def test_passes_options_and_output_through(self):
        self.stand_in("import sys\nprint(sys.argv[1:])\n"
                      "print(sys.stdin.read(), end='')\n"
                      "print('and this', file=sys.stderr)\n")
        run = self.run_tangram("run", "plan.json", "--tiny", "--check",
                               "--steps", "3", "--seed", "7")
        self.assertEqual(
            (run.returncode, run.stdout, run.stderr),
            (OK, "['--steps=3', '--seed=7', '--tiny', '--check', '--', "
             "'plan.json']\n", "and this\n"))
        run = self.run_tangram("run", "plan.json", "--max-processes", "4",
                               "--measure", "--profile-folder", "here")
        self.assertEqual(
            run.stdout, "['--steps=1', '--seed=1', '--max-processes=4', '--measure', "
            f"'--tangram={os.path.realpath(TANGRAM)}', '--profile-folder=here', "
            "'--', 'plan.json']\n")
        self.assertEqual(os.listdir(os.path.join(self.folder, "runner")),
                         ["__main__.py"])

    def test_exit_codes_are_those_of_the_command(self):
        self.stand_in("import os, sys\nsys.exit(int(os.environ['CODE']))\n")
        for code, expected in ((0, OK), (1, TRAINS_WRONG), (2, BAD_INPUT),
                               (3, RUN_FAILED), (77, RUN_FAILED)):
            self.environment["CODE"] = str(code)
            run = self.run_tangram("run", "plan.json")
            self.assertEqual((run.returncode, run.stderr), (expected, ""))

    def test_a_runner_that_is_killed_has_failed(self):
        self.stand_in("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
        self.fails(RUN_FAILED, "the runner was killed by signal 9", "run",
                   "plan.json")

    def test_a_signal_ends_all_processes_first(self):
        leaders = ("", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                       "signal.pause()\n")
        for leader, number in zip(leaders, (signal.SIGINT, signal.SIGTERM)):
            with self.subTest(number):
                self.setUp()
                self.stand_in(RANKS.replace("\nsignal.pause()\n",
                                            "\n" + leader + "signal.pause()\n"))
                run = self.start("plan.json")
                ranks = [int(rank) for rank in run.stdout.readline().split()]
                self.assertEqual(len(ranks), 3)
                run.send_signal(number)
                self.assertEqual(run.wait(timeout=60), INTERRUPTED)
                for rank in ranks:
                    with self.assertRaises(ProcessLookupError):
                        os.kill(rank, 0)

    def test_ranks_that_their_leader_leaves_are_ended(self):
        self.stand_in(RANKS[:RANKS.rindex("signal.pause()")] + "sys.exit(1)\n")
        self.assertEqual(self.start("plan.json").wait(timeout=60), TRAINS_WRONG)


@unittest.skipUnless(HAS_TORCH, NO_TORCH)
class RoomTest(RunTest):
    def test_a_plan_that_this_machine_cannot_hold_is_refused(self):
        def enlarge(plan):
            for layer in plan["model"]["layer_types"]:
                if "vocab_size" in layer:
                    layer["vocab_size"] = 1 << 24
        if os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") > 100e9:
            self.skipTest("this machine may hold it")
        self.fails(BAD_INPUT, " GB of weights, gradients and optimizer state, and "
                   "activations beside them; expected at most ", "run",
                   self.edit(enlarge))


@unittest.skipUnless(HAS_TORCH, NO_TORCH)
class TrainingTest(RunTest):
    def test_no_rank_outlives_a_command_that_is_killed(self):
        run = self.start("plan.json", "--tiny", "--steps", "1000000000")
        self.assertIn("step 0: loss", run.stdout.readline())
        run.kill()
        # Its output ends with the last process that holds it.
        run.communicate(timeout=60)


if __name__ == "__main__":
    harness.main()
