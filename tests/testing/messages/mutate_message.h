#ifndef TANGRAM_TESTS_TESTING_MESSAGES_MUTATE_MESSAGE_H_
#define TANGRAM_TESTS_TESTING_MESSAGES_MUTATE_MESSAGE_H_

#include <random>
#include <string>

#include "google/protobuf/message.h"

namespace tangram::testing {

// Changes one field of `message`, or of a message in it, and returns its path:
// "parallelize.plans[1].stages[0].time_s". Finds fields by reflection, so new
// fields are covered. Every field of the schema that `message` reaches is
// equally likely, however often it occurs. New values are near the old one, at
// the edge of the type, absurd, or missing. Elements of lists are dropped,
// repeated or swapped. The bytes of the message always change.
std::string MutateMessage(std::mt19937& rng,
                          google::protobuf::Message& message);

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_MESSAGES_MUTATE_MESSAGE_H_
