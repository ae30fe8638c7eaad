// The part of WorkerPool that knows which adapters workers offer.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/digest/sha256.h"
#include "coordinator/dispatch/worker_pool.h"

namespace tangram {
namespace {

// Names of adapters that are remembered. Workers choose them, so their number
// must be bounded; far more than the adapters that exist.
constexpr size_t kMaxKnownAdapters = 1 << 10;
// Names of adapters in an error: over three times the built-in ones.
constexpr size_t kNamedAdapters = 20;
// A version that fell silent so often or more is waited for 32 minutes, or
// longer once it has answered: longer than searches take.
constexpr int kMaxDoublings = 5;
// A worker whose source never answered anything is waited for so many times
// new_hedge_after_s. Its first query only lists the parts of a model, which
// takes no time.
constexpr double kNewPatience = 5;

// "aceso, alpa, ..."
std::string FirstNames(const std::set<std::string>& names) {
  const size_t count = std::min(names.size(), kNamedAdapters);
  const auto end = std::next(names.begin(), static_cast<std::ptrdiff_t>(count));
  return absl::StrCat(absl::StrJoin(names.begin(), end, ", "),
                      end == names.end() ? "" : ", ...");
}

bool Offers(const WorkerInfo& worker, const AdapterId& adapter) {
  return std::any_of(
      worker.adapters.begin(), worker.adapters.end(),
      [&](const AdapterInfo& info) { return info.id == adapter; });
}

}  // namespace

void WorkerPool::UpdateOffer(Worker& worker) {
  const bool is_offered = !worker.draining && !worker.quarantined;
  if (is_offered == worker.is_offered) return;
  worker.is_offered = is_offered;
  num_offered_ += is_offered ? 1 : -1;
  if (is_offered) {
    for (const AdapterInfo& adapter : worker.info.adapters) {
      if (!census_.Best(adapter.id.name).has_value()) ++num_arrivals_;
    }
    census_.Add(worker.info.adapters, worker.info.identity);
    for (const AdapterInfo& adapter : worker.info.adapters) {
      if (ever_offered_.size() >= kMaxKnownAdapters) break;
      ever_offered_.insert(adapter.id.name);
    }
  } else {
    census_.Remove(worker.info.adapters, worker.info.identity);
  }
  UpdateOfferedAdapters();
}

void WorkerPool::UpdateOfferedAdapters() {
  Digest offered = census_.DigestOfBest();
  if (verdict_era_ > 0) {
    const std::string era = absl::StrCat(verdict_era_);
    const absl::string_view parts[] = {offered.view(), era};
    offered = Sha256()(parts);
  }
  const MutexLock lock(offered_mutex_);
  offered_adapters_ = offered;
}

Digest WorkerPool::OfferedAdapters() const {
  const MutexLock lock(offered_mutex_);
  return offered_adapters_;
}

absl::StatusOr<AdapterInfo> WorkerPool::FindAdapter(
    absl::string_view name, const std::function<bool()>& should_stop,
    const std::set<AdapterId>& unfit, bool may_wait) {
  const MutexLock lock(mutex_);
  const double give_up_s = GiveUpS(may_wait);
  while (true) {
    if (const auto adapter = census_.Best(name, unfit)) return *adapter;
    if (IsUnknown(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("parallelizer: \"", name, "\"; expected one of ",
                       FirstNames(ever_offered_)));
    }
    if (options_.now_s() >= give_up_s) return NoWorkerFor(name);
    changed_.WaitFor(mutex_, kPollInterval);
    // It may take long: the plan may pause for others.
    const MutexUnlock unlock(mutex_);
    if (should_stop && should_stop()) return absl::CancelledError("stopped");
  }
}

absl::StatusOr<WorkerPool::AdapterList> WorkerPool::AllAdapters(
    const std::function<bool()>& should_stop, const std::set<AdapterId>& unfit,
    bool may_wait) {
  const MutexLock lock(mutex_);
  const double begin_s = options_.now_s();
  const double give_up_s = GiveUpS(may_wait);
  const double complete_by_s =
      begin_s + std::min(kJoiningS, options_.worker_wait_s);
  AdapterList list;
  while (true) {
    list.adapters.clear();
    for (const std::string& name : census_.Names()) {
      if (auto best = census_.Best(name, unfit)) {
        list.adapters.push_back(*std::move(best));
      }
    }
    const double now_s = options_.now_s();
    const bool may_improve = now_s < complete_by_s && MayBecomeComplete();
    if (!list.adapters.empty() && !may_improve) break;
    if (now_s >= give_up_s) return NoWorkerFor("any");
    changed_.WaitFor(mutex_, kPollInterval);
    // It may take long: the plan may pause for others.
    const MutexUnlock unlock(mutex_);
    if (should_stop && should_stop()) return absl::CancelledError("stopped");
  }
  for (const auto& [id, worker] : workers_) {
    if (!worker.quarantined || worker.draining) continue;
    for (const AdapterInfo& adapter : worker.info.adapters) {
      const std::string& name = adapter.id.name;
      if (list.withheld.size() >= kNamedAdapters) return list;
      if (list.withheld.count(name) == 0 && !census_.Best(name).has_value()) {
        list.withheld[name] = NoWorkerFor(name);
      }
    }
  }
  return list;
}

bool WorkerPool::IsOffered(absl::string_view name,
                           const std::set<AdapterId>& unfit) {
  const MutexLock lock(mutex_);
  return census_.Best(name, unfit).has_value();
}

void WorkerPool::NoteFailed(const AdapterId& adapter) {
  const MutexLock lock(mutex_);
  census_.NoteFailed(adapter);
  UpdateOfferedAdapters();
}

bool WorkerPool::HasWorkerFor(absl::string_view adapter) const {
  return absl::c_any_of(workers_, [&](const auto& entry) {
    const Worker& worker = entry.second;
    return !worker.draining && worker.info.Offers(adapter);
  });
}

bool WorkerPool::MayBecomeComplete() const {
  const double changed_s = std::max(last_join_s_, last_loss_s_);
  return options_.now_s() - changed_s < kJoiningS &&
         !absl::c_all_of(options_.usual_adapters,
                         [this](const auto& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                             mutex_) { return HasWorkerFor(name); });
}

// A job that waits in the queue keeps no place from those that can run. After a
// restart of the coordinator, workers are on their way. At any other time,
// workers that come and go would make jobs wait here for as long as they do.
double WorkerPool::GiveUpS(bool may_wait) const {
  const double patient_s = options_.now_s() + options_.worker_wait_s;
  return may_wait ? std::min(patient_s, began_s_ + kJoiningS) : patient_s;
}

// Workers of the usual ones may be the last to join, or may have to be started;
// no other worker, however early, can tell that they do not exist.
bool WorkerPool::IsUnknown(absl::string_view adapter) const {
  const std::string name(adapter);
  return !workers_.empty() && ever_offered_.count(name) == 0 &&
         options_.usual_adapters.count(name) == 0 &&
         options_.now_s() - last_join_s_ >= kJoiningS;
}

bool WorkerPool::IsSuperseded(const AdapterId& adapter) const {
  return census_.Best(adapter.name, {adapter}).has_value() &&
         std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
           const Worker& worker = entry.second;
           return worker.quarantined && Offers(worker.info, adapter);
         });
}

