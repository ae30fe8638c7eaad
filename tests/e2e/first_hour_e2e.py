"""Runs the commands of docs/first-hour.md in their order and compares what they
print with the lines below them. With --write as the last argument, writes these
lines instead."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

WRITE = sys.argv[-1] == "--write"
if WRITE:
    sys.argv.pop()
import harness  # noqa: E402  It reads sys.argv.

PAGE = os.path.join(harness.SOURCE, "docs/first-hour.md")
END = "=== end of a command ==="
MOST_COMMANDS = 3


def read_page():
    with open(PAGE, encoding="utf-8") as f:
        return f.read()


def blocks(page):
    """The code blocks that hold commands."""
    return re.findall(r"^```\n(\$ .*?)^```$", page, re.M | re.S)


def commands(block):
    return [line[2:] for line in block.splitlines() if line.startswith("$ ")]


def run_all(lines, folder):
    """Returns what each command prints, in one shell."""
    for name in ("deploy", "examples"):
        shutil.copytree(os.path.join(harness.SOURCE, name),
                        os.path.join(folder, name))
    path = os.pathsep.join([harness.BIN, os.environ["PATH"]])
    run = subprocess.run(
        ["bash"], cwd=folder, input=f"\necho '{END}'\n".join(lines), text=True,
        env=dict(harness.environment(), PATH=path, COLUMNS="80"), timeout=280,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return run.stdout.split(END + "\n")


def captured(page):
    """Returns the page with what its commands print now."""
    lines = [line for block in blocks(page) for line in commands(block)]
    with tempfile.TemporaryDirectory() as folder:
        printed = iter(run_all(lines, folder))

    def capture(match):
        return "```\n" + "".join(
            f"$ {line}\n{next(printed)}" for line in commands(match.group(1))
        ) + "```"
    return re.sub(r"^```\n(\$ .*?)^```$", capture, page, flags=re.M | re.S)


class FirstHourTest(unittest.TestCase):
    maxDiff = None

    def test_prints_what_the_page_shows(self):
        page = read_page()
        self.assertEqual(captured(page), page)

    def test_ten_tasks_of_few_commands(self):
        tasks = re.split(r"^## ", read_page(), flags=re.M)[1:]
        self.assertEqual(len(tasks), 10)
        for task in tasks:
            count = sum(len(commands(block)) for block in blocks(task))
            self.assertIn(count, range(1, MOST_COMMANDS + 1), task[:40])

    def test_output_fits_80_columns(self):
        for block in blocks(read_page()):
            for line in block.splitlines():
                if not line.startswith("$ ") and "tangram: " not in line:
                    self.assertLessEqual(len(line), 80, line)


if __name__ == "__main__":
    if WRITE:
        text = captured(read_page())
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(text)
    else:
        harness.main()
