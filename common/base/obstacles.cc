#include "common/base/obstacles.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"

namespace tangram {
namespace {

constexpr absl::string_view kAlso = ". Also: ";

std::string WantedIn(absl::string_view text) {
  const size_t at = text.find("; expected ");
  return std::string(at == absl::string_view::npos ? text : text.substr(at));
}

}  // namespace

void Obstacles::Add(const absl::Status& status) {
  if (status.ok()) return;
  if (obstacles_.empty()) code_ = status.code();
  Obstacle added{.text = std::string(status.message()),
                 .wanted = WantedIn(status.message())};
  const auto known = absl::c_find_if(obstacles_, [&](const Obstacle& other) {
    return other.wanted == added.wanted;
  });
  if (known == obstacles_.end()) {
    obstacles_.push_back(std::move(added));
  } else {
    ++known->more;
  }
}

absl::Status Obstacles::AsStatus() const {
  if (obstacles_.empty()) return absl::OkStatus();
  return absl::Status(
      code_, absl::StrJoin(obstacles_, kAlso,
                           [](std::string* out, const Obstacle& obstacle) {
                             absl::StrAppend(out, obstacle.text);
                             if (obstacle.more > 0) {
                               absl::StrAppend(out, " (and ", obstacle.more,
                                               " more like it)");
                             }
                           }));
}

absl::string_view FirstObstacle(absl::string_view message) {
  return message.substr(0, message.find(kAlso));
}

}  // namespace tangram
