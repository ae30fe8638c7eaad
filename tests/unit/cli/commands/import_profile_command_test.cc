#include <fstream>
#include <sstream>
#include <string>

#include "cli/run.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/run_tangram.h"

namespace tangram {
namespace {

using ::tangram::testing::Outcome;
using ::tangram::testing::RunWith;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

std::string Write(const std::string& name, const std::string& text) {
  std::string path = ::testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

std::string NcclOutput() {
  return Write("cli_all_reduce.txt",
               "#  Rank  0 Pid 1 on node-a device 0 [0x16] Tesla T4\n"
               "#  Rank  1 Pid 1 on node-a device 1 [0x17] Tesla T4\n"
               "#  size count type redop time algbw busbw error\n"
               "   1000000 250 float sum 43.0 3.12 3.12 0\n");
}

TEST(ImportProfileCommandTest, WritesAProfileThatShowReads) {
  const std::string profile = ::testing::TempDir() + "cli_t4.json";
  const Outcome imported = RunWith({"import", "profile", "--from", "nccl-tests",
                                    NcclOutput(), "-o", profile});
  EXPECT_EQ(imported.code, ExitCode::kOk) << imported.err;
  EXPECT_THAT(imported.out, HasSubstr("T4: 0 layers and operators, 1 coll"));

  const Outcome shown = RunWith({"profile", "show", profile});
  EXPECT_EQ(shown.code, ExitCode::kOk) << shown.err;
  EXPECT_THAT(shown.out,
              AllOf(HasSubstr("T4"), ContainsRegex("all_reduce +2 +1 "
                                                   "+1.*MB")));
}

TEST(ImportProfileCommandTest, WritesLinksThatShowReads) {
  const std::string profile = ::testing::TempDir() + "cli_links.json";
  const std::string table = Write("cli_links.csv",
                                  "send_gpu,send_n,recv_gpu,c,max_GBps\n"
                                  "T4,4,V100-16,1.1,1.2\n");
  const Outcome imported =
      RunWith({"import", "profile", "--from", "sailor-links", table, "--device",
               "T4", "-o", profile});
  EXPECT_EQ(imported.code, ExitCode::kOk) << imported.err;
  EXPECT_THAT(imported.out, HasSubstr("transfers, 1 links"));

  const Outcome shown = RunWith({"profile", "show", profile});
  EXPECT_EQ(shown.code, ExitCode::kOk) << shown.err;
  EXPECT_THAT(shown.out, ContainsRegex("to V100-16 +1.20 GB/s"));
}

TEST(ImportProfileCommandTest, WritesToStandardOutput) {
  const Outcome outcome = RunWith(
      {"import", "profile", "--from", "nccl-tests", NcclOutput(), "-o", "-"});
  EXPECT_EQ(outcome.code, ExitCode::kOk);
  EXPECT_THAT(outcome.out, HasSubstr("\"tangram_profile\": 1"));
}

TEST(ImportProfileCommandTest, RefusesCompressedFilesAndUnknownFormats) {
  const std::string gz = Write("cli_some.gz", "\x1f\x8b rest");
  const Outcome compressed =
      RunWith({"import", "profile", "--from", "aceso", gz, "-o", "-"});
  EXPECT_EQ(compressed.code, ExitCode::kBadInput);
  EXPECT_THAT(compressed.err, HasSubstr("is compressed; expected text"));
  const Outcome unknown =
      RunWith({"import", "profile", "--from", "piper", gz + ".x", "-o", "-"});
  EXPECT_EQ(unknown.code, ExitCode::kBadInput);
}

TEST(ProfileOptionTest, ReachesThePlan) {
  const std::string cluster =
      Write("cli_cluster.yaml",
            "groups: [{name: a, gpu: T4, nodes: 1, gpus_per_node: 2}]");
  const std::string profile = Write("cli_layers.json", R"({
    "tangram_profile": 1, "device": "T4",
    "models": [{"name": "m", "layers": 2, "hidden_size": 256, "heads": 4,
                "ffn_hidden_size": 1024, "vocab_size": 1000}],
    "layers": [
      {"model": "m", "kind": "transformer", "precision": "fp16",
       "sequence_length": 128, "tp": 1,
       "points": [{"samples": 1, "forward_s": 0.1, "backward_s": 0.2},
                  {"samples": 2, "forward_s": 0.2, "backward_s": 0.4}]},
      {"model": "m", "kind": "transformer", "precision": "fp16",
       "sequence_length": 128, "tp": 2, "collectives_included": false,
       "points": [{"samples": 1, "forward_s": 0.1, "backward_s": 0.2},
                  {"samples": 2, "forward_s": 0.2, "backward_s": 0.4}]}]})");
  const std::string model =
      Write("cli_model.yaml",
            "{name: m, layers: 2, hidden_size: 256, heads: 4, "
            "ffn_hidden_size: 1024, vocab_size: 1000}");
  const Outcome outcome =
      RunWith({"plan", "--cluster", cluster, "--model", model, "--seq", "128",
               "--global-batch", "4", "--profile", profile, "--runtime", "any",
               "--parallelizer", "aceso"});
  EXPECT_EQ(outcome.code, ExitCode::kOk) << outcome.err;
  // Each replica runs two samples through two layers of 0.2 + 0.4 s.
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("iteration time  1.20 s"),
                                 HasSubstr("measured        100.0 %")));
}

}  // namespace
}  // namespace tangram
