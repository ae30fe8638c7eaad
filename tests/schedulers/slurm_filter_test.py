"""Runs deploy/slurm/*.lua without Slurm, with answers of all kinds.

Usage: slurm_filter_test.py <repository root>
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
sys.path.append(str(ROOT / "tests/testing"))
import report_skips  # noqa: E402

HOOKS = ROOT / "deploy/slurm"
LUA = shutil.which("lua5.3") or shutil.which("lua5.1") or shutil.which("lua")
# Calls one hook with options of its environment and prints what changed.
DRIVER = """
local function print_of(name)
  return function(format, ...) print(name .. " " .. format:format(...)) end
end
slurm = {SUCCESS = 0, ERROR = -1, log_info = print_of("info"),
         log_user = print_of("user"), log_error = print_of("error")}
local options = {}
for name in os.getenv("NAMES"):gmatch("%S+") do
  options[name] = os.getenv("OPTION_" .. name)
end
dofile(os.getenv("HOOKS") .. "/" .. arg[1] .. ".lua")
if arg[1] == "cli_filter" then
  print("verdict " .. slurm_cli_pre_submit(options, 0))
else
  print("verdict " .. slurm_job_submit(options, {}, 1000))
end
for _, name in ipairs({"nodes", "constraint", "comment"}) do
  print(name .. " " .. tostring(options[name]))
