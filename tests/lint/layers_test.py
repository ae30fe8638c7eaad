"""Checks which folder includes which, and other rules that no compiler checks.

Usage: layers_test.py <repository root>
"""

import pathlib
import re
import sys

# The document whose table lists the folders and their includes.
TABLE = "docs/architecture.md"
ROW = re.compile(r"\| `([\w/]+)` \| [^|]+ \|( yes)? \|([^|]*)\|$", re.M)

# May include anything.
MAINS = {"coordinator/main.cc", "worker/main.cc"}

IMPURE = re.compile(
    r"#include <(thread|mutex|shared_mutex|condition_variable|atomic|future|"
    r"stop_token|chrono|ctime|fstream|iostream|filesystem|csignal|unistd\.h|"
    r"sys/.*)>|#include \"absl/(time|synchronization|log)/|\bgetenv\b")

# From an include to the folders that may use it.
SERVICES = ("common/wire coordinator/planning coordinator/rpc coordinator/store"
            " coordinator/web coordinator/rest coordinator worker/service"
            " worker/adapters/process cli/commands cli/print cli/remote")
THIRD_PARTY = {
    r"\.pb\.h|google/protobuf/(?!stubs/logging)": SERVICES,
    r"google/protobuf/stubs/logging": "common/obs",
    r"grpc(pp)?/": SERVICES + " common/obs common/security coordinator/auth",
    r"curl/": "coordinator/webhooks",
    r"openssl/": "common/digest common/security coordinator/auth",
    r"spdlog/": "common/obs",
    r"prometheus/": "common/metrics",
    r"yaml-cpp/": "formats/config",
    r"nlohmann/": "cli cli/commands cli/files cli/print formats/config web/view"
                  " formats/export_profile"
                  " common/trace frameworks formats/import_cluster"
                  " coordinator/auth coordinator/rest",
    r"pugixml": "formats/import_cluster",
    r"microhttpd": "common/http",
    r"(sqlite3|libpq-fe)\.h": "coordinator/store",
    r"CLI/": "cli/args",
    r"coin/": "worker/adapters/alpa",
    r"metis\.h": "coordinator/planners/rivals/hexiscale",
    r"(gtest|gmock|benchmark)/|tests/": "",
}

MAX_LINES = {"source": 600, "test": 1000}

INCLUDE = re.compile(r'#include ["<]([^">]+)[">]')
TOPS = ("common", "formats", "frameworks", "coordinator", "worker", "cli", "web")
OURS = re.compile(rf"({'|'.join(TOPS)}|tangram)/")


def is_in(path, folders):
    return any(path == f or path.startswith(f + "/") for f in folders)


class Layers:
    """The table of folders, and the folders that each one reaches."""

    def __init__(self, root):
        rows = ROW.findall((root / TABLE).read_text(encoding="utf-8"))
        self.below = {folder: re.findall(r"`([^`]+)`", below)
                      for folder, _, below in rows}
        self.pure = {folder for folder, pure, _ in rows if pure}

    def include_errors(self, folder, included):
        if OURS.match(included):
            target = included.rpartition("/")[0]
            if target != folder and not is_in(target, self.below[folder]):
                yield f"{folder} may not include {target}"
        for pattern, users in THIRD_PARTY.items():
            if re.search(pattern if pattern.startswith(r"\.") else
                         "^" + pattern, included) and (
                             folder not in users.split()):
                yield f"{folder} may not include {included}"

    def source_errors(self, path, lines):
        folder = path.rpartition("/")[0]
        if folder not in self.below:
            yield 1, f"folder {folder} is not in the table of {TABLE}"
            return
        for number, line in lines:
            if folder in self.pure and IMPURE.search(line):
                yield number, f"{folder} is pure"
            for included in INCLUDE.findall(line):
                for error in self.include_errors(folder, included):
                    yield number, error

    def table_errors(self, root):
        for folder in self.below:
            if not list((root / folder).glob("*.h")):
                yield f"{TABLE}: there are no headers in {folder}"


def chain_errors(root, layers):
    """Yields pure folders that reach an impure one, with the chain of
    includes."""
    includes = {}

    def included_by(path):
        if path not in includes:
            file = root / path
            includes[path] = [
                i for i in INCLUDE.findall(file.read_text(encoding="utf-8"))
                if OURS.match(i)] if file.exists() else []
        return includes[path]

    for folder in sorted(layers.pure):
        chains = {str(p.relative_to(root)): None
                  for p in (root / folder).glob("*.*")
                  if p.suffix in (".h", ".cc")}
        queue = list(chains)
        for path in queue:
            for included in included_by(path):
                if included in chains:
                    continue
                chains[included] = path
                queue.append(included)
                target = included.rpartition("/")[0]
                if target in layers.pure:
                    continue
                chain = [included]
                while chains[chain[-1]]:
                    chain.append(chains[chain[-1]])
                yield f"{folder} is pure but reaches " + " <- ".join(chain)


def file_errors(root, layers, path):
    text = (root / path).read_text(encoding="utf-8").splitlines()
    lines = [(n, line.split("//")[0]) for n, line in enumerate(text, 1)]
    is_test = path.startswith("tests/")
    limit = MAX_LINES["test" if is_test else "source"]
    if len(text) > limit:
        yield limit, f"{len(text)} lines; at most {limit}"
    for number, line in lines:
        if "std::string_view" in line or "#include <string_view>" in line:
            yield number, "std::string_view; use absl::string_view"
    if not is_test and path not in MAINS:
        yield from layers.source_errors(path, lines)
    if path.startswith("tests/unit/") and path.endswith("_test.cc"):
        twin = root / path[len("tests/unit/"):-len("_test.cc")]
        if not any(twin.with_suffix(s).exists() for s in (".h", ".cc")):
            yield 1, f"there is no source {twin.relative_to(root)}.h or .cc"


def main(root):
    layers = Layers(root)
    paths = sorted(p for top in TOPS + ("tests",)
                   for p in (root / top).rglob("*.*"))
    paths = [str(p.relative_to(root)) for p in paths
             if p.suffix in (".h", ".cc")]
    errors = [f"{path}:{line}: {error}" for path in paths
              for line, error in file_errors(root, layers, path)]
    errors += layers.table_errors(root)
    errors += chain_errors(root, layers)
    print(*errors, sep="\n", end="\n" if errors else "")
    print(f"{len(paths)} files, {len(layers.below)} folders, "
          f"{len(errors)} errors")
    return 1 if errors or not paths or not layers.below else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
