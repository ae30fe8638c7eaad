"""Plans models with Mamba layers from their config.json to a launch line."""

import json

import harness
from harness import CLUSTER

NEMOTRON = {
    "model_type": "nemotron_h", "hidden_size": 1024, "num_hidden_layers": 10,
    "hybrid_override_pattern": "M-M*-MEM*-", "intermediate_size": 4096,
    "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 64,
    "mamba_num_heads": 32, "mamba_head_dim": 64, "n_groups": 4,
    "ssm_state_size": 64, "conv_kernel": 4, "n_routed_experts": 8,
    "num_experts_per_tok": 2, "moe_intermediate_size": 512,
    "vocab_size": 32000, "torch_dtype": "float16"}
JAMBA = {
    "model_type": "jamba", "hidden_size": 1024, "num_hidden_layers": 8,
    "intermediate_size": 2048, "num_attention_heads": 16,
    "num_key_value_heads": 4, "attn_layer_period": 4, "attn_layer_offset": 2,
    "expert_layer_period": 2, "expert_layer_offset": 1, "num_experts": 8,
    "num_experts_per_tok": 2, "mamba_d_state": 16, "mamba_d_conv": 4,
    "mamba_expand": 2, "mamba_dt_rank": 64, "vocab_size": 32000,
    "torch_dtype": "float16"}
JOB = [*CLUSTER, "--seq", "2048", "--global-batch", "32"]


class Hybrid(harness.Folder):

    def write(self, name, config):
        with open(f"{self.folder}/{name}", "w", encoding="utf-8") as file:
            json.dump(config, file)

    def setUp(self):
        super().setUp()
        self.write("nemotron.json", NEMOTRON)
        self.write("jamba.json", JAMBA)

    def read(self, name):
        with open(f"{self.folder}/{name}", encoding="utf-8") as file:
            return file.read()

    def test_goes_to_megatron_as_a_pattern(self):
        said = self.tangram("plan", *JOB, "--model", "nemotron.json", "--runtime",
                            "megatron", "--output", "plan.json")
        self.assertIn("runs in         megatron", said)
        self.tangram("export", "plan.json", "--to", "megatron", "-o", "out")
        options = self.read("out/megatron.args").splitlines()
        pattern, = (line.split()[1] for line in options
                    if line.startswith("--hybrid-layer-pattern "))
        self.assertEqual(pattern.replace("|", ""),
                         NEMOTRON["hybrid_override_pattern"])
        self.assertIn("--position-embedding-type none", options)
        self.assertIn("--squared-relu", options)
        self.assertIn("pretrain_hybrid.py", self.read("out/launch.sh"))

    def test_the_plan_file_is_read_again(self):
        self.tangram("plan", *JOB, "--model", "jamba.json", "--runtime", "any",
                     "--quiet", "--output", "plan.json")
        types = json.loads(self.read("plan.json"))["model"]["layer_types"]
        mixers = [layer.get("mixer", "ATTENTION") for layer in types[1:-1]]
        self.assertEqual(sorted(mixers), ["ATTENTION", "MAMBA", "MAMBA"])
        self.assertIn("iteration", self.tangram("evaluate", "plan.json"))
        self.tangram("report", "plan.json", "-o", "page.html")
        self.assertIn('"mamba_moe"', self.read("page.html"))

    def test_says_which_framework_lacks_what(self):
        said = self.run_tangram("plan", *JOB, "--model", "jamba.json", "--runtime",
                                "megatron").stdout
        self.assertIn("Mamba mixer of the first version", " ".join(said.split()))
        said = self.run_tangram("plan", *JOB, "--model", "nemotron.json",
                                "--runtime", "torchtitan").stdout
        self.assertIn("a Mamba mixer; expected attention", " ".join(said.split()))

    def test_experts_of_another_width_go_to_megatron(self):
        self.write("latent.json", {**NEMOTRON, "moe_latent_size": 256,
                                   "num_nextn_predict_layers": 1})
        said = " ".join(self.tangram("import", "model", "latent.json", "-o",
                                     "latent.yaml").split())
        self.assertIn("multi-token prediction modules", said)
        self.assertIn("latent_size: 256", self.read("latent.yaml"))
        self.tangram("plan", *JOB, "--model", "latent.json", "--runtime", "megatron",
                     "--quiet", "--output", "plan.json")
        types = json.loads(self.read("plan.json"))["model"]["layer_types"]
        self.assertEqual([layer["expert_latent_size"] for layer in types
                          if "expert_latent_size" in layer], [256])
        self.assertIn("iteration", self.tangram("evaluate", "plan.json"))
        self.tangram("export", "plan.json", "--to", "megatron", "--allow-lossy", "-o",
                     "out")
        self.assertIn("--moe-latent-size 256", self.read("out/megatron.args"))

    def test_is_imported_as_a_model_file(self):
        yaml = self.tangram("import", "model", "nemotron.json", "-o", "model.yaml")
        self.assertIn("4 of Mamba", yaml)
        times = {line for model in ("nemotron.json", "model.yaml")
                 for line in self.tangram("plan", *JOB, "--model", model,
                                          "--runtime", "megatron").splitlines()
                 if line.startswith("  iteration time")}
        self.assertEqual(len(times), 1, times)


if __name__ == "__main__":
    harness.main()
