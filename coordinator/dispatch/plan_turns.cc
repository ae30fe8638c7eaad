#include "coordinator/dispatch/plan_turns.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

namespace tangram {
namespace {

// How often a plan that waits looks whether it should stop.
constexpr std::chrono::milliseconds kStopInterval(50);

}  // namespace

// Its fields are guarded by the mutex of the PlanTurns.
class PlanTurns::Plan {
 public:
  Plan(PlanTurns& its_turns, const BatchShare& share)
      : turns(its_turns), key(share.key), weight(share.weight()) {}

  PlanTurns& turns;
  const std::string key;
  const double weight;
  double used_s = 0;  // Divided by the weight.
  bool is_active = false;
  bool is_resting = false;  // Then it is not active.
  double active_since_s = 0;
  double charged_s = 0;  // Until when its time is in used_s.
};

void PlanTurns::Leaves::operator()(Plan* plan) const {
  plan->turns.Leave(*plan);
  delete plan;
}

PlanTurns::Turn PlanTurns::Begin(const BatchShare& share,
                                 const std::function<bool()>& should_stop) {
  Turn turn(new Plan(*this, share));
  const MutexLock lock(mutex_);
  const auto [it, is_new] = keys_.try_emplace(share.key);
  if (is_new) {
    double least_s = -1;
    for (const auto& [name, key] : keys_) {
      if (key.num_plans > 0 && (least_s < 0 || key.used_s < least_s)) {
        least_s = key.used_s;
      }
    }
    it->second.used_s = std::max(least_s, 0.0);
  }
  ++it->second.num_plans;
  plans_.push_back(turn.get());
  ++num_waiting_;
  AwaitTurn(*turn, should_stop);
  return turn;
}

void PlanTurns::Yield(Plan& plan, const std::function<bool()>& should_stop) {
  if (num_waiting_ == 0 && !has_excess_) return;
  const MutexLock lock(mutex_);
  if (plan.is_resting) return;
  if (plan.is_active) {
    Charge(plan);
    Plan* const next = HasOneTooMany(plan) ? nullptr : ShouldReplace(plan);
    if (next == nullptr && !HasOneTooMany(plan)) return;
    Pause(plan);
    if (next != nullptr) {
      Activate(*next);
      changed_.NotifyAll();
    }
  }
  AwaitTurn(plan, should_stop);
}

void PlanTurns::Rest(Plan& plan) {
  const MutexLock lock(mutex_);
  if (plan.is_active) {
    Charge(plan);
    Pause(plan);
  }
  plan.is_resting = true;
  --num_waiting_;
  GiveFreeTurns();
}

void PlanTurns::Resume(Plan& plan, const std::function<bool()>& should_stop) {
  const MutexLock lock(mutex_);
  plan.is_resting = false;
  ++num_waiting_;
  AwaitTurn(plan, should_stop);
}

void PlanTurns::Leave(Plan& plan) {
  const MutexLock lock(mutex_);
  if (plan.is_active) {
    Charge(plan);
    Pause(plan);
  }
  if (!plan.is_resting) --num_waiting_;
  plans_.remove(&plan);
  const auto key = keys_.find(plan.key);
  if (--key->second.num_plans == 0) keys_.erase(key);
  GiveFreeTurns();
}

int PlanTurns::num_active() {
  const MutexLock lock(mutex_);
  return num_active_;
}

int PlanTurns::num_paused() { return num_waiting_; }

void PlanTurns::Activate(Plan& plan) {
  plan.is_active = true;
  plan.active_since_s = plan.charged_s = options_.now_s();
  ++keys_.at(plan.key).num_active;
  has_excess_ = ++num_active_ > options_.num_turns;
  --num_waiting_;
}

void PlanTurns::Pause(Plan& plan) {
  plan.is_active = false;
  --keys_.at(plan.key).num_active;
  has_excess_ = --num_active_ > options_.num_turns;
  ++num_waiting_;
}

void PlanTurns::Charge(Plan& plan) {
  const double now_s = options_.now_s();
  const double took_s = now_s - plan.charged_s;
  plan.used_s += took_s / plan.weight;
  keys_.at(plan.key).used_s += took_s;
  plan.charged_s = now_s;
}

void PlanTurns::GiveFreeTurns() {
  while (true) {
    Plan* const next = Next(/*key=*/nullptr);
    if (next == nullptr || (num_active_ >= options_.num_turns &&
                            keys_.at(next->key).num_active > 0)) {
      return;
    }
    Activate(*next);
    changed_.NotifyAll();
  }
}

// Returns whether the key has turns that another one needed.
bool PlanTurns::HasOneTooMany(const Plan& plan) {
  return num_active_ > options_.num_turns && keys_.at(plan.key).num_active > 1;
}

PlanTurns::Plan* PlanTurns::Next(const std::string* key) {
  const auto rank =
      [this](const Plan& plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        const Key& of_plan = keys_.at(plan.key);
        return std::tuple(of_plan.num_active, of_plan.used_s, plan.used_s);
      };
  Plan* next = nullptr;
  for (Plan* const plan : plans_) {
    if (plan->is_active || plan->is_resting ||
        (key != nullptr && plan->key != *key)) {
      continue;
    }
    if (next == nullptr || rank(*plan) < rank(*next)) next = plan;
  }
  return next;
}

// Returns the plan that should have the turn of `plan` now. Null: none.
PlanTurns::Plan* PlanTurns::ShouldReplace(const Plan& plan) {
  const Key& own = keys_.at(plan.key);
  const bool had_slice =
      options_.now_s() - plan.active_since_s >= options_.slice_s;
  Plan* const first = Next(/*key=*/nullptr);
  if (first == nullptr) return nullptr;
  if (first->key != plan.key) {
    const Key& other = keys_.at(first->key);
    if (other.num_active < own.num_active - 1) return first;
    // One of the two has a turn more: it goes round.
    if (had_slice && other.num_active < own.num_active &&
        other.used_s < own.used_s) {
      return first;
    }
  }
  if (!had_slice) return nullptr;
  Plan* const beside = Next(&plan.key);
  return beside != nullptr && beside->used_s + options_.slice_s < plan.used_s
             ? beside
             : nullptr;
}

void PlanTurns::AwaitTurn(Plan& plan,
                          const std::function<bool()>& should_stop) {
  GiveFreeTurns();
  while (!plan.is_active) {
    changed_.WaitFor(mutex_, kStopInterval);
    if (plan.is_active) return;
    const MutexUnlock unlock(mutex_);
    if (should_stop && should_stop()) return;
  }
}

}  // namespace tangram
