"""A shell in a copy of the folders of the repository that documents use."""

import os
import queue
import re
import shutil
import signal
import subprocess
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = ["clients", "deploy", "examples", "proto", "scripts"]
# Three dots in a command stand for a cluster, a model and a batch.
DOTS = re.compile(r"(?<=\s)\.\.\.(?=\s|$)")
PLANNED = [(("--cluster", "--nodes"), "--cluster deploy/clusters/"
            "c1-compute-het.yaml --nodes t4=1,v100=1"),
           (("--model",), "--model gpt3-1.3b --layers 6"),
           (("--global-batch",), "--global-batch 32")]
ADDRESS = re.compile(
    r"(?<!--listen )(?<!--listen=)\b(?:HOST|127\.0\.0\.1|localhost):7070\b")
# These exit codes are answers: the plans differ.
ANSWERS = {"tangram diff": 6}


def filled(command):
    """A command with its three dots replaced."""
    if not DOTS.search(command):
        return command
    if not command.lstrip().startswith("tangram "):
        return DOTS.sub("", command)
    options = [text for names, text in PLANNED
               if not any(name in command.split() for name in names)]
    return DOTS.sub(" ".join(options), command, count=1)


def commands(text):
    """The commands of a script, each with all of its lines."""
    found, lines = [], ""
    for line in text.splitlines(keepends=True):
        lines += line
        if re.search(r"[\\|]\n$", lines) or subprocess.run(
                ["bash", "-n"], input=lines, text=True, check=False,
                stderr=subprocess.DEVNULL).returncode:
            continue
        if lines.strip() and not lines.lstrip().startswith("#"):
            found.append(lines)
        lines = ""
    return found + ([lines] if lines.strip() else [])


class Shell:
    """Bash, with the built programs and stand-ins in PATH.

    Stand-ins replace what installs, builds, or needs a cluster. Those of the
    daemons start the daemon on a free port. close() ends all.
    """

    END = "=== end of a command ==="

    def __init__(self, folder, binaries, source):
        self.folder = folder
        for name in FOLDERS:
            shutil.copytree(os.path.join(source, name),
                            os.path.join(folder, name),
                            ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(os.path.join(source, "CMakePresets.json"), folder)
        for preset in "quickstart", "release":
            os.makedirs(os.path.join(folder, "build", preset))
            os.symlink(binaries, os.path.join(folder, "build", preset, "bin"))
        for name in "install-deps", "install-test-deps", "test":
            shutil.copy(os.path.join(HERE, "stand_ins/nothing"),
                        os.path.join(folder, "scripts", name))
        environment = dict(
            os.environ, TERM="xterm", COLUMNS="", DOC_TEST_FOLDER=folder,
            DOC_TEST_BINARIES=binaries, PATH=os.pathsep.join(
                [os.path.join(HERE, "stand_ins"), binaries,
                 os.environ["PATH"]]))
        for name in "COLUMNS", "NO_COLOR", "TANGRAM_COORDINATOR":
            environment.pop(name, None)
        self.bash = subprocess.Popen(
            ["bash"], cwd=folder, env=environment, text=True,
            start_new_session=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.bash.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def _text(self, name):
        try:
            with open(os.path.join(self.folder, name),
                      encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w",
                  encoding="utf-8") as file:
            file.write(text)

    def addressed(self, text):
        """The text with the address of the coordinator that runs, if one does."""
        return ADDRESS.sub(self._text(".coordinator") or "127.0.0.1:7070", text)

    def run(self, command, limit_s=None):
        """Returns what a command prints, and whether it succeeded."""
        command = self.addressed(filled(command))
        if limit_s:
            command = f"timeout -s INT {limit_s} {command}"
        self.write(".command", command)
        self.bash.stdin.write(f". '{self.folder}/.command' </dev/null; "
                              f"echo \"{self.END} $?\"\n")
        self.bash.stdin.flush()
        printed = ""
        while True:
            line = self.lines.get(timeout=600)
            if line is None:
                raise AssertionError(f"{command}ended the shell: {printed}")
            before, end, code = line.partition(self.END)
            printed += before
            if end:
                allowed = {0, ANSWERS.get(" ".join(command.split()[:2]), 0)}
                if limit_s:
                    allowed |= {124, 130}
                return printed, int(code) in allowed

    def close(self):
        for process_id in self._text(".daemons").split():
            os.kill(int(process_id), signal.SIGKILL)
        os.killpg(self.bash.pid, signal.SIGKILL)
        self.bash.wait()
        self.bash.stdin.close()
