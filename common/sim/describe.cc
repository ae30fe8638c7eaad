#include "common/sim/describe.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/cost/kernels.h"

namespace tangram {

std::string DescribeGpus(const Cluster& cluster, absl::Span<const GpuId> gpus) {
  std::vector<std::pair<std::string, int>> counts;
  for (const GpuId& gpu : gpus) {
    const std::string& type = cluster.nodes[gpu.node].device.type;
    auto it = std::find_if(counts.begin(), counts.end(),
                           [&](const auto& c) { return c.first == type; });
    if (it == counts.end()) it = counts.insert(counts.end(), {type, 0});
    ++it->second;
  }
  return absl::StrJoin(counts, " + ", [](std::string* out, const auto& count) {
    absl::StrAppend(out, count.second, " x ", count.first);
  });
}

std::vector<std::string> DescribeMissingUnits(
    const Cluster& cluster, Precision precision,
    absl::Span<const PlacedStage> stages) {
  std::vector<std::string> lines;
  for (const PlacedStage& stage : stages) {
    for (const GpuId& gpu : stage.gpus) {
      const DeviceSpec& device = cluster.nodes[gpu.node].device;
      const Precision units = MatmulUnits(device.peak_flops, precision);
      if (units == precision) continue;
      std::string line =
          absl::StrCat(device.type, " has no ", PrecisionName(precision),
                       " units: timed at its ", PrecisionName(units), " rate");
      if (!absl::c_linear_search(lines, line)) lines.push_back(std::move(line));
    }
  }
  return lines;
}

std::string DescribeTp(const StageParallelism& parallelism) {
  if (parallelism.tp_y_degree == 1) return absl::StrCat(parallelism.tp_degree);
  return absl::StrCat(parallelism.tp_x_degree(), "x", parallelism.tp_y_degree);
}

std::string DescribeZero(const StageParallelism& parallelism) {
  const int degree = parallelism.zero_degree;
  return absl::StrCat(parallelism.zero_stage,
                      degree > 0 ? absl::StrCat(" over ", degree) : "");
}

std::string DescribeParallelism(const StageParallelism& parallelism) {
  std::vector<std::string> degrees;
  const auto add = [&](const char* name, int degree) {
    if (degree > 1) degrees.push_back(absl::StrCat(name, " ", degree));
  };
  if (parallelism.tp_degree > 1) {
    degrees.push_back(absl::StrCat("tp ", DescribeTp(parallelism)));
  }
  add("cp", parallelism.cp_degree);
  add("dp", parallelism.dp_degree);
  add("ep", parallelism.ep_degree);
  return degrees.empty() ? "1 GPU" : absl::StrJoin(degrees, ", ");
}

std::string DescribeStageParallelism(const PlacedStage& stage) {
  if (stage.mixed.empty()) return DescribeParallelism(stage.plan.parallelism);
  return absl::StrJoin(stage.mixed.groups, " + ",
                       [](std::string* out, const ReplicaGroup& group) {
                         *out += DescribeParallelism(group.parallelism);
                       });
}

std::string DescribeOffload(const HostOffload& offload) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, double fraction) {
    if (fraction > 0) {
      parts.push_back(absl::StrFormat("%s %.4g %%", name, 100 * fraction));
    }
  };
  add("weights", offload.weights);
  add("gradients", offload.gradients);
  add("optimizer state", offload.optimizer);
  add("activations", offload.activations);
  return absl::StrJoin(parts, ", ");
}

std::vector<std::string> DescribeSwitches(const TrainingOptions& training) {
  std::vector<std::string> switches;
  const auto add = [&](bool is_on, const char* name) {
    if (is_on) switches.push_back(name);
  };
  add(!training.flash_attention, "no flash attention");
  add(!training.dropout, "no dropout");
  add(training.fp32_gradients, "fp32 gradients");
  add(training.overlap_grad_reduce, "overlapped reduction");
  add(training.blocking_transfers, "blocking transfers");
  add(training.gradient_copy, "16-bit gradients kept");
  add(training.bf16_moments, "16-bit moments");
  add(training.fused_loss, "fused loss");
  return switches;
}

std::string DeviceName(const PipelinePlan& plan, int device) {
  return absl::StrCat(plan.virtual_stages == 1 ? "stage " : "device ", device);
}

std::string Seconds(double seconds) {
  if (seconds >= 1) return absl::StrFormat("%.2f s", seconds);
  if (seconds >= 1e-3) return absl::StrFormat("%.1f ms", 1e3 * seconds);
  return absl::StrFormat("%.0f us", 1e6 * seconds);
}

std::string GigaBytes(double bytes) {
  return absl::StrFormat("%.2f GB", bytes / 1e9);
}

}  // namespace tangram
