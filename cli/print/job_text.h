#ifndef TANGRAM_CLI_PRINT_JOB_TEXT_H_
#define TANGRAM_CLI_PRINT_JOB_TEXT_H_

#include <string>

#include "tangram/v1/job_service.pb.h"

// The text of a job's cells in a table.
namespace tangram {

std::string JobStateText(const v1::Job& job);   // "being cancelled"
std::string JobTimeText(const v1::Job& job);    // Submission, in local time.
std::string JobLabelsText(const v1::Job& job);  // "run=7 team=vision"
std::string JobTookText(const v1::Job& job);    // Empty if it has not ended.
// Its error, or what it waits for.
std::string JobTroubleText(const v1::Job& job);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_JOB_TEXT_H_
