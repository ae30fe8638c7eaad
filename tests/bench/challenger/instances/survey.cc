#include "tests/bench/challenger/instances/survey.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_format.h"
#include "common/base/infinity.h"
#include "common/base/status_macros.h"
#include "tests/bench/challenger/instances/variations.h"

namespace tangram::bench {
namespace {

// A bound is computed in another order than the time that it bounds.
constexpr double kRounding = 1e-9;

}  // namespace

Survey::Survey(PlanInstanceFn plan, std::vector<std::string> checks,
               double tolerance)
    : plan_(std::move(plan)),
      checks_(std::move(checks)),
      tolerance_(tolerance) {}

absl::StatusOr<std::vector<Violation>> Survey::Check(const Instance& instance) {
  violations_.clear();
  // Instances that only bound checks look at.
  if (IsWanted(kBoundCheck)) {
    TANGRAM_ASSIGN_OR_RETURN(const Answer answer, plan_(instance));
    if (answer.iteration_time_s.has_value()) {
      const double loss = answer.lower_bound_s / *answer.iteration_time_s - 1;
      Count({kBoundCheck, "its own lower bound", instance, instance,
             loss > kRounding ? loss : 0});
    }
  }
  for (const Variation& variation : VariationsOf(instance)) {
    if (!IsWanted(variation.check)) continue;
    TANGRAM_RETURN_IF_ERROR(Compare(variation.check, variation.what,
                                    variation.less, variation.more));
  }
  return violations_;
}

absl::Status Survey::Compare(const std::string& check, const std::string& what,
                             const Instance& less, const Instance& more) {
  TANGRAM_ASSIGN_OR_RETURN(const Answer slow, plan_(less));
  TANGRAM_ASSIGN_OR_RETURN(const Answer fast, plan_(more));
  double loss = 0;
  if (slow.iteration_time_s.has_value()) {
    loss = fast.iteration_time_s.has_value()
               ? *fast.iteration_time_s / *slow.iteration_time_s - 1
               : kInfinity;
  }
  Count({check, what, less, more, loss > tolerance_ ? loss : 0});
  return absl::OkStatus();
}

bool Survey::IsWanted(const std::string& check) const {
  return checks_.empty() || absl::c_linear_search(checks_, check);
}

void Survey::Count(Violation found) {
  Tally& tally = tallies_[found.check];
  ++tally.num_checked;
  if (found.loss <= 0) return;
  ++tally.num_failed;
  tally.worst_loss = std::max(tally.worst_loss, found.loss);
  violations_.push_back(std::move(found));
}

std::string Describe(const std::map<std::string, Tally>& tallies) {
  std::string text = "check       checked  failed   worst\n";
  for (const auto& [check, tally] : tallies) {
    absl::StrAppendFormat(&text, "%-11s %7d %7d %6.1f %%\n", check,
                          tally.num_checked, tally.num_failed,
                          100 * tally.worst_loss);
  }
  return text;
}

}  // namespace tangram::bench
