#include "formats/import_cluster/text_parts.h"

#include <string>

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(WithoutByteOrderMarkTest, ReadsWhatWindowsToolsWrite) {
  EXPECT_EQ(WithoutByteOrderMark("\xEF\xBB\xBFGPU"), "GPU");
  EXPECT_EQ(WithoutByteOrderMark(std::string("\xFF\xFEG\0U\0", 6)), "GU");
  EXPECT_EQ(WithoutByteOrderMark(std::string("\xFE\xFF\0G\x20\xAC\0U", 8)),
            "G?U");
  EXPECT_EQ(WithoutByteOrderMark("GPU"), "GPU");
  EXPECT_EQ(WithoutByteOrderMark(std::string("\xFF\xFEG", 3)), "");
}

TEST(WithoutFileNameTest, DropsWhatGrepWrites) {
  EXPECT_EQ(WithoutFileName("/etc/slurm.conf:NodeName=n1 A=b:c"),
            "NodeName=n1 A=b:c");
  EXPECT_EQ(WithoutFileName("12:NodeName=n1"), "NodeName=n1");
  EXPECT_EQ(WithoutFileName("Reason=a:b"), "Reason=a:b");
}

}  // namespace
}  // namespace tangram
