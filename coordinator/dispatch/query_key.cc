#include "coordinator/dispatch/query_key.h"

#include <utility>

namespace tangram {
namespace {

Fingerprint FingerprintOf(const PairContext& context) {
  Fingerprinter fp;
  fp.Add(tangram::FingerprintOf(context.training));
  fp.Add(static_cast<int64_t>(context.slices.size()));
  for (const ModelSlice& slice : context.slices) {
    fp.Add(slice.atoms.begin).Add(slice.atoms.end).Add(slice.fingerprint);
  }
  for (const IslandSpec& island : context.islands) {
    fp.Add(tangram::FingerprintOf(island));
  }
  return fp.Finish();
}

std::vector<Fingerprint> FingerprintsOf(
    const std::vector<IslandSpec>& islands) {
  std::vector<Fingerprint> ids;
  for (const IslandSpec& island : islands) {
    ids.push_back(tangram::FingerprintOf(island));
  }
  return ids;
}

// Adds the content of one query.
struct ContentHasher {
  const QueryContext* context;
  Fingerprinter& fp;

  void operator()(const SliceModelQuery& query) {
    for (const LayerSpec& layer : query.model.layers) {
      fp.Add(FingerprintOf(layer));
    }
  }
  void operator()(const ConcatenateQuery& query) {
    for (const ModelSlice* slice : {&query.head, &query.tail}) {
      fp.Add(slice->atoms.begin).Add(slice->atoms.end).Add(slice->fingerprint);
    }
  }
  void operator()(const ProfileQuery& query) {
    AddPlace(query.slice, query.island);
    fp.Add(query.pipeline_microbatch_size);
  }
  void operator()(const PairQuery& query) {
    AddPlace(query.slice, query.island);
    fp.Add(query.pipeline_microbatch_size)
        .Add(query.trailing_stages)
        .Add(query.max_search_steps);
  }

  // Where the slice stands in the model changes no answer.
  void AddPlace(int slice, int island) {
    fp.Add(context->pairs.slices[slice].fingerprint)
        .Add(context->island_ids[island])
        .Add(context->training_id);
  }
};

}  // namespace

QueryContext::QueryContext(PairContext context)
    : pairs(std::move(context)),
      id(FingerprintOf(pairs)),
      island_ids(FingerprintsOf(pairs.islands)),
      training_id(tangram::FingerprintOf(pairs.training)) {}

Fingerprint KeyOf(const AdapterId& adapter, const QueryContext* context,
                  const Query& query) {
  Fingerprinter fp;
  fp.Add(adapter.name)
      .Add(adapter.version)
      .Add(static_cast<int64_t>(query.index()));
  std::visit(ContentHasher{context, fp}, query);
  return fp.Finish();
}

}  // namespace tangram
