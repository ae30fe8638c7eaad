#include "coordinator/rpc/worker_list.h"

#include <string>
#include <vector>

#include "common/wire/grpc_settings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

PoolWorkerStatus Worker(const std::string& name) {
  return {.info = {.name = name}};
}

TEST(WorkerListTest, HoldsAsManyWorkersAsHaveRoom) {
  const std::vector<PoolWorkerStatus> workers = {Worker(std::string(100, 'a')),
                                                 Worker(std::string(100, 'b')),
                                                 Worker(std::string(100, 'c'))};
  v1::WorkerList list;
  EXPECT_EQ(AddWorkers(workers, 1000, *list.mutable_workers()), 0);
  EXPECT_EQ(list.workers_size(), 3);
  list.clear_workers();
  EXPECT_EQ(AddWorkers(workers, 300, *list.mutable_workers()), 1);
  ASSERT_EQ(list.workers_size(), 2);
  EXPECT_EQ(list.workers(1).name(), std::string(100, 'b'));
  EXPECT_LE(list.ByteSizeLong(), 300u);
  EXPECT_LT(kMaxWorkerListBytes, kMaxMessageBytes);
}

}  // namespace
}  // namespace tangram
