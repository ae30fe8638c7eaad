"""Runs `tangram import cluster` on the output of a real Slurm."""

import tempfile

import harness
import slurm_cluster

NODES = {"a1": ("a100", 8), "a2": ("a100", 8), "v1": ("v100", 4),
         "v2": ("v100", 4), "t1": ("t4", 2), "t2": ("t4", 2)}
TOPOLOGY = """SwitchName=ib Nodes=a[1-2],v[1-2]
SwitchName=eth Nodes=t[1-2]
SwitchName=core Switches=ib,eth"""


@slurm_cluster.needed
class SlurmTest(harness.Folder):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.cluster = slurm_cluster.SlurmCluster(folder.name, NODES, TOPOLOGY)
        cls.addClassCleanup(cls.cluster.close)
        cls.slurm = cls.cluster.run

    def import_cluster(self, *arguments):
        out = self.tangram("import", "cluster", *arguments, "-o", "c.yaml")
        return out, self.read("c.yaml")

    def test_every_command_tells_the_same_cluster(self):
        inventories = {
            "lines": ("scontrol", "show", "node", "-o"),
            "paragraphs": ("scontrol", "show", "node"),
            "used": ("scontrol", "show", "node", "-d"),
            "table": ("sinfo", "-N", "-o", "%N|%P|%t|%c|%m|%G|%f|%E"),
            "columns": ("sinfo", "-N", "-O",
                        "NodeList,Gres:40,GresUsed:40,StateLong"),
            "json": ("sinfo", "--json"),
        }
        self.write("topology", self.slurm("scontrol", "show", "topology"))
        for name, command in inventories.items():
            with self.subTest(name):
                self.write(name, self.slurm(*command))
                out, yaml = self.import_cluster(name, "topology")
                self.assertIn("c: 28 GPUs in 6 nodes", out)
                for group in ("node_names: [a1, a2]", "node_names: [v1, v2]",
                              "node_names: [t1, t2]", "# under ib",
                              "# under eth"):
                    self.assertIn(group, yaml)
        self.tangram("plan", "--cluster", "c.yaml", "--model", "gpt3-1.3b",
                     "--layers", "4", "--global-batch", "16", "--effort", "8")

    def test_nodes_that_are_drained_are_left_out(self):
        self.slurm("scontrol", "update", "NodeName=t2", "State=DRAIN",
                   "Reason=gpu ecc")
        self.addCleanup(self.slurm, "scontrol", "update", "NodeName=t2",
                        "State=RESUME")
        for name, command in {
                "lines": ("scontrol", "show", "node", "-o"),
                "table": ("sinfo", "-N", "-o", "%N|%t|%G|%E"),
                "json": ("sinfo", "--json")}.items():
            with self.subTest(name):
                self.write(name, self.slurm(*command))
                out, yaml = self.import_cluster(name)
                self.assertIn("26 GPUs in 5 nodes", out)
                self.assertRegex(yaml, "# left out: t2: drain.*: gpu ecc")


if __name__ == "__main__":
    harness.main()
