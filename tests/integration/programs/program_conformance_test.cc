#include "tests/conformance/parallelizer_conformance.h"
#include "tests/integration/programs/python_adapter.h"
#include "worker/adapters/process/parallelizer_spec.h"

// A program behind a socket must behave as if it were here.
namespace tangram::testing {
namespace {

std::vector<ConformanceSubject> Programs() {
  if (!PythonHasGrpc()) return {};
  return {{.name = "EvenSplit", .create = [] {
             return *CreateParallelizer(absl::StrCat(
                 "exec:", PythonCommand("examples/adapters/even_split.py")));
           }}};
}

INSTANTIATE_TEST_SUITE_P(Program, ParallelizerConformanceTest,
                         ::testing::ValuesIn(Programs()), ConformanceName);

TEST(ProgramConformanceTest, NeedsPythonWithGrpc) {
  if (!PythonHasGrpc()) GTEST_SKIP() << "python3-grpcio is not installed";
}

}  // namespace
}  // namespace tangram::testing
