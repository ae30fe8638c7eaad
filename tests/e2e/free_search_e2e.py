"""Plans as they come are as fast as those with demands, and as those on fewer nodes."""

import json

import harness


class FreeSearch(harness.Folder):
    """Few microbatches, with which deep pipelines pay in chunks alone."""

    def seconds(self, batch, *demand, nodes=4):
        self.tangram("plan", "--nodes", f"p5.48xlarge={nodes}", "--model",
                     "qwen3-30b-a3b", "--seq", "2048", "--global-batch", str(batch),
                     *demand, "--quiet", "--output", "plan.json")
        with open(f"{self.folder}/plan.json", encoding="utf-8") as file:
            return json.load(file)["evaluation"]["iteration_time_s"]

    def test_another_depth_is_no_faster(self):
        free_s = self.seconds(64)
        for pp in ("2", "4"):
            with self.subTest(pp=pp):
                self.assertLessEqual(free_s, self.seconds(64, "--pp", pp) * 1.005)

    def test_fewer_nodes_are_no_faster(self):
        free_s = self.seconds(48)
        self.assertLessEqual(free_s, self.seconds(48, nodes=3) * 1.005)
        self.assertLessEqual(free_s, self.seconds(48, "--pp", "3") * 1.005)


if __name__ == "__main__":
    harness.main()
