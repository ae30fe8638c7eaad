"""Plans as README's first command does, and trains the plan on 16 processes."""

import pathlib
import subprocess
import tempfile
import unittest

import harness


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class ReadmePlanTest(unittest.TestCase):

    def test_trains_as_one_process_does(self):
        script = (harness.ROOT / "scripts/quickstart").read_text(encoding="utf-8")
        command = script[script.index("plan \\"):].replace("\\\n", " ").split()
        with tempfile.TemporaryDirectory() as folder:
            plan = pathlib.Path(folder) / "plan.json"
            command[command.index("--output") + 1] = str(plan)
            subprocess.run([harness.BINARIES / "tangram", *command, "--quiet"],
                           cwd=harness.ROOT, check=True, stdout=subprocess.DEVNULL)
            done = subprocess.run(
                ["/usr/bin/python3", "-m", "tangram_runner", plan, "--tiny", "--check",
                 "--steps", "2"], cwd=harness.RUNNER, capture_output=True, text=True,
                check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("right: loss and 516 gradients"), 2)


if __name__ == "__main__":
    harness.main()
