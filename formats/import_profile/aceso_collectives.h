#ifndef TANGRAM_FORMATS_IMPORT_PROFILE_ACESO_COLLECTIVES_H_
#define TANGRAM_FORMATS_IMPORT_PROFILE_ACESO_COLLECTIVES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "formats/import_profile/aceso_rows.h"
#include "formats/import_profile/import_profile.h"

// What of Aceso's operator times is collectives; inside formats/import_profile
// only.
namespace tangram {

// Which pass of an operator that tp splits ends in an all-reduce of its tokens.
enum class ReducedPass { kNone, kForward, kBackward };

struct SplitTimes {
  double forward_s = 0;  // Compute alone.
  double backward_s = 0;
  double all_reduce_s = 0;
};

// The compute of the reduced pass is told by the other pass and how much longer
// backward takes than forward where there are no collectives.
SplitTimes SplitAllReduce(const AcesoOperator& op, ReducedPass pass,
                          double backward_per_forward);

// Backward over forward time of operators at tp 1, the median over the batches.
class BackwardRatios {
 public:
  explicit BackwardRatios(const std::vector<AcesoOperator>& operators);
  // Of an operator that never ran at tp 1: `otherwise`.
  double Of(const AcesoOperator& op, double otherwise) const;

 private:
  std::map<std::pair<std::string, std::string>, double> ratios_;
};

// All-reduces taken out of operators, to become tables.
class AllReduceSamples {
 public:
  void Add(int ranks, double bytes, double seconds);
  // For each size the median. Numbers of ranks that the profile has a table of
  // already are left alone. Returns whether any point was added.
  bool AddTo(Profile& profile) const;

 private:
  std::map<std::pair<int, double>, std::vector<double>> seconds_;
};

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_PROFILE_ACESO_COLLECTIVES_H_
