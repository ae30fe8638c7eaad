"""Imports read Megatron-LM's options as Megatron-LM itself does."""

import glob
import json
import os
import random
import re
import subprocess
import tempfile
import unittest

import megatron_layout_test
import upstream

CLUSTER = "name: c\ngroups:\n- {name: t4, gpu: T4, nodes: 2, gpus_per_node: 4}\n"
# Some are errors.
PIECES = {"t": 6, "t*2": 4, "t|": 6, "t*0": 1, "|*2": 1, ",": 2, "(tt|)*2": 3,
          "(t*2|)*2": 3, "(t|t)*3": 3, "((t|)*2)*2": 1, "(tt)": 1, "x": 1,
          "m": 1}


def model_arguments(path):
    """Returns the options of a test of Megatron-LM, as lines."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    section = re.search(r"^MODEL_ARGS:\n((?:\s.*\n|\n)*)", text + "\n", re.M)
    lines = []
    for name, value in re.findall(r"^\s+(--[\w-]+):\s*(.*?)\s*(?:\s#.*)?$",
                                  section.group(1), re.M):
        if value == "true":
            lines.append(name)
        elif value != "false":
            quoted = "'" + value.strip("'\"") + "'"
            lines.append(f"{name} {quoted}")
    return lines


class MegatronImport(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.root = upstream.checkout("Megatron-LM")
        cls.layout = megatron_layout_test.load_layout()

    def import_plan(self, lines, layers):
        """Returns the exit code, the errors and the file of the plan."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("c.yaml", CLUSTER),
                               ("run.args", "\n".join(lines))):
                with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
                    f.write(text)
            run = subprocess.run(
                [upstream.TANGRAM, "import", "plan", "--from", "megatron",
                 f"{folder}/run.args", "--cluster", f"{folder}/c.yaml",
                 "--model", "gpt3-1.3b", "--layers", str(layers),
                 "--global-batch", "64", "-o", f"{folder}/plan.json"],
                capture_output=True, text=True, timeout=60, check=False)
            plan = None
            if os.path.exists(f"{folder}/plan.json"):
                plan = json.loads(upstream.read(folder, "plan.json"))
        return run.returncode, run.stderr, plan

    def stages_of(self, layout):
        """Returns the layers of each stage; none if Megatron-LM or plans refuse
        the layout."""
        try:
            parsed = self.layout(layout, 2)
            parsed.validate_layer_layout(
                [x.name for x in parsed.flatten_layout].count("decoder"), None)
            stages = self.layout.parse_str_to_list(layout)
        except (AssertionError, IndexError):
            return None
        return [len(stage) for stage in stages] if all(stages) else None

    def test_layouts(self):
        rng = random.Random(1)
        read = 0
        for _ in range(150):
            pieces = rng.choices(list(PIECES), PIECES.values(),
                                 k=rng.randint(2, 5))
            layout = f"E{''.join(pieces)}tL"
            expected = self.stages_of(layout)
            layers = sum(expected) - 2 if expected else 8
            code, error, plan = self.import_plan(
                ["--micro-batch-size 1 --global-batch-size 64 --seq-length 2048",
                 "--tensor-model-parallel-size 2",
                 "--pipeline-model-parallel-size 2",
                 f"--pipeline-model-parallel-layout '{layout}'"],
                max(layers, 1))
            with self.subTest(layout):
                if not expected or layers < 1:
                    self.assertEqual(code, 2)
                    continue
                self.assertIn(code, (0, 3), error)
                cuts = [0] + [stage["plan"]["end"]["layer"]
                              for stage in plan["plan"]["stages"]]
                self.assertEqual([b - a for a, b in zip(cuts, cuts[1:])],
                                 expected)
                read += 1
        self.assertGreater(read, 20)

    def test_knows_all_options_of_its_tests(self):
        """Other programs than pretrain_gpt.py have options of their own."""
        files = glob.glob(f"{self.root}/tests/functional_tests/test_cases/"
                          "gpt/*/model_config.yaml")
        self.assertGreater(len(files), 50)
        for path in files:
            if "inference" in path or "modelopt" in path:
                continue
            _, error, _ = self.import_plan(model_arguments(path), 24)
            self.assertNotIn("unknown option", error, path)


if __name__ == "__main__":
    upstream.main()
