"""Tests what the image of deploy/Dockerfile will hold, without Docker.

Usage: image_test.py <repository root> <folder of the daemons>

The packages of the Dockerfile are looked up in the database of this system, so
cases skip where it is not Debian 12 with these packages.
"""

import functools
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT, BIN = map(pathlib.Path, sys.argv[1:3])
del sys.argv[1:3]
sys.path.append(str(ROOT / "tests/testing"))
import report_skips  # noqa: E402
PROGRAMS = ("tangram", "tangram-coordinator", "tangram-worker")
# Beyond Debian's base: packages, and programs before they are stripped.
MOST_MB = 220


def instructions(text):
    """Returns (instruction, arguments) in order, without comments."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n", " ", "\n".join(lines))
    return [tuple(line.split(maxsplit=1)) for line in joined.splitlines()
            if line.strip()]


def problems(text):
    """Returns what is wrong with a Dockerfile."""
    stages = []
    for name, rest in instructions(text):
        if name == "FROM":
            stages.append([])
        stages[-1].append((name, rest))
    every = [one for stage in stages for one in stage]
    last = stages[-1]
    own = {"scratch"} | {name for stage in stages for name in stage[0][1].split()[2:]}
    for name, rest in every:
        if (name == "FROM" and rest.split()[0] not in own
                and not re.search(r"\S+:(?!latest)\S+", rest)):
            yield f"FROM {rest}: no version"
        if name == "ADD":
            yield f"ADD {rest}: expected COPY"
        if name in ("ENV", "ARG") and re.search(
                r"(?i)token|secret|password|key", rest):
            yield f"{name} {rest}: a secret stays in the image"
        if name == "RUN" and "apt-get install" in rest and not (
                "--no-install-recommends" in rest
                and "rm -rf /var/lib/apt/lists" in rest):
            yield f"RUN {rest[:40]}...: what apt fetched stays in the image"
        if name in ("CMD", "ENTRYPOINT") and not rest.startswith("["):
            yield f"{name} {rest}: a shell gets the signals"
    users = [rest for name, rest in last if name == "USER"]
    if not users or not re.fullmatch(r"[1-9]\d*(:[1-9]\d*)?", users[-1]):
        yield f"USER {users[-1:]}: expected a number that is not root's"
    if any(name == "COPY" and rest.split()[0] in (".", "./")
           for name, rest in last):
        yield "COPY: sources reach the image"


class DockerfileTest(unittest.TestCase):
    TEXT = (ROOT / "deploy/Dockerfile").read_text()

    def test_it_obeys_the_rules(self):
        self.assertEqual(list(problems(self.TEXT)), [])

    def test_each_rule_finds_what_it_is_for(self):
        for old, new, found in (
                ("bookworm-slim", "latest", "no version"),
                ("USER 65532:65532", "USER root", "root's"),
                ("USER 65532:65532", "USER 0:0", "root's"),
                ("USER 65532:65532", "", "root's"),
                ("COPY --from=build", "ADD --from=build", "expected COPY"),
                ("COPY --from=build /src/build/release/bin/", "COPY .",
                 "sources reach"),
                ("rm -rf /var/lib/apt/lists/*", "true", "apt fetched"),
                ("--no-install-recommends", "", "apt fetched"),
                ("ENV STATE", "ENV TOKEN=x STATE", "a secret"),
                ('CMD ["tangram-coordinator"', 'CMD tangram-coordinator "',
                 "signals")):
            self.assertIn(old, self.TEXT)
            self.assertIn(found, " ".join(problems(
                self.TEXT.replace(old, new))), new)

    def test_the_user_is_that_of_the_manifests(self):
        user = re.search(r"^USER (\d+):(\d+)$", self.TEXT, re.M)
        for text in (ROOT / "deploy/kubernetes").glob("*.yaml"):
            for field, group in ("runAsUser", 1), ("fsGroup", 2):
                for value in re.findall(rf"{field}: (\d+)", text.read_text()):
                    self.assertEqual(value, user[group], text.name)


@functools.cache
def packages():
    """The installed packages of this system, by name."""
    text = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package}|${Essential}|${Priority}|"
         "${Installed-Size}|${Pre-Depends},${Depends}\n"],
        capture_output=True, text=True, check=True).stdout
    found = {}
    for line in text.splitlines():
        name, essential, priority, size_kb, depends = line.split("|", 4)
        found[name] = {
            "is_base": essential == "yes" or priority == "required",
            "mb": int(size_kb or 0) / 1024,
            "depends": [re.split(r"[ (|:]", part.strip())[0]
                        for part in depends.split(",") if part.strip()]}
    return found


def package(name):
    return packages().get(name)


def closure(names):
    """The packages and those that they need, but for Debian's base."""
    found, todo = {}, list(names)
    while todo:
        name = todo.pop()
        if name in found:
            continue
        fields = package(name)
        if fields is None or fields["is_base"]:
            continue
        found[name] = fields["mb"]
        todo += fields["depends"]
    return found


def why_not():
    if not shutil.which("dpkg-query") or not shutil.which("ldd"):
        return "no dpkg or no ldd"
    if not all((BIN / name).exists() for name in PROGRAMS):
        return "the programs are not built"
    missing = [name for name in installed_in_image() if package(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else None


def installed_in_image():
    last = DockerfileTest.TEXT.rsplit("\nFROM ", 1)[1]
    install = re.search(r"--no-install-recommends(.*?)&&",
                        last.replace("\\\n", " "), re.S)[1]
    return install.split()


@unittest.skipIf(why_not(), why_not())
class ContentTest(unittest.TestCase):
    def test_programs_find_their_libraries(self):
        """Every library that a program loads is in a package of the image."""
        paths = set()
        for program in PROGRAMS:
            text = subprocess.run(["ldd", BIN / program], check=True,
                                  capture_output=True, text=True).stdout
            self.assertNotIn("not found", text)
            paths |= {str(pathlib.Path(path).resolve())
                      for path in re.findall(r"=> (/\S+)", text)}
        # dpkg knows some by /lib and others by /usr/lib, which are one folder.
        asked = paths | {path.removeprefix("/usr") for path in paths}
        told = subprocess.run(["dpkg", "-S", *sorted(asked)],
                              capture_output=True, text=True).stdout
        owners = {"/usr" + path.removeprefix("/usr"): name
                  for name, path in re.findall(r"^([^:]+):.*? (/\S+)$", told,
                                               re.M)}
        self.assertEqual(paths - set(owners), set())
        there = {*closure(installed_in_image())}
        lacking = {name for name in owners.values() if name not in there
                   and not package(name)["is_base"]}
        # Debian's base has these too.
        self.assertEqual(lacking - {"libc6", "libgcc-s1", "libstdc++6"}, set())

    def test_its_size_is_bounded(self):
        packages = sum(closure(installed_in_image()).values())
        programs = sum((BIN / name).stat().st_size
                       for name in PROGRAMS) / 2**20
        print(f"packages {packages:.0f} MB, programs {programs:.0f} MB")
        self.assertLess(packages + programs, MOST_MB)


if __name__ == "__main__":
    report_skips.main()
