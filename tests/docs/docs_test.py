"""Runs the blocks of documents, and compares what they print with what the
documents show. document.py has the convention.

usage: docs_test.py BINARIES SOURCE [--update] [DOCUMENT...]

Without documents: README.md and all of docs but decisions. --update replaces
shown output that differs.
"""

import collections
import glob
import os
import re
import sys
import tempfile
import unittest

import document
import output
import shell

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "../testing"))
import report_skips  # noqa: E402

HAS_NO_TORCH = "PyTorch is missing"


def documents(source):
    found = glob.glob(os.path.join(source, "docs/**/*.md"), recursive=True)
    return ["README.md"] + sorted(
        path for path in (os.path.relpath(path, source) for path in found)
        if not path.startswith("docs/adr/"))


def with_options(command, options):
    return re.sub(r"\n$", f" {options}\n", command) if options else command


class Run:
    """The blocks of one document in one shell, in their order."""

    def __init__(self, shell_, update):
        self.shell = shell_
        self.update = update
        self.printed = {}           # By command.
        self.failures = []
        self.replacements = []      # (begin, end, text)
        self.counts = collections.Counter()
        self.skips = []

    def fail(self, block, command, text):
        self.failures.append(f"{block.place}: $ {command.rstrip()}\n{text}")

    def compare(self, block, command, shown, printed):
        """Returns the text to show."""
        if HAS_NO_TORCH in printed:
            self.skips.append(f"{block.place}: python3-torch is not installed")
            return shown
        if output.matches(shown, printed):
            return shown
        if not self.update:
            self.fail(block, command, output.difference(shown, printed))
            return shown
        try:
            return output.renewed(shown, printed)
        except output.CannotRenew as line:
            self.fail(block, command, f"nothing printed is like {line}:\n" +
                      printed)
            return shown

    def session(self, block):
        text = ""
        for command, shown in document.session(block.text):
            printed, _ = self.shell.run(command)
            text += "$ " + command + self.compare(block, command, shown,
                                                  printed)
        self.replace(block, text)

    def script(self, block):
        limit = block.directives.get("for")
        for command in shell.commands(block.text):
            printed, good = self.shell.run(
                with_options(command, block.directives.get("add")),
                limit and limit.split()[0])
            self.printed[command.split("#")[0].strip()] = printed
            if HAS_NO_TORCH in printed:
                self.skips.append(
                    f"{block.place}: python3-torch is not installed")
            elif not good:
                self.fail(block, command, printed)

    def replace(self, block, text):
        if text != block.text:
            self.replacements.append((block.begin, block.end, text))

    def block(self, block):
        """Runs a block as its kind and its directives say."""
        if "skip" in block.directives:
            self.skips.append(f"{block.place}: {block.directives['skip']}")
        elif "file" in block.directives:
            self.shell.write(block.directives["file"], block.text)
        elif "output" in block.directives:
            command = block.directives["output"].partition(" ")[2]
            self.replace(block, self.compare(block, command, block.text,
                                             self.printed.get(command, "")))
        elif block.kind == "session":
            self.session(block)
        elif block.kind in ("script", "hidden"):
            self.script(block)
        elif block.kind == "program":
            self.shell.write(".program.py", block.text)
            printed, good = self.shell.run(
                f"/usr/bin/python3 {self.shell.folder}/.program.py\n")
            if not good:
                self.fail(block, "python3", printed)
        if block.kind not in ("text", "hidden") and \
                "skip" not in block.directives:
            self.counts[block.kind] += 1


def run_document(binaries, source, name, update):
    """Returns the run of a document. `update` writes it."""
    path = os.path.join(source, name)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    blocks = document.blocks(name, text)
    with tempfile.TemporaryDirectory(prefix="docs_test.") as folder:
        sh = shell.Shell(folder, os.path.realpath(binaries), source)
        try:
            run = Run(sh, update)
            for block in blocks:
                run.block(block)
        finally:
            sh.close()
    for begin, end, new in reversed(run.replacements):
        text = text[:begin] + new + text[end:]
    if update and run.replacements:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        print(f"{name}: {len(run.replacements)} blocks renewed")
    return run


def case(binaries, source, name, update, total):
    """A test case of one document."""
    class DocumentTest(unittest.TestCase):
        def runTest(self):
            run = run_document(binaries, source, name, update)
            total["run"] += sum(run.counts.values())
            total["skipped"] += len(run.skips)
            for skip in run.skips:
                print(f"skipped: {skip}")
            self.assertFalse(run.failures, "\n" + "\n".join(run.failures))

        def __str__(self):
            return name
    return DocumentTest()


def main(arguments):
    update = "--update" in arguments
    binaries, source, *names = [a for a in arguments if a != "--update"]
    wanted = [n for n in names if not n.startswith("-")]
    without = [n[1:] for n in names if n.startswith("-")]
    total = collections.Counter()
    suite = unittest.TestSuite(
        case(binaries, source, name, update, total)
        for name in wanted or documents(source) if name not in without)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    print(f"{total['run']} blocks run, {total['skipped']} skipped")
    return report_skips.exit_code(result)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
