#include "common/security/channel.h"

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(IsLoopbackTest, OnlyThisMachine) {
  for (const char* address :
       {"127.0.0.1:1", "127.8.0.1:1", "localhost:70", "[::1]:7070"}) {
    EXPECT_TRUE(IsLoopback(address)) << address;
  }
  for (const char* address :
       {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "127.0.0.1.example.org:1",
        "localhost.example.org:1", ":1", "", "host:127", "unix:evil.example",
        "unix:7080", "unix:/run/t.sock"}) {
    EXPECT_FALSE(IsLoopback(address)) << address;
  }
}

TEST(StaysOnThisMachineTest, UnixSocketsDoToo) {
  for (const char* address : {"unix:/run/t.sock", "127.0.0.1:1"}) {
    EXPECT_TRUE(StaysOnThisMachine(address)) << address;
  }
  for (const char* address : {"0.0.0.0:1", "example.org:1", ""}) {
    EXPECT_FALSE(StaysOnThisMachine(address)) << address;
  }
}

}  // namespace
}  // namespace tangram