// Each time that the version fell silent doubles the patience. So versions
// whose searches take long replace each other less and less, until one answers.
bool WorkerPool::IsSilentVersion(const AdapterId& adapter,
                                 double since_s) const {
  bool has_idle_substitute = false;
  for (const AdapterId& other : census_.SubstitutesOf(adapter)) {
    has_idle_substitute |= queue_.HasFreeSlot(other);
  }
  if (!has_idle_substitute) return false;
  const double patience =
      std::exp2(std::min(census_.TimesSilent(adapter), kMaxDoublings));
  for (const auto& [id, worker] : workers_) {
    if (worker.quarantined || !Offers(worker.info, adapter)) continue;
    double patience_s = PatienceWith(id, adapter);
    if (!queue_.sources().HasAnswered(worker.info.identity)) {
      patience_s =
          std::min(patience_s, kNewPatience * options_.queue.new_hedge_after_s);
    }
    if (!IsSilent(worker, since_s, patience * patience_s)) return false;
  }
  return true;
}

absl::Status WorkerPool::SilentVersion(const AdapterId& adapter) {
  census_.NoteSilent(adapter);
  std::vector<WorkerQuarantine::Fault> faults;
  for (const auto& [id, worker] : workers_) {
    if (worker.quarantined || !Offers(worker.info, adapter) ||
        queue_.num_leased_to(id) == 0) {
      continue;
    }
    faults.push_back(FaultOf(
        id, adapter, "silent while workers of another version are idle"));
  }
  for (const WorkerQuarantine::Fault& fault : faults) BlameUseless(fault);
  UpdateOfferedAdapters();
  return absl::UnavailableError(absl::StrCat(
      "no worker that offers adapter \"", adapter.name, "\" in version \"",
      adapter.version, "\" answers, and workers of another version are idle"));
}

}  // namespace tangram
