#include "tests/parity/aceso_reference.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/parity/reference_data.h"

namespace tangram::aceso::reference {
namespace {

constexpr char kMeasuredSet[] = "eurosys";
// The settings of scripts/aceso_gpt_search.sh.
constexpr int kGlobalBatch = 1024;
constexpr double kMemoryLimitMb = 28000;

using Row = std::map<absl::string_view, absl::string_view>;

// Returns the rows of the measured set, by column.
std::vector<Row> ReadRows(absl::string_view text) {
  std::vector<absl::string_view> columns;
  std::vector<Row> rows;
  for (const absl::string_view line :
       absl::StrSplit(text, absl::ByAnyChar("\r\n"), absl::SkipEmpty())) {
    if (line[0] == '#') continue;
    const std::vector<absl::string_view> cells = absl::StrSplit(line, ',');
    if (columns.empty()) {
      columns = cells;
      continue;
    }
    Row row;
    for (size_t i = 0; i < cells.size(); ++i) row[columns[i]] = cells[i];
    if (row["set"] == kMeasuredSet) rows.push_back(std::move(row));
  }
  return rows;
}

double NumberAt(const Row& row, absl::string_view column) {
  double value = 0;
  if (!absl::SimpleAtod(row.at(column), &value)) std::abort();
  return value;
}

int IntAt(const Row& row, absl::string_view column) {
  return static_cast<int>(NumberAt(row, column));
}

}  // namespace

Setting ReadSetting(absl::string_view operators, absl::string_view links,
                    absl::string_view model, int num_layers,
                    int gpus_per_node) {
  Setting setting = {.num_layers = num_layers,
                     .gpus_per_node = gpus_per_node,
                     .global_batch = kGlobalBatch,
                     .memory_limit_mb = kMemoryLimitMb};
  for (const Row& row : ReadRows(operators)) {
    if (row.at("model") != model || row.at("algo") != "0") continue;
    OperatorTable& table =
        setting.operators[{IntAt(row, "mbs"), IntAt(row, "tp")}];
    table[IntAt(row, "op_index")] = {
        .forward_us = 1000 * NumberAt(row, "fwd_ms"),
        .backward_us = 1000 * NumberAt(row, "bwd_ms"),
        .input_mb = NumberAt(row, "input_mb"),
        .output_mb = NumberAt(row, "output_mb"),
        .weight_mb = NumberAt(row, "weight_mb"),
        .activation_mb = NumberAt(row, "activation_mb"),
        .forward_reserved_mb = NumberAt(row, "fwd_reserved_mb"),
        .backward_reserved_mb = NumberAt(row, "bwd_reserved_mb")};
  }
  for (const Row& row : ReadRows(links)) {
    auto& table = row.at("link") == "intra" ? setting.intra_node_mb_per_us
                                            : setting.inter_node_mb_per_us;
    table.push_back(0.001 * NumberAt(row, "GBps"));
  }
  return setting;
}

ScoredPlan ReadConfiguration(const nlohmann::json& config) {
  ScoredPlan plan = {.microbatch = config.at("micro_bs").get<int>()};
  for (const nlohmann::json& stage : config.at("stages")) {
    ScoredStage read = {.num_ops = stage.at("num_ops").get<int>(),
                        .tp = stage.at("tp_rle")[0][0].get<int>(),
                        .dp = stage.at("dp_rle")[0][0].get<int>()};
    for (const nlohmann::json& run : stage.at("recompute_rle")) {
      read.recomputed.insert(read.recomputed.end(), run[1].get<size_t>(),
                             run[0].get<int>() != 0);
    }
    plan.stages.push_back(std::move(read));
  }
  return plan;
}

double RecordedSearch::cpu_s() const {
  double sum = 0;
  for (const RecordedStageCount& count : stage_counts) sum += count.cpu_s;
  return sum;
}

const RecordedStageCount& RecordedSearch::fastest() const {
  return *std::min_element(stage_counts.begin(), stage_counts.end(),
                           [](const auto& a, const auto& b) {
                             return a.iteration_ms < b.iteration_ms;
                           });
}

std::vector<RecordedSearch> ReadSearches() {
  using ::tangram::testing::ReadReferenceData;
  using ::tangram::testing::ReadReferenceText;
  const auto cases = ReadReferenceData("aceso/reference/cases.json");
  const auto models = ReadReferenceData("aceso/models.json");
  const auto operators = ReadReferenceText(kOperatorsFile);
  const auto links = ReadReferenceText(kLinksFile);
  if (!cases || !models || !operators || !links) return {};
  std::vector<RecordedSearch> searches;
  for (const nlohmann::json& recorded : cases->at("cases")) {
    const auto name = recorded.at("model").get<std::string>();
    const nlohmann::json& model = models->at("models").at(name);
    const int gpus_per_node = recorded.at("gpus_per_node").get<int>();
    RecordedSearch search = {
        .setting =
            ReadSetting(*operators, *links, name,
                        recorded.at("num_layers").get<int>(), gpus_per_node),
        .width = {.hidden_size = model.at("hidden_size").get<int>(),
                  .num_heads = model.at("num_attention_heads").get<int>()},
        .num_gpus = gpus_per_node * recorded.at("num_nodes").get<int>()};
    search.name =
        absl::StrCat(name, ", ", search.num_gpus, " GPUs, ",
                     recorded.at("interpreter").get<std::string>(), " ",
                     recorded.at("budget_cpu_s").get<int>(), " s");
    for (const nlohmann::json& count : recorded.at("stage_counts")) {
      if (!count.contains("iteration_ms") || count["iteration_ms"].is_null()) {
        continue;
      }
      search.stage_counts.push_back(
          {.num_stages = count.at("num_stages").get<int>(),
           .iteration_ms = count.at("iteration_ms").get<double>(),
           .cpu_s = count.at("search_cpu_s").get<double>(),
           .cpu_s_to_best = count.at("cpu_s_to_best").get<double>()});
    }
    searches.push_back(std::move(search));
  }
  return searches;
}

std::map<int, ScoredPlan> AskOurs(const RecordedSearch& recorded) {
  std::set<int> stage_counts;
  for (const RecordedStageCount& count : recorded.stage_counts) {
    stage_counts.insert(count.num_stages);
  }
  return Question(recorded.setting, recorded.width, recorded.num_gpus)
      .Ask(stage_counts, kStepsPerSearch);
}

const ScoredPlan* FastestOf(const RecordedSearch& recorded,
                            const std::map<int, ScoredPlan>& plans) {
  const ScoredPlan* fastest = nullptr;
  double fastest_ms = std::numeric_limits<double>::infinity();
  for (const RecordedStageCount& count : recorded.stage_counts) {
    const auto plan = plans.find(count.num_stages);
    if (plan == plans.end()) continue;
    const double ms = ScoreOf(recorded.setting, plan->second).iteration_ms;
    if (ms >= fastest_ms) continue;
    fastest = &plan->second;
    fastest_ms = ms;
  }
  return fastest;
}

}  // namespace tangram::aceso::reference
