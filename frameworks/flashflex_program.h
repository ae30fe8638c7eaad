#ifndef TANGRAM_FRAMEWORKS_FLASHFLEX_PROGRAM_H_
#define TANGRAM_FRAMEWORKS_FLASHFLEX_PROGRAM_H_

namespace tangram {

// A program that trains with FlashFlex where llama_train.py alone would weigh
// the samples of unlike pipelines unlike, or give ranks layers, data or
// gradients of others. A file of the export.
inline constexpr char kFlashFlexProgramName[] = "weigh_pipelines.py";
extern const char kFlashFlexProgram[];

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_FLASHFLEX_PROGRAM_H_
