#include "formats/config/cluster_file.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "formats/config/device_catalogue.h"
#include "formats/config/units.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::IsOk;
using ::tangram::testing::kBadInput;
using ::tangram::testing::StatusIs;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two complete groups with GPUs that are not in the catalogue.
constexpr absl::string_view kComplete = R"(
name: pair
groups:
  - name: slow
    gpu: Slow-1
    nodes: 2
    gpus_per_node: 4
    memory: 16 GB
    memory_bandwidth: 320 GB/s
    peak_tflops: {fp32: 8, fp16: 65, bf16: 65, fp8: 65}
    flash_attention: false
    efficiency: {gemm_max_fraction: 0.5, gemm_half_flops: 2e9,
                 attention_fraction: 0.3, memory_fraction: 0.7,
                 kernel_launch: 7us, host_launch: 9us, unaligned_penalty: 0.2,
                 odd_penalty: 0.5, overlap_penalty: 0.1, copy_penalty: 0.03,
                 duplex_penalty: 0.4, reserved_memory: 2 GB, fragmentation: 0.1}
    host: {bandwidth: 12 GB/s, memory: 64 GB}
    intra_node: {bandwidth: 6 GB/s, pair_bandwidth: 10 GB/s, latency: 10us}
    inter_node: {bandwidth: 4 GB/s, pair_bandwidth: 3 GB/s, latency: 50us}
  - name: fast
    gpu: {type: Fast-1, memory: 80 GB, memory_bandwidth: 2 TB/s,
          peak_tflops: {fp32: 20, fp16: 300, bf16: 300, fp8: 600},
          flash_attention: true,
          efficiency: {gemm_max_fraction: 0.8, gemm_half_flops: 9e9,
                       attention_fraction: 0.6, memory_fraction: 0.75,
                       kernel_launch: 4us, host_launch: 8us,
                       unaligned_penalty: 0.1, odd_penalty: 0.4,
                       overlap_penalty: 0, copy_penalty: 0, duplex_penalty: 0,
                       reserved_memory: 1 GB, fragmentation: 0}}
    nodes: 1
    gpus_per_node: 8
    node_names: [big-box]
    intra_node: {bandwidth: 200 GB/s, pair_bandwidth: 200 GB/s, latency: 5us}
    inter_node: {bandwidth: 80 Gbit/s, pair_bandwidth: 80 Gbit/s, latency: 20us}
links:
  - {from: slow, to: fast, bandwidth: 2 GB/s, pair_bandwidth: 1 GB/s,
     latency: 60us}
)";

std::string Complete(absl::string_view from = "", absl::string_view to = "") {
  return from.empty() ? std::string(kComplete)
                      : absl::StrReplaceAll(kComplete, {{from, to}});
}

MATCHER_P2(AssumedFrom, field, source, "") {
  return arg.field == field && ::testing::Matches(source)(arg.source);
}

TEST(ParseClusterTest, ReadsEveryField) {
  ASSERT_OK_AND_ASSIGN(const Cluster cluster,
                       ParseCluster(kComplete, "pair.yaml"));
  EXPECT_EQ(cluster.name, "pair");
  EXPECT_THAT(cluster.groups, ElementsAre("slow", "fast"));
  ASSERT_THAT(cluster.nodes, SizeIs(3));
  EXPECT_EQ(cluster.nodes[1].name, "slow-1");
  EXPECT_EQ(cluster.nodes[2].name, "big-box");
  EXPECT_EQ(cluster.num_gpus(), 16);  // 2 · 4 + 8

  const DeviceSpec& slow = cluster.nodes[0].device;
  EXPECT_EQ(slow.type, "Slow-1");
  EXPECT_EQ(slow.memory_bytes, 16e9);
  EXPECT_EQ(slow.memory_bandwidth_bytes_per_s, 320e9);
  EXPECT_EQ(slow.peak_flops.fp16, 65e12);
  EXPECT_EQ(slow.efficiency, (DeviceEfficiency{.gemm_max_fraction = 0.5,
                                               .gemm_half_flops = 2e9,
                                               .attention_fraction = 0.3,
                                               .memory_fraction = 0.7,
                                               .kernel_launch_s = 7e-6,
                                               .host_launch_s = 9e-6,
                                               .unaligned_penalty = 0.2,
                                               .odd_penalty = 0.5,
                                               .overlap_penalty = 0.1,
                                               .copy_penalty = 0.03,
                                               .duplex_penalty = 0.4,
                                               .reserved_bytes = 2e9,
                                               .fragmentation = 0.1}));
  EXPECT_EQ(slow.host, (HostLink{12e9, 64e9}));
  const DeviceSpec& fast = cluster.nodes[2].device;
  EXPECT_EQ(fast.peak_flops.fp8, 600e12);
  EXPECT_TRUE(fast.supports_flash_attention);
  EXPECT_EQ(fast.efficiency.fragmentation, 0);

  EXPECT_EQ(cluster.nodes[0].intra_node, (Link{6e9, 10e9, 10e-6}));
  EXPECT_EQ(cluster.LinkBetween(0, 1), (Link{4e9, 3e9, 50e-6}));
  EXPECT_EQ(cluster.LinkBetween(0, 2), (Link{2e9, 1e9, 60e-6}));
  EXPECT_EQ(cluster.LinkBetween(2, 0), (Link{2e9, 1e9, 60e-6}));
  EXPECT_THAT(cluster.assumptions, IsEmpty());
}

