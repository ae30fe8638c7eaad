"""Runs the commands of docs/tutorial.md in their order, and compares what they
print with the lines shown."""

import os
import re
import shutil
import subprocess
import unittest

import harness

# A Slurm whose jobs run at once, on this machine, and start no ranks.
SLURM = {
    "sbatch": """#!/bin/bash
export SLURM_JOB_ID=1 SLURM_SUBMIT_DIR=$PWD
export SLURM_JOB_NODELIST=${2#--nodelist=}
bash "${@:3}" > slurm-1.out 2>&1 && echo Submitted batch job 1 || cat slurm-1.out
""",
    "scontrol": "#!/bin/bash\ncat nodes.txt\n",
    "srun": "#!/bin/bash\n",
}
# How numbers are rounded differs between processors.
ROUNDED = re.compile(r"(?<=loss \d\.\d{3})\d+|\d\.\de-1\d")


def commands():
    """Pairs of a command and the lines shown below it."""
    with open(os.path.join(harness.SOURCE, "docs/tutorial.md"),
              encoding="utf-8") as f:
        blocks = re.findall(r"^```(\w*)\n(.*?)^```$", f.read(), re.M | re.S)
    return [part.split("\n", 1) for kind, text in blocks if not kind
            for part in re.split(r"^\$ ", text, flags=re.M)[1:]]


def pattern(shown):
    """A line of three dots stands for any lines."""
    parts = re.split(r"^ *\.\.\.\n", ROUNDED.sub("#", shown), flags=re.M)
    return "(.*\n)*".join(re.escape(part) for part in parts)


class TutorialTest(harness.Folder):
    def run_all(self, texts):
        """Returns what each command prints, in one shell."""
        shutil.copytree(os.path.join(harness.SOURCE, "examples"),
                        os.path.join(self.folder, "examples"))
        os.mkdir(os.path.join(self.folder, "bin"))
        for name, text in SLURM.items():
            self.write(os.path.join("bin", name), text)
            os.chmod(os.path.join(self.folder, "bin", name), 0o755)
        path = os.pathsep.join([os.path.join(self.folder, "bin"), harness.BIN,
                                os.environ["PATH"]])
        end = "=== end of a command ==="
        run = subprocess.run(
            ["bash"], cwd=self.folder, input=f"\necho '{end}'\n".join(texts),
            env=dict(harness.environment(), PATH=path), text=True, timeout=560,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return run.stdout.split(end + "\n")

    def test_commands_print_what_is_shown(self):
        pairs = commands()
        printed = self.run_all([command for command, _ in pairs])
        self.assertEqual(len(printed), len(pairs))
        self.assertIn("tangram run plan.json --tiny --check",
                      [command for command, _ in pairs])
        for (command, shown), text in zip(pairs, printed):
            if "PyTorch is missing" in text:
                continue
            with self.subTest(command):
                if not re.fullmatch(pattern(shown), ROUNDED.sub("#", text)):
                    self.fail(f"$ {command}\n{text}\nis not\n{shown}")


if __name__ == "__main__":
    harness.main()
