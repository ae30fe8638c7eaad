#include "coordinator/planning/plan_cache.h"

#include <grpcpp/support/slice.h>

#include <vector>

#include "coordinator/dispatch/canonical_bytes.h"

namespace tangram {
namespace {

// Approximate size of a list node, a hash slot and gRPC's slices.
constexpr int64_t kOverheadBytes = 300;

std::string KeyOf(const PlanScope& scope, const grpc::ByteBuffer& request) {
  std::string key(scope.adapters.view());
  AppendCanonical(key, scope.tenant);
  std::vector<grpc::Slice> slices;
  request.Dump(&slices);
  key.reserve(key.size() + request.Length());
  for (const grpc::Slice& slice : slices) {
    key.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return key;
}

}  // namespace

std::optional<grpc::ByteBuffer> PlanCache::Find(
    const PlanScope& scope, const grpc::ByteBuffer& request) {
  const std::string key = KeyOf(scope, request);
  const MutexLock lock(mutex_);
  const grpc::ByteBuffer* answer = answers_.Find(key);
  if (answer == nullptr) return std::nullopt;
  return *answer;
}

void PlanCache::Insert(const PlanScope& scope, const grpc::ByteBuffer& request,
                       const grpc::ByteBuffer& answer) {
  std::string key = KeyOf(scope, request);
  // Twice, because both the list and the index hold the key.
  const auto bytes =
      static_cast<int64_t>(2 * key.size() + answer.Length()) + kOverheadBytes;
  const MutexLock lock(mutex_);
  answers_.Insert(key, answer, bytes);
}

}  // namespace tangram
