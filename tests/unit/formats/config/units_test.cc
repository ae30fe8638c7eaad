#include "formats/config/units.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace tangram {
namespace {

struct QuantityCase {
  std::string text;
  Dimension dimension = Dimension::kBytes;
  std::optional<double> value;
};

TEST(ParseQuantityTest, UnderstandsUnits) {
  const QuantityCase cases[] = {
      {"16 GB", Dimension::kBytes, 16e9},
      {"16GB", Dimension::kBytes, 16e9},
      {"  1.5 TB ", Dimension::kBytes, 1.5e12},
      {"16 GiB", Dimension::kBytes, 17179869184.0},  // 16 · 2^30
      {"512 B", Dimension::kBytes, 512},
      {"2KB", Dimension::kBytes, 2000},
      {"2 KiB", Dimension::kBytes, 2048},
      {"1e9", Dimension::kBytes, 1e9},
      {"1.6e+10 B", Dimension::kBytes, 1.6e10},
      {"5.9 GB/s", Dimension::kBandwidth, 5.9e9},
      {"12GBps", Dimension::kBandwidth, 12e9},
      {"80 Gbit/s", Dimension::kBandwidth, 10e9},  // 80e9 / 8
      {"100Gbps", Dimension::kBandwidth, 12.5e9},
      {"100 Gb/s", Dimension::kBandwidth, 12.5e9},
      {"1 MiB/s", Dimension::kBandwidth, 1048576},
      {"10us", Dimension::kSeconds, 10e-6},
      {"10 µs", Dimension::kSeconds, 10e-6},
      {"1.5 ms", Dimension::kSeconds, 1.5e-3},
      {"800 ns", Dimension::kSeconds, 800e-9},
      {"0", Dimension::kSeconds, 0},
      {"65 TFLOPS", Dimension::kFlops, 65e12},
      {"1.979 PFLOP/s", Dimension::kFlops, 1.979e15},
  };
  for (const QuantityCase& c : cases) {
    SCOPED_TRACE(c.text);
    const std::optional<double> value = ParseQuantity(c.text, c.dimension);
    ASSERT_TRUE(value.has_value());
    EXPECT_DOUBLE_EQ(*value, *c.value);
  }
}

TEST(ParseQuantityTest, RefusesWhatIsNoQuantity) {
  const QuantityCase cases[] = {
      {"", Dimension::kBytes},
      {"GB", Dimension::kBytes},
      {"-3", Dimension::kBandwidth},
      {"-3 GB/s", Dimension::kBandwidth},
      {"0", Dimension::kBandwidth},
      {"nan", Dimension::kBandwidth},
      {"inf", Dimension::kBandwidth},
      {".inf", Dimension::kBandwidth},
      {"1e400", Dimension::kBandwidth},
      {"1e300 GB/s", Dimension::kBandwidth},
      {"0.5 B/s", Dimension::kBandwidth},
      {"5e-324", Dimension::kFlops},
      {"16 GB/s", Dimension::kBytes},
      {"16 GB", Dimension::kBandwidth},
      {"16 gigabytes", Dimension::kBytes},
      {"16 GB 3", Dimension::kBytes},
      {"1,5 GB", Dimension::kBytes},
      {"1 2 GB", Dimension::kBytes},
      {"-1us", Dimension::kSeconds},
      {"10 Ms", Dimension::kSeconds},
      {"5 EB", Dimension::kBytes},
      {"0x10", Dimension::kBytes},
  };
  for (const QuantityCase& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(ParseQuantity(c.text, c.dimension), std::nullopt);
  }
}

TEST(ParseQuantityTest, ScalesNumbersWithoutUnitAlone) {
  EXPECT_EQ(ParseQuantity("65", Dimension::kFlops, 1e12), 65e12);
  EXPECT_EQ(ParseQuantity("65 GFLOPS", Dimension::kFlops, 1e12), 65e9);
}

TEST(FormatQuantityTest, ChoosesTheUnit) {
  EXPECT_EQ(FormatQuantity(16e9, Dimension::kBytes), "16 GB");
  EXPECT_EQ(FormatQuantity(999, Dimension::kBytes), "999 B");
  EXPECT_EQ(FormatQuantity(5.91372e9, Dimension::kBandwidth), "5.914 GB/s");
  EXPECT_EQ(FormatQuantity(10e-6, Dimension::kSeconds), "10 us");
  EXPECT_EQ(FormatQuantity(0, Dimension::kSeconds), "0 s");
  EXPECT_EQ(FormatQuantity(2, Dimension::kSeconds), "2 s");
  EXPECT_EQ(FormatQuantity(65e12, Dimension::kFlops), "65 TFLOPS");
}

}  // namespace
}  // namespace tangram
