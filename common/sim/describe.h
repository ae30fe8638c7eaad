#ifndef TANGRAM_COMMON_SIM_DESCRIBE_H_
#define TANGRAM_COMMON_SIM_DESCRIBE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/training_options.h"

namespace tangram {

// Smaller differences of fractions are left out. Predictions are off by several
// percent.
inline constexpr double kNegligible = 0.005;

// "16 x T4", "8 x V100 + 8 x T4"; device types in order of appearance.
std::string DescribeGpus(const Cluster& cluster, absl::Span<const GpuId> gpus);

// "8", or "4x2" (tp_x x tp_y) in two dimensions.
std::string DescribeTp(const StageParallelism& parallelism);

// The ZeRO stage: "1", or "1 over 8" with a zero_degree.
std::string DescribeZero(const StageParallelism& parallelism);

// "tp 2, dp 4"; degrees of one are left out. "1 GPU" if all degrees are one.
std::string DescribeParallelism(const StageParallelism& parallelism);

// As DescribeParallelism; the groups of a mixed stage are joined: "tp 2, dp 4 +
// 1 GPU".
std::string DescribeStageParallelism(const PlacedStage& stage);

// "weights 25 %, optimizer state 100 %"; empty if nothing is offloaded.
std::string DescribeOffload(const HostOffload& offload);

// Returns a line for each type of GPU in `stages` that has no units for the
// precision: "T4 has no bf16 units: timed at its fp32 rate".
std::vector<std::string> DescribeMissingUnits(
    const Cluster& cluster, Precision precision,
    absl::Span<const PlacedStage> stages);

// Returns the training options that differ from the usual ones: "no dropout",
// "fp32 gradients".
std::vector<std::string> DescribeSwitches(const TrainingOptions& training);

// "stage 2", or "device 2" if devices run several chunks.
std::string DeviceName(const PipelinePlan& plan, int device);

std::string Seconds(double seconds);  // "1.25 s", "12.5 ms", "125 us"
std::string GigaBytes(double bytes);  // "15.75 GB"; 10^9 bytes

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_DESCRIBE_H_
