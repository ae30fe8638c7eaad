"""The runner as a program, in a copy of this process.

Importing PyTorch takes most of the time of a small run, and a copy has it already. What
depends on how the program is started starts it for real.
"""

import os
import runpy
import subprocess
import sys
import tempfile
import traceback

import harness

if harness.HAS_TORCH:
    from tangram_runner import __main__  # noqa: F401  What copies need.


def run(*arguments):
    """Runs tools/runner with these arguments. Returns what subprocess.run would."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            os._exit(_code_of([str(argument) for argument in arguments]))
        _, status = os.waitpid(child, 0)
        out.seek(0)
        errors.seek(0)
        return subprocess.CompletedProcess(
            arguments, os.waitstatus_to_exitcode(status), out.read().decode(),
            errors.read().decode())


def _code_of(arguments):
    # A test may read what is written here elsewhere.
    sys.stdout, sys.stderr = (os.fdopen(fd, "w", closefd=False) for fd in (1, 2))
    sys.argv = [str(harness.RUNNER), *arguments]
    try:
        runpy.run_path(str(harness.RUNNER / "__main__.py"), run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code
