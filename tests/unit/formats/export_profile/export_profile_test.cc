#include "formats/export_profile/export_profile.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/import_profile/import_profile.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::StatusIs;

constexpr int kLayers = 4;

class ExportProfileTest : public ::testing::Test {
 protected:
  ExportProfileTest()
      : model_(testing::TestModel(kLayers)),
        cluster_(testing::TestCluster(
            {{.name = "a", .num_nodes = 2, .device = Device("GPU-A", 100e12)},
             {.name = "b",
              .gpus_per_node = 8,
              .device = Device("GPU-B", 50e12)}})),
        training_(testing::TestTraining()),
        profiles_(ProfileLayers(model_, cluster_, training_,
                                {.max_tp_degree = 4, .max_samples = 2})) {}

  static DeviceSpec Device(const std::string& type, double flops) {
    DeviceSpec device = testing::TestDevice(type);
    device.peak_flops.fp16 = flops;
    return device;
  }

  ProfileExport Export(const std::string& target) const {
    return *ExportProfile(target, {.model = model_,
                                   .cluster = cluster_,
                                   .training = training_,
                                   .profiles = profiles_});
  }

  static std::string TextOf(const ProfileExport& exported,
                            const std::string& name) {
    for (const ProfileFile& file : exported.files) {
      if (file.name == name) return file.text;
    }
    ADD_FAILURE() << "no file " << name;
    return "";
  }

  // Reads the files of the export whose names have `part` as a profile.
  Profile Import(const std::string& format, const ProfileExport& exported,
                 const std::string& part) const {
    std::vector<ImportedFile> files;
    for (const ProfileFile& file : exported.files) {
      if (file.name.find(part) != std::string::npos) {
        files.push_back({file.name, file.text});
      }
    }
    const auto imported =
        ImportProfile(format, files,
                      {.device = "GPU-B",
                       .model = model_,
                       .precision = training_.precision,
                       .sequence_length = training_.sequence_length});
    EXPECT_THAT(imported, testing::IsOk());
    return imported.ok() ? imported->profile : Profile();
  }

  const LayerProfile& TransformerOnB(int tp_degree, int samples) const {
    return (*profiles_.Find({1, tp_degree, samples}))[1];
  }

  const ModelSpec model_;
  const Cluster cluster_;
  const TrainingOptions training_;
  const LayerProfiles profiles_;
};

TEST_F(ExportProfileTest, TheImporterReadsTheTimesOfMetisFiles) {
  const Profile profile = Import("metis", Export("metis"), "DeviceType.GPUB_");
  int points = 0;
  for (const ProfileEntry& entry : profile.entries) {
    for (const ProfilePoint& point : entry.points) {
      const LayerProfile& layer =
          TransformerOnB(entry.parallelism.tp_degree, point.samples);
      EXPECT_NEAR(point.forward_s + point.backward_s,
                  layer.forward_s + layer.backward_s, 1e-12);
      ++points;
    }
  }
  EXPECT_EQ(points, 3 * 2);  // tp 1, 2, 4; 1 and 2 samples.
}

TEST_F(ExportProfileTest, MetisHostsHaveEquallyManyGpusAndStandByType) {
  const ProfileExport exported = Export("metis");
  EXPECT_EQ(TextOf(exported, "hostfile"),
            "a-0 slots=4\na-1 slots=4\nb-0.0 slots=4\nb-0.1 slots=4\n");
  const auto hosts =
      nlohmann::json::parse(TextOf(exported, "clusterfile.json"));
  EXPECT_EQ(hosts["b-0.1"]["instance_type"], "GPUB");
  // 100 and 10 GB/s in MiB/ms.
  EXPECT_DOUBLE_EQ(hosts["a-0"]["intra_bandwidth"], 100e6 / (1 << 20));
  EXPECT_DOUBLE_EQ(hosts["a-0"]["inter_bandwidth"], 10e6 / (1 << 20));
  EXPECT_THAT(exported.notes, Contains(HasSubstr("hosts of 4")));
}

TEST_F(ExportProfileTest, MetisTypesAreLettersAndDigits) {
  const Cluster cluster =
      testing::TestCluster({{.name = "a", .device = Device("T4", 100e12)},
                            {.name = "b", .device = Device("V100-16", 90e12)},
                            {.name = "c", .device = Device("A100-40", 80e12)},
                            {.name = "d", .device = Device("A100-80", 70e12)}});
  const LayerProfiles profiles = ProfileLayers(
      model_, cluster, training_, {.max_tp_degree = 1, .max_samples = 1});
  const ProfileExport exported =
      *ExportProfile("metis", {.model = model_,
                               .cluster = cluster,
                               .training = training_,
                               .profiles = profiles});
  const auto hosts =
      nlohmann::json::parse(TextOf(exported, "clusterfile.json"));
  const std::pair<const char*, const char*> kTypes[] = {
      {"a-0", "T4"}, {"b-0", "V100"}, {"c-0", "A10040"}, {"d-0", "A10080"}};
  for (const auto& [host, type] : kTypes) {
    EXPECT_EQ(hosts[host]["instance_type"], type);
    EXPECT_NE(TextOf(exported, absl::StrCat("profiles/DeviceType.", type,
                                            "_tp1_bs1.json")),
              "");
  }
  EXPECT_THAT(exported.notes, Contains(HasSubstr("add A10040 to")));
  EXPECT_THAT(exported.notes, Not(Contains(HasSubstr("add V100"))));
}

