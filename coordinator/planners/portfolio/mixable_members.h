#ifndef TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_MIXABLE_MEMBERS_H_
#define TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_MIXABLE_MEMBERS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/domain/model_slice.h"
#include "coordinator/planners/portfolio/portfolio_planner.h"

namespace tangram {

// The members that cut the model into the same atoms as the first of them. One
// pipeline may hold slice plans of any of these.
class MixableMembers {
 public:
  void Add(const PortfolioMember& member, std::vector<ModelSlice> atoms) {
    if (members_.empty()) {
      atoms_ = std::move(atoms);
    } else if (atoms != atoms_) {
      left_out_.push_back(absl::StrCat(
          "parallelizer ", member.parallelizer,
          " is left out, because it cuts the model into other atoms than ",
          members_.front().parallelizer, ": --parallelizer ",
          member.parallelizer, " plans with it alone"));
      return;
    }
    members_.push_back(member);
  }

  const std::vector<PortfolioMember>& members() const { return members_; }
  // Says which members were not added, and why.
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  std::vector<PortfolioMember> members_;
  std::vector<ModelSlice> atoms_;
  std::vector<std::string> left_out_;
};

// Returns the members that know the model and cut it into the same atoms as the
// first of them. kUnimplemented if none knows the model.
inline absl::StatusOr<MixableMembers> Mixable(
    absl::Span<const PortfolioMember> members, const ModelSpec& model) {
  MixableMembers mixable;
  absl::Status unknown;
  for (const PortfolioMember& member : members) {
    absl::StatusOr<std::vector<ModelSlice>> atoms =
        member.source->SliceModel(model);
    if (absl::IsUnimplemented(atoms.status())) {
      unknown = atoms.status();
      continue;
    }
    TANGRAM_RETURN_IF_ERROR(atoms.status());
    mixable.Add(member, *std::move(atoms));
  }
  if (mixable.members().empty()) return unknown;
  return mixable;
}

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_PORTFOLIO_MIXABLE_MEMBERS_H_
