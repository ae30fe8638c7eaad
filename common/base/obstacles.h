#ifndef TANGRAM_COMMON_BASE_OBSTACLES_H_
#define TANGRAM_COMMON_BASE_OBSTACLES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/field_error.h"

namespace tangram {

// Everything that keeps a framework from running a plan, or from having one. A
// refusal names all of it, so that nobody removes one obstacle to meet the
// next.
class Obstacles {
 public:
  // OK is no obstacle.
  void Add(const absl::Status& status);

  // Adds "stages[1].plan.parallelism.cp_degree: 2; expected 1, as ...".
  template <typename Value>
  void Refuse(absl::string_view field, const Value& found,
              absl::string_view wanted) {
    Add(FieldError(field, found, wanted));
  }

  // Returns all obstacles as one error, "A. Also: B. Also: C", with the code of
  // the first. If several have one expectation, as those of many stages, names
  // the first and counts the others. OK if there are none.
  absl::Status AsStatus() const;

 private:
  struct Obstacle {
    std::string text;
    std::string wanted;  // The part after "; expected ".
    int more = 0;        // Others with the same expectation.
  };
  absl::StatusCode code_ = absl::StatusCode::kOk;
  std::vector<Obstacle> obstacles_;
};

// Returns the first of the obstacles in the message of Obstacles::AsStatus.
absl::string_view FirstObstacle(absl::string_view message);

}  // namespace tangram

#endif  // TANGRAM_COMMON_BASE_OBSTACLES_H_
