"""Checks the JSON answers of commands against docs/schemas, and completion,
manual pages and help by the tools that read them."""

import json
import os
import re
import shutil
import subprocess
import unittest

import harness
from harness import BAD_INPUT, CLUSTER, JOB, NO_PLAN, OK, TANGRAM, Folder


def source_text(path):
    with open(os.path.join(harness.SOURCE, path), encoding="utf-8") as f:
        return f.read()


class DocumentedTest(Folder):
    def test_every_command_is_in_the_document(self):
        os.mkdir(os.path.join(self.folder, "man"))
        self.tangram("manual", "man")
        pages = [name[len("tangram-"):-len(".1")].replace("-", " ")
                 for name in os.listdir(f"{self.folder}/man")
                 if name != "tangram.1"]
        commands = {name for name in pages
                    if not any(other.startswith(name + " ") for other in pages)}
        named = set(re.findall(r"`([a-z -]+)`", source_text("docs/json.md")))
        self.assertGreater(len(commands), 30)
        self.assertEqual(commands - named, set())

    def test_every_version_has_a_schema(self):
        printed = set()
        for folder, _, names in os.walk(os.path.join(harness.SOURCE, "cli")):
            for name in names:
                if name.endswith(".cc"):
                    printed.update(re.findall(
                        r'"(tangram\.\w+/v\d+)"',
                        source_text(os.path.join(folder, name))))
        schemas = {name for name in harness.schemas()["$defs"]
                   if name.startswith("tangram.")}
        self.assertEqual(printed, schemas)
        document = source_text("docs/json.md")
        self.assertEqual({name for name in schemas if name not in document},
                         set())


