// Times our searches on the rules of Metis, AMP, Sailor and FlashFlex, on the
// problems that compare_planners also gives to the original programs. Prints
// one line: CPU seconds, the predicted time of an iteration in seconds, and the
// plan.
//
// Usage: rivals_bench metis <folder of `tangram profile export`> <model shape>
//        rivals_bench amp <file of profiles and rates> <example>
//        rivals_bench sailor <model> <cluster>
//        rivals_bench sailor-export <cluster file> <nodes> <model> <batch>
//        rivals_bench flashflex <recorded run>
// <model shape>: {"batch", "tokens", "hidden", "vocabulary", "max_tp"} as JSON.
// Recorded runs are those of the folder that TANGRAM_REFERENCE_DATA names.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "coordinator/planners/rivals/amp/amp_search.h"
#include "coordinator/planners/rivals/hexiscale/hexiscale_search.h"
#include "coordinator/planners/rivals/metis/metis_input.h"
#include "coordinator/planners/rivals/profiles/layer_profiles.h"
#include "coordinator/planners/rivals/sailor/sailor_request.h"
#include "coordinator/planners/rivals/sailor/sailor_search.h"
#include "formats/catalogue/models.h"
#include "formats/config/cluster_file.h"
#include "formats/config/limit_nodes.h"
#include "nlohmann/json.hpp"
#include "tests/parity/amp_examples.h"
#include "tests/parity/hexiscale_runs.h"
#include "tests/parity/sailor_runs.h"

