"""Trains plans on processes of this machine and looks at what the check says."""

import re
import tempfile

from tangram_runner import __main__ as command
from tangram_runner import launch, support, tiny
from tangram_runner.job import Job
from tangram_runner.read_plan import plan_of


# A loss equal but for rounding, which depends on the BLAS library.
SAME_LOSS = re.compile(r"loss differs by (0\.0e\+00|\d\.\de-1[3-9])")


def run(data, *options, small=False, check=True):
    """Returns exit code and output. `small` shrinks sizes."""
    plan = plan_of(data)
    if small:
        plan = tiny.tiny(plan)
    support.check_supported(plan)
    with tempfile.TemporaryFile("w+") as out:
        job = Job(plan, command.parse(["plan", *["--check"] * check, *options]), out)
        code = launch.spawn(plan.num_ranks, job)
        out.seek(0)
        return code, out.read()


def right(test, data, steps=1, small=True):
    code, text = run(data, "--steps", str(steps), small=small)
    test.assertEqual(code, 0, text)
    test.assertEqual(text.count("right: loss and"), steps)


def wrong(test, data, *texts):
    """Checks that a run is wrong and the report says so."""
    code, text = run(data)
    test.assertEqual(code, 1, text)
    finds(test, text, *texts)


def finds(test, text, *expected):
    """Checks that `text` has these strings and matches these patterns."""
    for part in expected:
        if isinstance(part, re.Pattern):
            test.assertRegex(text, part)
        else:
            test.assertIn(part, text)
