#include "coordinator/planning/plan_cache.h"

#include <grpcpp/support/slice.h>

#include <vector>

#include "coordinator/dispatch/canonical_bytes.h"

namespace tangram {
namespace {

// Approximate size of a list node, a hash slot and gRPC's slices.
constexpr int64_t kOverheadBytes = 300;

Digest KeyOf(const PlanScope& scope, const Digest& request) {
  std::string scope_bytes(scope.adapters.view());
  AppendCanonical(scope_bytes, scope.tenant);
  const absl::string_view parts[] = {scope_bytes, request.view()};
  return Sha256::OfThread()(parts);
}

}  // namespace

Digest RequestName(const grpc::ByteBuffer& request) {
  std::vector<grpc::Slice> slices;
  request.Dump(&slices);
  std::vector<absl::string_view> parts;
  for (const grpc::Slice& slice : slices) {
    parts.emplace_back(reinterpret_cast<const char*>(slice.begin()),
                       slice.size());
  }
  return Sha256::OfThread()(parts);
}

std::optional<grpc::ByteBuffer> PlanCache::Find(const PlanScope& scope,
                                                const Digest& request) {
  const Digest key = KeyOf(scope, request);
  const MutexLock lock(mutex_);
  const grpc::ByteBuffer* answer = answers_.Find(key);
  if (answer == nullptr) return std::nullopt;
  return *answer;
}

int64_t PlanCache::era() const {
  const MutexLock lock(mutex_);
  return era_;
}

void PlanCache::Insert(const PlanScope& scope, const Digest& request,
                       const grpc::ByteBuffer& answer, int64_t era) {
  const Digest key = KeyOf(scope, request);
  const auto bytes = static_cast<int64_t>(answer.Length()) + kOverheadBytes;
  const MutexLock lock(mutex_);
  if (era != era_) return;
  answers_.Insert(scope.owner, key, answer, bytes);
}

void PlanCache::Clear() {
  const MutexLock lock(mutex_);
  ++era_;
  answers_.Clear();
}

void PlanCache::EndPeriod() {
  const MutexLock lock(mutex_);
  answers_.EndPeriod();
}

}  // namespace tangram
