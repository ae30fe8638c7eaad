"""Shared code of the end-to-end tests. Run as <test>.py <bin folder>
<sources>."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import unittest

BIN, SOURCE = sys.argv[1:3]
sys.path.append(os.path.join(SOURCE, "tests/testing"))
import report_skips  # noqa: E402

try:
    import jsonschema
except ImportError:
    jsonschema = None

TANGRAM = os.path.join(BIN, "tangram")
C1 = os.path.join(SOURCE, "deploy/clusters/c1-compute-het.yaml")
# Small enough to plan in a second, on both kinds of GPU.
CLUSTER = ["--cluster", C1, "--nodes", "t4=1,v100=1"]
MODEL = ["--model", "gpt3-1.3b", "--layers", "6", "--global-batch", "32"]
# Its plan has cuts inside layers, which no framework trains.
JOB = [*MODEL, "--runtime", "any"]
# Searches for minutes unless it is ended.
LONG_JOB = ["--model", "gpt3-13b", "--global-batch", "128", "--runtime", "any",
            "--effort", "1000000000", "--no-prune-redundant", "--no-early-stop"]

OK, INTERNAL, BAD_INPUT, NO_PLAN, UNAVAILABLE, DEADLINE = range(6)
INTERRUPTED = 130


SCHEMAS = os.path.join(SOURCE, "docs/schemas/answers.schema.json")


def schemas():
    with open(SCHEMAS, encoding="utf-8") as f:
        return json.load(f)


def valid_answer(text):
    """Returns a JSON answer. It keeps the schema of its version, if
    python3-jsonschema is there to tell."""
    answer = json.loads(text)
    if jsonschema:
        version = answer["format_version"].replace("/", "~1")
        jsonschema.Draft202012Validator(
            dict(schemas(), **{"$ref": f"#/$defs/{version}"})).validate(answer)
    return answer


def environment():
    env = dict(os.environ, TERM="xterm")
    env.pop("NO_COLOR", None)
    env.pop("COLUMNS", None)
    return env


class Folder(unittest.TestCase):
    """A test with an empty working folder."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = self._folder.name

    def run_tangram(self, *arguments, env=None):
        return subprocess.run([TANGRAM, *arguments], cwd=self.folder,
                              env=dict(environment(), **(env or {})),
                              stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120)

    def tangram(self, *arguments):
        """Runs the command, which must succeed. Returns its standard output."""
        run = self.run_tangram(*arguments)
        self.assertEqual((run.returncode, run.stderr), (OK, ""))
        return run.stdout

    def json_answer(self, *arguments, code=OK):
        """Runs a command with --format json. Returns its valid answer."""
        run = self.run_tangram(*arguments, "--format", "json")
        self.assertEqual((run.returncode, run.stderr), (code, ""))
        return valid_answer(run.stdout)

    def fails(self, code, message, *arguments):
        """Asserts that a run fails with this code and leaves no new file."""
        before = sorted(os.listdir(self.folder))
        run = self.run_tangram(*arguments)
        self.assertEqual((run.returncode, run.stdout), (code, ""), run.stderr)
        self.assertRegex(run.stderr, r"\Atangram: [^\n]*\n\Z")
        self.assertIn(message, run.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def allow_open_files(self, count):
        """Also for programs that are started later. Skips if it may not."""
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        if most != resource.RLIM_INFINITY and most < count:
            self.skipTest(f"{most} open files; expected {count}")
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, most))

    def write(self, name, content):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
            f.write(content)
        return name

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as f:
            return f.read()


def main():
    report_skips.main(sys.argv[3:])
