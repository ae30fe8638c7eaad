#ifndef TANGRAM_CLI_ARGS_DETAIL_H_
#define TANGRAM_CLI_ARGS_DETAIL_H_

namespace tangram {

// How much of an answer is printed: the headline alone, one screen, everything.
enum class Detail { kBrief, kUsual, kAll };

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_DETAIL_H_
