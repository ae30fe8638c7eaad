#include "coordinator/metrics/answer_store_metrics.h"

#include <string>

#include "coordinator/store/stored_answer.h"

namespace tangram {

AnswerStoreMetrics::AnswerStoreMetrics(Metrics& metrics)
    : dropped_(metrics.AddCounter(
          "tangram_stored_answers_dropped_total",
          "Stored answers that were deleted because they cannot be believed, "
          "by reason.")),
      set_aside_(metrics.AddCounter(
          "tangram_answer_databases_set_aside_total",
          "Damaged databases of answers that were replaced by new ones.")),
      missing_(metrics.AddGauge(
          "tangram_answer_database_missing",
          "1 if no database of answers could be opened, so that answers are "
          "kept in memory alone.")) {
  // Creates the counters at once: a rate does not see a counter appear.
  for (const char* reason : kDropReasons) dropped_.Add({{"reason", reason}}, 0);
  set_aside_.Add({}, 0);
  missing_.Set({}, 0);
}

void AnswerStoreMetrics::OnDropped(absl::string_view reason) {
  dropped_.Add({{"reason", std::string(reason)}});
}

void AnswerStoreMetrics::OnSetAside() { set_aside_.Add({}); }

void AnswerStoreMetrics::OnMissing() { missing_.Set({}, 1); }

}  // namespace tangram
