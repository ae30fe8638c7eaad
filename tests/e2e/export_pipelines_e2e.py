"""Plans of several pipelines as files of FlashFlex and Hetu: every GPU trains
the layers and samples that the plan gives it."""

import json
import os
import subprocess

import harness
import trained_by_gpu
from harness import BAD_INPUT
from plan_parts import equal, replica, stage, uneven

C2 = os.path.join(harness.SOURCE, "deploy/clusters/c2-modern-het.yaml")
LAYERS = 8


def even(layers):
    """Two unlike cuts, tp 2 everywhere, and a replicated pipeline."""
    return [replica(4, 8, stage(0, 4, 2, [("a100-0", 0, 4)], dp=2),
                    stage(4, layers + 2, 2, [("a100-1", 0, 4)], dp=2)),
            replica(2, 8, stage(0, 7, 2, [("h100-0", 0, 2)]),
                    stage(7, layers + 2, 2, [("h100-1", 0, 2)])),
            replica(2, 8, stage(0, layers + 2, 2, [("h100-2", 0, 2)]))]


def with_sequence_parallelism(pipelines):
    """As Hetu trains."""
    for pipeline in pipelines:
        for placed in pipeline["plan"]["stages"]:
            placed["plan"]["parallelism"]["sequence_parallel"] = True
    return pipelines


