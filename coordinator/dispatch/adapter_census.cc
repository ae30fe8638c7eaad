#include "coordinator/dispatch/adapter_census.h"

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
  if (Version* version = FindIn(by_name_, adapter)) ++version->times_silent;
}

bool AdapterCensus::NoteAnswered(const AdapterId& adapter) {
  Version* version = FindIn(by_name_, adapter);
  if (version == nullptr) return false;
  const bool is_news = !version->has_answered || version->times_silent > 0;
  version->has_answered = true;
  version->times_silent = 0;
  return is_news;
}

int AdapterCensus::TimesSilent(const AdapterId& adapter) const {
  const Version* version = FindIn(by_name_, adapter);
  return version == nullptr ? 0 : version->times_silent;
}

std::vector<AdapterId> AdapterCensus::SubstitutesOf(
    const AdapterId& adapter) const {
  std::vector<AdapterId> substitutes;
  const Version* own = FindIn(by_name_, adapter);
  if (own == nullptr) return substitutes;
  for (const auto& [id, version] : by_name_.at(adapter.name)) {
    if (id != adapter && !version.has_failed &&
        (version.has_answered || !own->has_answered)) {
      substitutes.push_back(id);
    }
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

const AdapterInfo* AdapterCensus::BestOf(const Versions& versions,
                                         const std::set<AdapterId>& unfit) {
  const auto worth = [](const Version& version) {
    return std::tuple(-version.times_silent, version.workers.size(),
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
