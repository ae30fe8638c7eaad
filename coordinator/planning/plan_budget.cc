#include "coordinator/planning/plan_budget.h"

#include <time.h>

#include <new>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/obs/clocks.h"

namespace tangram {
namespace {

double ThreadCpuSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

// Runs what is shared with others at nobody's charge.
class PlanBudget::Observer : public PlanObserver {
 public:
  Observer(PlanBudget& budget, PlanObserver& observer)
      : budget_(budget), observer_(observer) {}

  void OnPhase(PlanPhase phase) override {
    const ChargeScope shared(nullptr);
    observer_.OnPhase(phase);
  }
  void OnPairs(int done, int total) override {
    const ChargeScope shared(nullptr);
    observer_.OnPairs(done, total);
  }
  void OnBest(double iteration_time_s) override {
    const ChargeScope shared(nullptr);
    observer_.OnBest(iteration_time_s);
  }
  bool ShouldStop() override {
    const ChargeScope shared(nullptr);
    return !budget_.Check().ok() || observer_.ShouldStop();
  }

 private:
  PlanBudget& budget_;
  PlanObserver& observer_;
};

class PlanBudget::Source : public SlicePlanSource {
 public:
  explicit Source(SlicePlanSource& source) : source_(source) {}

  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) override {
    return Charged<ModelSlice>([&] { return source_.SliceModel(model); });
  }
  absl::StatusOr<std::vector<ModelSlice>> Concatenate(
      absl::Span<const ConcatenateQuery> queries) override {
    return Charged<ModelSlice>([&] { return source_.Concatenate(queries); });
  }
  absl::StatusOr<std::vector<PerformanceProfile>> Profile(
      const PairContext& context,
      absl::Span<const ProfileQuery> queries) override {
    return Charged<PerformanceProfile>(
        [&] { return source_.Profile(context, queries); });
  }
  absl::StatusOr<std::vector<SlicePlanSet>> Parallelize(
      const PairContext& context, absl::Span<const PairQuery> queries,
      const Progress& progress) override {
    return Charged<SlicePlanSet>(
        [&] { return source_.Parallelize(context, queries, progress); });
  }

 private:
  // Other threads have allocated the answers, so the plan gets copies, which
  // count, and the originals are freed at nobody's charge.
  template <typename T>
  static absl::StatusOr<std::vector<T>> Charged(
      absl::FunctionRef<absl::StatusOr<std::vector<T>>()> ask) {
    std::optional<absl::StatusOr<std::vector<T>>> theirs;
    {
      const ChargeScope shared(nullptr);
      theirs = ask();
    }
    absl::StatusOr<std::vector<T>> ours = *theirs;
    const ChargeScope shared(nullptr);
    theirs.reset();
    return ours;
  }

  SlicePlanSource& source_;
};

PlanBudget::PlanBudget(const PlanLimits& limits)
    : limits_(limits),
      account_(limits.max_bytes),
      began_s_(SteadySeconds()),
      began_cpu_s_(ThreadCpuSeconds()) {}

absl::Status PlanBudget::Check() {
  if (account_.IsOver()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the plan takes more memory than --plan_memory_mb allows: ",
        limits_.max_bytes >> 20, " MiB; ask for less"));
  }
  // No thread computes for longer than it exists, and its clock is the slower
  // one to read.
  if (limits_.max_cpu_s > 0 && SteadySeconds() - began_s_ > limits_.max_cpu_s &&
      ThreadCpuSeconds() - began_cpu_s_ > limits_.max_cpu_s) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the plan computes for longer than --plan_cpu_s allows: ",
                     limits_.max_cpu_s, " s; ask for less"));
  }
  return absl::OkStatus();
}

absl::StatusOr<PlanResult> PlanBudget::Run(
    PlanObserver& observer,
    absl::FunctionRef<absl::StatusOr<PlanResult>(PlanObserver&)> plan) {
  Observer limiting(*this, observer);
  absl::StatusOr<PlanResult> result = absl::CancelledError("over its budget");
  try {
    const ChargeScope scope(&account_);
    result = plan(limiting);
  } catch (const std::bad_alloc&) {
    // The process itself has no memory left, unless the account is over.
    if (!account_.IsOver()) throw;
  }
  if (result.ok() || !absl::IsCancelled(result.status())) return result;
  const absl::Status over = Check();
  return over.ok() ? result : over;
}

std::unique_ptr<SlicePlanSource> PlanBudget::Charge(SlicePlanSource& source) {
  return std::make_unique<Source>(source);
}

}  // namespace tangram
