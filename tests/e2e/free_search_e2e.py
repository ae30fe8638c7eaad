"""Plans as they come are as fast as those with demands, and as those on fewer nodes."""

import json

import harness


# The first group is best alone. With the others, too many layers on too many GPUs for
# a search of whole plans.
MIXED = """
groups:
  - name: fast
    gpu: {type: F, peak_tflops: {fp32: 160.713, fp16: 1285.7}, memory: 6 GB, \
memory_bandwidth: 3350 GB/s, flash_attention: true}
    nodes: 1
    gpus_per_node: 8
    intra_node: {bandwidth: 50 GB/s, latency: 10us}
    inter_node: {bandwidth: 3.1 GB/s, latency: 30us}
  - name: slow
    gpu: {type: S, peak_tflops: {fp32: 15.125, fp16: 121}, memory: 16 GB, \
memory_bandwidth: 300 GB/s, flash_attention: true}
    nodes: 1
    gpus_per_node: 8
    intra_node: {bandwidth: 150 GB/s, latency: 10us}
    inter_node: {bandwidth: 1.2 GB/s, latency: 30us}
  - name: slower
    gpu: {type: R, peak_tflops: {fp32: 15.625, fp16: 125}, memory: 16 GB, \
memory_bandwidth: 900 GB/s, flash_attention: true}
    nodes: 2
    gpus_per_node: 4
    intra_node: {bandwidth: 12 GB/s, latency: 10us}
    inter_node: {bandwidth: 12 GB/s, latency: 30us}
default_link: {bandwidth: 12 GB/s, latency: 50us}
"""
EXPERTS = """
layers: 7
hidden_size: 1024
heads: 16
vocab_size: 8000
experts: {count: 8, per_token: 2, ffn_hidden_size: 2048}
"""


class FreeSearch(harness.Folder):
    """Few microbatches, with which deep pipelines pay in chunks alone."""

    def plan(self, *request):
        self.tangram("plan", *request, "--quiet", "--output", "plan.json")
        with open(f"{self.folder}/plan.json", encoding="utf-8") as file:
            return json.load(file)["evaluation"]["iteration_time_s"]

    def seconds(self, batch, *demand, nodes=4):
        return self.plan("--nodes", f"p5.48xlarge={nodes}", "--model", "qwen3-30b-a3b",
                         "--seq", "2048", "--global-batch", str(batch), *demand)

    def test_another_depth_is_no_faster(self):
        free_s = self.seconds(64)
        for pp in ("2", "4"):
            with self.subTest(pp=pp):
                self.assertLessEqual(free_s, self.seconds(64, "--pp", pp) * 1.005)

    def test_fewer_nodes_are_no_faster(self):
        free_s = self.seconds(48)
        self.assertLessEqual(free_s, self.seconds(48, nodes=3) * 1.005)
        self.assertLessEqual(free_s, self.seconds(48, "--pp", "3") * 1.005)

    def test_groups_of_no_use_hide_no_plan(self):
        self.write("mixed.yaml", MIXED)
        self.write("experts.yaml", EXPERTS)
        request = ("--cluster", f"{self.folder}/mixed.yaml", "--model",
                   f"{self.folder}/experts.yaml", "--seq", "1024", "--global-batch", "16",
                   "--runtime", "any", "--parallelizer", "mist", "--memory-margin", "0")
        alone_s = self.plan(*request, "--exclude-node", "slow",
                            "--exclude-node", "slower")
        self.assertLessEqual(self.plan(*request), alone_s * 1.005)

    def test_chunks_that_are_demanded_are_no_faster(self):
        for request in (
                ("--nodes", "g6.48xlarge=8", "--model", "gpt3-13b", "--seq", "1024",
                 "--global-batch", "128"),
                ("--nodes", "a2-highgpu-8g=3,p4d.24xlarge=1", "--model", "llama2-7b",
                 "--global-batch", "32")):
            with self.subTest(request=request):
                demanded_s = self.plan(*request, "--schedule", "interleaved")
                self.assertLessEqual(self.plan(*request), demanded_s * 1.005)

    def test_a_framework_is_no_faster_by_its_name(self):
        """The chunks of another are as fast before anyone is searched."""
        request = ("--nodes", "g5.12xlarge=2", "--model", "llama3-8b", "--seq", "2048",
                   "--global-batch", "32")
        named_s = self.plan(*request, "--runtime", "galvatron")
        self.assertLessEqual(self.plan(*request), named_s * 1.005)


if __name__ == "__main__":
    harness.main()
