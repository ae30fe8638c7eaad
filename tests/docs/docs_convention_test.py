"""Tests the convention of documents, and how shown output is compared and
renewed."""

import unittest

import document
import output
import shell


def kinds(text):
    return [block.kind for block in document.blocks("page.md", text)]


class BlocksTest(unittest.TestCase):
    def test_kinds(self):
        self.assertEqual(kinds(
            "```\n$ tangram models\nllama\n```\n```\nA=1 tangram models\n```\n"
            "```\n./scripts/test # all\n```\n```\nstep 0: loss\n```\n"
            "```yaml\nname: x\n```\n```python\nimport os\n```\n"),
            ["session", "script", "script", "text", "text", "program"])

    def test_directives_belong_to_the_next_block(self):
        first, second, third = document.blocks(
            "page.md", "<!-- doc-test: run cp a b; cp b c -->\n"
            "<!-- doc-test: skip no Slurm -->\n```\nsrun x\n```\n"
            "```\nsrun y\n```\n")
        self.assertEqual((first.kind, first.text), ("hidden", "cp a b\ncp b c\n"))
        self.assertEqual(second.directives, {"skip": "no Slurm"})
        self.assertEqual(third.directives, {})

    def test_what_breaks_the_convention_is_refused(self):
        for text in ("<!-- doc-test: skip -->\n```\nsrun x\n```\n",
                     "<!-- doc-test: omit why -->\n```\nsrun x\n```\n",
                     "<!-- doc-test: skip why -->\n```\nno command\n```\n",
                     "<!-- doc-test: skip why -->\n", "\n```\nsrun x\n"):
            with self.subTest(text), self.assertRaises(document.Malformed):
                document.blocks("page.md", text)

    def test_commands_have_all_of_their_lines(self):
        self.assertEqual(document.session("$ a \\\n    b\nc\n$ d\n"),
                         [["a \\\n    b\n", "c\n"], ["d\n", ""]])
        self.assertEqual(shell.commands("# all\na \\\n  b\nc |\n  d\ne 'f\ng'\n"),
                         ["a \\\n  b\n", "c |\n  d\n", "e 'f\ng'\n"])

    def test_dots_stand_for_what_is_not_given(self):
        self.assertNotIn("--layers",
                         shell.filled("tangram plan --model m ... --job a\n"))
        self.assertIn("--global-batch 32 --job a",
                      shell.filled("tangram plan --model m ... --job a\n"))
        self.assertEqual(shell.filled("tangram-worker --tls ...\n"),
                         "tangram-worker --tls \n")


class OutputTest(unittest.TestCase):
    def test_dots_match_any_lines_and_any_text(self):
        for shown, printed, expected in (
                ("a\n...\nd\n", "a\nb\nc\nd\n", True),
                ("a\n...\nd\n", "a\nd\n", True),
                ("a\n...\nd\n", "a\nb\n", False),
                ("...\nb\n...\nb\nc\n", "b\nx\nb\ny\nb\nc\n", True),
                ("a\n", "a\nb\n", False), ("a\nb\n", "a\n", False),
                ("up ..., idle\n", "up 3 s, idle\n", True),
                ("up ..., idle\n", "up 3 s, busy\n", False),
                ("", "a\n", False),
                ("loss 3.8932\n", "loss 3.8939\n", True),
                ("loss 3.8932\n", "loss 3.8832\n", False)):
            with self.subTest((shown, printed)):
                self.assertEqual(output.matches(shown, printed), expected)

    def test_renewed_output_leaves_out_the_same_lines(self):
        printed = "Plan\n  a 4 s\n  b 5 s\n\nNotes\n  long\n\nRun it\n  x\n  y 7\n"
        self.assertEqual(
            output.renewed("Plan\n  a 1 s\n...\nRun it\n  x\n  y 2\n", printed),
            "Plan\n  a 4 s\n...\nRun it\n  x\n  y 7\n")
        # A last line that is gone: to the end of the paragraph.
        self.assertEqual(
            output.renewed("Plan\n  a 1 s\n  [{(?#@\n...\n", printed),
            "Plan\n  a 4 s\n  b 5 s\n...\n")
        with self.assertRaises(output.CannotRenew):
            output.renewed("...\n[{(?#@\n...\n", printed)


if __name__ == "__main__":
    unittest.main()
