#ifndef TANGRAM_CLI_DIFF_REQUEST_DIFF_H_
#define TANGRAM_CLI_DIFF_REQUEST_DIFF_H_

#include <vector>

#include "cli/diff/difference.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/training_options.h"

// Compares the requests that two plans answer. Names of models and clusters are
// for people and do not count as differences.
namespace tangram {

std::vector<Difference> DiffModels(const ModelSpec& a, const ModelSpec& b);

// Matches groups of nodes by name. Compares the fields of devices and links
// that costs depend on.
std::vector<Difference> DiffClusters(const Cluster& a, const Cluster& b);

std::vector<Difference> DiffTraining(const TrainingOptions& a,
                                     const TrainingOptions& b);

}  // namespace tangram

#endif  // TANGRAM_CLI_DIFF_REQUEST_DIFF_H_
