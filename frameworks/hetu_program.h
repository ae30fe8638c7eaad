#ifndef TANGRAM_FRAMEWORKS_HETU_PROGRAM_H_
#define TANGRAM_FRAMEWORKS_HETU_PROGRAM_H_

namespace tangram {

// The program that starts Hetu's trainer on the ranks of a plan. A file of the
// export.
inline constexpr char kHetuProgramName[] = "train_pipelines.py";
extern const char kHetuProgram[];

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_HETU_PROGRAM_H_
