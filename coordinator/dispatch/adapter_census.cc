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

void AdapterCensus::NoteFailed(const AdapterId& adapter) {
  const auto versions = by_name_.find(adapter.name);
  if (versions == by_name_.end()) return;
  const auto version = versions->second.find(adapter);
  if (version != versions->second.end()) version->second.has_failed = true;
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
    return std::tuple(version.workers.size(), !version.has_failed,
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
