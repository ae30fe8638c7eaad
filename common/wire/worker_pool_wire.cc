#include "common/wire/worker_pool_wire.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/heartbeat.h"
#include "common/base/infinity.h"
#include "common/base/status_macros.h"
#include "common/digest/sha256.h"
#include "common/wire/field_checks.h"
#include "common/wire/model_wire.h"
#include "common/wire/parallelizer_wire.h"
#include "common/wire/slice_plan_wire.h"
#include "tangram/v1/worker_pool_service.pb.h"

namespace tangram {
namespace {

struct QueryEncoder {
  v1::Lease& lease;

  void operator()(const SliceModelQuery& query) {
    *lease.mutable_slice_model() = ToProto(query.model);
  }
  void operator()(const ConcatenateQuery& query) {
    *lease.mutable_concatenate() = tangram::ToProto({query.head, query.tail});
  }
  void operator()(const ProfileQuery& query) {
    *lease.mutable_profile() = tangram::ToProto(query);
  }
  void operator()(const PairQuery& query) {
    *lease.mutable_parallelize() = tangram::ToProto(query);
  }
};

struct AnswerEncoder {
  v1::Answer& message;

  void operator()(const std::vector<ModelSlice>& slices) {
    *message.mutable_slice_model() = tangram::ToProto(slices);
  }
  void operator()(const ModelSlice& slice) {
    *message.mutable_concatenate() = tangram::ToProto({&slice, 1});
  }
  void operator()(const PerformanceProfile& profile) {
    *message.mutable_profile() = tangram::ToProto(profile);
  }
  void operator()(const SlicePlanSet& set) {
    *message.mutable_parallelize() = tangram::ToProto(set);
  }
};

absl::StatusOr<std::vector<ModelSlice>> DecodeSlices(
    const v1::SliceList& message, int expected) {
  TANGRAM_ASSIGN_OR_RETURN(std::vector<ModelSlice> slices,
                           tangram::FromProto(message));
  if (static_cast<int>(slices.size()) == expected) return slices;
  return FieldError("slices", absl::StrCat(slices.size()),
                    absl::StrCat(expected));
}

absl::StatusOr<Answer> DecodeResult(const v1::Answer& message) {
  switch (message.answer_case()) {
    case v1::Answer::kSliceModel:
      return tangram::FromProto(message.slice_model());
    case v1::Answer::kConcatenate: {
      TANGRAM_ASSIGN_OR_RETURN(std::vector<ModelSlice> slices,
                               DecodeSlices(message.concatenate(), 1));
      return std::move(slices.front());
    }
    case v1::Answer::kProfile:
      return tangram::FromProto(message.profile());
    case v1::Answer::kParallelize:
      return tangram::FromProto(message.parallelize());
    case v1::Answer::kError:
    case v1::Answer::ANSWER_NOT_SET:
      break;
  }
  return CheckPresent("answer", false);
}

// 128 bits: nobody finds another answer with the same digest.
constexpr size_t kDigestBytes = 16;

// Returns the digest of a message that has none yet. Fields unknown to this
// version are serialized after the others, so messages of later versions keep
// the digest of their sender.
std::string DigestOf(const v1::Answer& unsealed) {
  const Digest digest = Sha256::OfThread()(unsealed.SerializeAsString());
  return std::string(digest.view().substr(0, kDigestBytes));
}

}  // namespace

void SealAnswer(v1::Answer& message) {
  message.clear_digest();
  message.set_digest(DigestOf(message));
}

absl::Status CheckSeal(v1::Answer& message) {
  std::string digest = std::move(*message.mutable_digest());
  message.clear_digest();
  const std::string expected = DigestOf(message);
  message.set_digest(std::move(digest));
  if (message.digest() == expected) return absl::OkStatus();
  // A digest of another size is not printed: the worker chooses its size.
  const std::string found =
      message.digest().size() == expected.size()
          ? absl::BytesToHexString(message.digest())
          : absl::StrCat(message.digest().size(), " bytes");
  return FieldError("digest", message.digest().empty() ? "none" : found,
                    absl::StrCat(absl::BytesToHexString(expected),
                                 ": the answer is not what the worker sent"));
}

void EncodeQuery(const Query& query, v1::Lease& lease) {
  std::visit(QueryEncoder{lease}, query);
}

absl::StatusOr<Query> DecodeQuery(const v1::Lease& lease) {
  switch (lease.query_case()) {
    case v1::Lease::kSliceModel: {
      TANGRAM_ASSIGN_OR_RETURN(
          ModelSpec model,
          InField("slice_model", FromProto(lease.slice_model())));
      return SliceModelQuery{std::move(model)};
    }
    case v1::Lease::kConcatenate: {
      TANGRAM_ASSIGN_OR_RETURN(
          std::vector<ModelSlice> slices,
          InField("concatenate", DecodeSlices(lease.concatenate(), 2)));
      return ConcatenateQuery{std::move(slices[0]), std::move(slices[1])};
    }
    case v1::Lease::kProfile:
      return ProfileQuery{.slice = lease.profile().slice(),
                          .island = lease.profile().island(),
                          .pipeline_microbatch_size =
                              lease.profile().pipeline_microbatch_size()};
    case v1::Lease::kParallelize: {
      const v1::PairQuery& query = lease.parallelize();
      return PairQuery{
          .slice = query.slice(),
          .island = query.island(),
          .pipeline_microbatch_size = query.pipeline_microbatch_size(),
          .trailing_stages = query.trailing_stages(),
          .max_search_steps = query.max_search_steps(),
          .limit_s = query.limit_s() == 0 ? kInfinity : query.limit_s()};
    }
    case v1::Lease::QUERY_NOT_SET:
      break;
  }
  return CheckPresent("query", false);
}

absl::StatusOr<double> DecodeSilence(const v1::CoordinatorMessage& message) {
  if (message.silence_s() == 0) return 0;
  TANGRAM_RETURN_IF_ERROR(
      CheckWithin("silence_s", message.silence_s(), kHeartbeatS, kMaxSilenceS));
  return message.silence_s();
}

void EncodeAnswer(const absl::StatusOr<Answer>& answer, v1::Answer& message) {
  if (answer.ok()) {
    std::visit(AnswerEncoder{message}, *answer);
  } else {
    message.mutable_error()->set_code(answer.status().raw_code());
    message.mutable_error()->set_message(
        std::string(answer.status().message()));
  }
}

bool IsError(const v1::Answer& message) {
  // An error with code 0 would be no error.
  return message.has_error() && message.error().code() != 0;
}

absl::StatusOr<Answer> DecodeAnswer(const v1::Answer& message) {
  if (IsError(message)) {
    const std::string& reason = message.error().message();
    // Logs and callers quote it.
    return absl::Status(static_cast<absl::StatusCode>(message.error().code()),
                        absl::StripAsciiWhitespace(reason).empty()
                            ? "no reason given"
                            : reason);
  }
  absl::StatusOr<Answer> answer = DecodeResult(message);
  if (answer.ok()) return answer;
  return absl::InternalError(
      absl::StrCat("a worker answered nonsense: ", answer.status().message()));
}

std::string SerializeAnswer(const Answer& answer) {
  v1::Answer message;
  EncodeAnswer(answer, message);
  return message.SerializeAsString();
}

absl::StatusOr<Answer> ParseAnswer(const std::string& bytes) {
  v1::Answer message;
  if (!message.ParseFromString(bytes)) {
    return absl::DataLossError("not an answer");
  }
  return DecodeAnswer(message);
}

}  // namespace tangram
