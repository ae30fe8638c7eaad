"""`tangram import cluster` from a Slurm that runs here with emulated nodes.

Needs slurmctld, slurmd and root, for device files; skips without.
"""

import os
import shutil
import socket
import subprocess
import time
import unittest

import harness

NODES = {"a": ("a100", 8), "v": ("v100", 4), "t": ("t4", 2)}
START_S = 60  # Slurm takes a few seconds; a busy machine more.


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def why_not():
    for program in ("slurmctld", "slurmd", "scontrol", "sinfo"):
        if shutil.which(program) is None:
            return f"no {program}"
    return "" if os.getuid() == 0 else "not root"


@unittest.skipIf(why_not(), f"Slurm cannot be started here: {why_not()}")
class SlurmTest(harness.Folder):
    def setUp(self):
        super().setUp()
        self.write_configuration()
        self.env = dict(os.environ, SLURM_CONF=self.path("slurm.conf"))
        self.daemon("slurmctld", "-D", "-c", "-f", self.path("slurm.conf"))
        for node in self.nodes:
            self.daemon("slurmd", "-D", "-N", node,
                        "-f", self.path("slurm.conf"))
        self.wait(self.all_idle, "slurmd")

    def path(self, name):
        return os.path.join(self.folder, name)

    def daemon(self, *command):
        with open(self.path(f"{command[0]}.out"), "ab") as out:
            process = subprocess.Popen(command, stdout=out, stderr=out,
                                       env=self.env)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)

    def wait(self, ready, what):
        deadline = time.monotonic() + START_S
        while not ready():
            if time.monotonic() > deadline:
                self.fail(f"{what} is not up: " + self.logs())
            time.sleep(0.1)

    def logs(self):
        return "\n".join(self.read(name)[-2000:]
                         for name in sorted(os.listdir(self.folder))
                         if name.endswith((".out", ".log")))

    def all_idle(self):
        states = self.slurm("sinfo", "-h", "-N", "-o", "%t", check=False)
        return states.split() == ["idle"] * len(self.nodes)

    def slurm(self, *command, check=True):
        run = subprocess.run(command, env=self.env, capture_output=True,
                             text=True, timeout=60)
        if check:
            self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def write_configuration(self):
        self.nodes = [f"{kind}{i}" for kind in NODES for i in (1, 2)]
        control, *ports = free_ports(1 + len(self.nodes))
        host = socket.gethostname()
        os.mkdir(self.path("state"))
        lines = [
            "ClusterName=test", f"SlurmctldHost={host}(127.0.0.1)",
            "AuthType=auth/none", "CredType=cred/none",
            "SlurmUser=root", "SlurmdUser=root",
            f"SlurmctldPort={control}",
            f"StateSaveLocation={self.path('state')}",
            f"SlurmdSpoolDir={self.path('spool-%n')}",
            f"SlurmctldPidFile={self.path('ctld.pid')}",
            f"SlurmdPidFile={self.path('slurmd-%n.pid')}",
            "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none",
            "JobAcctGatherType=jobacct_gather/none", "MpiDefault=none",
            "SwitchType=switch/none", "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_Core", "ReturnToService=2",
            "SlurmdParameters=config_overrides", "GresTypes=gpu",
            "TopologyPlugin=topology/tree", "MailProg=/bin/true",
            "AccountingStorageType=accounting_storage/none",
            "JobCompType=jobcomp/none"]
        gres = []
        for node, port in zip(self.nodes, ports):
            os.mkdir(self.path(f"spool-{node}"))
            gpu, count = NODES[node[0]]
            lines.append(
                f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 "
                f"Port={port} CPUs=8 RealMemory=1000 Gres=gpu:{gpu}:{count} "
                "State=UNKNOWN")
            gres.append(f"NodeName={node} Name=gpu Type={gpu} "
                        f"File={self.path('gpu')}[0-{count - 1}]")
        lines.append("PartitionName=all Nodes=ALL Default=YES State=UP")
        for i in range(max(count for _, count in NODES.values())):
            # Any device will do; this one is /dev/null.
            os.mknod(self.path(f"gpu{i}"), 0o666 | 0o020000,
                     os.makedev(1, 3))
        self.write("slurm.conf", "\n".join(lines) + "\n")
        self.write("gres.conf", "\n".join(gres) + "\n")
        self.write("topology.conf",
                   "SwitchName=ib Nodes=a[1-2],v[1-2]\n"
                   "SwitchName=eth Nodes=t[1-2]\n"
                   "SwitchName=core Switches=ib,eth\n")

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
