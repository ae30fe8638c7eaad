#include "coordinator/dispatch/query_key.h"

#include <bit>
#include <utility>
#include <variant>

#include "coordinator/dispatch/canonical_bytes.h"

namespace tangram {
namespace {

// The version of the bytes of a question. Change it whenever they change:
// answers that are stored under other bytes are then no longer found.
constexpr absl::string_view kQuestionFormat = "tangram question 2";

std::vector<Digest> IdsOf(absl::Span<const ModelSlice> slices) {
  Sha256 sha256;
  std::vector<Digest> ids;
  ids.reserve(slices.size());
  std::string bytes;
  for (const ModelSlice& slice : slices) {
    bytes.clear();
    AppendCanonicalRuns(bytes, slice);
    ids.push_back(sha256(bytes));
  }
  return ids;
}

template <typename Part>
Digest IdOf(const Part& part) {
  std::string bytes;
  AppendCanonical(bytes, part);
  return Sha256()(bytes);
}

std::vector<Digest> IdsOf(absl::Span<const IslandSpec> islands) {
  std::vector<Digest> ids;
  for (const IslandSpec& island : islands) ids.push_back(IdOf(island));
  return ids;
}

void AppendDigest(std::string& bytes, const Digest& digest) {
  bytes.append(digest.view().data(), digest.view().size());
}

// Digest of (training, number of slices, (position, slice)…, island…).
Digest IdOf(const QueryContext& context) {
  std::string bytes;
  AppendDigest(bytes, context.training_id);
  AppendCanonical(bytes, static_cast<int64_t>(context.slice_ids.size()));
  for (size_t i = 0; i < context.slice_ids.size(); ++i) {
    AppendCanonical(bytes, context.pairs.slices[i].atoms);
    AppendDigest(bytes, context.slice_ids[i]);
  }
  for (const Digest& island : context.island_ids) AppendDigest(bytes, island);
  return Sha256()(bytes);
}

// Returns the bytes that all questions of a scope share:
// format, tenant, adapter name, adapter version.
std::string PrefixOf(const QueryScope& scope) {
  std::string bytes;
  AppendCanonical(bytes, kQuestionFormat);
  AppendCanonical(bytes, scope.tenant);
  AppendCanonical(bytes, scope.adapter.name);
  AppendCanonical(bytes, scope.adapter.version);
  return bytes;
}

// Appends the content of one query: numbers in full, and digests of the model,
// slices, island and training options.
struct ContentWriter {
  const QueryContext* context;
  Sha256& sha256;
  std::string& bytes;

  void operator()(const SliceModelQuery& query) {
    std::string model;
    AppendCanonical(model, query.model);
    AppendDigest(bytes, sha256(model));
  }
  void operator()(const ConcatenateQuery& query) {
    for (const ModelSlice* slice : {&query.head, &query.tail}) {
      std::string runs;
      AppendCanonicalRuns(runs, *slice);
      AppendCanonical(bytes, slice->atoms);
      AppendDigest(bytes, sha256(runs));
    }
  }
  void operator()(const ProfileQuery& query) {
    const auto& [slice, island, pipeline_microbatch_size] = query;
    AppendPlace(slice, island);
    AppendCanonical(bytes, pipeline_microbatch_size);
  }
  void operator()(const PairQuery& query) {
    const auto& [slice, island, pipeline_microbatch_size, trailing_stages,
                 max_search_steps, limit_s] = query;
    AppendPlace(slice, island);
    AppendCanonical(bytes, pipeline_microbatch_size);
    AppendCanonical(bytes, trailing_stages);
    AppendCanonical(bytes, max_search_steps);
    AppendCanonical(bytes, std::bit_cast<int64_t>(limit_s));
  }

  void AppendPlace(int slice, int island) {
    AppendDigest(bytes, context->slice_ids[slice]);
    AppendDigest(bytes, context->island_ids[island]);
    AppendDigest(bytes, context->training_id);
  }
};

// Adds what the questions of one search share, beside their scope.
struct PlaceWriter {
  const QueryContext* context;
  Fingerprinter& place;

  void operator()(const SliceModelQuery&) {}
  void operator()(const ConcatenateQuery&) {}
  void operator()(const ProfileQuery& query) {
    place.Add(context->island_ids[query.island].view());
    place.Add(query.pipeline_microbatch_size);
  }
  void operator()(const PairQuery& query) {
    place.Add(context->island_ids[query.island].view());
    place.Add(query.pipeline_microbatch_size);
    place.Add(query.trailing_stages);
  }
};

Fingerprint SharedPart(absl::string_view prefix, const QueryContext* context) {
  Fingerprinter shared;
  shared.Add(prefix);
  if (context != nullptr) shared.Add(context->training_id.view());
  return shared.Finish();
}

}  // namespace

QueryContext::QueryContext(PairContext context)
    : pairs(std::move(context)),
      slice_ids(IdsOf(pairs.slices)),
      island_ids(IdsOf(pairs.islands)),
      training_id(IdOf(pairs.training)),
      id(IdOf(*this)) {}

QuestionWriter::QuestionWriter(const QueryScope& scope,
                               const QueryContext* context)
    : context_(context),
      bytes_(PrefixOf(scope)),
      prefix_bytes_(bytes_.size()),
      prefix_fingerprint_(SharedPart(bytes_, context)) {}

Question QuestionWriter::Write(const Query& query) {
  const QueryKey key = KeyOf(query);
  return {.key = key, .bytes = bytes_};
}

QueryKey QuestionWriter::KeyOf(const Query& query) {
  return {.place = PlaceOf(query), .digest = sha256_(Encode(query))};
}

std::array<uint8_t, 8> QuestionWriter::PlaceOf(const Query& query) const {
  Fingerprinter place;
  place.Add(prefix_fingerprint_);
  std::visit(PlaceWriter{context_, place}, query);
  return std::bit_cast<std::array<uint8_t, 8>>(place.Finish());
}

absl::string_view QuestionWriter::Encode(const Query& query) {
  bytes_.resize(prefix_bytes_);
  AppendCanonical(bytes_, static_cast<int32_t>(query.index()));
  std::visit(ContentWriter{context_, sha256_, bytes_}, query);
  return bytes_;
}

std::vector<Question> QuestionsOf(const QueryScope& scope,
                                  const QueryContext* context,
                                  absl::Span<const Query> queries,
                                  bool with_bytes) {
  QuestionWriter writer(scope, context);
  std::vector<Question> questions;
  questions.reserve(queries.size());
  for (const Query& query : queries) {
    questions.push_back(with_bytes ? writer.Write(query)
                                   : Question{.key = writer.KeyOf(query)});
  }
  return questions;
}

}  // namespace tangram