@unittest.skipUnless(harness.jsonschema, "python3-jsonschema is not installed")
class JsonTest(Folder):
    def answer(self, code, *arguments):
        return self.json_answer(*arguments, code=code)

    def test_plan_explain_and_evaluate(self):
        answer = self.answer(OK, "plan", *CLUSTER, *JOB, "-o", "plan.json",
                             "--tokens", "1e12", "--prices", "t4=1,v100=2")
        plan = json.loads(self.read("plan.json"))
        self.assertEqual(answer["plan_file"]["plan"], plan["plan"])
        self.assertEqual(answer["iteration_time_s"],
                         plan["evaluation"]["iteration_time_s"])
        self.assertTrue(answer["guesses"])
        needs = answer["training"]
        self.assertAlmostEqual(
            needs["hours"] * 3600 * answer["tokens_per_s"] / 1e12, 1)
        self.assertGreater(needs["price"], needs["hours"])
        memory = answer["memory"]
        self.assertAlmostEqual(memory["usable_bytes"] / memory["real_bytes"],
                               0.95)
        for command in ("explain", "evaluate"):
            again = self.answer(OK, command, "plan.json")
            self.assertEqual(again["iteration_time_s"],
                             answer["iteration_time_s"])
            brief = self.answer(OK, command, "plan.json", "--brief")
            self.assertNotIn("plan_file", brief)

    def test_no_plan(self):
        answer = self.answer(NO_PLAN, "plan", *CLUSTER, "--model", "gpt3-175b",
                             "--global-batch", "32")
        self.assertFalse(answer["has_plan"])
        self.assertIn("does not fit", answer["reason"])

    def test_batches(self):
        arguments = ("plan", *CLUSTER, "--model", "gpt3-1.3b", "--layers", "6",
                     "--global-batch", "16,32", "--runtime", "any")
        answer = self.answer(OK, *arguments, "-o", "p.json")
        self.assertEqual([entry["global_batch"] for entry in answer["batches"]],
                         [16, 32])
        for entry in answer["batches"]:
            size = entry["global_batch"]
            plan = json.loads(self.read(f"p-{size}.json"))
            self.assertEqual(plan["training"]["global_batch_size"], size)
            self.assertEqual(plan["evaluation"]["iteration_time_s"],
                             entry["answer"]["iteration_time_s"])
        shown = self.tangram(*arguments)
        best = max(answer["batches"],
                   key=lambda entry: entry["answer"]["tokens_per_s"])
        self.assertIn(f"most tokens a second: {best['global_batch']}\n", shown)
        for option in (["--dry-run"], ["-o", "-"], ["--timeline", "t.json"]):
            self.fails(BAD_INPUT, "--global-batch: several sizes", *arguments,
                       *option)
        self.fails(BAD_INPUT, "--global-batch: 0; expected", "plan", *CLUSTER,
                   "--model", "gpt3-1.3b", "--global-batch", "16,0")

    def test_export(self):
        self.tangram("plan", *CLUSTER, *JOB[:-2], "--runtime", "alpa", "-o",
                     "plan.json")
        export = ("export", "plan.json", "--to", "alpa", "--allow-lossy")
        shown = self.answer(OK, *export)
        written = self.answer(OK, *export, "-o", "launch")
        self.assertEqual([file["name"] for file in shown["files"]],
                         [file["name"] for file in written["files"]])
        for file, other in zip(shown["files"], written["files"]):
            self.assertEqual(self.read(other["path"]), file["content"])
        self.assertTrue(shown["launch"])

    def test_unknown_formats_are_named(self):
        for arguments in (["plan", "--format", "xml"], ["--format=xml"]):
            self.fails(BAD_INPUT, "--format: xml; expected text or json",
                       *arguments)

    def test_catalogues(self):
        self.assertTrue(self.answer(OK, "islands", *CLUSTER)["islands"])
        for command in ("models", "devices", "planners", "parallelizers"):
            self.assertTrue(self.answer(OK, command)[command])
        one, = self.answer(OK, "devices", "t4")["devices"]
        self.assertEqual(one["gpu"], "T4")
        self.assertRegex(self.answer(OK, "version")["version"], r"^\d+\.\d+")

    def test_validation(self):
        runs = os.path.join(harness.SOURCE, "examples/validation/runs.csv")
        report = self.answer(OK, "validate", runs, "--calibrate", "4")
        rows = sum(group["time"]["n"] for group in report["groups"])
        self.assertEqual(report["all"]["time"]["n"], rows)
        self.assertGreater(rows, 0)
        self.assertTrue(any("calibration" in group
                            for group in report["groups"]))
        with open(runs, encoding="utf-8") as f:
            lines = [line for line in f.read().splitlines()
                     if not line.startswith("#")]
        cells = lines[1].split(",")
        cells[lines[0].split(",").index("tp")] = "many"
        self.write("bad.csv", "\n".join([*lines, ",".join(cells)]) + "\n")
        bad, = self.answer(OK, "validate", "bad.csv")["bad_rows"]
        self.assertIn("many", bad)

    def test_measurements(self):
        measured = os.path.join(harness.SOURCE,
                                "examples/import/v100-all-reduce.txt")
        self.tangram("import", "profile", "--from", "nccl-tests", measured,
                     "--device", "V100-16", "-o", "v100.json")
        profile = self.answer(OK, "profile", "show", "v100.json")
        self.assertEqual(profile["device"], "V100-16")
        points = profile["collectives"][0]["points"]
        self.assertLess(points[0]["bytes"], points[-1]["bytes"])

    def test_a_dry_run(self):
        cost = self.answer(OK, "plan", *CLUSTER, *JOB, "--dry-run")
        self.assertEqual(cost["layers"], 8)
        self.assertGreaterEqual(cost["pairs"], cost["slices"])

    def test_imports(self):
        self.write("hosts", "a slots=2\nb slots=2\n")
        cluster = ("import", "cluster", "hosts", "--gpu", "a,b=A100-80")
        shown = self.answer(OK, *cluster)
        self.assertEqual(shown["gpus"], 4)
        group, = shown["groups"]
        self.assertEqual((group["gpu"], group["nodes"]),
                         ("A100-80", ["a", "b"]))
        written = self.answer(OK, *cluster, "-o", "c.yaml")
        self.assertEqual(shown["groups"], written["groups"])
        self.assertNotIn("file", written)
        for text in shown["file"], self.read("c.yaml"):
            self.assertIn("A100-80", text)

        config = {"model_type": "llama", "hidden_size": 256, "vocab_size": 512,
                  "num_hidden_layers": 2, "num_attention_heads": 4,
                  "intermediate_size": 512, "rope_theta": 5e5}
        self.write("config.json", json.dumps(config))
        model = ("import", "model", "config.json")
        shown = self.answer(OK, *model)
        self.assertEqual((shown["layers"], shown["expert_layers"]), (2, 0))
        self.assertEqual(shown["parameters"],
                         2 * (4 * 256 * 256 + 3 * 256 * 512 + 2 * 256) +
                         256 + 2 * 512 * 256)
        self.assertIn("layers: 2", shown["file"])
        self.assertNotIn("file", self.answer(OK, *model, "-o", "m.yaml"))

        measured = os.path.join(harness.SOURCE,
                                "examples/import/v100-all-reduce.txt")
        profile = ("import", "profile", "--from", "nccl-tests", measured,
                   "--device", "V100-16")
        shown = self.answer(OK, *profile)
        self.assertEqual(json.loads(shown["file"])["device"], "V100-16")
        self.assertEqual(shown["collectives"], 1)

    def test_files_of_planners(self):
        done = self.answer(OK, "profile", "export", *CLUSTER, *JOB[:-2], "--to",
                           "metis", "-o", "out")
        self.assertEqual((done["done"], done["what"]), ("written", "file"))
        self.assertEqual(done["count"], len(done["names"]))
        for name in done["names"]:
            self.assertTrue(self.read(name))