TEST(ParseClusterTest, ReadsJson) {
  const std::string json = R"({
    "groups": [{"name": "t4", "gpu": "T4", "nodes": 2, "gpus_per_node": 4,
                "memory": 16000000000}],
    "default_link": {"bandwidth": "1 GB/s"}
  })";
  ASSERT_OK_AND_ASSIGN(const Cluster cluster,
                       ParseCluster(json, "/some/where/mine.json"));
  EXPECT_EQ(cluster.name, "mine");
  EXPECT_EQ(cluster.nodes[1].device.memory_bytes, 16e9);
}

TEST(ParseClusterTest, ReadsSingleNodes) {
  ASSERT_OK_AND_ASSIGN(const Cluster cluster, ParseCluster(R"(
nodes:
  - {name: a, gpu: T4, gpus_per_node: 2}
  - {name: b, gpu: T4, gpus_per_node: 4}
default_link: {bandwidth: 1 GB/s, pair_bandwidth: 1 GB/s, latency: 1us}
)",
                                                           "f"));
  EXPECT_THAT(cluster.groups, ElementsAre("a", "b"));
  EXPECT_EQ(cluster.nodes[1].name, "b");
  EXPECT_EQ(cluster.nodes[1].num_gpus, 4);
  EXPECT_EQ(cluster.LinkBetween(0, 1), (Link{1e9, 1e9, 1e-6}));
  EXPECT_THAT(
      cluster.assumptions,
      Not(Contains(Field(&Assumption::field, HasSubstr("inter_node")))));
}

TEST(ParseClusterTest, FillsFromTheCatalogueAndSaysSo) {
  ASSERT_OK_AND_ASSIGN(
      const Cluster cluster,
      ParseCluster("groups: [{name: g, gpu: tesla t4, nodes: 2, "
                   "peak_tflops: {fp16: 50}, efficiency: "
                   "{gemm_max_fraction: 0.3, attention_fraction: 0.4, "
                   "memory_fraction: 0.5, kernel_launch: 1us, "
                   "host_launch: 2us, unaligned_penalty: 0, odd_penalty: 0, "
                   "overlap_penalty: 0, copy_penalty: 0.02, duplex_penalty: "
                   "0.2, reserved_memory: 1 GB, "
                   "fragmentation: 0}}]",
                   "f"));
  const CatalogueDevice& t4 = *FindDevice("T4");
  const Node& node = cluster.nodes[0];
  EXPECT_EQ(node.device.type, "T4");
  EXPECT_EQ(node.device.peak_flops.fp16, 50e12);
  EXPECT_EQ(node.device.peak_flops.fp32, t4.device.peak_flops.fp32);
  EXPECT_EQ(node.device.memory_bytes, t4.device.memory_bytes);
  EXPECT_EQ(node.device.efficiency.gemm_half_flops,
            t4.device.efficiency.gemm_half_flops);
  EXPECT_EQ(node.num_gpus, t4.gpus_per_node);
  EXPECT_EQ(node.intra_node, t4.intra_node);
  EXPECT_EQ(cluster.LinkBetween(0, 1), t4.inter_node);
  EXPECT_THAT(cluster.assumptions,
              Contains(Assumption{
                  "groups[g].memory",
                  FormatQuantity(t4.device.memory_bytes, Dimension::kBytes),
                  "catalogue: T4"}));
  EXPECT_THAT(
      cluster.assumptions,
      Contains(Assumption{"groups[g].efficiency",
                          absl::StrCat("gemm_half_flops ",
                                       t4.device.efficiency.gemm_half_flops),
                          "catalogue: T4"}));
  std::vector<std::string> fields;
  for (const Assumption& a : cluster.assumptions) {
    EXPECT_EQ(a.source, "catalogue: T4");
    fields.push_back(a.field);
  }
  // T4 has neither bf16 nor fp8 units, so no value is assumed for them.
  EXPECT_THAT(fields,
              ElementsAre("groups[g].peak_tflops.fp32", "groups[g].memory",
                          "groups[g].memory_bandwidth",
                          "groups[g].flash_attention", "groups[g].efficiency",
                          "groups[g].host", "groups[g].gpus_per_node",
                          "groups[g].intra_node", "groups[g].inter_node"));
}

