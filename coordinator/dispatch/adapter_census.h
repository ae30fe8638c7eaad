#ifndef TANGRAM_COORDINATOR_DISPATCH_ADAPTER_CENSUS_H_
#define TANGRAM_COORDINATOR_DISPATCH_ADAPTER_CENSUS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/digest/sha256.h"
#include "common/parallelizer/query.h"
#include "coordinator/dispatch/worker_identity.h"

namespace tangram {

// Counts the workers that offer the adapters of a pool. Among several versions
// of one name, the best is the one that fell silent least; among equals, the
// one that most workers offer, then one that has not failed, then one that has
// answered, and then the one that has been offered longest. Workers count by
// identity: slots and connections are their own words, and one worker must not
// choose the version for all. Silence is a worker's, whatever versions it
// offers: a version is as silent as its least silent worker. Not thread-safe.
class AdapterCensus {
 public:
  void Add(absl::Span<const AdapterInfo> adapters,
           const WorkerIdentity& worker);
  void Remove(absl::Span<const AdapterInfo> adapters,
              const WorkerIdentity& worker);

  // Notes that a plan failed with this version and succeeded with another. It
  // counts until no worker offers the version any more.
  void NoteFailed(const AdapterId& adapter);
  // Notes that all workers of this version were silent for too long. It counts
  // until a version that they offer answers.
  void NoteSilent(const AdapterId& adapter);
  // Notes a correct answer of this version. Returns whether that is news.
  bool NoteAnswered(const AdapterId& adapter);

  // Returns how often the least silent worker of this version was silent since
  // a version that it offers last answered.
  int TimesSilent(const AdapterId& adapter) const;

  // Returns the versions that may take the place of this one if it is silent:
  // those that have not failed.
  std::vector<AdapterId> SubstitutesOf(const AdapterId& adapter) const;

  // Returns the best version of `name` that is not among `unfit`. Empty: no
  // worker offers one.
  std::optional<AdapterInfo> Best(absl::string_view name,
                                  const std::set<AdapterId>& unfit = {}) const;
  std::vector<std::string> Names() const;  // Sorted.
  // Returns a digest of the best version of each name. Equal digests mean equal
  // plans.
  Digest DigestOfBest() const;

 private:
  struct Version {
    std::map<WorkerIdentity, int> workers;  // With their connections.
    int64_t number = 0;                     // In the order of appearance.
    bool has_failed = false;
    bool has_answered = false;
    AdapterInfo info;
  };
  using Versions = std::map<AdapterId, Version>;  // Never empty.

  // Returns null if all versions are among `unfit`.
  const AdapterInfo* BestOf(const Versions& versions,
                            const std::set<AdapterId>& unfit) const;
  int TimesSilent(const Version& version) const;

  // Returns null if no worker offers the adapter.
  static auto* FindIn(auto& by_name, const AdapterId& adapter);

  std::map<std::string, Versions> by_name_;
  std::map<WorkerIdentity, int> silences_;
  int64_t last_number_ = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_ADAPTER_CENSUS_H_
