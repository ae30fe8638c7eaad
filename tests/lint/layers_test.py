"""Who may include whom, and other rules that no compiler checks.

Usage: layers_test.py <repository root>
"""

import pathlib
import re
import sys

# Folder -> folders of ours that it may include, besides itself. A folder that
# is not listed is an error: decide where it belongs.
LAYERS = {
    "common/base": "",
    "common/domain": "common/base",
    "common/catalogue": "common/base common/domain",
    "common/cost": "common/base common/domain",
    "common/sim": "common/base common/domain common/cost",
    "common/parallelizer": "common/base common/domain common/cost",
    "common/planner": "common/base common/domain common/sim",
    "common/profile": "common/base common/domain common/cost",
    "common/config": "common/base common/domain common/catalogue"
                     " common/profile",
    "common/import_profile": "common/base common/domain common/catalogue"
                             " common/profile common/config",
    "common/import_cluster": "common/base common/domain common/config"
                             " common/import_profile",
    "common/validation": "common/base common/domain common/catalogue"
                         " common/cost common/sim common/config"
                         " common/profile",
    "common/frameworks": "common/base common/domain common/config",
    "common/obs": "common/base",
    "common/daemon": "common/base common/obs",
    "common/trace": "common/base",
    "common/security": "common/base common/wire",
    "common/diff": "common/base common/domain common/sim common/planner"
                   " common/config common/wire",
    "common/report": "common/base common/domain common/sim common/planner"
                     " common/config common/wire",
    "common/wire": "common/base common/domain common/sim common/parallelizer"
                   " common/planner common/trace tangram",
    "worker/adapters": "common/parallelizer"
                       " worker/adapters/aceso worker/adapters/alpa"
                       " worker/adapters/galvatron worker/adapters/hypertron"
                       " worker/adapters/mist worker/adapters/uniform",
    "worker/adapters/search": "common/base common/domain common/cost"
                              " common/parallelizer",
    "worker/adapters/aceso": "common/base common/domain common/cost"
                             " common/parallelizer worker/adapters/search",
    "worker/adapters/alpa": "common/base common/domain common/cost"
                            " common/parallelizer worker/adapters/search",
    "worker/adapters/galvatron": "common/base common/domain common/cost"
                                 " common/parallelizer worker/adapters/search",
    "worker/adapters/hypertron": "common/base common/domain common/cost"
                                 " common/parallelizer worker/adapters/search",
    "worker/adapters/mist": "common/base common/domain common/cost"
                            " common/parallelizer worker/adapters/search",
    "worker/adapters/uniform": "common/base common/domain common/cost"
                               " common/parallelizer worker/adapters/search",
    "worker/adapters/process": "common worker/adapters"
                               " worker/adapters/search tangram",
    "worker/service": "common worker/adapters tangram",
    "coordinator/islands": "common/base common/domain common/cost",
    "coordinator/enumeration": "common/base common/domain common/cost"
                               " common/parallelizer",
    "coordinator/composition": "common/base common/domain common/cost"
                               " common/sim common/parallelizer",
    "coordinator/planners/tangram":
        "common/base common/domain common/cost common/sim common/parallelizer"
        " common/planner coordinator/islands coordinator/enumeration"
        " coordinator/composition",
    "coordinator/planners/portfolio":
        "common/base common/domain common/frameworks common/parallelizer"
        " common/planner coordinator/planners/tangram",
    "coordinator/dispatch": "common/base common/domain common/parallelizer",
    "coordinator/tracing": "common/domain common/parallelizer common/planner"
                           " common/trace coordinator/dispatch",
    "coordinator/auth": "common/base common/obs common/security common/wire",
    "coordinator/http": "",
    "coordinator/store": "common/base common/obs common/parallelizer"
                         " common/wire coordinator/dispatch",
    "coordinator/jobs": "common/base coordinator/store",
    "coordinator/service": "common coordinator tangram",
    "cli": "common coordinator worker/adapters tangram",
}
# May wire anything to anything.
MAINS = {"coordinator/main.cc", "worker/main.cc"}

# No protobuf, gRPC, log, thread, clock, environment or file.
PURE = [folder for folder in LAYERS
        if folder not in ("common/config", "common/import_profile",
                          "common/obs", "common/wire", "common/security",
                          "coordinator/auth", "coordinator/http",
                          "worker/adapters/process", "worker/service",
                          "coordinator/dispatch", "coordinator/tracing",
                          "coordinator/store",
                          "coordinator/jobs",
                          "coordinator/service", "cli")]
IMPURE = re.compile(
    r"#include <(thread|mutex|shared_mutex|condition_variable|atomic|future|"
    r"stop_token|chrono|ctime|fstream|iostream|filesystem|csignal|unistd\.h|"
    r"sys/.*)>|#include \"absl/(time|synchronization|log)/|\bgetenv\b")

# What is included -> where from.
SERVICES = ("common/wire coordinator/service coordinator/store"
            " worker/service worker/adapters/process cli")
THIRD_PARTY = {
    r"\.pb\.h|google/protobuf/": SERVICES,
    r"grpc(pp)?/": SERVICES + " common/obs common/security coordinator/auth",
    r"openssl/": "common/security coordinator/auth",
    r"(spdlog|prometheus)/": "common/obs",
    r"yaml-cpp/": "common/config",
    r"nlohmann/": "cli common/config common/report common/trace common/frameworks common/import_cluster"
                  " coordinator/auth",
    r"pugixml": "common/import_cluster",
    r"civetweb": "coordinator/http",
    r"CLI/": "cli",
    r"coin/": "worker/adapters/alpa",
    r"(gtest|gmock|benchmark)/|tests/": "",
}

MAX_LINES = {"source": 600, "test": 1000}

INCLUDE = re.compile(r'#include ["<]([^">]+)[">]')


def is_in(path, folders):
    return any(path == f or path.startswith(f + "/") for f in folders)


def include_errors(folder, included):
    if re.match(r"(common|coordinator|worker|cli|tangram)/", included):
        target = included.rpartition("/")[0]
        allowed = LAYERS[folder].split()
        if target != folder and not is_in(target, allowed):
            yield f"{folder} may not include {target}"
    for pattern, users in THIRD_PARTY.items():
        if re.search(pattern if pattern.startswith(r"\.") else "^" + pattern,
                     included) and folder not in users.split():
            yield f"{folder} may not include {included}"


def source_errors(path, lines):
    folder = path.rpartition("/")[0]
    if folder not in LAYERS:
        yield 1, f"folder {folder} is not in the table of layers"
        return
    for number, line in lines:
        if folder in PURE and IMPURE.search(line):
            yield number, f"{folder} is pure"
        for included in INCLUDE.findall(line):
            for error in include_errors(folder, included):
                yield number, error


def file_errors(root, path):
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
        yield from source_errors(path, lines)
    if path.startswith("tests/unit/") and path.endswith("_test.cc"):
        twin = root / path[len("tests/unit/"):-len("_test.cc")]
        if not any(twin.with_suffix(s).exists() for s in (".h", ".cc")):
            yield 1, f"there is no source {twin.relative_to(root)}.h or .cc"


def main(root):
    paths = sorted(p for top in ("common", "coordinator", "worker", "cli",
                                 "tests") for p in (root / top).rglob("*.*"))
    paths = [str(p.relative_to(root)) for p in paths
             if p.suffix in (".h", ".cc")]
    errors = [f"{path}:{line}: {error}" for path in paths
              for line, error in file_errors(root, path)]
    print(*errors, sep="\n", end="\n" if errors else "")
    print(f"{len(paths)} files, {len(errors)} errors")
    return 1 if errors or not paths else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