TEST_F(ExportProfileTest, TheImporterReadsTheTimesOfSailorFiles) {
  const Profile profile = Import("sailor", Export("sailor"), "GPU-B/profile");
  int points = 0;
  for (const ProfileEntry& entry : profile.entries) {
    if (LayerOf(profile, entry).kind != LayerKind::kTransformer) continue;
    for (const ProfilePoint& point : entry.points) {
      const LayerProfile& layer =
          TransformerOnB(entry.parallelism.tp_degree, point.samples);
      EXPECT_NEAR(point.forward_s, layer.forward_s, 1e-12);
      EXPECT_NEAR(point.backward_s, layer.backward_s, 1e-12);
      ++points;
    }
  }
  EXPECT_EQ(points, 3 * 2);
}

TEST_F(ExportProfileTest, SailorKnowsSizesQuotasAndRates) {
  const ProfileExport exported = Export("sailor");
  const auto sizes = nlohmann::json::parse(TextOf(exported, "llm_info.json"));
  const auto& layer = sizes[model_.name]["2"]["1"];
  EXPECT_EQ(layer["params_floats"], TransformerOnB(2, 1).parameters);
  EXPECT_EQ(layer["act_output_floats"], 512 * 1024);
  const auto quotas = nlohmann::json::parse(TextOf(exported, "quotas.json"));
  EXPECT_EQ(quotas["GPU-A"]["zone"], 8);
  const auto rates =
      nlohmann::json::parse(TextOf(exported, "multizone_bandwidths_het.json"));
  // Between the groups, and inside the only node of GPU-B.
  EXPECT_EQ(rates["zone"]["GPU-A"]["1"]["zone"]["GPU-B"]["1"][1], 1e9);
  EXPECT_EQ(rates["zone"]["GPU-B"]["2"]["zone"]["GPU-B"]["2"][1], 100e9);
}

TEST_F(ExportProfileTest, AmpFilesAreArraysOfNumPy) {
  const std::string text =
      TextOf(Export("amp"), "known_cost/" + model_.name + "_GPU-B_2.npy");
  constexpr size_t kHeader = 128;
  ASSERT_EQ(text.size(), kHeader + 8 * (kLayers + 2));
  EXPECT_THAT(text, ::testing::StartsWith("\x93NUMPY"));
  EXPECT_THAT(text, HasSubstr("'shape': (6,)"));
  double value = 0;
  std::copy_n(text.begin() + kHeader + 8, 8, reinterpret_cast<char*>(&value));
  const LayerProfile& layer = TransformerOnB(2, 1);
  EXPECT_NEAR(3 * value, layer.forward_s + layer.backward_s, 1e-15);
}

TEST_F(ExportProfileTest, NamesDoNotLeaveTheFolder) {
  ModelSpec model = model_;
  model.name = "../../evil";
  LayerProfiles profiles = profiles_;
  profiles.types[0].name = "..";
  for (const ProfileTarget& target : ProfileTargets()) {
    const ProfileExport exported =
        *ExportProfile(target.name, {.model = model,
                                     .cluster = cluster_,
                                     .training = training_,
                                     .profiles = profiles});
    for (const ProfileFile& file : exported.files) {
      EXPECT_THAT(absl::StrCat("/", file.name, "/"), Not(HasSubstr("/../")))
          << target.name;
    }
  }
}

TEST_F(ExportProfileTest, SailorFindsItsFilesByTheWordOfAName) {
  ModelSpec model = model_;
  model.name = "meta/Llama 3";
  const ProfileExport exported =
      *ExportProfile("sailor", {.model = model,
                                .cluster = cluster_,
                                .training = training_,
                                .profiles = profiles_});
  EXPECT_NE(TextOf(exported, "profiles/meta-Llama-3/GPU-B/profile.json"), "");
  EXPECT_THAT(TextOf(exported, "training_config.json"),
              HasSubstr("\"meta-Llama-3\""));
}

TEST_F(ExportProfileTest, RefusesOtherPlanners) {
  EXPECT_THAT(ExportProfile("nobody", {.model = model_,
                                       .cluster = cluster_,
                                       .training = training_,
                                       .profiles = profiles_}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("nobody; expected one of amp, metis")));
}

}  // namespace
}  // namespace tangram
