#ifndef TANGRAM_CLI_ARGS_JOB_SETTINGS_H_
#define TANGRAM_CLI_ARGS_JOB_SETTINGS_H_

#include <string>
#include <vector>

namespace tangram {

// Settings of a job that is submitted.
struct JobSettings {
  std::vector<std::string> labels;  // "NAME=VALUE".
  double deadline_s = 0;            // From its submission on; 0: none.
  double keep_days = 0;             // After its end; 0: as long as others.
  std::string webhook;              // Empty: none.
};

}  // namespace tangram

#endif  // TANGRAM_CLI_ARGS_JOB_SETTINGS_H_
