#ifndef TANGRAM_COORDINATOR_METRICS_ANSWER_STORE_METRICS_H_
#define TANGRAM_COORDINATOR_METRICS_ANSWER_STORE_METRICS_H_

#include "absl/strings/string_view.h"
#include "common/metrics/metrics.h"
#include "coordinator/store/sql_answer_store.h"

namespace tangram {

// The metrics of a store of answers. docs/metrics.md lists them.
// Thread-safe.
class AnswerStoreMetrics : public AnswerStoreObserver {
 public:
  explicit AnswerStoreMetrics(Metrics& metrics);

  void OnDropped(absl::string_view reason) override;
  void OnSetAside() override;
  // The coordinator started without a database of answers.
  void OnMissing();

 private:
  Counter dropped_;
  Counter set_aside_;
  Gauge missing_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_METRICS_ANSWER_STORE_METRICS_H_
