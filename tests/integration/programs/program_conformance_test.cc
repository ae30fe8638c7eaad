#include "tests/conformance/parallelizer_conformance.h"
#include "tests/integration/programs/python_adapter.h"
#include "worker/adapters/process/parallelizer_spec.h"

// A program behind a socket must behave like a parallelizer in this process.
namespace tangram::testing {
namespace {

std::vector<ConformanceSubject> Programs() {
  return {
      {.name = "EvenSplit",
       .create =
           [] {
             return *CreateParallelizer(absl::StrCat(
                 "exec:", PythonCommand("examples/adapters/even_split.py")));
           },
       .missing = PythonHasGrpc() ? "" : "python3-grpcio is not installed"}};
}

INSTANTIATE_TEST_SUITE_P(Program, ParallelizerConformanceTest,
                         ::testing::ValuesIn(Programs()), ConformanceName);

}  // namespace
}  // namespace tangram::testing
