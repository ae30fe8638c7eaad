"""Runs the cases of a Python test, and tells ctest of those that were skipped.

Call main() in place of unittest.main(). The process ends with 1 if a case
failed, else with 77 if one was skipped because something is missing, else with
0. A reason that begins with "not applicable: " says that nothing is missing.
"""

import collections
import sys
import unittest

SKIPPED = 77  # SKIP_RETURN_CODE of the tests, as in Automake.
NOT_APPLICABLE = "not applicable: "


def exit_code(result):
    """Prints the lines that scripts/skipped collects."""
    reasons = collections.Counter(
        reason for _, reason in result.skipped
        if not reason.startswith(NOT_APPLICABLE))
    for reason, count in sorted(reasons.items()):
        # A class or module that is skipped as a whole runs no case.
        what = (f"{count} of {result.testsRun} cases"
                if count <= result.testsRun else f"all cases of {count} groups")
        print(f"skipped: {what}: {reason}", flush=True)
    if not result.wasSuccessful():
        return 1
    return SKIPPED if reasons else 0


def main(arguments=(), verbosity=1):
    """Runs the cases of __main__; `arguments` as unittest's command line."""
    program = unittest.main(module="__main__",
                            argv=[sys.argv[0], *arguments], exit=False,
                            verbosity=verbosity)
    sys.exit(exit_code(program.result))
