"""The runner as a program: python3 tools/runner PLAN. `tangram run` calls it."""

import os
import sys
import traceback

from tangram_runner.__main__ import FAILED, main

if __name__ == "__main__":
    try:
        code = main(sys.argv[1:])
    except BrokenPipeError:
        # Nobody reads the output any more, nor what Python would still write at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FAILED
    except Exception:
        # Python would end with 1, which means a plan that trains wrongly.
        traceback.print_exc()
        code = FAILED
    sys.exit(code)
