#include <memory>
#include <string>
#include <utility>

#include "tests/conformance/parallelizer_conformance.h"
#include "tests/testing/forwarding_parallelizer.h"
#include "tests/testing/service/remote_parallelizer.h"
#include "tests/testing/service/test_service.h"

// A parallelizer behind a pool must behave like one in this process.
namespace tangram::testing {
namespace {

// A remote parallelizer with the service that it needs.
class ServedParallelizer : public ForwardingParallelizer {
 public:
  explicit ServedParallelizer(const std::string& name) {
    service_.AddWorker(name, /*num_threads=*/2);
    WorkerPool& pool = service_.server().pool();
    remote_ = std::make_unique<RemoteParallelizer>(
        pool, *pool.FindAdapter(name, nullptr));
  }

 private:
  const Parallelizer& target() const override { return *remote_; }

  TestService service_;
  std::unique_ptr<Parallelizer> remote_;
};

ConformanceSubject Served(const std::string& name) {
  return {.name = name, .create = [name] {
            return std::make_unique<ServedParallelizer>(name);
          }};
}

INSTANTIATE_TEST_SUITE_P(Remote, ParallelizerConformanceTest,
                         ::testing::Values(Served("aceso"), Served("mist"),
                                           Served("uniform")),
                         ConformanceName);

}  // namespace
}  // namespace tangram::testing
