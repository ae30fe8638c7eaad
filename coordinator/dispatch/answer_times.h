#ifndef TANGRAM_COORDINATOR_DISPATCH_ANSWER_TIMES_H_
#define TANGRAM_COORDINATOR_DISPATCH_ANSWER_TIMES_H_

#include <map>
#include <optional>
#include <utility>

#include "common/parallelizer/query.h"
#include "coordinator/dispatch/worker_identity.h"

namespace tangram {

// How long tasks took, from lease to right answer.
struct Took {
  int count = 0;
  double longest_s = 0;  // Lately: it fades.

  void Note(double took_s);
  // Returns whether they are enough to tell about the next task.
  bool IsTelling() const;
};

// Remembers how long the tasks of each adapter took each source of workers,
// over all its connections. Not thread-safe.
class AnswerTimes {
 public:
  // Beyond kMaxSources pairs of adapter and source, the one that was noted
  // longest ago is forgotten.
  void Note(const AdapterId& adapter, const WorkerIdentity& worker,
            double took_s, double now_s);

  Took Of(const AdapterId& adapter, const WorkerIdentity& worker) const;

  // Returns the median of the longest times of the sources that tell; of an
  // even number, the shorter one in the middle. So only half of them together
  // can make it shorter than those of the others, and only more than half
  // longer. Empty: none tells. O(sources).
  std::optional<double> Usual(const AdapterId& adapter) const;

 private:
  struct Record {
    Took took;
    double noted_s = 0;
  };

  std::map<std::pair<AdapterId, WorkerIdentity>, Record> records_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_ANSWER_TIMES_H_
