#include "coordinator/dispatch/adapter_census.h"

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

std::optional<AdapterInfo> AdapterCensus::Best(absl::string_view name) const {
  const auto it = by_name_.find(std::string(name));
  if (it == by_name_.end()) return std::nullopt;
  return BestOf(it->second);
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
    AppendCanonical(bytes, BestOf(versions).id.version);
  }
  return Sha256()(bytes);
}

const AdapterInfo& AdapterCensus::BestOf(const Versions& versions) {
  const Version* best = &versions.begin()->second;
  for (const auto& [id, version] : versions) {
    const size_t votes = version.workers.size();
    const size_t most = best->workers.size();
    if (votes > most || (votes == most && version.number < best->number)) {
      best = &version;
    }
  }
  return best->info;
}

}  // namespace tangram
