#include "coordinator/dispatch/adapter_census.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "coordinator/dispatch/canonical_bytes.h"

namespace tangram {

void AdapterCensus::Add(absl::Span<const AdapterInfo> adapters,
                        const WorkerIdentity& worker) {
  for (const AdapterInfo& adapter : adapters) {
    const auto [it, is_new] = by_name_[adapter.id.name].try_emplace(adapter.id);
    Version& version = it->second;
    if (is_new) version.number = ++last_number_;
    ++version.workers[worker];
    version.info = adapter;
  }
}

void AdapterCensus::Remove(absl::Span<const AdapterInfo> adapters,
                           const WorkerIdentity& worker) {
  for (const AdapterInfo& adapter : adapters) {
    const auto versions = by_name_.find(adapter.id.name);
    const auto version = versions->second.find(adapter.id);
    const auto offer = version->second.workers.find(worker);
    if (--offer->second == 0) version->second.workers.erase(offer);
    if (version->second.workers.empty()) versions->second.erase(version);
    if (versions->second.empty()) by_name_.erase(versions);
  }
}

auto* AdapterCensus::FindIn(auto& by_name, const AdapterId& adapter) {
  const auto versions = by_name.find(adapter.name);
  using Found = decltype(&versions->second.begin()->second);
  if (versions == by_name.end()) return Found(nullptr);
  const auto version = versions->second.find(adapter);
  return version == versions->second.end() ? nullptr : &version->second;
}

void AdapterCensus::NoteFailed(const AdapterId& adapter) {
  if (Version* version = FindIn(by_name_, adapter)) version->has_failed = true;
}

void AdapterCensus::NoteSilent(const AdapterId& adapter) {
  const Version* version = FindIn(by_name_, adapter);
  if (version == nullptr) return;
  for (const auto& [worker, connections] : version->workers) {
    if (silences_.size() < kMaxSources || silences_.count(worker) > 0) {
      ++silences_[worker];
    }
  }
}

bool AdapterCensus::NoteAnswered(const AdapterId& adapter) {
  Version* version = FindIn(by_name_, adapter);
  if (version == nullptr) return false;
  bool is_news = !version->has_answered;
  version->has_answered = true;
  if (silences_.empty()) return is_news;
  for (const auto& [worker, connections] : version->workers) {
    if (silences_.erase(worker) > 0) is_news = true;
  }
  return is_news;
}

int AdapterCensus::TimesSilent(const AdapterId& adapter) const {
  const Version* version = FindIn(by_name_, adapter);
  return version == nullptr ? 0 : TimesSilent(*version);
}

int AdapterCensus::TimesSilent(const Version& version) const {
  if (silences_.empty()) return 0;
  int least = std::numeric_limits<int>::max();
  for (const auto& [worker, connections] : version.workers) {
    const auto silences = silences_.find(worker);
    if (silences == silences_.end()) return 0;
    least = std::min(least, silences->second);
  }
  return least;
}

std::vector<AdapterId> AdapterCensus::SubstitutesOf(
    const AdapterId& adapter) const {
  std::vector<AdapterId> substitutes;
  if (FindIn(by_name_, adapter) == nullptr) return substitutes;
  for (const auto& [id, version] : by_name_.at(adapter.name)) {
    if (id != adapter && !version.has_failed) substitutes.push_back(id);
  }
  return substitutes;
}

std::optional<AdapterInfo> AdapterCensus::Best(
    absl::string_view name, const std::set<AdapterId>& unfit) const {
  const auto it = by_name_.find(std::string(name));
  if (it == by_name_.end()) return std::nullopt;
  const AdapterInfo* best = BestOf(it->second, unfit);
  if (best == nullptr) return std::nullopt;
  return *best;
}

std::vector<std::string> AdapterCensus::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, versions] : by_name_) names.push_back(name);
  return names;
}

Digest AdapterCensus::DigestOfBest() const {
  std::string bytes;
  for (const auto& [name, versions] : by_name_) {
    AppendCanonical(bytes, name);
    AppendCanonical(bytes, BestOf(versions, {})->id.version);
  }
  return Sha256()(bytes);
}

const AdapterInfo* AdapterCensus::BestOf(
    const Versions& versions, const std::set<AdapterId>& unfit) const {
  const auto worth = [this](const Version& version) {
    return std::tuple(-TimesSilent(version), version.workers.size(),
                      !version.has_failed, version.has_answered,
                      -version.number);
  };
  const Version* best = nullptr;
  for (const auto& [id, version] : versions) {
    if (unfit.count(id) > 0) continue;
    if (best == nullptr || worth(version) > worth(*best)) best = &version;
  }
  return best == nullptr ? nullptr : &best->info;
}

}  // namespace tangram
