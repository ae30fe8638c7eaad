#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/forwarding_parallelizer.h"
#include "tests/testing/service/test_service.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram::testing {
namespace {

using ::testing::IsEmpty;

// Counts questions about slice plans by type of GPU.
class Record {
 public:
  void Add(const std::string& type) {
    const std::lock_guard lock(mutex_);
    ++asked_[type];
  }
  std::map<std::string, int> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(asked_, {});
  }

 private:
  std::mutex mutex_;
  std::map<std::string, int> asked_;
};

class RecordingParallelizer : public ForwardingParallelizer {
 public:
  explicit RecordingParallelizer(Record& record) : record_(record) {}

  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& slice, const IslandSpec& island,
      const ParallelizeOptions& options) const override {
    record_.Add(island.device.type);
    return ForwardingParallelizer::Parallelize(slice, island, options);
  }

 private:
  const Parallelizer& target() const override { return *plans_; }

  Record& record_;
  const std::unique_ptr<Parallelizer> plans_ =
      *CreateBuiltinParallelizer("uniform");
};

DeviceSpec DeviceOf(const std::string& type, double fp16_flops) {
  DeviceSpec device = TestDevice(type);
  device.peak_flops.fp16 = fp16_flops;
  return device;
}

class ReplanTest : public ::testing::Test {
 protected:
  ReplanTest() {
    service_.AddWorker(std::make_unique<RecordingParallelizer>(record_));
  }

  static std::vector<TestGroup> Groups() {
    return {{.name = "a", .num_nodes = 4, .device = DeviceOf("A", 100e12)},
            {.name = "b", .num_nodes = 4, .device = DeviceOf("B", 60e12)},
            {.name = "c", .num_nodes = 2, .device = DeviceOf("C", 20e12)}};
  }
  static PlanRequest RequestOn(const std::vector<TestGroup>& groups) {
    PlanRequest request = SmallRequest();
    request.cluster = TestCluster(groups);
    return request;
  }

  // Plans and returns the number of new questions by type of GPU. Expects the
  // plan of a coordinator that has never planned before.
  std::map<std::string, int> AskedFor(const std::vector<TestGroup>& groups) {
    const PlanRequest request = RequestOn(groups);
    const auto file = CallPlan(service_.address(), Encode(request, "uniform"));
    EXPECT_THAT(file, IsOk());
    if (file.ok()) {
      EXPECT_EQ(Essence(*file), LocalEssence(request, "uniform"));
      EXPECT_TRUE(file->result.plan.has_value());
    }
    return record_.Take();
  }

  Record record_;
  TestService service_;
};

TEST_F(ReplanTest, NamesAndOrderOfNodesAreNoNews) {
  AskedFor(Groups());
  std::vector<TestGroup> groups = Groups();
  std::reverse(groups.begin(), groups.end());
  for (TestGroup& group : groups) group.name += "-renamed";
  EXPECT_THAT(AskedFor(groups), IsEmpty());
}

// Only the island that lost the node is new, except for slices that the shares
// of the smaller cluster no longer prune.
TEST_F(ReplanTest, ALostNodeChangesOnlyItsIsland) {
  const std::map<std::string, int> first = AskedFor(Groups());
  std::vector<TestGroup> groups = Groups();
  groups[2].num_nodes = 1;
  std::map<std::string, int> asked = AskedFor(groups);
  EXPECT_GT(asked["C"], 0);
  EXPECT_LE(10 * (asked["A"] + asked["B"]), first.at("A") + first.at("B"));
}

// Answers from other clusters stay known, in whatever order clusters come.
TEST_F(ReplanTest, AClusterThatComesBackIsNoNews) {
  std::vector<TestGroup> fewer = Groups();
  fewer[0].num_nodes = 3;
  AskedFor(Groups());
  AskedFor(fewer);
  EXPECT_THAT(AskedFor(Groups()), IsEmpty());
  EXPECT_THAT(AskedFor(fewer), IsEmpty());
}

}  // namespace
}  // namespace tangram::testing
