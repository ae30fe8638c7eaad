#include "coordinator/webhooks/public_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace tangram {
namespace {

bool IsPublic(const std::string& text) {
  sockaddr_storage storage = {};
  if (text.find(':') == std::string::npos) {
    sockaddr_in in = {};
    in.sin_family = AF_INET;
    EXPECT_EQ(inet_pton(AF_INET, text.c_str(), &in.sin_addr), 1) << text;
    std::memcpy(&storage, &in, sizeof(in));
  } else {
    sockaddr_in6 in = {};
    in.sin6_family = AF_INET6;
    EXPECT_EQ(inet_pton(AF_INET6, text.c_str(), &in.sin6_addr), 1) << text;
    std::memcpy(&storage, &in, sizeof(in));
  }
  return IsPublicAddress(reinterpret_cast<const sockaddr&>(storage));
}

TEST(PublicAddressTest, AddressesOfTheInternet) {
  for (const char* address :
       {"1.1.1.1", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1",
        "192.169.0.1", "223.255.255.255", "2606:4700::1111", "64:ff9b::101:101",
        "::ffff:1.1.1.1", "2002:101:101::1"}) {
    EXPECT_TRUE(IsPublic(address)) << address;
  }
}

TEST(PublicAddressTest, AddressesOfPrivateNetworksInEveryForm) {
  for (const char* address : {"127.0.0.1",
                              "127.255.0.1",
                              "0.0.0.0",
                              "10.1.2.3",
                              "172.16.0.1",
                              "172.31.255.255",
                              "192.168.1.1",
                              "169.254.169.254",
                              "100.64.0.1",
                              "198.18.0.1",
                              "224.0.0.1",
                              "255.255.255.255",
                              "::1",
                              "::",
                              "fe80::1",
                              "fc00::1",
                              "fd12::1",
                              "ff02::1",
                              "::ffff:127.0.0.1",
                              "::ffff:169.254.169.254",
                              "64:ff9b::a00:1",
                              "2002:a00:1::1",
                              "2001:db8::1",
                              "2001::1",
                              "::127.0.0.1"}) {
    EXPECT_FALSE(IsPublic(address)) << address;
  }
}

}  // namespace
}  // namespace tangram