TEST(ParseClusterTest, ReadsAHostAndAssumesItsRest) {
  ASSERT_OK_AND_ASSIGN(const Cluster cluster, ParseCluster(R"(
groups:
  - {name: g, gpu: T4, nodes: 1, host: {bandwidth: 11 GB/s}}
)",
                                                           "f"));
  EXPECT_EQ(cluster.nodes[0].device.host.bandwidth_bytes_per_s, 11e9);
  EXPECT_GT(cluster.nodes[0].device.host.memory_bytes, 0);
  EXPECT_THAT(cluster.assumptions,
              Contains(AssumedFrom("groups[g].host.memory", "catalogue: T4")));
}

TEST(ParseClusterTest, ANewGpuHasAWholeHostOrNone) {
  const auto parse = [](const char* host) {
    return ParseCluster(
        absl::StrCat("groups: [{name: g, gpu: New-1, nodes: 1, gpus_per_node: "
                     "8, memory: 1 TB, memory_bandwidth: 9 TB/s, peak_tflops: "
                     "{bf16: 5000}",
                     host, "}]"),
        "f");
  };
  ASSERT_OK_AND_ASSIGN(const Cluster none, parse(""));
  EXPECT_EQ(none.nodes[0].device.host, HostLink());
  ASSERT_OK_AND_ASSIGN(const Cluster whole,
                       parse(", host: {bandwidth: 2 GB/s, memory: 3 GB}"));
  EXPECT_EQ(whole.nodes[0].device.host, (HostLink{2e9, 3e9}));
  EXPECT_THAT(parse(", host: {bandwidth: 2 GB/s}"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("groups[0].host.memory: missing")));
}

TEST(ParseClusterTest, AcceptsANewGpuWithItsThreeNumbers) {
  ASSERT_OK_AND_ASSIGN(const Cluster cluster, ParseCluster(R"(
groups:
  - {name: g, gpu: New-1, nodes: 1, gpus_per_node: 8, memory: 1 TB,
     memory_bandwidth: 9 TB/s, peak_tflops: {bf16: 5000}}
)",
                                                           "f"));
  const DeviceSpec& device = cluster.nodes[0].device;
  EXPECT_EQ(device.peak_flops.bf16, 5e15);
  EXPECT_EQ(device.peak_flops.fp16, 0);
  EXPECT_EQ(device.efficiency, GeneralEfficiency(device.peak_flops, 9e12));
  EXPECT_TRUE(device.supports_flash_attention);  // It has bf16 units.
  EXPECT_THAT(
      cluster.assumptions,
      AllOf(
          Contains(AssumedFrom("groups[g].peak_tflops.fp16", "not given")),
          Contains(AssumedFrom("groups[g].efficiency", "general defaults")),
          Contains(AssumedFrom("groups[g].intra_node", HasSubstr("fabric")))));
}

// Links of a node of `gpus` GPUs with `datasheet` that the catalogue lacks.
Cluster NewGpus(int gpus, absl::string_view datasheet) {
  absl::StatusOr<Cluster> cluster = ParseCluster(
      absl::StrCat("groups: [{name: g, gpu: New-1, nodes: 2, gpus_per_node: ",
                   gpus, ", memory: 80 GB, ", datasheet, "}]"),
      "f");
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  return *std::move(cluster);
}

