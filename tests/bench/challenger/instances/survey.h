#ifndef TANGRAM_TESTS_BENCH_CHALLENGER_INSTANCES_SURVEY_H_
#define TANGRAM_TESTS_BENCH_CHALLENGER_INSTANCES_SURVEY_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/bench/challenger/instances/instance.h"

namespace tangram::bench {

// The result of planning an instance, in seconds.
struct Answer {
  std::optional<double> iteration_time_s;  // Empty: no plan fits.
  double lower_bound_s = 0;                // 0: none.
};

using PlanInstanceFn = std::function<absl::StatusOr<Answer>(const Instance&)>;

// A check that failed.
struct Violation {
  std::string check;
  std::string what;
  Instance less;  // The instance of the faster plan.
  Instance more;
  // The fraction that the plan of `more` takes longer; infinite if there is
  // none.
  double loss = 0;
};

// How often a check was made and failed.
struct Tally {
  int num_checked = 0;
  int num_failed = 0;
  double worst_loss = 0;
};

// Plans instances and their variations, and checks the answers against each
// other. A loss of at most `tolerance` is none.
class Survey {
 public:
  Survey(PlanInstanceFn plan, std::vector<std::string> checks,
         double tolerance);

  // Returns the checks that failed. Errors: those of planning.
  absl::StatusOr<std::vector<Violation>> Check(const Instance& instance);

  // By the names of the checks.
  const std::map<std::string, Tally>& tallies() const { return tallies_; }

 private:
  absl::Status Compare(const std::string& check, const std::string& what,
                       const Instance& less, const Instance& more);
  bool IsWanted(const std::string& check) const;
  void Count(Violation found);

  const PlanInstanceFn plan_;
  const std::vector<std::string> checks_;
  const double tolerance_;
  std::map<std::string, Tally> tallies_;
  std::vector<Violation> violations_;  // Found in the last instance.
};

// Returns a line for each check.
std::string Describe(const std::map<std::string, Tally>& tallies);

}  // namespace tangram::bench

#endif  // TANGRAM_TESTS_BENCH_CHALLENGER_INSTANCES_SURVEY_H_
