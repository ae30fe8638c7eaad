#ifndef TANGRAM_FORMATS_IMPORT_PROFILE_ACESO_COLLECTIVES_H_
#define TANGRAM_FORMATS_IMPORT_PROFILE_ACESO_COLLECTIVES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "formats/import_profile/aceso_rows.h"
#include "formats/import_profile/import_profile.h"

// Separates collectives from Aceso's operator times; for
// formats/import_profile only.
namespace tangram {

// The pass of an operator split by tp that ends in an all-reduce of its tokens.
enum class ReducedPass { kNone, kForward, kBackward };

// The times of an operator without its all-reduce.
struct SplitTimes {
  double forward_s = 0;  // Compute only.
  double backward_s = 0;
  double all_reduce_s = 0;  // 0: the operator has none.
};

// Estimates the compute of the reduced pass from the other pass and
// `backward_per_forward`, the ratio of both passes without collectives.
SplitTimes SplitAllReduce(const AcesoOperator& op, ReducedPass pass,
                          double backward_per_forward);

// Ratio of backward to forward time of operators at tp 1: the median over the
// batches.
class BackwardRatios {
 public:
  explicit BackwardRatios(const std::vector<AcesoOperator>& operators);
  // Returns `otherwise` for an operator without a measurement at tp 1.
  double Of(const AcesoOperator& op, double otherwise) const;

 private:
  std::map<std::pair<std::string, std::string>, double> ratios_;
};

// Collects all-reduces that were separated from operators.
class AllReduceSamples {
 public:
  void Add(int ranks, double bytes, double seconds);
  // Adds the median time of each size as a point. Leaves numbers of ranks alone
  // for which the profile has a table already. Returns whether it added a
  // point.
  bool AddTo(Profile& profile) const;

 private:
  std::map<std::pair<int, double>, std::vector<double>> seconds_;
};

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_PROFILE_ACESO_COLLECTIVES_H_