TEST(ParseClusterTest, ADatasheetTellsTheLinksOfAServer) {
  constexpr absl::string_view kServer =
      "memory_bandwidth: 2 TB/s, peak_tflops: {bf16: 312}";
  const Cluster server = NewGpus(8, kServer);
  EXPECT_NEAR(server.nodes[0].intra_node.bandwidth_bytes_per_s, 220e9, 1);
  // Eight cards.
  const Link network = server.LinkBetween(0, 1);
  EXPECT_NEAR(network.bandwidth_bytes_per_s, 8 * 22e9, 1);
  EXPECT_NEAR(network.pair_bandwidth_bytes_per_s, 22e9, 1);

  constexpr double kPcie = 11e9;
  for (const Cluster& cards :
       {NewGpus(2, kServer),
        NewGpus(8, "memory_bandwidth: 1 TB/s, peak_tflops: {bf16: 312}"),
        NewGpus(8, "memory_bandwidth: 2 TB/s, peak_tflops: {bf16: 200}")}) {
    EXPECT_EQ(cards.nodes[0].intra_node.bandwidth_bytes_per_s, kPcie);
    EXPECT_EQ(cards.LinkBetween(0, 1).bandwidth_bytes_per_s, 1.25e9);
  }
}

TEST(ParseClusterTest, AssumesTheSlowerNetworkBetweenUnlistedGroups) {
  const std::string text =
      Complete("links:", "")
          .substr(0, Complete("links:", "").find("  - {from: slow"));
  ASSERT_OK_AND_ASSIGN(const Cluster cluster, ParseCluster(text, "f"));
  // The worse of 4 GB/s, pair 3 GB/s, 50 us and of 10 GB/s, pair 10 GB/s, 20
  // us.
  EXPECT_EQ(cluster.LinkBetween(0, 2), (Link{4e9, 3e9, 50e-6}));
  EXPECT_THAT(
      cluster.assumptions,
      ElementsAre(
          Assumption{"links[slow to fast]", "4 GB/s, pair 3 GB/s, 50 us",
                     "slower inter_node of the two groups"},
          AssumedFrom("links[fast to slow]", HasSubstr("inter_node"))));
}

TEST(ParseClusterTest, UsesTheDefaultLinkForUnlistedDirections) {
  const std::string text =
      absl::StrCat(Complete("latency: 60us", "latency: 60us, both: false"),
                   "default_link: {bandwidth: 9 GB/s, latency: 0}\n");
  ASSERT_OK_AND_ASSIGN(const Cluster cluster, ParseCluster(text, "f"));
  EXPECT_EQ(cluster.LinkBetween(0, 2), (Link{2e9, 1e9, 60e-6}));
  EXPECT_EQ(cluster.LinkBetween(2, 0), (Link{9e9, 9e9, 0}));
  EXPECT_EQ(cluster.LinkBetween(0, 1), (Link{4e9, 3e9, 50e-6}));
  EXPECT_THAT(cluster.assumptions,
              ElementsAre(AssumedFrom("default_link.pair_bandwidth",
                                      "same as bandwidth")));
}

TEST(ParseClusterTest, CountsManyAssumedPairsInsteadOfListingThem) {
  std::string text = "nodes:\n";
  for (int i = 0; i < 60; ++i) {
    absl::StrAppend(&text, "  - {name: n", i, ", gpu: T4}\n");
  }
  ASSERT_OK_AND_ASSIGN(const Cluster cluster, ParseCluster(text, "f"));
  EXPECT_THAT(cluster.assumptions,
              Contains(Assumption{"links", "3540 pairs of groups",  // 60 · 59
                                  "slower inter_node of the two groups"}));
}

struct BadCluster {
  std::string from;
  std::string to;
  std::string message;
};

