#include "common/wire/model_wire.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/model.pb.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/wire/every_field.h"
#include "tests/unit/common/wire/random_values.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::RandomValues;
using testing::StatusIs;
using testing::TestModel;

TEST(ModelWireTest, ModelsSurviveTheRoundTrip) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const ModelSpec model = RandomValues(seed).Model();
    ASSERT_OK_AND_ASSIGN(const ModelSpec decoded, FromProto(ToProto(model)));
    EXPECT_EQ(decoded.name, model.name);
    EXPECT_EQ(decoded.layers, model.layers);
  }
}

TEST(ModelWireTest, NoFieldIsLost) {
  EXPECT_THAT(testing::LostFields<v1::Model>(
                  [](uint32_t seed) {
                    return ToProto(testing::RandomValues(seed).Model());
                  },
                  [](const v1::Model& message) -> absl::StatusOr<v1::Model> {
                    auto decoded = FromProto(message);
                    if (!decoded.ok()) return decoded.status();
                    return ToProto(*decoded);
                  }),
              // All fit other fields, so none changes alone.
              ::testing::UnorderedElementsAre(
                  "layer_types.kind", "layer_types.hidden_size",
                  "layer_types.mixer", "layer_types.no_mlp"));
}

TEST(ModelWireTest, SlicesSurviveTheRoundTrip) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::vector<ModelSlice> slices = SliceByLayer(RandomValues(seed).Model());
    for (size_t i = slices.size() - 1; i > 0; --i) {
      slices.push_back(JoinSlices(slices[i - 1], slices[i]));
    }
    EXPECT_THAT(FromProto(ToProto(slices)), IsOkAndHolds(slices));
  }
}

TEST(ModelWireTest, EqualLayersAreWrittenOnce) {
  const v1::Model message = ToProto(TestModel(100));
  EXPECT_EQ(message.layer_types_size(), 3);  // Embedding, layer, head.
  ASSERT_EQ(message.layers_size(), 3);
  EXPECT_EQ(message.layers(1).count(), 100);
}

// Plans of models without other mixers are the bytes that they always were.
TEST(ModelWireTest, PlainLayersSayNothingOfMixers) {
  const v1::Model message = ToProto(TestModel(2));
  for (const v1::LayerSpec& layer : message.layer_types()) {
    EXPECT_FALSE(layer.has_mixer());
    EXPECT_FALSE(layer.has_no_mlp());
    EXPECT_FALSE(layer.has_mamba());
    EXPECT_FALSE(layer.has_expert_latent_size());
  }
}

TEST(ModelWireTest, FingerprintsAreOfTheContent) {
  v1::SliceList message = ToProto(SliceByLayer(TestModel(2)));
  // Two equal layers in one slice, as two runs of one layer.
  v1::ModelSlice& slice = *message.mutable_slices(1);
  slice.set_end_atom(3);
  *slice.add_runs() = slice.runs(0);
  const std::vector<LayerSpec> layers = TestModel(2).layers;
  ASSERT_OK_AND_ASSIGN(const std::vector<ModelSlice> decoded,
                       FromProto(message));
  EXPECT_EQ(decoded[1], MakeSlice({1, 3}, {&layers[1], 2}));
}

TEST(ModelWireTest, BadLayersAreRefusedByFieldPath) {
  v1::Model message = ToProto(TestModel(4));
  message.mutable_layer_types(1)->set_num_heads(-3);
  EXPECT_THAT(
      FromProto(message),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("layer_types[1].num_heads: -3; expected an integer")));
  message.mutable_layer_types(1)->set_num_heads(0);
  EXPECT_THAT(FromProto(message),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("layer_types[1].num_heads: 0")));
  message.mutable_layer_types(1)->clear_kind();
  EXPECT_THAT(
      FromProto(message),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("layer_types[1].kind: 0; expected EMBEDDING")));
}

void ClearExperts(v1::LayerSpec& layer) {
  layer.clear_num_experts();
  layer.clear_experts_per_token();
  layer.clear_expert_ffn_hidden_size();
  layer.clear_shared_expert_ffn_hidden_size();
}

