#include "cli/files/output_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "gmock/gmock.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::IsOk;
using ::tangram::testing::StatusIs;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class OutputFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tangram-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ / name; }
  int NumFiles() const {
    return static_cast<int>(std::distance(fs::directory_iterator(folder_), {}));
  }
  static std::string Read(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path folder_;
};

TEST_F(OutputFilesTest, WritesAndReplaces) {
  OutputFiles first;
  first.Add(Path("a"), "old");
  ASSERT_THAT(first.Write(), IsOk());
  OutputFiles second;
  second.Add(Path("a"), "new");
  second.Add(Path("b"), "more");
  ASSERT_THAT(second.Write(), IsOk());

  EXPECT_EQ(Read(Path("a")), "new");
  EXPECT_EQ(Read(Path("b")), "more");
  EXPECT_EQ(NumFiles(), 2);
}

TEST_F(OutputFilesTest, WritesNoneIfOneFails) {
  OutputFiles files;
  files.Add(Path("a"), "content");
  files.Add(Path("missing/b"), "content");

  EXPECT_THAT(files.Write(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing/b")));
  EXPECT_EQ(NumFiles(), 0);
}

TEST_F(OutputFilesTest, LeavesSpecialFilesInPlace) {
  OutputFiles files;
  files.Add("/dev/null", "content");

  ASSERT_THAT(files.Write(), IsOk());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(OutputFilesTest, WritesIntoPipes) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const int reader = open(Path("pipe").c_str(), O_RDWR | O_NONBLOCK);
  OutputFiles files;
  files.Add(Path("pipe"), "content");
  ASSERT_THAT(files.Write(), IsOk());

  char text[16] = {};
  EXPECT_EQ(read(reader, text, sizeof(text)), 7);
  EXPECT_STREQ(text, "content");
  close(reader);
}

TEST_F(OutputFilesTest, ChecksBeforehand) {
  EXPECT_THAT(CheckWritable(Path("new")), IsOk());
  EXPECT_THAT(CheckWritable("/dev/null"), IsOk());
  EXPECT_THAT(CheckWritable(folder_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("expected a file name")));
  EXPECT_THAT(CheckWritable(Path("missing/b")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing/b")));
}

}  // namespace
}  // namespace tangram