TEST(ParseClusterTest, NamesFieldValueAndWhatWasExpected) {
  const BadCluster cases[] = {
      {"bandwidth: 200 GB/s, pair", "bandwidth: -3, pair",
       "groups[1].intra_node.bandwidth: -3; expected a positive bandwidth such "
       "as \"12 GB/s\""},
      {"bandwidth: 6 GB/s", "bandwidth: .nan", ".nan; expected a positive"},
      {"bandwidth: 6 GB/s", "bandwidth: .inf", ".inf; expected a positive"},
      {"bandwidth: 6 GB/s", "bandwidth: 0", "0; expected a positive bandwidth"},
      {"bandwidth: 6 GB/s", "bandwidth: [6]", "a list; expected a positive"},
      {"{bandwidth: 6 GB/s, pair", "{pair",
       "groups[0].intra_node.bandwidth: missing; expected a positive"},
      {"pair_bandwidth: 3 GB/s", "pair_bandwidth: 5 GB/s",
       "groups[0].inter_node.pair_bandwidth: 5 GB/s; expected at most the "
       "bandwidth of the whole node, 4 GB/s"},
      {"latency: 60us", "latency: -1us",
       "links[0].latency: -1us; expected a time"},
      {"nodes: 2", "nodes: 0", "groups[0].nodes: 0; expected a positive"},
      {"nodes: 2", "nodes: -2", "groups[0].nodes: -2; expected a positive"},
      {"nodes: 2", "nodes: four", "nodes: four; expected a positive integer"},
      {"nodes: 2", "nodes: 2.5", "nodes: 2.5; expected a positive integer"},
      {"nodes: 2", "nodes: 100001",
       "100001; expected a positive integer, at most 100000"},
      {"nodes: 2", "nodes: 99999999999999",
       "expected a positive integer, at most 100000"},
      {"nodes: 2", "nodes: 100000",
       "groups[1].nodes: 1; expected at most 100000 nodes in all"},
      {"    nodes: 2\n", "",
       "groups[0].nodes: missing; expected a positive integer"},
      {"gpus_per_node: 4", "gpus_per_node: 0",
       "groups[0].gpus_per_node: 0; expected a positive integer"},
      {"gpus_per_node: 4", "gpus_per_node: -4", "-4; expected a positive"},
      {"    gpus_per_node: 4\n", "", "groups[0].gpus_per_node: missing"},
      {"gpus_per_node: 4", "gpu_per_node: 4",
       "groups[0].gpu_per_node: unknown key; did you mean gpus_per_node?"},
      {"latency: 5us", "colour: red",
       "groups[1].intra_node.colour: unknown key; expected one of bandwidth, "
       "pair_bandwidth, latency"},
      {"name: pair", "title: pair", "f: title: unknown key"},
      {"fp8: 600", "fp4: 600", "peak_tflops.fp4: unknown key; did you mean"},
      {"fp16: 300", "fp16: fast", "fast; expected a positive throughput"},
      {"name: pair", "name: [pair]", "name: a list; expected a text"},
      {"name: fast", "name: slow",
       "groups[1].name: slow; expected a name no other group has"},
      {"name: fast", "name: a=b", "a=b; expected a name of letters"},
      {"[big-box]", "[slow-1]", "slow-1 is taken"},
      {"[big-box]", "[a, b]", "one name for each of the 1 nodes; there are 2"},
      {"to: fast", "to: fest", "links[0].to: fest; expected one of slow, fast"},
      {"to: fast", "to: slow", "links[0].to: slow; expected another group"},
      {"to: fast, ", "", "links[0].to: missing; expected one of slow, fast"},
      {"latency: 60us}",
       "latency: 60us}\n  - {from: fast, to: slow, "
       "bandwidth: 1 GB/s}",
       "links[1].to: slow; expected each direction of a pair of groups in one"},
      {"latency: 60us", "latency: 60us, both: maybe",
       "links[0].both: maybe; expected true or false"},
      {"gpu: Slow-1", "gpus: Slow-1",
       "groups[0].gpus: unknown key; did you mean gpu?"},
      {"    gpu: Slow-1\n", "", "groups[0].gpu: missing; expected a GPU type"},
      {"{type: Fast-1, ", "{", "groups[1].gpu.type: missing; expected a GPU"},
      {"gpu: Slow-1", "gpu: {type: Slow-1}",
       "groups[0].memory: unknown key; expected one of name, gpu, nodes"},
      {"    memory: 16 GB\n", "",
       "groups[0].memory: missing; expected a value, since GPU type Slow-1 is "
       "not in the catalogue; known types: T4,"},
      {"memory: 16 GB", "memory: 16 GB\n    memory: 17 GB",
       "groups[0].memory: given twice"},
      {"flash_attention: false", "flash_attention: 3",
       "expected true or false"},
      {"gemm_max_fraction: 0.5", "gemm_max_fraction: 1.5",
       "1.5; expected a number from 0.001 to 1"},
      {"fragmentation: 0}", "fragmentation: [0]}",
       "groups[1].gpu.efficiency.fragmentation: a list; expected a number"},
      {"{fp32: 20, fp16: 300, bf16: 300, fp8: 600}", "{}",
       "at least one of fp32, fp16, bf16, fp8"},
  };
  for (const BadCluster& c : cases) {
    SCOPED_TRACE(c.to);
    ASSERT_NE(Complete(c.from, c.to), kComplete);
    EXPECT_THAT(ParseCluster(Complete(c.from, c.to), "f"),
                StatusIs(kBadInput, HasSubstr(c.message)));
  }
}

