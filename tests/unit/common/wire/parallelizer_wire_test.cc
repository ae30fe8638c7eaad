#include "common/wire/parallelizer_wire.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/parallelizer.pb.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/wire/random_values.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::RandomValues;
using testing::StatusIs;

TEST(ParallelizerWireTest, ContextsSurviveTheRoundTrip) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    RandomValues random(seed);
    const PairContext context{.training = random.Training(),
                              .slices = SliceByLayer(random.Model()),
                              .islands = {random.Island(), random.Island()}};
    ASSERT_OK_AND_ASSIGN(const PairContext sent, FromProto(ToProto(context)));
    EXPECT_EQ(sent.training, context.training);
    EXPECT_EQ(sent.slices, context.slices);
    EXPECT_EQ(sent.islands, context.islands);
  }
}

TEST(ParallelizerWireTest, AdaptersSurviveTheRoundTrip) {
  AdapterInfo adapter{.id = {"aceso", "3"}};
  for (bool ParallelizerFeatures::*feature :
       {&ParallelizerFeatures::data_parallel,
        &ParallelizerFeatures::pipeline_parallel,
        &ParallelizerFeatures::tensor_parallel,
        &ParallelizerFeatures::context_parallel,
        &ParallelizerFeatures::expert_parallel,
        &ParallelizerFeatures::gradient_accumulation,
        &ParallelizerFeatures::recompute, &ParallelizerFeatures::offload,
        &ParallelizerFeatures::zero, &ParallelizerFeatures::moe_models}) {
    adapter.features = {};
    adapter.features.*feature = true;
    ASSERT_OK_AND_ASSIGN(const AdapterInfo sent, FromProto(ToProto(adapter)));
    EXPECT_EQ(sent.id, adapter.id);
    EXPECT_EQ(sent.features, adapter.features);
  }
}

TEST(ParallelizerWireTest, AdaptersAreCalledWhatCanBePrinted) {
  constexpr absl::StatusCode kBad = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(FromProto(ToProto(AdapterInfo{.id = {"evil\n", "1"}})),
              StatusIs(kBad, HasSubstr("name: \"evil\\n\"; expected no")));
  EXPECT_THAT(FromProto(ToProto(AdapterInfo{.id = {"evil", "\x1b[2J"}})),
              StatusIs(kBad, HasSubstr("version: ")));
}

TEST(ParallelizerWireTest, BadContextsAreRefusedByFieldPath) {
  v1::PairContext message =
      ToProto(PairContext{.training = RandomValues(1).Training(),
                          .islands = {RandomValues(1).Island()}});
  message.mutable_islands(0)->set_gpus_per_node(0);
  EXPECT_THAT(FromProto(message),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("islands[0].gpus_per_node: 0; expected")));
}

}  // namespace
}  // namespace tangram