class AdviceTest(Folder):
    def test_names_what_was_probably_meant(self):
        for meant, arguments in (
                ("plan", ["paln"]),
                ("list", ["job", "lst"]),
                ("--cluster", ["plan", "--clutser", "c"]),
                ("--global-batch", ["plan", "--global-bach=8"]),
                ("gpt3-6.7b", ["plan", *CLUSTER, "--model", "gpt3-67b",
                               "--global-batch", "8"]),
                ("megatron", ["plan", *CLUSTER, *JOB[:-2], "--runtime",
                              "megatorn"]),
                ("V100-16", ["devices", "V100-61"])):
            with self.subTest(meant):
                self.fails(BAD_INPUT, f"did you mean {meant}?", *arguments)

    def test_of_a_gpu_in_a_file(self):
        self.write("c.yaml", "groups: [{name: g, gpu: A100-08, nodes: 1}]\n")
        self.fails(BAD_INPUT, "did you mean A100-80?", "islands", "--cluster",
                   "c.yaml")

    def test_help_is_a_command(self):
        self.assertEqual(self.tangram("help"), self.tangram("--help"))
        self.assertEqual(self.tangram("help", "job", "list"),
                         self.tangram("job", "list", "--help"))


class ShellTest(Folder):
    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_completion_parses_in_zsh(self):
        self.write("_tangram", self.tangram("completion", "zsh"))
        subprocess.run(["zsh", "-n", "_tangram"], cwd=self.folder, check=True)
        # Loaded from fpath, the first completion has candidates.
        script = f"""autoload -Uz compinit; compinit -u -d dump
            _describe() {{ print -r -- "${{(@P)2}}"; }}
            fpath=($PWD $fpath); autoload -Uz _tangram
            words=({TANGRAM} vali); CURRENT=2; _tangram"""
        run = subprocess.run(["zsh", "-fc", script], cwd=self.folder, text=True,
                             capture_output=True, check=True)
        self.assertRegex(run.stdout, r"\Avalidate:\w")

    def test_completion_parses_in_bash(self):
        self.write("tangram.bash", self.tangram("completion", "bash"))
        subprocess.run(["bash", "-n", "tangram.bash"], cwd=self.folder,
                       check=True)

    def manual(self):
        os.mkdir(os.path.join(self.folder, "man"))
        self.tangram("manual", "man")
        return [os.path.join(self.folder, "man", name)
                for name in sorted(os.listdir(f"{self.folder}/man"))]

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_manual_pages_are_clean(self):
        run = subprocess.run(["mandoc", "-Tlint", "-Wwarning", *self.manual()],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.stdout + run.stderr, "")

    def test_manual_pages_have_examples_that_parse(self):
        """Every example of a page is a command line that --help takes."""
        for page in self.manual():
            with open(page, encoding="utf-8") as f:
                text = f.read()
            name = os.path.basename(page)[:-2]
            parts = name.split("-")[1:]
            if not re.search(r"^\.SH EXAMPLES$", text, re.M):
                self.assertIn(parts, [["import"], ["job"], ["worker"],
                                      ["profile"], ["tenant"], ["help"]],
                              name)
                continue
            block = re.search(r"\.SH EXAMPLES\n\.nf\n(.*?)\.fi", text,
                              re.S).group(1)
            lines = block.replace("\\-", "-").replace("\\e\n", " ").splitlines()
            for line in lines:
                words = line.split("|")[-1].replace("source <(", "").replace(
                    ")", "").split()
                self.assertEqual(words[0], "tangram", line)
                options = [word for word in words if word.startswith("--")]
                if words[1] == "help":
                    continue
                shown = self.tangram(*words[1:2 + len(parts[1:])], "--help")
                for option in options:
                    self.assertIn(option, shown, line)


if __name__ == "__main__":
    harness.main()
