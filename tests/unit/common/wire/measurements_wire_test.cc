#include "common/wire/measurements_wire.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

v1::DeviceSpec TwoOfEach() {
  DeviceSpec device;
  device.measured_layers = {
      {.key = 7, .samples = 1, .forward_s = 1},
      {.key = 7, .samples = 2, .backward_s = 2, .saved_bytes = 0}};
  device.collectives = {
      {.op = CollectiveOp::kAllReduce, .ranks = 2, .points = {{1, 1}, {2, 3}}},
      {.op = CollectiveOp::kPointToPoint, .ranks = 2, .points = {{4, 5}}}};
  v1::DeviceSpec message;
  MeasurementsToProto(device, message);
  return message;
}

TEST(MeasurementsWireTest, RoundTrip) {
  DeviceSpec device;
  ASSERT_TRUE(MeasurementsFromProto(TwoOfEach(), device).ok());
  EXPECT_EQ(device.measured_layers.size(), 2);
  // A measurement of zero is not the same as no measurement.
  EXPECT_EQ(device.measured_layers[0].saved_bytes, std::nullopt);
  EXPECT_EQ(device.measured_layers[1].saved_bytes, 0);
  EXPECT_EQ(device.collectives[0].points[1], (CollectivePoint{2, 3}));
  v1::DeviceSpec again;
  MeasurementsToProto(device, again);
  EXPECT_EQ(again.SerializeAsString(), TwoOfEach().SerializeAsString());
}

TEST(MeasurementsWireTest, ErrorsNameTheField) {
  const auto error = [](void (*spoil)(v1::DeviceSpec&)) {
    v1::DeviceSpec message = TwoOfEach();
    spoil(message);
    DeviceSpec device;
    return MeasurementsFromProto(message, device);
  };
  const auto is_error = [](const char* text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
  };
  EXPECT_THAT(
      error([](auto& m) { m.mutable_measured_layers(1)->set_samples(1); }),
      is_error("measured_layers[1].key: out of order; expected"));
  EXPECT_THAT(
      error([](auto& m) { m.mutable_measured_layers(0)->set_forward_s(-1); }),
      is_error("measured_layers[0].forward_s: -1"));
  EXPECT_THAT(error([](auto& m) { m.mutable_collectives(0)->clear_op(); }),
              is_error("collectives[0].op: 0; expected a known operation"));
  EXPECT_THAT(error([](auto& m) { m.mutable_collectives(0)->add_bytes(3); }),
              is_error("collectives[0].bytes: 3; expected as many as seconds"));
  EXPECT_THAT(error([](auto& m) { m.mutable_collectives(0)->set_bytes(1, 1); }),
              is_error("collectives[0].bytes"));
  EXPECT_THAT(
      error([](auto& m) { m.mutable_collectives(1)->set_seconds(0, 0); }),
      is_error("collectives[1].seconds"));
}

}  // namespace
}  // namespace tangram
