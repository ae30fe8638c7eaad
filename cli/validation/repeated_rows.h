#ifndef TANGRAM_CLI_VALIDATION_REPEATED_ROWS_H_
#define TANGRAM_CLI_VALIDATION_REPEATED_ROWS_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "cli/validation/measured_run.h"

namespace tangram {

// Finds rows that say nothing new: the same measurement of the same run. Two
// measurements of one plan are two rows.
class RepeatedRows {
 public:
  // Returns the earlier row that says the same but for its id; null if there is
  // none. Then later rows are compared with this one. Keeps a reference.
  const MeasuredRun* FindOrAdd(const MeasuredRun& run);

 private:
  absl::flat_hash_map<std::string, const MeasuredRun*> rows_;
};

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_REPEATED_ROWS_H_