end
"""
HEADER = ("nodes_t4,nodes_v100,gpus,state,iteration_time_s,"
          "price_per_million_tokens,reason\r\n")
QUESTION = "tangram model=m global-batch=8"


def row(t4, v100, time_s, price="", state="planned", reason=""):
    return f"{t4},{v100},1,{state},{time_s},{price},{reason}\r\n"


BOTH = HEADER + row(0, 2, 0.5, 3) + row(2, 0, 2, 1) + row(2, 2, 0.25, 2)


@unittest.skipUnless(LUA, "no lua5.3")
class Hooks(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for file in HOOKS.glob("*.lua"):
            shutil.copy(file, self.folder)
        self.settings()

    def settings(self, *lines):
        (self.folder / "tangram.conf").write_text("\n".join(
            ["groups = t4:4,v100:2", f"cluster = {self.folder}/c'1.yaml",
             f"program = {self.folder}/tangram", "prices = t4=1,v100=9",
             *lines]))

    def answers(self, text):
        (self.folder / "answer").write_bytes(text.encode())
        self.program(f'printf "%s\\n" "$@" > {self.folder}/arguments\n'
                     f"cat {self.folder}/answer\n")

    def program(self, script):
        program = self.folder / "tangram"
        program.write_text("#!/bin/sh\n" + script)
        program.chmod(0o755)

    def call(self, hook, **options):
        run = subprocess.run(
            [LUA, "-", hook], input=DRIVER, text=True, capture_output=True,
            timeout=60, check=False, cwd=self.folder, env={
                "PATH": os.environ["PATH"], "HOOKS": str(self.folder),
                "NAMES": " ".join(options),
                **{f"OPTION_{k}": v for k, v in options.items()}})
        self.assertEqual(run.stderr, "")
        return dict(line.split(" ", 1) for line in run.stdout.splitlines())

    def filter(self, comment=QUESTION, nodes="2", kind="sbatch", **options):
        said = self.call("cli_filter", type=kind, nodes=nodes,
                         comment=comment, **options)
        self.assertEqual(said["verdict"], "0")
        return said


class FilterTest(Hooks):

    def chose(self, total, constraint, comment=QUESTION, **options):
        said = self.filter(comment, **options)
        self.assertEqual((said["nodes"], said["constraint"]),
                         (total, constraint), said)

    def test_the_fastest_of_the_asked_size_is_chosen(self):
        self.answers(BOTH)
        self.chose("2", "v100")
        self.chose("2", "v100", nodes="2-2")
        self.chose("2", "t4", QUESTION + " objective=cheapest")

    def test_an_earlier_answer_is_replaced(self):
        self.answers(BOTH)
        said = self.filter(QUESTION + "; chose t4=9,v100=9 1 s")
        self.assertEqual(said["comment"],
                         QUESTION + "; chose t4=0,v100=2 0.5 s")

    def test_mixtures_need_leave(self):
        # Fewer nodes are faster, but the job asks for three.
        self.answers(HEADER + "".join(
            row(t4, v100, 4 * t4 + v100, 1) for t4 in range(4)
            for v100 in range(3) if t4 + v100 > 0))
        self.chose("3", "[t4*1&v100*2]", QUESTION + " mix=yes", nodes="3")
        self.assertIn("t4=0|1|2|3,v100=0|1|2\n",
                      (self.folder / "arguments").read_text())

    def test_ranges_choose_the_number_of_one_kind(self):
        rows = {(0, 2): 0.5, (2, 0): 0.5, (2, 2): 0.1, (3, 0): 0.25,
                (3, 2): 0.1, (4, 0): 0.25, (4, 2): 0.1}
        self.answers(HEADER + "".join(
            row(*nodes, time_s) for nodes, time_s in reversed(rows.items())))
        self.chose("3", "t4", nodes="2-4")  # The fewest of the fastest.

    def test_arguments_reach_the_command_as_they_are(self):
        self.answers(BOTH)
        self.filter()
        words = (self.folder / "arguments").read_text().splitlines()
        self.assertEqual(words[words.index("--cluster") + 1],
                         f"{self.folder}/c'1.yaml")
        self.assertEqual(words[words.index("--model") + 1], "m")
        self.assertNotIn("--coordinator", words)
        self.settings("coordinator = c:1", "tls_ca = /ca.pem",
                      "token_file = /token")
        self.filter()
        words = (self.folder / "arguments").read_text().splitlines()
        for option, value in (("--coordinator", "c:1"), ("--tls-ca", "/ca.pem"),
                              ("--token-file", "/token")):
            self.assertEqual(words[words.index(option) + 1], value)

    def test_no_opinion_changes_nothing_but_the_comment(self):
        cases = {
            "": "no answer",
            BOTH[:-1]: "half an answer",
            BOTH[:len(HEADER) + 5]: "half an answer",
            HEADER: "half an answer",
            HEADER + row(0, 2, 0.5): "half an answer",
            BOTH.replace("planned", 'planned"'): "no plan fits",
            HEADER + row(0, 2, "nan") + row(2, 0, "inf") + row(2, 2, 1):
                "no plan fits",
            HEADER + row(0, 2, "1e999") + row(2, 0, "-1e999") + row(2, 2, 1):
                "no plan fits",
            HEADER + row(0, 2, "-1") + row(2, 0, "0") + row(2, 2, 1):
                "no plan fits",
            BOTH.replace("nodes_t4", "x"): "no column of t4",
            HEADER + row(0, 2, 0.5) + row(2, 0, "", state="pending")
            + row(2, 2, ""): "not all answers in time",
            HEADER + row(0, 2, "", state="no_plan", reason='"too, ""big"""')
            + row(2, 0, "", state="no_plan") + row(2, 2, 1): "no plan fits",
            "\0" * 100 + "\n": "half an answer",
            "{}\n" * 100: "half an answer",
        }
        for answer, why in cases.items():
            with self.subTest(answer=answer):
                self.answers(answer)
                said = self.filter()
                self.assertEqual(
                    (said["nodes"], said["constraint"], said["comment"]),
                    ("2", "nil", f"{QUESTION}; no opinion: {why}"))

    def test_wrong_questions_are_not_asked(self):
        self.answers(BOTH)
        for comment in ("tangram model=$(touch${IFS}x)", "tangram model='x'",
                        "tangram output=/etc/passwd model=m",
                        "tangram model=m model=m", "tangram --model=m",
                        "tangram mix=perhaps model=m", "tangram model"):
            with self.subTest(comment):
                said = self.filter(comment)
                self.assertIn("; no opinion: ", said["comment"])
        for nodes in ("", "0", "4-2", "9999999", "2k", "two"):
            with self.subTest(nodes):
                self.assertEqual(self.filter(nodes=nodes)["constraint"], "nil")
        self.assertFalse((self.folder / "arguments").exists())

    def test_jobs_that_do_not_ask_are_left_alone(self):
        self.answers(BOTH)
        for options in ({"comment": "x"}, {"comment": "tangrams model=m"},
                        {"kind": "srun"}):
            self.assertNotIn("opinion", self.filter(**options)["comment"])
        said = self.filter(constraint="a100")
        self.assertEqual((said["constraint"], said["comment"]),
                         ("a100", QUESTION))
        self.assertFalse((self.folder / "arguments").exists())

    def test_a_command_that_hangs_is_killed(self):
        self.settings("seconds = 0.2")
        self.program(f"echo $$ > {self.folder}/pid\nexec sleep 1000\n")
        self.assertEqual(self.filter()["comment"],
                         QUESTION + "; no opinion: no answer")
        stat = pathlib.Path(f"/proc/{(self.folder / 'pid').read_text().strip()}"
                            "/stat")
        deadline = time.monotonic() + 30
        # It may be a zombie that nobody waits for.
        while stat.exists() and ") Z " not in stat.read_text():
            self.assertLess(time.monotonic(), deadline, "it still runs")
            time.sleep(0.01)

    def test_wrong_settings_refuse_no_job(self):
        for line in ("seconds = nan", "seconds = -1", "seconds = 1e9", "what?",
                     "groups = t4", "groups ="):
            with self.subTest(line):
                self.settings(line)
                self.assertIn("; no opinion: ", self.filter()["comment"])
        (self.folder / "tangram.conf").unlink()
        self.assertIn("; no opinion: ", self.filter()["comment"])


