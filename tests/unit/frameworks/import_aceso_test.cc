#include <gmock/gmock.h>

#include <string>

#include "tests/unit/frameworks/import_variants.h"

namespace tangram {
namespace {

using enum testing::Outcome;
using testing::ExpectOutcomes;
using testing::ExportedBase;
using testing::SmallGpt;

TEST(ImportAcesoTest, ReadsChecksOrNotesEverySetting) {
  ExpectOutcomes(
      ExportedBase("aceso", SmallGpt(/*tied=*/false),
                   {.tp_degree = 2, .dp_degree = 2}),
      "b4/32 1f1b adam dropout: 0-5 tp2 cp1 dp2 ep1 zero0 @0.0 | "
      "5-10 tp2 cp1 dp2 ep1 zero0 @1.0",
      {
          {{{"\"model_name\": \"gpt\"", "\"model_name\": \"t5\""}},
           kFails,
           "model_name: t5; expected gpt"},
          {{{"\"num_layers\": 8", "\"num_layers\": 7"}},
           kFails,
           "num_layers: 7; expected 8"},
          {{{"\"hidden_size\": 2048", "\"hidden_size\": 1024"}},
           kFails,
           "hidden_size: 1024; expected 2048"},
          {{{"\"num_attention_heads\": 32", "\"num_attention_heads\": 16"}},
           kFails,
           "num_attention_heads: 16; expected 32"},
          {{{"\"max_position_embeddings\": 2048",
             "\"max_position_embeddings\": 1024"}},
           kFails,
           "max_position_embeddings: 1024; expected 2048"},
          {{{"\"seq_length\": 1024", "\"seq_length\": 2048"}},
           kFails,
           "seq_length: 2048; expected 1024"},
          {{{"\"num_stages\": 2", "\"num_stages\": 3"}},
           kFails,
           "num_stages: 3; expected 2"},
          {{{"\"num_gpus\": [4,4]", "\"num_gpus\": [4,2]"}},
           kFails,
           "num_gpus ## stage 1 has 2 GPUs"},
          {{{"\"num_gpus\": [4,4]", "\"num_gpus\": [8]"}},
           kFails,
           "num_gpus: a list; expected 2 numbers"},
          {{{"\"micro_batch_size\": 4", "\"micro_batch_size\": 8"}},
           kReads,
           "b8/32"},
          {{{"\"micro_batch_size\": 4", "\"micro_batch_size\": 3"}},
           kFails,
           "micro_batch_size: 3; expected a divisor of global_batch_size, 32"},
          {{{"\"micro_batch_size\": 4", "\"micro_batch_size\": 1"}},
           kFails,
           "micro_batch_size: 1; expected a multiple of every dp, 2 among"},
          {{{"\"global_batch_size\": 32", "\"global_batch_size\": 64"}},
           kReads,
           "b4/64"},
          {{{"\"resharding_stages\": [false,false]",
             "\"resharding_stages\": [true,false]"}},
           kNotes,
           "resharding inside 1 stages is not read"},
          {{{"\"checkpoint_activations\": [false,false]",
             "\"checkpoint_activations\": [false]"}},
           kFails,
           "checkpoint_activations: a list; expected 2, one a stage"},
          // The switch alone recomputes nothing: no operator is marked.
          {{{"\"checkpoint_activations\": [false,false]",
             "\"checkpoint_activations\": [true,true]"}},
           kReads,
           "zero0 @0.0 | 5-10"},
          {{{"\"algo_of_each_op\": [[0,0", "\"algo_of_each_op\": [[1,1"}},
           kNotes,
           "algo_of_each_op: 2 operators"},
          {{{"\"num_stages\": 2", "\"num_stages\": 2, \"colour\": 1"}},
           kNotes,
           "not read by FlexPipe, nor here: colour"},
          {{{"\"num_stages\": 2,", ""}}, kFails, "num_stages: missing"},
      });
}

}  // namespace
}  // namespace tangram
