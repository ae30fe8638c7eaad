#include "coordinator/dispatch/adapter_census.h"

#include "coordinator/dispatch/canonical_bytes.h"

namespace tangram {

void AdapterCensus::Add(absl::Span<const AdapterInfo> adapters, int slots) {
  for (const AdapterInfo& adapter : adapters) {
    Version& version = by_name_[adapter.id.name][adapter.id];
    version.slots += slots;
    ++version.workers;
    version.info = adapter;
  }
}

void AdapterCensus::Remove(absl::Span<const AdapterInfo> adapters, int slots) {
  for (const AdapterInfo& adapter : adapters) {
    const auto versions = by_name_.find(adapter.id.name);
    const auto version = versions->second.find(adapter.id);
    version->second.slots -= slots;
    if (--version->second.workers == 0) versions->second.erase(version);
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

// Versions are sorted, so ≥ takes the later one of equals.
const AdapterInfo& AdapterCensus::BestOf(const Versions& versions) {
  const Version* best = &versions.begin()->second;
  for (const auto& [id, version] : versions) {
    if (version.slots >= best->slots) best = &version;
  }
  return best->info;
}

}  // namespace tangram
