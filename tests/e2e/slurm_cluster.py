"""A Slurm for one test, whose nodes are namespaces of this machine.

Each node has a name, an address, processes and a slurmd, as machines do. Files
are shared. Needs root and Slurm's daemons.
"""

import os
import re
import shutil
import subprocess
import time
import unittest

from harness import BIN

START_S = 60  # Slurm takes a few seconds, on a busy machine more.
LOGIN = "login"
_PROGRAMS = ("slurmctld", "slurmd", "sbatch", "setpriv", "unshare", "nsenter",
             "ip")
_CONFIGURATION = """
ClusterName=test
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1
ReturnToService=2
SlurmdParameters=config_overrides
GresTypes=gpu
MailProg=/bin/true
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
"""


def why_not():
    """Returns why there can be no such cluster here; empty if there can."""
    for program in _PROGRAMS:
        if shutil.which(program) is None:
            return f"no {program}"
    return "" if os.getuid() == 0 else "not root"


needed = unittest.skipIf(why_not(),
                         f"Slurm cannot be started here: {why_not()}")


class Node:
    """Namespaces that end with their first process, which reaps orphans."""

    def __init__(self, name, folder, command):
        self.name = name
        script = (f"hostname {name} && mount --bind {folder}/hosts /etc/hosts "
                  f"&& ip link set lo up && cat && {{ {command} & }}; wait")
        self._log = open(f"{folder}/{name}.out", "wb")
        # Also ends with this process, however it ends.
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--uts",
             "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
             "bash", "-c", script],
            stdin=subprocess.PIPE, stdout=self._log, stderr=self._log,
            env=dict(os.environ, SLURM_CONF=f"{folder}/slurm.conf"))
        self.pid = self._child()

    def _child(self):
        """Is the first process, once it is in the namespaces."""
        pid = self._process.pid
        while True:
            with open(f"/proc/{pid}/task/{pid}/children",
                      encoding="ascii") as file:
                children = file.read().split()
            if children:
                return int(children[0])
            if self._process.poll() is not None:
                raise unittest.SkipTest("no namespaces can be made here")
            time.sleep(0.01)

    def enter(self, folder, *command):
        return ["nsenter", "-t", str(self.pid), "-n", "-u", "-m", "-p",
                "env", "-C", folder, *command]

    def start(self):
        """Runs the command. There is a network now."""
        self._process.stdin.close()

    def end(self):
        self._process.kill()
        self._process.wait()
        self._log.close()


