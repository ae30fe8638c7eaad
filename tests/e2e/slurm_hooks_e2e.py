"""Runs deploy/slurm/cli_filter.lua and job_submit.lua in a real Slurm."""

import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import harness
import slurm_cluster
from harness import C1, MODEL, SOURCE

HOOKS = os.path.join(SOURCE, "deploy/slurm")
NODES = {"t1": ("t4", 4), "t2": ("t4", 4), "v1": ("v100", 4), "v2": ("v100", 4)}
PORT = 7070  # In a network of its own.
QUESTION = ("tangram model=gpt3-1.3b layers=6 global-batch=32 runtime=any "
            "parallelizer=uniform")
SETTINGS = f"""# Of one test.
groups = t4:2,v100:2
cluster = {C1}
coordinator = login:{PORT}
seconds = 20
require = checked
"""
PLUGINS = "/usr/lib/*/slurm-wlm/{}_lua.so"
HAS_LUA = all(glob.glob(PLUGINS.format(p)) for p in ("cli_filter", "job_submit"))


@slurm_cluster.needed
@unittest.skipUnless(HAS_LUA, "Slurm has no Lua plugins")
class SlurmHooksTest(harness.Folder):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.site = folder.name
        os.chmod(cls.site, 0o755)  # For a user who is not root.
        for name in ("cli_filter", "job_submit", "tangram_answers"):
            shutil.copy(f"{HOOKS}/{name}.lua", cls.site)
        cls.set(SETTINGS)
        cls.cluster = slurm_cluster.SlurmCluster(
            cls.site, NODES, settings=[
                "CliFilterPlugins=cli_filter/lua", "JobSubmitPlugins=lua",
                "PartitionName=checked Nodes=ALL State=UP"])
        cls.addClassCleanup(cls.cluster.close)
        # nsenter stops for good when its child is stopped, so that is a shell.
        cls.cluster.start(
            "bash", "-c", "tangram-coordinator --state_dir=none --metrics= "
            f"--listen=0.0.0.0:{PORT} & tangram-worker --metrics= --threads=1 "
            f"--name=w --coordinator=login:{PORT} & wait", folder=cls.site)
        cls.cluster.wait(cls.serves, "the coordinator and its worker")

    @classmethod
    def set(cls, settings):
        with open(f"{cls.site}/tangram.conf", "w", encoding="utf-8") as file:
            file.write(settings)

    @classmethod
    def serves(cls):
        return re.search(r"^ *w ", cls.cluster.run(
            "tangram", "top", "--once", "--coordinator", f"login:{PORT}",
            check=False), re.M)

    def setUp(self):
        super().setUp()
        self.write("job.sh", "#!/bin/sh\nhostname\n")
        self.addCleanup(self.set, SETTINGS)

    def submit(self, *arguments):
        """Returns what Slurm knows of a job that it took."""
        job = self.cluster.submit(*arguments, "job.sh", folder=self.folder)
        self.cluster.end_of(job)
        shown = self.cluster.run("scontrol", "show", "job", job)
        comment = re.search(r"^ +Comment=(.*?) *$", shown, re.M)
        return {"Comment": comment[1] if comment else "",
                **{name: re.search(rf"[ \n]{name}=(\S*)", shown)[1]
                   for name in ("Features", "NumNodes", "NodeList")}}

    def refuses(self, message, *arguments):
        with self.assertRaisesRegex(AssertionError, message):
            self.cluster.submit(*arguments, "job.sh", folder=self.folder)

    def frontier(self, nodes):
        """The fastest of these allocations, planned here."""
        import csv
        import io
        rows = csv.DictReader(io.StringIO(self.tangram(
            "frontier", "--cluster", C1, *MODEL, "--runtime", "any",
            "--parallelizer", "uniform", "--nodes", nodes, "--csv", "-")))
        return list(rows)

    def test_the_fastest_kind_is_chosen(self):
        job = self.submit("--nodes=2", f"--comment={QUESTION}")
        time_s = float(self.frontier("t4=0,v100=2")[0]["iteration_time_s"])
        slower_s = float(self.frontier("t4=2,v100=0")[0]["iteration_time_s"])
        self.assertLess(time_s, slower_s)
        self.assertEqual(job, {
            "Comment": f"{QUESTION}; chose t4=0,v100=2 {time_s:.6g} s",
            "Features": "v100", "NumNodes": "2", "NodeList": "v[1-2]"})

    def test_kinds_are_mixed_if_the_job_says_so(self):
        job = self.submit("--nodes=3", f"--comment={QUESTION} mix=yes")
        rows = [row for row in self.frontier("t4=1|2,v100=1|2")
                if int(row["nodes_t4"]) + int(row["nodes_v100"]) == 3]
        best = min(rows, key=lambda row: float(row["iteration_time_s"]))
        t4, v100 = best["nodes_t4"], best["nodes_v100"]
        self.assertEqual(job["Features"], f"[t4*{t4}&v100*{v100}]")
        self.assertIn(f"chose t4={t4},v100={v100} ", job["Comment"])
        self.assertEqual(job["NumNodes"], "3")
        nodes = self.cluster.run("scontrol", "show", "hostnames",
                                 job["NodeList"]).split()
        self.assertEqual([sum(n[0] == kind for n in nodes) for kind in "tv"],
                         [int(t4), int(v100)])

    def test_jobs_that_do_not_ask_are_left_alone(self):
        self.set(SETTINGS + f"program = {self.folder}/asked\n")
        self.write("asked", f"#!/bin/sh\ntouch {self.folder}/was-asked\n")
        os.chmod(f"{self.folder}/asked", 0o755)
        for comment in ([], ["--comment=tangrams are puzzles"],
                        [f"--comment={QUESTION}", "--constraint=t4"]):
            job = self.submit("--nodes=1", *comment)
            self.assertEqual(job["Features"],
                             "t4" if len(comment) == 2 else "(null)")
        self.assertFalse(os.path.exists(f"{self.folder}/was-asked"))
        self.submit("--nodes=1", f"--comment={QUESTION}")
        self.assertTrue(os.path.exists(f"{self.folder}/was-asked"))

    def no_opinion(self, why, *arguments):
        job = self.submit(*(arguments or ("--nodes=2",
                                          f"--comment={QUESTION}")))
        self.assertEqual(job["Features"], "(null)")
        self.assertRegex(job["Comment"], f"; no opinion: {why}")

    def test_a_service_that_is_gone_or_hangs_holds_no_job(self):
        coordinator = self.cluster.run("pgrep", "-x", "tangram-coordin").strip()
        self.set(SETTINGS.replace("seconds = 20", "seconds = 0.5"))
        self.addCleanup(self.cluster.run, "kill", "-CONT", coordinator)
        self.cluster.run("kill", "-STOP", coordinator)
        # The command may end by itself before it is ended.
        self.no_opinion("(no answer|not all answers in time)")
        self.cluster.run("kill", "-CONT", coordinator)
        self.set(SETTINGS.replace(f":{PORT}", ":9"))  # Nobody listens.
        self.no_opinion("no answer")
        self.set(SETTINGS + "program = /nowhere/tangram\n")
        self.no_opinion("no answer")

    def test_the_check_compares_comment_and_request(self):
        chosen = f"--comment={QUESTION}; chose t4=0,v100=2 0.5 s"
        self.refuses("--constraint: t4; expected v100", chosen, "--nodes=2",
                     "--constraint=t4")
        self.refuses("--nodes: 1; expected 2", chosen, "--nodes=1",
                     "--constraint=v100")
        self.refuses("expected .chose", f"--comment={QUESTION}; chose x nan s",
                     "--constraint=t4")
        self.submit(chosen, "--nodes=2", "--constraint=v100")
        self.refuses("partition checked expects", "--partition=checked")
        self.submit("--partition=checked", "--nodes=1", f"--comment={QUESTION}")

    def test_a_change_is_checked_too(self):
        held = self.cluster.submit("--hold", "--uid=nobody", "--nodes=2",
                                   f"--comment={QUESTION}", "job.sh",
                                   folder=self.folder)
        self.addCleanup(self.cluster.run, "scancel", held)
        run = subprocess.run(
            self.cluster.nodes["login"].enter(
                "/", "setpriv", "--reuid=nobody", "--clear-groups", "scontrol",
                "update", f"JobId={held}", "Features=t4"),
            capture_output=True, text=True, check=False, timeout=60,
            env=dict(os.environ, SLURM_CONF=f"{self.site}/slurm.conf"))
        # This Slurm does not pass the reason on to scontrol.
        self.assertNotEqual(run.returncode, 0)
        self.assertIn(" Features=v100 ", self.cluster.run(
            "scontrol", "show", "job", held))


if __name__ == "__main__":
    harness.main()