TEST(ParseClusterTest, NeedsGroups) {
  for (const std::string text : {"name: x", "groups: []", "groups:", "{}"}) {
    EXPECT_THAT(ParseCluster(text, "c1.yaml"),
                StatusIs(kBadInput,
                         "c1.yaml: groups: missing; expected a list "
                         "of at least one node group"));
  }
  EXPECT_THAT(ParseCluster("groups: 3", "f"),
              StatusIs(kBadInput, "f: groups: 3; expected a list"));
  EXPECT_THAT(ParseCluster("groups: [3]", "f"),
              StatusIs(kBadInput, "f: groups[0]: 3; expected a mapping"));
  EXPECT_THAT(ParseCluster("just text", "f"),
              StatusIs(kBadInput, "f: just text; expected a mapping"));
}

TEST(ParseClusterTest, RefusesTooManyGroups) {
  std::string text = "nodes:\n";
  for (int i = 0; i < 1001; ++i) {
    absl::StrAppend(&text, "  - {name: n", i, ", gpu: T4}\n");
  }
  EXPECT_THAT(ParseCluster(text, "f"),
              StatusIs(kBadInput, HasSubstr("at most 1000 groups")));
}

TEST(ParseClusterTest, ShowsUntrustedTextInPart) {
  const std::string text =
      Complete("nodes: 2", "nodes: " + std::string(100'000, 'x'));
  EXPECT_LT(ParseCluster(text, "f").status().message().size(), 200);
}

TEST(LoadClusterFileTest, NamesAMissingFile) {
  EXPECT_THAT(LoadClusterFile("/no/such.yaml"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such")));
}

struct ShippedCase {
  std::string name;
  int num_gpus = 0;
  int num_groups = 0;
};

class ShippedClusterTest : public ::testing::TestWithParam<ShippedCase> {
 protected:
  static absl::StatusOr<Cluster> Load() {
    return LoadClusterFile(absl::StrCat(TANGRAM_SOURCE_DIR, "/deploy/clusters/",
                                        GetParam().name, ".yaml"));
  }
};

TEST_P(ShippedClusterTest, Loads) {
  ASSERT_OK_AND_ASSIGN(const Cluster cluster, Load());
  EXPECT_EQ(cluster.name, GetParam().name);
  EXPECT_EQ(cluster.num_gpus(), GetParam().num_gpus);
  EXPECT_THAT(cluster.groups, SizeIs(GetParam().num_groups));
  for (const Node& node : cluster.nodes) {
    EXPECT_NE(FindDevice(node.device.type), nullptr) << node.device.type;
  }
}

// So each group becomes one island.
TEST_P(ShippedClusterTest, HasNoLinkLeavingAGroupFasterThanThoseInside) {
  ASSERT_OK_AND_ASSIGN(const Cluster cluster, Load());
  for (size_t a = 0; a < cluster.groups.size(); ++a) {
    const auto in_group = [a](const Node& node) {
      return node.group == static_cast<int>(a);
    };
    if (std::count_if(cluster.nodes.begin(), cluster.nodes.end(), in_group) <
        2) {
      continue;
    }
    const Link& inside = cluster.links[a][a];
    for (const Link& leaving : cluster.links[a]) {
      EXPECT_GE(inside.bandwidth_bytes_per_s, leaving.bandwidth_bytes_per_s);
      EXPECT_GE(inside.pair_bandwidth_bytes_per_s,
                leaving.pair_bandwidth_bytes_per_s);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Deploy, ShippedClusterTest,
    ::testing::Values(ShippedCase{"c1-compute-het", 32, 2},
                      ShippedCase{"c2-modern-het", 16, 2},
                      ShippedCase{"c3-full-het", 20, 4},
                      ShippedCase{"het-128", 128, 3},
                      ShippedCase{"het-1024", 1024, 4},
                      ShippedCase{"het-10240", 10240, 6}),
    [](const auto& test) {
      return absl::StrReplaceAll(test.param.name, {{"-", ""}});
    });

TEST(ParseClusterTest, KnowsTheVersionOfItsFormat) {
  const std::string body(kComplete);
  EXPECT_THAT(ParseCluster("tangram_cluster: 1" + body, "c.yaml"), IsOk());
  EXPECT_THAT(
      ParseCluster("tangram_cluster: 2\nfuture: {}" + body, "c.yaml"),
      StatusIs(kBadInput, HasSubstr("c.yaml: tangram_cluster: 2; expected 1, "
                                    "the version of the cluster format")));
  EXPECT_THAT(ParseCluster("tangram_cluster: one" + body, "c.yaml"),
              StatusIs(kBadInput, HasSubstr("tangram_cluster: one; expected")));
}

}  // namespace
}  // namespace tangram
