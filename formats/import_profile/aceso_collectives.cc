#include "formats/import_profile/aceso_collectives.h"

#include <algorithm>
#include <set>

#include "formats/import_profile/import_parts.h"

namespace tangram {

// Let r be backward over forward time without collectives. Then
//   reduced forward:  compute = min(forward, backward / r)
//   reduced backward: compute = min(backward, forward · r)
// and the rest of that pass is the all-reduce.
SplitTimes SplitAllReduce(const AcesoOperator& op, ReducedPass pass,
                          double backward_per_forward) {
  SplitTimes times = {.forward_s = op.forward_s, .backward_s = op.backward_s};
  if (op.tp == 1 || pass == ReducedPass::kNone) return times;
  if (pass == ReducedPass::kForward) {
    times.forward_s =
        std::min(op.forward_s, op.backward_s / backward_per_forward);
  } else {
    times.backward_s =
        std::min(op.backward_s, op.forward_s * backward_per_forward);
  }
  times.all_reduce_s =
      op.forward_s - times.forward_s + op.backward_s - times.backward_s;
  return times;
}

BackwardRatios::BackwardRatios(const std::vector<AcesoOperator>& operators) {
  std::map<std::pair<std::string, std::string>, std::vector<double>> all;
  for (const AcesoOperator& op : operators) {
    const bool alone = op.tp == 1 && op.algo == 0 && op.ran;
    if (!alone || op.forward_s <= 0 || op.backward_s <= 0) continue;
    all[{op.model, op.op}].push_back(op.backward_s / op.forward_s);
  }
  for (auto& [key, ratios] : all) ratios_[key] = Median(std::move(ratios));
}

double BackwardRatios::Of(const AcesoOperator& op, double otherwise) const {
  const auto it = ratios_.find({op.model, op.op});
  return it == ratios_.end() ? otherwise : it->second;
}

void AllReduceSamples::Add(int ranks, double bytes, double seconds) {
  if (seconds > 0) seconds_[{ranks, bytes}].push_back(seconds);
}

bool AllReduceSamples::AddTo(Profile& profile) const {
  std::set<int> measured;
  for (const MeasuredCollective& table : profile.collectives) {
    const bool same = table.op == CollectiveOp::kAllReduce && table.nodes == 1;
    if (same) measured.insert(table.ranks);
  }
  bool added = false;
  for (const auto& [key, seconds] : seconds_) {
    const auto [ranks, bytes] = key;
    if (measured.count(ranks) > 0) continue;
    AddPoint(MeasuredCollective{.ranks = ranks}, {bytes, Median(seconds)},
             profile);
    added = true;
  }
  return added;
}

}  // namespace tangram
