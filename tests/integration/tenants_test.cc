#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/forwarding_parallelizer.h"
#include "tests/testing/service/test_service.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/builtin_parallelizers.h"
#include "worker/service/worker.h"

namespace tangram::testing {
namespace {

// Records the plan of each search. Plans differ in their sequence length.
struct Searches {
  std::mutex mutex;
  std::vector<int> sequence_lengths;
};

// Slow, so that the queue decides whose turn it is.
class SlowParallelizer : public ForwardingParallelizer {
 public:
  explicit SlowParallelizer(Searches& searches) : searches_(searches) {}

  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& slice, const IslandSpec& island,
      const ParallelizeOptions& options) const override {
    {
      const std::lock_guard lock(searches_.mutex);
      searches_.sequence_lengths.push_back(options.training.sequence_length);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return ForwardingParallelizer::Parallelize(slice, island, options);
  }

 private:
  const Parallelizer& target() const override { return *uniform_; }

  Searches& searches_;
  const std::unique_ptr<Parallelizer> uniform_ =
      *CreateBuiltinParallelizer("uniform");
};

std::string WriteFile(const std::string& name, const std::string& text) {
  std::string path = absl::StrCat(::testing::TempDir(), "/", name);
  std::ofstream(path) << text;
  return path;
}

std::future<absl::StatusOr<PlanFile>> StartPlan(const std::string& address,
                                                const std::string& token,
                                                int sequence_length) {
  PlanRequest request = SmallRequest();
  request.training.sequence_length = sequence_length;
  return std::async(std::launch::async, [=] {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::minutes(2));
    context.AddMetadata("authorization", absl::StrCat("Bearer ", token));
    return CallPlan(address, Encode(request, "uniform"), context);
  });
}

TEST(TenantsTest, TheirCallsShareTheWorkersHoweverManyTheyMake) {
  TestService service(
      {.auth = {.tokens_file = WriteFile("tenants.csv",
                                         "token-of-many-calls,m,many,plan\n"
                                         "token-of-one-call,o,one,plan\n"
                                         "token-of-the-worker,w,,work\n")}});
  constexpr int kOne = 128;
  std::vector<std::future<absl::StatusOr<PlanFile>>> plans;
  for (const int length : {256, 384, 512}) {
    plans.push_back(
        StartPlan(service.address(), "token-of-many-calls", length));
  }
  plans.push_back(StartPlan(service.address(), "token-of-one-call", kOne));

  Searches searches;
  WorkerOptions options{
      .coordinators = {{.address = service.address(),
                        .token_file =
                            WriteFile("tenants.token", "token-of-the-worker")}},
      .name = "w"};
  options.parallelizers.push_back(std::make_unique<SlowParallelizer>(searches));
  Metrics metrics;
  ASSERT_OK_AND_ASSIGN(const auto worker,
                       Worker::Start(std::move(options), metrics));
  for (auto& plan : plans) EXPECT_THAT(plan.get(), IsOk());

  // The one tenant has n of the 4 n searches. With half of the worker, its
  // last search is about the 2 n-th; with a quarter, it is the last of all.
  const std::vector<int>& lengths = searches.sequence_lengths;
  const auto last = std::find(lengths.rbegin(), lengths.rend(), kOne);
  const auto rank = static_cast<double>(lengths.rend() - last);
  EXPECT_LT(rank, 0.75 * static_cast<double>(lengths.size()));
}

}  // namespace
}  // namespace tangram::testing
