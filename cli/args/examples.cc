#include "cli/args/examples.h"

#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/args/shared_options.h"

namespace tangram {
namespace {

struct Examples {
  absl::string_view command;
  absl::string_view lines;
};

constexpr Examples kExamples[] = {
    {"",
     R"(tangram plan --nodes p4d.24xlarge=2,p5.48xlarge=1 \
  --model llama3-8b --global-batch 128 -o plan.json
tangram export plan.json --to megatron -o launch
tangram help plan
)"},
    {"plan",
     R"(tangram plan --cluster c1.yaml --model gpt3-6.7b --global-batch 128 \
  -o plan.json
tangram plan --nodes p4d.24xlarge=4,p5.48xlarge=2 --model mixtral-8x7b \
  --global-batch 128 --tokens 300e9
tangram plan --cluster c1.yaml --model llama2-13b \
  --global-batch 64,128,256
tangram plan --cluster c1.yaml --model llama2-13b --global-batch 128 \
  --runtime megatron --exclude-node t4-3 --max-stages 8
tangram plan --cluster c1.yaml --model llama2-13b --global-batch 128 \
  --tp v100=2 --pin emb-11=v100
)"},
    {"compare",
     R"(tangram compare --cluster c1.yaml --model gpt3-6.7b --global-batch 128
tangram compare --cluster c1.yaml --model gpt3-6.7b --global-batch 128 \
  --planners tangram,sailor,metis --planner-option metis.mode=upstream \
  -o comparison
)"},
    {"frontier",
     R"(tangram frontier --cluster c1.yaml --nodes t4=0..4,v100=0..4:2 \
  --model gpt3-6.7b --global-batch 128
tangram frontier --cluster c1.yaml --model gpt3-6.7b --global-batch 128 \
  --prices t4=2.2,v100=12.2 --tokens 1e9 --deadline 48 --csv frontier.csv
tangram frontier --from frontier.json --prices catalogue.csv --spot \
  --failures v100=0.05 --checkpoint 60 --restart 300 --tokens 1e9
)"},
    {"move",
     R"(tangram move old.json new.json
tangram move old.json new.json --lost v100-1
)"},
    {"advise",
     R"(tangram advise frontier.json --base t4=2,v100=2 --prices t4=2.2,v100=12.2
tangram advise --plan plan.json
)"},
    {"islands",
     R"(tangram islands --cluster c1.yaml
tangram islands --nodes p4d.24xlarge=4,p5.48xlarge=2 --format json
)"},
    {"evaluate",
     R"(tangram evaluate plan.json
tangram evaluate plan.json --cluster faster-links.yaml -o what-if.json
)"},
    {"explain",
     R"(tangram explain plan.json
tangram explain plan.json --brief --tokens 300e9
tangram explain plan.json --against other.json
)"},
    {"diff",
     R"(tangram diff plan.json other.json
tangram diff plan.json flexpipe.json hostfile --from aceso
)"},
    {"report",
     R"(tangram report plan.json other.json -o report.html
)"},
    {"run",
     R"(tangram run plan.json --tiny --check
tangram run plan.json --tiny --measure --profile-folder profiles
)"},
    {"export",
     R"(tangram export plan.json --to megatron -o launch
)"},
    {"import cluster",
     R"(tangram import cluster nodes.txt -o cluster.yaml
scontrol show node | tangram import cluster - -o cluster.yaml
)"},
    {"import model",
     R"(tangram import model config.json -o model.yaml
)"},
    {"import profile",
     R"(tangram import profile --from nccl-tests all-reduce.txt \
  --device V100-16-SXM2 -o v100.json
)"},
    {"import plan",
     R"(tangram import plan --from aceso flexpipe.json hostfile \
  --like plan.json -o back.json
)"},
    {"profile show",
     R"(tangram profile show v100.json
)"},
    {"profile export",
     R"(tangram profile export --to metis --cluster c1.yaml --model gpt3-6.7b \
  --global-batch 128 -o metis-files
)"},
    {"validate",
     R"(tangram validate runs.csv --calibrate 8 -o constants.yaml
)"},
    {"models", "tangram models\n"},
    {"devices", "tangram devices\ntangram devices H100\n"},
    {"planners", "tangram planners\n"},
    {"parallelizers", "tangram parallelizers\n"},
    {"health", "tangram health --coordinator localhost:7070\n"},
    {"job list", "tangram job list --coordinator localhost:7070\n"},
    {"job show",
     R"(tangram job show --coordinator localhost:7070 nightly -o plan.json
)"},
    {"job watch", "tangram job watch --coordinator localhost:7070 nightly\n"},
    {"job trace",
     R"(tangram job trace --coordinator localhost:7070 nightly -o trace.json
)"},
    {"job cancel", "tangram job cancel --coordinator localhost:7070 nightly\n"},
    {"job wait", "tangram job wait --coordinator localhost:7070 nightly\n"},
    {"job retry", "tangram job retry --coordinator localhost:7070 nightly\n"},
    {"job update",
     "tangram job update --coordinator localhost:7070 nightly --priority 5\n"},
    {"job delete", "tangram job delete --coordinator localhost:7070 nightly\n"},
    {"worker list", "tangram worker list --coordinator localhost:7070\n"},
    {"worker release",
     "tangram worker release --coordinator localhost:7070 worker-3\n"},
    {"tenant usage",
     "tangram tenant usage team-a --coordinator localhost:7070\n"},
    {"tenant export",
     "tangram tenant export team-a --coordinator localhost:7070 -o "
     "jobs.jsonl\n"},
    {"tenant erase",
     "tangram tenant erase team-a --coordinator localhost:7070 --yes\n"},
    {"top", "tangram top --coordinator localhost:7070\n"},
    {"completion", "source <(tangram completion bash)\n"},
    {"version", "tangram version\n"},
};

void AddBelow(const std::string& command, CLI::App& app) {
  const absl::string_view examples = ExamplesOf(command);
  if (!examples.empty()) {
    app.footer(absl::StrCat(
        "\nExamples:\n  ",
        absl::StrReplaceAll(examples.substr(0, examples.size() - 1),
                            {{"\n", "\n  "}}),
        "\n", HelpFooter()));
  }
  for (CLI::App* subcommand :
       app.get_subcommands([](const CLI::App*) { return true; })) {
    AddBelow(command.empty()
                 ? subcommand->get_name()
                 : absl::StrCat(command, " ", subcommand->get_name()),
             *subcommand);
  }
}

}  // namespace

absl::string_view ExamplesOf(absl::string_view command) {
  for (const Examples& each : kExamples) {
    if (each.command == command) return each.lines;
  }
  return "";
}

void AddExamples(CLI::App& app) { AddBelow("", app); }

}  // namespace tangram
