#ifndef TANGRAM_TESTS_TESTING_MESSAGES_MUTATE_MESSAGE_H_
#define TANGRAM_TESTS_TESTING_MESSAGES_MUTATE_MESSAGE_H_

#include <random>
#include <string>

#include "google/protobuf/message.h"

namespace tangram::testing {

// Changes one field of `message`, or of a message in it, and returns its path:
// "parallelize.plans[1].stages[0].time_s". Fields are found by reflection, so a
// new field is changed without anybody thinking of it. Every field of the
// schema that `message` reaches is as likely as any other, however often it
// occurs. Values are near the old one, at the edge of their type, absurd, or
// gone; elements of lists are dropped, repeated or swapped. The message always
// serializes to other bytes than before.
std::string MutateMessage(std::mt19937& rng,
                          google::protobuf::Message& message);

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_TESTING_MESSAGES_MUTATE_MESSAGE_H_
