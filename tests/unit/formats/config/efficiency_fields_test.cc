#include "formats/config/efficiency_fields.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace tangram {
namespace {

const EfficiencyField& FieldOf(absl::string_view key) {
  for (const EfficiencyField& constant : EfficiencyFields()) {
    if (constant.key == key) return constant;
  }
  ADD_FAILURE() << "no constant " << key;
  return EfficiencyFields()[0];
}

TEST(EfficiencyFieldsTest, KeysAreUniqueAndInTheOrderOfTheFields) {
  std::set<absl::string_view> keys;
  ASSERT_EQ(EfficiencyKeys().size(), EfficiencyFields().size());
  for (size_t i = 0; i < EfficiencyFields().size(); ++i) {
    EXPECT_EQ(EfficiencyKeys()[i], EfficiencyFields()[i].key);
    EXPECT_TRUE(keys.insert(EfficiencyKeys()[i]).second);
  }
}

// A constant added to the struct must be added to the fields.
TEST(EfficiencyFieldsTest, EveryConstantIsAField) {
  EXPECT_EQ(EfficiencyFields().size(),
            sizeof(DeviceEfficiency) / sizeof(double));
}

TEST(EfficiencyFieldsTest, ConstantsAreShownWithTheirUnits) {
  EXPECT_EQ(FormatConstant(0.75, FieldOf("gemm_max_fraction")), "0.75");
  EXPECT_EQ(FormatConstant(4e9, FieldOf("gemm_half_flops")), "4e+09");
  EXPECT_EQ(FormatConstant(5e-6, FieldOf("kernel_launch")), "5 us");
  EXPECT_EQ(FormatConstant(1.1e9, FieldOf("reserved_memory")), "1.1 GB");
}

}  // namespace
}  // namespace tangram