namespace tangram {
namespace {

using ::nlohmann::json;
using Arguments = std::vector<std::string>;

struct Answer {
  double iteration_s = std::numeric_limits<double>::infinity();
  std::string plan = "none";
};

json ReadJson(const std::string& file) {
  std::ifstream in(file);
  return json::parse(in);
}

bool Never() { return false; }

// Prints the answer with the least CPU time of a few searches.
void Report(absl::FunctionRef<Answer()> search) {
  double least_s = std::numeric_limits<double>::infinity();
  Answer answer;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t start = std::clock();
    answer = search();
    least_s = std::min(
        least_s, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  std::printf("%.9f %.12g %s\n", least_s, answer.iteration_s,
              answer.plan.c_str());
}

// Reads the files that the original reads, in the order of its host file.
class MetisFiles {
 public:
  MetisFiles(std::string folder, const json& shape)
      : folder_(std::move(folder)) {
    AddHosts();
    AddProfiles();
    const double tokens = shape.at("tokens");
    input_.output_bytes.assign(input_.num_layers(),
                               tokens * shape.at("hidden").get<double>());
    input_.output_bytes.back() = tokens * shape.at("vocabulary").get<double>();
  }

  const MetisInput& input() const { return input_; }
  const Arguments& types() const { return types_; }

 private:
  void AddHosts() {
    const json hosts = ReadJson(folder_ + "/clusterfile.json");
    std::ifstream file(folder_ + "/hostfile");
    std::string name, slots;
    while (file >> name >> slots) {
      const json& host = hosts.at(name);
      const std::string type = host.at("instance_type");
      const auto known = std::find(types_.begin(), types_.end(), type);
      const int index = static_cast<int>(known - types_.begin());
      if (known == types_.end()) types_.push_back(type);
      input_.hosts.push_back(
          {.type = index,
           .num_gpus = std::stoi(slots.substr(slots.find('=') + 1)),
           .memory_mb = host.at("memory").get<double>() * 1024,
           .intra_bandwidth = host.at("intra_bandwidth"),
           .inter_bandwidth = host.at("inter_bandwidth")});
    }
    input_.num_types = static_cast<int>(types_.size());
  }

  void AddProfiles() {
    Arguments names;
    for (const auto& entry :
         std::filesystem::directory_iterator(folder_ + "/profiles")) {
      names.push_back(entry.path().stem());
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      const json file =
          ReadJson(absl::StrCat(folder_, "/profiles/", name, ".json"));
      const json& times = file.at("execution_time");
      if (name == names.front()) {
        input_.optimizer_ms = times.at("optimizer_time_ms");
        input_.batch_generator_ms = times.at("batch_generator_time_ms");
        file.at("model")
            .at("parameters")
            .at("parameters_per_layer_bytes")
            .get_to(input_.parameter_bytes);
      }
      AddProfile(name, times, file.at("execution_memory"));
    }
  }

  // `name`: "DeviceType.T4_tp1_bs2".
  void AddProfile(const std::string& name, const json& times,
                  const json& memory) {
    char type[32];
    MetisKey key;
    std::sscanf(name.c_str(), "DeviceType.%31[^_]_tp%d_bs%d", type, &key.tp,
                &key.samples);
    key.type = static_cast<int>(std::find(types_.begin(), types_.end(), type) -
                                types_.begin());
    MetisProfile& profile = input_.profiles[key];
    times.at("layer_compute_total_ms").get_to(profile.layer_ms);
    memory.at("layer_memory_total_mb").get_to(profile.state_mb);
    profile.activation_mb.assign(profile.layer_ms.size(), 0);
    profile.sync_ms =
        times.at("forward_backward_time_ms").get<double>() -
        std::accumulate(profile.layer_ms.begin(), profile.layer_ms.end(), 0.0);
  }

  const std::string folder_;
  Arguments types_;
  MetisInput input_;
};

// "T4,V100 [8, 8] [(8, 1), (4, 2)] 16 [0, 8, 26]": types, GPUs and degrees of
// stages, microbatches, bounds.
std::string Describe(const MetisPlan& plan, const Arguments& types) {
  Arguments order, gpus, degrees, bounds = {"0"};
  for (const int type : plan.types) order.push_back(types[type]);
  for (const MetisStage& stage : plan.stages) {
    gpus.push_back(absl::StrCat(stage.num_gpus));
    degrees.push_back(absl::StrCat("(", stage.dp, ", ", stage.tp, ")"));
    bounds.push_back(absl::StrCat(stage.end_layer));
  }
  return absl::StrCat(absl::StrJoin(order, ","), " [",
                      absl::StrJoin(gpus, ", "), "] [",
                      absl::StrJoin(degrees, ", "), "] ", plan.batches, " [",
                      absl::StrJoin(bounds, ", "), "]");
}

void Metis(const Arguments& args) {
  const json shape = json::parse(args.at(1));
  const MetisFiles files(args.at(0), shape);
  const MetisSettings settings{.global_batch = shape.at("batch"),
                               .max_tp = shape.at("max_tp"),
                               .max_samples = 8,
                               .defects = MetisDefects::AllOfUpstream()};
  Report([&] {
    const MetisRanking ranking = RankMetisPlans(files.input(), settings);
    if (ranking.plans.empty()) return Answer();
    const MetisPlan& best = ranking.plans.front();
    return Answer{best.cost_ms / 1e3, Describe(best, files.types())};
  });
}

void Amp(const Arguments& args) {
  const json file = ReadJson(args.at(0));
  const std::vector<testing::AmpExample> examples = testing::AmpExamples();
  const auto example = std::find_if(
      examples.begin(), examples.end(),
      [&](const testing::AmpExample& one) { return one.name == args.at(1); });
  if (example == examples.end()) std::exit(2);
  const AmpInput input =
      testing::AmpExampleInput(file, *example, file.at("inter_bps"),
                               file.at("intra_bps"), file.at("batch"));
  Report([&] {
    const AmpAnswer found = SearchAmp(input, AmpDefects::Upstream(), nullptr);
    const AmpPlan& best = found.plans.front();
    const std::vector<int> bounds =
        testing::AmpOriginalBounds(best.bounds, example->model == "gpt2");
    return Answer{
        best.predicted_s,
        absl::StrCat("tp ", best.tp_degree, " dp ", best.dp_degree, " samples ",
                     best.samples, " [", absl::StrJoin(bounds, ", "), "]")};
  });
}

void ReportSailor(const sailor::Input& input) {
  sailor::Settings settings;
  settings.rules = sailor::RulesOf(sailor::Mode::kUpstream);
  Report([&] {
    const auto found = sailor::Search(input, settings, Never);
    if (!found.ok() || found->plans.empty()) return Answer();
    const sailor::Plan& best = found->plans.front();
    return Answer{best.iteration_s, sailor::Describe(best, input)};
  });
}

void Sailor(const Arguments& args) {
  for (const sailor::ReferenceRun& run : sailor::ReadReferenceRuns()) {
    if (run.model != args.at(0) || run.cluster != args.at(1)) continue;
    return ReportSailor(sailor::InputOf(run));
  }
  std::printf("skipped: %s\n", testing::kNoReferenceData);
}

void SailorExport(const Arguments& args) {
  Cluster cluster = LoadClusterFile(args.at(0)).value();
  const auto counts = ParseNodeCounts(args.at(1)).value();
  if (!LimitNodes(counts, cluster).ok()) std::exit(2);
  const int batch = std::stoi(args.at(3));
  const LayerProfiles profiles = ProfileLayers(
      *BuiltinModel(args.at(2)), cluster,
      {.global_batch_size = batch, .sequence_length = 2048}, ProfileRange());
  sailor::TypedNodes nodes;
  sailor::Input input =
      sailor::InputOf(cluster, profiles, batch, sailor::Mode::kUpstream, nodes);
  // Its files hold none.
  for (auto& [ends, path] : input.paths) path.latency_s = 0;
  ReportSailor(input);
}

std::string Describe(const HexiscalePlan& plan) {
  Arguments pipelines;
  for (const HexiscalePipeline& pipeline : plan.pipelines) {
    Arguments degrees, layers;
    for (const HexiscaleStage& stage : pipeline.stages) {
      degrees.push_back(absl::StrCat(stage.tp_degree()));
      layers.push_back(absl::StrCat(stage.num_layers));
    }
    pipelines.push_back(absl::StrCat("[", absl::StrJoin(degrees, ", "), "] [",
                                     absl::StrJoin(layers, ", "), "]"));
  }
  return absl::StrJoin(pipelines, " | ");
}

void FlashFlex(const Arguments& args) {
  const auto run = testing::ReadReleasedRun(args.at(0));
  if (!run) {
    std::printf("skipped: %s\n", testing::kNoReferenceData);
    return;
  }
  Report([&] {
    const HexiscalePlans found = SearchHexiscale({&run->input, 1}, Never);
    if (found.plans.empty()) return Answer();
    const HexiscalePlan& best = found.plans.front();
    return Answer{best.iteration_s, Describe(best)};
  });
}

int Main(absl::string_view planner, const Arguments& args) {
  struct Bench {
    absl::string_view name;
    size_t num_args;
    void (*run)(const Arguments&);
  };
  constexpr Bench kBenches[] = {{"metis", 2, Metis},
                                {"amp", 2, Amp},
                                {"sailor", 2, Sailor},
                                {"sailor-export", 4, SailorExport},
                                {"flashflex", 1, FlashFlex}};
  for (const Bench& bench : kBenches) {
    if (bench.name != planner || bench.num_args != args.size()) continue;
    bench.run(args);
    return 0;
  }
  std::fprintf(stderr, "see tests/bench/compare_planners\n");
  return 2;
}

}  // namespace
}  // namespace tangram

int main(int argc, char** argv) {
  return tangram::Main(argc < 2 ? "" : argv[1],
                       {argv + std::min(argc, 2), argv + argc});
}