TEST(ModelWireTest, LayersThatContradictThemselvesAreRefused) {
  const auto refused = [](absl::string_view field,
                          void (*change)(v1::LayerSpec&)) {
    v1::Model message = ToProto(testing::TestMoeModel(4));
    change(*message.mutable_layer_types(1));
    EXPECT_THAT(FromProto(message),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         absl::StrCat("layer_types[1].", field)));
  };
  refused("experts_per_token: 9; expected at most num_experts, 8",
          [](v1::LayerSpec& layer) { layer.set_experts_per_token(9); });
  refused("experts_per_token: 0; expected a positive integer",
          [](v1::LayerSpec& layer) { layer.set_experts_per_token(0); });
  refused("expert_ffn_hidden_size: 0; expected a positive integer",
          [](v1::LayerSpec& layer) { layer.set_expert_ffn_hidden_size(0); });
  refused("expert_latent_size: -1; expected an integer from 0 to 1048576",
          [](v1::LayerSpec& layer) { layer.set_expert_latent_size(-1); });
  refused("expert_latent_size: 2000000; expected an integer from 0 to 1048576",
          [](v1::LayerSpec& layer) { layer.set_expert_latent_size(2000000); });
  refused("expert_latent_size: 7; expected 0, as num_experts is 0",
          [](v1::LayerSpec& layer) {
            ClearExperts(layer);
            layer.set_expert_latent_size(7);
          });
  refused("experts_per_token: 2; expected 0, as num_experts is 0",
          [](v1::LayerSpec& layer) { layer.set_num_experts(0); });
  refused("ffn_hidden_size: 0; expected a positive integer",
          [](v1::LayerSpec& layer) { ClearExperts(layer); });
  refused("expert_ffn_hidden_size: 7; expected 0, as num_experts is 0",
          [](v1::LayerSpec& layer) {
            ClearExperts(layer);
            layer.set_expert_ffn_hidden_size(7);
          });
  refused(
      "shared_expert_ffn_hidden_size: 7; expected 0, as the layer is an "
      "embedding",
      [](v1::LayerSpec& layer) {
        ClearExperts(layer);
        layer.set_kind(v1::LayerSpec::EMBEDDING);
        layer.set_shared_expert_ffn_hidden_size(7);
      });
  refused("num_kv_heads: 0; expected a positive integer",
          [](v1::LayerSpec& layer) { layer.set_num_kv_heads(0); });
  refused("num_kv_heads: 3; expected a divisor of num_heads, 16",
          [](v1::LayerSpec& layer) { layer.set_num_kv_heads(3); });
  refused("vocab_size: 0; expected a positive integer",
          [](v1::LayerSpec& layer) {
            layer.set_kind(v1::LayerSpec::HEAD);
            ClearExperts(layer);
            layer.set_vocab_size(0);
          });
  refused("num_experts: 8; expected 0, as the layer is a head",
          [](v1::LayerSpec& layer) { layer.set_kind(v1::LayerSpec::HEAD); });
}

// The costs of a pipeline count one embedding and one head.
TEST(ModelWireTest, AModelIsAnEmbeddingLayersAndAHead) {
  const auto refused = [](int run, int type, absl::string_view text) {
    v1::Model message = ToProto(TestModel(4));
    message.mutable_layers(run)->set_layer_type(type);
    EXPECT_THAT(FromProto(message),
                StatusIs(absl::StatusCode::kInvalidArgument, text));
  };
  refused(0, 1,
          "layers[0].kind: a transformer layer; expected an embedding as the "
          "first layer");
  refused(1, 0,
          "layers[1].kind: an embedding; expected a transformer layer between "
          "the first and the last");
  refused(1, 2,
          "layers[1].kind: a head; expected a transformer layer between the "
          "first and the last");
  refused(2, 1,
          "layers[5].kind: a transformer layer; expected a head as the last "
          "layer");
  refused(2, 0,
          "layers[5].kind: an embedding; expected a head as the last layer");
  v1::Model message = ToProto(TestModel(4));
  message.mutable_layers()->DeleteSubrange(1, 2);
  EXPECT_THAT(FromProto(message),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "layers: 1 layers; expected an embedding, transformer "
                       "layers and a head"));
}

// Latent attention has no key and value heads.
TEST(ModelWireTest, LatentAttentionNeedsNoKeyAndValueHeads) {
  v1::Model message = ToProto(TestModel(4));
  message.mutable_layer_types(1)->set_num_kv_heads(0);
  message.mutable_layer_types(1)->set_kv_lora_rank(64);
  EXPECT_THAT(FromProto(message), testing::IsOk());
}

TEST(ModelWireTest, LayersThatDoNotFitTheirNeighboursAreRefused) {
  const auto refused = [](int type, absl::string_view text,
                          void (*change)(v1::LayerSpec&)) {
    v1::Model message = ToProto(TestModel(4));
    change(*message.mutable_layer_types(type));
    EXPECT_THAT(FromProto(message), StatusIs(absl::StatusCode::kInvalidArgument,
                                             absl::string_view(text)));
  };
  refused(1,
          "layers[1].hidden_size: 512; expected that of the layers before, "
          "1024",
          [](v1::LayerSpec& layer) { layer.set_hidden_size(512); });
  refused(2,
          "layers[5].vocab_size: 7; expected that of the layers before, 1000",
          [](v1::LayerSpec& layer) { layer.set_vocab_size(7); });
  refused(2,
          "layers[5].tied_embeddings: true; expected that of the layers "
          "before, false",
          [](v1::LayerSpec& layer) { layer.set_tied_embeddings(true); });
}

TEST(ModelWireTest, BadRunsAreRefusedByFieldPath) {
  v1::Model message = ToProto(TestModel(4));
  message.mutable_layers(1)->set_count(1 << 30);
  EXPECT_THAT(FromProto(message),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("layers[1].count: 1073741824; expected")));
  message.mutable_layers(1)->set_count(1);
  message.mutable_layers(2)->set_layer_type(3);
  EXPECT_THAT(
      FromProto(message),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("layers[2].layer_type: 3; expected an index")));
  message.clear_layers();
  EXPECT_THAT(FromProto(message),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("layers: 0; expected a positive integer")));
}

TEST(ModelWireTest, NamesHaveNoControlCharacters) {
  v1::Model message = ToProto(TestModel(4));
  message.set_name("a\nb");
  EXPECT_THAT(FromProto(message),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("name: \"a\\nb\"; expected no control")));
}

TEST(ModelWireTest, EmptySlicesAreRefused) {
  v1::SliceList message = ToProto(SliceByLayer(TestModel(2)));
  message.mutable_slices(2)->set_end_atom(2);
  EXPECT_THAT(FromProto(message),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("slices[2].end_atom: 2; expected an atom "
                                 "after 2")));
}

}  // namespace
}  // namespace tangram
