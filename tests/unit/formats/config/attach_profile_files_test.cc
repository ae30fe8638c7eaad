#include "formats/config/attach_profile_files.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "formats/config/cluster_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::StatusIs;

using Paths = std::vector<std::string>;

// Writes a file into the folder of temporary files.
std::string Write(const std::string& name, const std::string& text) {
  std::string path = ::testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

std::string WriteProfile(const std::string& name, const std::string& device) {
  return Write(name, R"({"tangram_profile": 1, "device": ")" + device + R"(",
    "collectives": [{"op": "all_reduce", "ranks": 2,
                     "points": [{"bytes": 1, "seconds": 1}]}]})");
}

TEST(AttachNamedProfilesTest, ReadsFilesBesideTheClusterFile) {
  WriteProfile("attach_t4.json", "T4");
  const std::string cluster_path =
      Write("attach.yaml",
            "groups: [{name: a, gpu: T4, nodes: 1, profile: attach_t4.json}, "
            "{name: b, gpu: {type: T4, profile: [attach_t4.json]}, nodes: 1}, "
            "{name: c, gpu: T4, nodes: 1}]");
  ASSERT_OK_AND_ASSIGN(const Cluster cluster, LoadClusterFile(cluster_path));
  EXPECT_THAT(cluster.nodes[0].device.collectives, SizeIs(1));
  EXPECT_THAT(cluster.nodes[1].device.collectives, SizeIs(1));
  EXPECT_THAT(cluster.nodes[2].device.collectives, SizeIs(0));
}

TEST(AttachNamedProfilesTest, RefusesAProfileOfAnotherType) {
  WriteProfile("attach_v100.json", "V100-16");
  const std::string cluster_path = Write(
      "attach_bad.yaml",
      "groups: [{name: a, gpu: T4, nodes: 1, profile: attach_v100.json}]");
  EXPECT_THAT(LoadClusterFile(cluster_path),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("device: V100-16; expected T4")));
}

TEST(AttachProfileFilesTest, GoToDevicesOfTheirTypeOrFail) {
  ASSERT_OK_AND_ASSIGN(
      Cluster cluster,
      ParseCluster("groups: [{name: a, gpu: T4, nodes: 1}]", "c.yaml"));
  const std::string good = WriteProfile("attach_t4.json", "T4");
  EXPECT_TRUE(AttachProfileFiles(Paths{good}, cluster).ok());
  EXPECT_THAT(cluster.nodes[0].device.collectives, SizeIs(1));
  const std::string bad = WriteProfile("attach_v100.json", "V100-16");
  EXPECT_THAT(
      AttachProfileFiles(Paths{bad}, cluster),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("V100-16; expected a GPU type of the cluster: T4")));
  EXPECT_THAT(AttachProfileFiles(Paths{bad + ".none"}, cluster),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
}

TEST(AttachProfileFilesTest, LeaveOutTheMemoryOfAnotherFramework) {
  const auto reserved_bytes = [](const std::string& framework) {
    absl::StatusOr<Cluster> cluster =
        ParseCluster("groups: [{name: a, gpu: T4, nodes: 1}]", "c.yaml");
    EXPECT_TRUE(cluster.ok());
    const std::string path = Write(
        "attach_memory.json",
        R"({"tangram_profile": 1, "device": "T4", "framework": "torchtitan",
            "memory": {"context_bytes": 12345678}})");
    EXPECT_TRUE(AttachProfileFiles(Paths{path}, *cluster, framework).ok());
    return cluster->nodes[0].device.efficiency.reserved_bytes;
  };
  EXPECT_EQ(reserved_bytes(""), 12345678);
  EXPECT_EQ(reserved_bytes("FSDP"), 12345678);  // The same family.
  EXPECT_NE(reserved_bytes("Megatron-Core"), 12345678);
}

}  // namespace
}  // namespace tangram