class ExportPipelines(harness.Folder):

    maxDiff = None

    def setUp(self):
        super().setUp()
        self.tangram("plan", "--cluster", C2, "--model", "llama2-7b",
                     "--layers", str(LAYERS), "--seq", "4096",
                     "--global-batch", "64", "--precision", "bf16",
                     "--runtime", "any", "--parallelizer", "uniform",
                     "--quiet", "--output", "one.json")

    def write_plan(self, pipelines, **options):
        document = json.loads(self.read("one.json"))
        kept = {key: document[key] for key in
                ("format_version", "cluster", "model", "training")}
        kept["replicated_plan"] = {"pipelines": pipelines, **options}
        self.write("plan.json", json.dumps(kept))
        return kept

    def exported(self, target, pipelines, **options):
        """Exports; returns the plan and what the command said."""
        document = self.write_plan(pipelines, **options)
        text = self.tangram("export", "plan.json", "--to", target, "-o",
                            target, "--allow-lossy")
        return document, " ".join(text.split())

    def folder_of(self, target):
        return os.path.join(self.folder, target)

    def test_each_gpu_trains_what_the_plan_gives_it(self):
        for target, read, as_trained in (
                ("flashflex", trained_by_gpu.flashflex, list),
                ("hetu", trained_by_gpu.hetu, with_sequence_parallelism)):
            for make in uneven, even:
                with self.subTest(f"{target}, {make.__name__}"):
                    document, text = self.exported(target, as_trained(make(LAYERS)))
                    self.assertEqual(read(self.folder_of(target)),
                                     trained_by_gpu.plan(document))
                    self.assertNotIn("pipelines[", text)  # No loss.

    def test_flashflex_has_a_program_where_it_weighs_samples_unlike(self):
        _, text = self.exported("flashflex", uneven(LAYERS))
        self.assertFalse(trained_by_gpu.weighs_by_itself(
            self.folder_of("flashflex")))
        self.assertIn("every sample weighs the same, by weigh_pipelines.py",
                      text)
        self.assertIn("weigh_pipelines.py\"", self.read("flashflex/launch.sh"))
        compile(self.read("flashflex/weigh_pipelines.py"), "program", "exec")

    def test_flashflex_alone_trains_equal_shares(self):
        self.exported("flashflex", equal(LAYERS))
        self.assertTrue(trained_by_gpu.weighs_by_itself(
            self.folder_of("flashflex")))
        self.assertNotIn("weigh_pipelines", self.read("flashflex/launch.sh"))

    def test_hetu_recomputes_activations_of_single_layers(self):
        activation = 1 << 7
        pipelines = with_sequence_parallelism(uneven(LAYERS))
        pipelines[1]["plan"]["stages"][1]["plan"]["recompute"] = [
            {"num_layers": 1}, {"num_layers": 2, "mask": activation},
            {"num_layers": 1}]
        _, text = self.exported("hetu", pipelines)
        self.assertNotIn("pipelines[", text)
        config = json.loads(self.read("hetu/ds_parallel.json"))
        self.assertEqual(config["recompute_granularity"], [None, "selective"])
        self.assertEqual(config["recompute_layer_idxs_list"], [[], [6, 7]])

    def test_hetu_is_launched_with_the_files(self):
        self.exported("hetu", uneven(LAYERS))
        checkout = os.path.join(self.folder, "Hetu/examples/pretrain")
        programs = os.path.join(self.folder, "bin")
        os.makedirs(checkout)
        os.makedirs(programs)
        self.write("Hetu/hetu.exp", "export SOURCED=1\n")
        python = os.path.join(programs, "python3")
        self.write(python, "#!/bin/sh\npwd\nprintf '%s\\n' $SOURCED \"$@\"\n")
        os.chmod(python, 0o755)
        run = subprocess.run(
            ["bash", "hetu/launch.sh", "trainer.steps=7"], cwd=self.folder,
            capture_output=True, text=True, check=True, env={
                **os.environ, "PATH": f"{programs}:{os.environ['PATH']}",
                "HETU": f"{self.folder}/Hetu", "HETU_DATA": "data.json",
                "HETU_VOCAB": "vocab.json", "HETU_MERGES": "merges.txt"})
        where, sourced, *arguments = run.stdout.splitlines()
        files = os.path.realpath(self.folder_of("hetu"))
        self.assertEqual((os.path.realpath(where), sourced),
                         (os.path.realpath(checkout), "1"))
        self.assertEqual(arguments[:2], ["-m", "hetu.rpc.pssh_start_config"])
        self.assertIn(f"--config-path={files}", arguments[2])
        self.assertEqual(
            arguments[-1], "rpc.command='env HETU_DATA=data.json "
            "HETU_VOCAB=vocab.json HETU_MERGES=merges.txt python3 -u "
            f"{files}/train_pipelines.py --config-path={files} "
            "--config-name=hetu trainer.steps=7'")
        # Hosts start one after another.
        run = subprocess.run(
            ["bash", "-c", f"hostname() {{ echo h100-1; }}; sleep() {{ echo "
             f"sleep $1; }}; source {files}/env.sh; echo $HETU_PLAN "
             "$CUDA_VISIBLE_DEVICES"], cwd=checkout, capture_output=True,
            text=True, check=True)
        self.assertEqual(run.stdout.split(), ["sleep", "10", files, "1"])
        run = subprocess.run(
            ["bash", "-c", "hostname() { echo other; }; "
             f"source {files}/env.sh && echo started"], cwd=checkout,
            capture_output=True, text=True, check=False)
        self.assertIn("env.sh: other is not in", run.stderr)
        self.assertEqual(run.stdout, "")

    def visible_to_flashflex(self, host):
        """Returns the devices that torchrun sees, and whether attention is
        FlashFlex's own."""
        programs = os.path.join(self.folder, "bin")
        os.makedirs(programs, exist_ok=True)
        torchrun = os.path.join(programs, "torchrun")
        self.write(torchrun, "#!/bin/sh\necho $CUDA_VISIBLE_DEVICES\n"
                   "case \"$*\" in *--use-flash-attn*) ;; *) echo own ;; esac\n")
        os.chmod(torchrun, 0o755)
        return subprocess.run(
            ["bash", "flashflex/launch.sh"], cwd=self.folder,
            capture_output=True, text=True, check=True, env={
                **os.environ, "PATH": f"{programs}:{os.environ['PATH']}",
                "FLASHFLEX": self.folder,
                "TANGRAM_HOST": host}).stdout.strip()

    def test_flashflex_sees_the_devices_of_the_plan_only(self):
        # Ranks 0 to 2, 3 and 4, 5: FlashFlex gives rank r device r mod count.
        self.exported("flashflex", [
            replica(2, 16, stage(0, 4, 1, [("a100-0", 1, 1)]),
                    stage(4, 6, 1, [("a100-0", 2, 1)]),
                    stage(6, LAYERS + 2, 1, [("a100-0", 0, 1)])),
            replica(2, 16, stage(0, 5, 1, [("a100-1", 0, 1)]),
                    stage(5, 6, 1, [("a100-1", 1, 1)]),
                    stage(6, LAYERS + 2, 1, [("h100-0", 0, 1)]))])
        for host, devices in (("a100-0", "1,2,0"), ("a100-1", "1,0"),
                              ("h100-0", "0")):
            self.assertEqual(self.visible_to_flashflex(host), devices)

    def test_flashflex_runs_flash_attention_where_it_runs(self):
        document = self.write_plan(uneven(LAYERS))
        for device in document["cluster"]["devices"]:
            if device["type"].startswith("A100"):
                del device["supports_flash_attention"]
        self.write("plan.json", json.dumps(document))
        self.tangram("export", "plan.json", "--to", "flashflex", "-o",
                     "flashflex", "--allow-lossy")
        self.assertEqual(self.visible_to_flashflex("a100-0").split(),
                         ["0,1,2,3", "own"])
        self.assertEqual(self.visible_to_flashflex("h100-0"), "0,1")

    def test_hosts_that_look_like_numbers_are_names(self):
        names = {"a100-0": "08", "h100-0": "8", "h100-1": "010"}
        document = self.write_plan(uneven(LAYERS))
        text = json.dumps(document)
        for name, other in names.items():
            text = text.replace(json.dumps(name), json.dumps(other))
        self.write("plan.json", text)
        for target in "flashflex", "hetu":
            self.tangram("export", "plan.json", "--to", target, "-o", target,
                         "--allow-lossy")
        self.assertEqual([host["addr"] for host, _ in trained_by_gpu.
                          hosts_of_hetu(self.folder_of("hetu"))],
                         list(names.values()))
        self.assertEqual(self.visible_to_flashflex("8"), "0,1")

    def test_hosts_need_names_that_scripts_can_have(self):
        for name in "a b", "x) rm -rf /tmp/x;; y", "$(id)", "a'\"", "a\n":
            document = self.write_plan(uneven(LAYERS))
            self.write("plan.json", json.dumps(document).replace(
                '"h100-1"', json.dumps(name)))
            # No plan has a control character in a name.
            field = "names: \"a" if name == "a\n" else "name: \""
            for target in "flashflex", "hetu":
                with self.subTest(f"{target}, {name}"):
                    self.fails(BAD_INPUT, field, "export", "plan.json",
                               "--to", target, "-o", "out", "--allow-lossy")
                    self.assertFalse(os.path.exists(
                        os.path.join(self.folder, "out")))

    def test_settings_that_get_lost_are_named_with_their_pipeline(self):
        pipelines = uneven(LAYERS)
        stages = pipelines[1]["plan"]["stages"]
        stages[0]["plan"]["recompute"] = [{"num_layers": 1},
                                          {"num_layers": 5, "mask": 1023}]
        _, text = self.exported("hetu", pipelines)
        self.assertIn("pipelines[1].plan.stages[0].plan.recompute: 5 of 6 "
                      "layers", text)
        self.assertIn("What hetu will run Pipeline 0: 40 samples", text)
        pipelines[1]["plan"]["schedule"] = "gpipe"
        for pipeline in pipelines:
            pipeline["state_fraction"] = 0.5
        _, text = self.exported("flashflex", pipelines, sync="zero1")
        self.assertIn("sync: zero1; becomes all-reduce", text)
        self.assertIn("pipelines[1].plan.schedule: gpipe; becomes 1f1b", text)
        # One switch for all pipelines.
        self.assertIn("pipelines[0].plan.stages[0].plan.recompute: 0 of 10 "
                      "layers", text)
        _, text = self.exported("hetu", pipelines, sync="zero1")
        self.assertNotIn("sync:", text)
        self.assertTrue(json.loads(self.read("hetu/ds_parallel.json"))["zero"])

    def test_plans_for_flashflex_are_exported_as_they_are(self):
        job = ["plan", "--cluster", C2, "--model", "llama2-7b", "--layers",
               str(LAYERS), "--seq", "4096", "--global-batch", "1024",
               "--precision", "bf16", "--runtime", "flashflex", "--output",
               "plan.json"]
        self.tangram(*job, "--planner-option", "max_pipelines=3")
        document = json.loads(self.read("plan.json"))
        shares = [replica["num_microbatches"] *
                  replica["plan"]["pipeline_microbatch_size"] for replica in
                  document["replicated_plan"]["pipelines"]]
        self.assertGreater(len(set(shares)), 1)
        text = self.tangram("export", "plan.json", "--to", "flashflex", "-o",
                            "flashflex", "--allow-lossy")
        self.assertNotIn("What flashflex will run", text)
        self.assertEqual(
            trained_by_gpu.flashflex(self.folder_of("flashflex")),
            trained_by_gpu.plan(document))
        several_s = document["replicated_evaluation"]["iteration_time_s"]
        self.tangram(*job)
        one_s = json.loads(self.read("plan.json"))["evaluation"][
            "iteration_time_s"]
        self.assertLess(several_s * 1.02, one_s)

    def test_lossy_exports_write_nothing_unless_allowed(self):
        self.write_plan(even(LAYERS))
        run = self.run_tangram("export", "plan.json", "--to", "flashflex",
                               "-o", "out")
        self.assertIn("data: yours; becomes synthetic", run.stdout)
        self.assertIn("expected --allow-lossy", run.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "out")))

    def refused(self, target, pipelines, message):
        self.write_plan(pipelines)
        self.fails(BAD_INPUT, message, "export", "plan.json", "--to", target,
                   "-o", "out")

    def test_refusals_name_the_pipeline(self):
        pipelines = even(LAYERS)
        pipelines[0]["plan"]["stages"][1] = stage(
            4, LAYERS + 2, 4, [("a100-1", 0, 4)])
        for target in "flashflex", "hetu":
            self.refused(target, pipelines,
                         f"{target}: pipelines[0].plan.stages[1].plan."
                         "parallelism.dp_degree: 1; expected 2 as in the first "
                         "stage: replicas are whole pipelines")
        pipelines = uneven(LAYERS)
        pipelines[1] = replica(
            4, 6, stage(0, LAYERS + 2, 2, [("h100-0", 0, 2)]))
        self.refused("hetu", pipelines,
                     "hetu: pipelines[1].plan.pipeline_microbatch_size: 4; "
                     "expected 2, 2 for each replica as in pipelines[0]")


if __name__ == "__main__":
    harness.main()
