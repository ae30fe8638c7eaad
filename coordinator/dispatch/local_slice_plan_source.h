#ifndef TANGRAM_COORDINATOR_DISPATCH_LOCAL_SLICE_PLAN_SOURCE_H_
#define TANGRAM_COORDINATOR_DISPATCH_LOCAL_SLICE_PLAN_SOURCE_H_

#include <functional>
#include <memory>

#include "common/parallelizer/slice_plan_source.h"

namespace tangram {

// Slice plans from threads of this process: what `tangram plan` uses without a
// coordinator. `should_stop` is polled by the searches from several threads at
// once. `parallelizer` must outlive the source.
std::unique_ptr<SlicePlanSource> CreateLocalSlicePlanSource(
    const Parallelizer& parallelizer, int num_threads,
    std::function<bool()> should_stop = nullptr);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_LOCAL_SLICE_PLAN_SOURCE_H_
