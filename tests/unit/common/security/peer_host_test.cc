#include "common/security/peer_host.h"

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(PeerHostTest, ThePortIsNotPartOfTheHost) {
  EXPECT_EQ(PeerHost("ipv4:10.0.0.7:41234"), "10.0.0.7");
}

TEST(PeerHostTest, AnIpv6HostIsItsNetwork) {
  EXPECT_EQ(PeerHost("ipv6:%5B2001:db8:0:1::7%5D:41234"), "2001:db8:0:1::/64");
  EXPECT_EQ(PeerHost("ipv6:[2001:db8:0:1:a:b:c:d]:41234"), "2001:db8:0:1::/64");
  EXPECT_EQ(PeerHost("ipv6:%5Bfe80::1%25eth0%5D:1"), "fe80::/64");
  EXPECT_EQ(PeerHost("ipv6:[::ffff:10.0.0.7]:1"), "10.0.0.7");
}

TEST(PeerHostTest, OtherPeersHaveOneHost) {
  EXPECT_EQ(PeerHost("unix:/run/tangram.sock"), "unix");
  EXPECT_EQ(PeerHost("unix-abstract:x"), "unix");
  EXPECT_EQ(PeerHost("ipv6:[nonsense]:1"), "unknown");
  EXPECT_EQ(PeerHost(""), "unknown");
}

}  // namespace
}  // namespace tangram
