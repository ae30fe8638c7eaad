#include "common/wire/worker_pool_wire.h"

#include <cmath>

#include "common/base/heartbeat.h"
#include "common/base/infinity.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/worker_pool_service.pb.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/wire/random_values.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::RandomValues;
using testing::StatusIs;

absl::StatusOr<Query> Sent(const Query& query) {
  v1::Lease lease;
  EncodeQuery(query, lease);
  return DecodeQuery(lease);
}

absl::StatusOr<Answer> Sent(const absl::StatusOr<Answer>& answer) {
  v1::Answer message;
  EncodeAnswer(answer, message);
  return DecodeAnswer(message);
}

TEST(WorkerPoolWireTest, ASilenceIsWithinItsRange) {
  v1::CoordinatorMessage message;
  EXPECT_THAT(DecodeSilence(message), IsOkAndHolds(0));
  for (const double silence_s : {kHeartbeatS, 200.5, kMaxSilenceS}) {
    message.set_silence_s(silence_s);
    EXPECT_THAT(DecodeSilence(message), IsOkAndHolds(silence_s));
  }
  for (const double silence_s :
       {-1., 14.9, 600.1, kInfinity, -kInfinity, std::nan("")}) {
    message.set_silence_s(silence_s);
    EXPECT_THAT(
        DecodeSilence(message),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("silence_s: ")));
  }
}

TEST(WorkerPoolWireTest, ASealTellsOfEveryChange) {
  v1::Answer message;
  message.set_id(7);
  message.set_search_s(0.5);
  EncodeAnswer(Answer(PerformanceProfile{.min_gpu_seconds = 3}), message);
  EXPECT_THAT(CheckSeal(message),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("digest: none; expected ")));
  SealAnswer(message);
  EXPECT_TRUE(CheckSeal(message).ok());

  v1::Answer other = message;
  other.set_id(8);
  EXPECT_FALSE(CheckSeal(other).ok());
  other = message;
  other.mutable_profile()->set_min_gpu_seconds(3.5);
  EXPECT_FALSE(CheckSeal(other).ok());
  other = message;
  other.clear_digest();
  EXPECT_FALSE(CheckSeal(other).ok());
  // The seal covers fields of later versions too.
  ASSERT_TRUE(other.ParseFromString(message.SerializeAsString() +
                                    std::string("\xf8\x07\x01", 3)));
  EXPECT_FALSE(CheckSeal(other).ok());
  SealAnswer(other);
  ASSERT_TRUE(other.ParseFromString(other.SerializeAsString()));
  EXPECT_TRUE(CheckSeal(other).ok());
}

TEST(WorkerPoolWireTest, QueriesSurviveTheRoundTrip) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    RandomValues random(seed);
    const ModelSpec model = random.Model();
    const std::vector<ModelSlice> atoms = SliceByLayer(model);

    ASSERT_OK_AND_ASSIGN(const Query slice, Sent(SliceModelQuery{model}));
    EXPECT_EQ(std::get<SliceModelQuery>(slice).model.layers, model.layers);

    ASSERT_OK_AND_ASSIGN(const Query join,
                         Sent(ConcatenateQuery{atoms.front(), atoms.back()}));
    EXPECT_EQ(std::get<ConcatenateQuery>(join).head, atoms.front());
    EXPECT_EQ(std::get<ConcatenateQuery>(join).tail, atoms.back());

    const ProfileQuery profile{random.Int(0, 99), random.Int(0, 99),
                               random.Int(1, 99)};
    ASSERT_OK_AND_ASSIGN(const Query sent_profile, Sent(profile));
    const auto& got_profile = std::get<ProfileQuery>(sent_profile);
    EXPECT_EQ(got_profile.slice, profile.slice);
    EXPECT_EQ(got_profile.island, profile.island);
    EXPECT_EQ(got_profile.pipeline_microbatch_size,
              profile.pipeline_microbatch_size);

    const PairQuery pair{
        random.Int(0, 99),
        random.Int(0, 99),
        random.Int(1, 99),
        random.Int(0, 99),
        int64_t{random.Int(0, 1 << 30)} << 8,
        random.Int(0, 1) == 0 ? kInfinity : random.Int(1, 99) / 7.0};
    ASSERT_OK_AND_ASSIGN(const Query sent_pair, Sent(pair));
    const auto& got_pair = std::get<PairQuery>(sent_pair);
    EXPECT_EQ(got_pair.slice, pair.slice);
    EXPECT_EQ(got_pair.island, pair.island);
    EXPECT_EQ(got_pair.pipeline_microbatch_size, pair.pipeline_microbatch_size);
    EXPECT_EQ(got_pair.trailing_stages, pair.trailing_stages);
    EXPECT_EQ(got_pair.max_search_steps, pair.max_search_steps);
    EXPECT_EQ(got_pair.limit_s, pair.limit_s);
  }
}

TEST(WorkerPoolWireTest, AnswersSurviveTheRoundTrip) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    RandomValues random(seed);
    const std::vector<ModelSlice> atoms = SliceByLayer(random.Model());
    for (const Answer& answer :
         {Answer(atoms), Answer(atoms.back()),
          Answer(PerformanceProfile{random.Real(), random.Real()}),
          Answer(random.PlanSet())}) {
      EXPECT_THAT(Sent(answer), IsOkAndHolds(answer));
    }
  }
}

TEST(WorkerPoolWireTest, ErrorsSurviveTheRoundTrip) {
  const absl::Status error = absl::UnimplementedError("no experts");
  EXPECT_EQ(Sent(absl::StatusOr<Answer>(error)).status(), error);
  for (const char* nothing : {"", " \n"}) {
    EXPECT_EQ(
        Sent(absl::StatusOr<Answer>(absl::UnknownError(nothing))).status(),
        absl::UnknownError("no reason given"));
  }
}

TEST(WorkerPoolWireTest, AMessageWithoutAnAnswerIsTheWorkersFault) {
  EXPECT_THAT(DecodeAnswer(v1::Answer()),
              StatusIs(absl::StatusCode::kInternal,
                       HasSubstr("answer: missing; expected a value")));
  v1::Answer no_error;
  no_error.mutable_error();
  EXPECT_THAT(DecodeAnswer(no_error),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("missing")));
  v1::Answer no_slice;
  no_slice.mutable_concatenate();
  EXPECT_THAT(DecodeAnswer(no_slice),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("slices: 0")));
}

}  // namespace
}  // namespace tangram