class CheckTest(Hooks):

    def verdict(self, comment, features, nodes="2", **options):
        said = self.call("job_submit", comment=comment, features=features,
                         min_nodes=nodes, partition="p", **options)
        return said["verdict"] == "0", said.get("user", "")

    def test_requests_are_those_of_the_comment(self):
        chosen = QUESTION + "; chose t4=0,v100=2 0.5 s"
        self.assertEqual(self.verdict(chosen, "v100"), (True, ""))
        self.assertEqual(self.verdict(chosen, "t4"), (
            False, "tangram: --constraint: t4; expected v100, which the "
            "comment says was chosen"))
        self.assertIn("--nodes: 3; expected 2",
                      self.verdict(chosen, "v100", "3")[1])
        self.assertIn("--nodes: 4; expected 2",
                      self.verdict(chosen, "v100", max_nodes="4")[1])
        # 0xfffffffe: not set.
        self.assertTrue(self.verdict(chosen, "v100", max_nodes="4294967294")[0])

    def test_answers_are_read_strictly(self):
        for answer in ("chose t4=0,v100=2 nan s", "chose t4=0,v100=2 -1 s",
                       "chose t4=0,v100=2 1e999 s",
                       "chose t4=0 1 s", "chose t4=1e9 1 s", "chose", "x",
                       "chose t4=2,v100 1 s", ""):
            with self.subTest(answer):
                taken, why = self.verdict(f"{QUESTION}; {answer}", "t4")
                self.assertEqual(taken, False)
                self.assertIn('expected "chose GROUP=N,... T s"', why)

    def test_partitions_may_require_an_answer(self):
        self.assertTrue(self.verdict("x", "t4")[0])
        self.settings("require = q, p")
        for comment in ("x", QUESTION):
            self.assertIn("partition p expects", self.verdict(comment, "t4")[1])
        # Nobody is locked out by a service that is down.
        self.assertTrue(self.verdict(
            QUESTION + "; no opinion: no answer", "t4")[0])


if __name__ == "__main__":
    report_skips.main(sys.argv[1:])
