"""Paths and the end of the runner's tests.

Each is started as: <name>.py <repository root> <folder of binaries>
"""

import importlib.util
import pathlib
import sys

ROOT = pathlib.Path(sys.argv[1])
BINARIES = pathlib.Path(sys.argv[2])
RUNNER = ROOT / "tools/runner"
HAS_TORCH = importlib.util.find_spec("torch") is not None
NO_TORCH = "python3-torch is not installed"
sys.path += [str(RUNNER), str(ROOT / "tests/testing")]


def main():
    import report_skips
    report_skips.main(sys.argv[3:], verbosity=2)
