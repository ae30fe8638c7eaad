#include "coordinator/rpc/leases_of_stream.h"

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(LeasesOfStreamTest, ALeaseEndsOnce) {
  LeasesOfStream leases(10);
  leases.Add(7);
  EXPECT_FALSE(leases.End(8));
  EXPECT_TRUE(leases.End(7));
  EXPECT_FALSE(leases.End(7));
}

TEST(LeasesOfStreamTest, ARevokedLeaseMayBeAnsweredOnce) {
  LeasesOfStream leases(10);
  leases.Add(7);
  leases.Revoke(7);
  leases.Revoke(8);  // Never leased.
  EXPECT_TRUE(leases.End(7));
  EXPECT_FALSE(leases.End(7));
  EXPECT_FALSE(leases.End(8));
}

TEST(LeasesOfStreamTest, ForgetsTheOldestRevocation) {
  LeasesOfStream leases(2);
  for (const TaskId task : {1, 2, 3}) {
    leases.Add(task);
    leases.Revoke(task);
  }
  EXPECT_FALSE(leases.End(1));
  EXPECT_TRUE(leases.End(2));
  EXPECT_TRUE(leases.End(3));
}

}  // namespace
}  // namespace tangram