class SlurmCluster:
    """Nodes by name with (type, number) of GPUs. The type is a feature too.

    `topology` is the text of the file of that name; `settings` are further
    lines of slurm.conf.
    """

    def __init__(self, folder, gpus, topology="", settings=()):
        self.folder = folder
        self.nodes = {}
        self._started = []
        self._addresses = {name: f"10.9.8.{i + 1}"
                           for i, name in enumerate([LOGIN, *gpus])}
        self._environment = dict(
            os.environ, SLURM_CONF=f"{folder}/slurm.conf",
            PATH=f"{BIN}:{os.environ['PATH']}")
        self._configure(gpus, topology, settings)
        try:
            self._start(gpus)
        except BaseException:
            self.close()
            raise

    def _write(self, name, lines):
        with open(f"{self.folder}/{name}", "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def _configure(self, gpus, topology, settings):
        self._write("hosts", ["127.0.0.1 localhost"] + [
            f"{address} {name}" for name, address in self._addresses.items()])
        lines = [_CONFIGURATION.format(folder=self.folder),
                 f"SlurmctldHost={LOGIN}", *settings]
        if topology:
            lines.append("TopologyPlugin=topology/tree")
            self._write("topology.conf", [topology])
        gres = []
        for name, (gpu, count) in gpus.items():
            lines.append(f"NodeName={name} CPUs=8 RealMemory=1000 "
                         f"Gres=gpu:{gpu}:{count} Feature={gpu} "
                         "State=UNKNOWN")
            gres.append(f"NodeName={name} Name=gpu Type={gpu} "
                        f"File={self.folder}/gpu[0-{count - 1}]")
            os.mkdir(f"{self.folder}/spool-{name}")
        lines.append("PartitionName=all Nodes=ALL Default=YES State=UP")
        self._write("slurm.conf", lines)
        self._write("gres.conf", gres)
        os.mkdir(f"{self.folder}/state")
        for i in range(max(count for _, count in gpus.values())):
            # Slurm wants devices; any will do. This one is /dev/null.
            os.mknod(f"{self.folder}/gpu{i}", 0o666 | 0o020000,
                     os.makedev(1, 3))

    def _start(self, gpus):
        self.nodes[LOGIN] = Node(LOGIN, self.folder, "slurmctld -D -c")
        for name in gpus:
            self.nodes[name] = Node(name, self.folder, f"slurmd -D -N {name}")
        self._connect()
        for node in self.nodes.values():
            node.start()
        self.wait(lambda: self.run("sinfo", "-h", "-N", "-p", "all", "-o", "%t",
                                   check=False)
                  .split() == ["idle"] * len(gpus), "Slurm")

    def _connect(self):
        """Makes a bridge on the login node, with a link to each other node."""
        self._ip(LOGIN, "link", "add", "bridge", "type", "bridge")
        self._address(LOGIN, "bridge")
        for number, (name, node) in enumerate(self.nodes.items()):
            if name == LOGIN:
                continue
            self._ip(LOGIN, "link", "add", f"port{number}", "type", "veth",
                     "peer", "name", "eth0", "netns", str(node.pid))
            self._ip(LOGIN, "link", "set", f"port{number}", "master", "bridge",
                     "up")
            self._address(name, "eth0")

    def _address(self, node, device):
        self._ip(node, "address", "add", f"{self._addresses[node]}/24", "dev",
                 device)
        self._ip(node, "link", "set", device, "up")

    def _ip(self, node, *arguments):
        subprocess.run(["nsenter", "-t", str(self.nodes[node].pid), "-n", "ip",
                        *arguments], check=True)

    def close(self):
        for node in self.nodes.values():
            node.end()
        for process in self._started:
            process.wait()

    def run(self, *command, on=LOGIN, folder=None, check=True, **environment):
        """Returns the standard output of a command on a node."""
        run = subprocess.run(
            self.nodes[on].enter(folder or self.folder, *command),
            capture_output=True, text=True, check=False, timeout=120,
            env=dict(self._environment, **environment))
        if check and run.returncode != 0:
            raise AssertionError(f"{command}: {run.stdout}{run.stderr}")
        return run.stdout

    def start(self, *command, folder):
        """Runs a command on the login node until the cluster ends."""
        with open(f"{folder}/{command[0]}.out", "wb") as out:
            self._started.append(subprocess.Popen(
                self.nodes[LOGIN].enter(folder, *command), stdout=out,
                stderr=out, stdin=subprocess.DEVNULL, env=self._environment))

    def submit(self, *arguments, folder, **environment):
        """Submits a job. Returns the number that sbatch prints."""
        return self.run("sbatch", "--parsable", *arguments, folder=folder,
                        **environment).strip()

    def end_of(self, job, timeout_s=START_S):
        """Returns the final state of a job, once all its processes have ended."""
        self.wait(lambda: not self.run("squeue", "-h", "-j", job, check=False),
                  f"end of job {job}", timeout_s)
        return re.search(r"JobState=(\w+)", self.run(
            "scontrol", "show", "job", "-o", job))[1]

    def wait(self, ready, what, timeout_s=START_S):
        deadline = time.monotonic() + timeout_s
        while not ready():
            if time.monotonic() > deadline:
                raise AssertionError(f"{what} is not ready: {self.logs()}")
            time.sleep(0.1)

    def logs(self):
        text = []
        for name in self.nodes:
            with open(f"{self.folder}/{name}.out", encoding="utf-8",
                      errors="replace") as file:
                text.append(f"{name}: {file.read()[-800:]}")
        return "\n".join(text)
