#include <string>

#include "formats/import_profile/import_profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using testing::kBadInput;
using testing::StatusIs;

auto IsLink(const std::string& to, double bandwidth, double pair,
            double latency_s) {
  return AllOf(
      Field(&ProfileLink::to, to),
      Field(&ProfileLink::link,
            AllOf(Field(&Link::bandwidth_bytes_per_s, DoubleEq(bandwidth)),
                  Field(&Link::pair_bandwidth_bytes_per_s, DoubleEq(pair)),
                  Field(&Link::latency_s, DoubleEq(latency_s)))));
}

absl::StatusOr<ImportResult> Import(const std::string& text) {
  return ImportProfile("sailor-links", {{"links", text}}, {.device = "A"});
}

TEST(ImportSailorLinksTest, ReadsLinksBetweenNodes) {
  // Two GPUs at a time get more together, and a single pair gets more for
  // itself: 4 GB/s of 8. To B, the rate of four GPUs counts, which exceeds the
  // rate of one. Latencies at 1 MB each: 1 / 2 − 1 / 3 ms with one GPU, 2 / 5 −
  // 2 / 8 ms with two; to B 1 / 0.1 − 1 / 0.1 and 4 / 2 − 4 / 2.
  ASSERT_OK_AND_ASSIGN(const ImportResult result,
                       Import("send_gpu,send_n,recv_gpu,a,b,c,max_GBps\n"
                              "A,1,A,-0.1,1,2,3\n"
                              "A,2,A,-0.1,1,5,8\n"
                              "B,1,A,0,0,7,7\n"
                              "A,1,B,0,0,0.1,0.1\n"
                              "A,4,B,0,0,2,2\n"));
  EXPECT_EQ(result.profile.device, "A");
  EXPECT_THAT(result.profile.links,
              ElementsAre(IsLink("A", 8e9, 4e9, 2e-3 / 5 - 2e-3 / 8),
                          IsLink("B", 2e9, 0.5e9, 0)));
}

TEST(ImportSailorLinksTest, ReadsLinksInsideANode) {
  // Two GPUs are one pair. Each of four pairs gets 8 / 4 GB/s.
  ASSERT_OK_AND_ASSIGN(const ImportResult result,
                       Import("gpu,n_gpus,a,b,c,max_GBps\n"
                              "A,8,0,0,8,8\n"
                              "A,2,0,0,5,10\n"
                              "B,2,0,0,1,1\n"));
  EXPECT_THAT(result.profile.links, ElementsAre(IsLink("", 2e9, 10e9, 0)));
}

TEST(ImportSailorLinksTest, ReadsUpstreamsFiles) {
  ASSERT_OK_AND_ASSIGN(const ImportResult between, Import(R"(
      {"zone-a": {"A": {"2": {"zone-b": {"A": {"2": [[0, 0, 1], 1e9]}},
                              "zone-a": {"A": {"2": [[0, 0, 4], 4e9]},
                                         "B": {"2": [[0, 0, 2], 2e9]}}}}}})"));
  EXPECT_THAT(between.profile.links,
              ElementsAre(IsLink("A", 4e9, 2e9, 0), IsLink("B", 2e9, 1e9, 0)));
  ASSERT_OK_AND_ASSIGN(const ImportResult inside,
                       Import(R"({"A": {"2": [[0, 0, 4], 4e9]},
                                  "B": {"2": [[0, 0, 1], 1e9]}})"));
  EXPECT_THAT(inside.profile.links, ElementsAre(IsLink("", 4e9, 4e9, 0)));
}

TEST(ImportSailorLinksTest, RefusesWhatItCannotUse) {
  EXPECT_THAT(Import("gpu,n_gpus,a,b,c,max_GBps\nB,2,0,0,5,10\n"),
              StatusIs(kBadInput, HasSubstr("links: nothing to import")));
  EXPECT_THAT(Import(R"({"A": {"2": [[0, 4], 4e9]}})"),
              StatusIs(kBadInput, HasSubstr("expected [[a, b, c], bytes/s]")));
  EXPECT_THAT(ImportProfile("sailor-links",
                            {{"f", "gpu,n_gpus,c,max_GBps\nA,2,5,10\n"}}, {}),
              StatusIs(kBadInput, HasSubstr("f: device: missing")));
}

}  // namespace
}  // namespace tangram
