#ifndef TANGRAM_COORDINATOR_AUTH_RELOADING_FILE_H_
#define TANGRAM_COORDINATOR_AUTH_RELOADING_FILE_H_

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "common/obs/log.h"
#include "common/security/refresh.h"
#include "common/security/secret_file.h"
#include "common/sync/mutex.h"

namespace tangram {

// The parsed content of a file, read again within kRefreshIntervalS after the
// file has changed. If a change cannot be read, logs it and keeps the previous
// content. Thread-safe.
template <typename T>
class ReloadingFile {
 public:
  using Parser = std::function<absl::StatusOr<T>(absl::string_view)>;

  static absl::StatusOr<std::unique_ptr<ReloadingFile>> Open(std::string flag,
                                                             std::string path,
                                                             Parser parser) {
    auto file = std::make_unique<ReloadingFile>(
        std::move(flag), std::move(path), std::move(parser));
    const MutexLock lock(file->mutex_);
    file->stamp_ = file->Stamp();
    TANGRAM_ASSIGN_OR_RETURN(file->value_, file->Read());
    return file;
  }

  ReloadingFile(std::string flag, std::string path, Parser parser)
      : flag_(std::move(flag)),
        path_(std::move(path)),
        parser_(std::move(parser)) {}

  std::shared_ptr<const T> Get() {
    const MutexLock lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now >= next_look_) {
      next_look_ = now + std::chrono::seconds(kRefreshIntervalS);
      Refresh();
    }
    return value_;
  }

 private:
  using FileStamp = std::pair<std::filesystem::file_time_type, uintmax_t>;

  FileStamp Stamp() const {
    std::error_code error;
    return {std::filesystem::last_write_time(path_, error),
            std::filesystem::file_size(path_, error)};
  }

  absl::StatusOr<std::shared_ptr<const T>> Read() const {
    TANGRAM_ASSIGN_OR_RETURN(const std::string text,
                             ReadSecretFile(flag_, path_));
    absl::StatusOr<T> value = parser_(text);
    if (value.ok()) return std::make_shared<const T>(*std::move(value));
    return absl::InvalidArgumentError(
        absl::StrCat(flag_, ": ", path_, ": ", value.status().message()));
  }

  void Refresh() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const FileStamp stamp = Stamp();
    if (stamp == stamp_) return;
    // Tries again until it succeeds: fixing the permissions of the file does
    // not change the stamp.
    absl::StatusOr<std::shared_ptr<const T>> value = Read();
    const bool was_tried = std::exchange(tried_, stamp) == stamp;
    if (!value.ok()) {
      if (was_tried) return;
      Log(LogLevel::kError, "cannot be read again",
          {{"file", path_}, {"status", value.status().ToString()}});
      return;
    }
    value_ = *std::move(value);
    stamp_ = stamp;
    Log(LogLevel::kInfo, "read again", {{"file", path_}, {"status", "OK"}});
  }

  const std::string flag_;
  const std::string path_;
  const Parser parser_;
  Mutex mutex_;
  std::chrono::steady_clock::time_point next_look_ ABSL_GUARDED_BY(mutex_);
  // Stamp of the content in `value_`.
  FileStamp stamp_ ABSL_GUARDED_BY(mutex_);
  // Stamp of the last attempt to read.
  FileStamp tried_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const T> value_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_AUTH_RELOADING_FILE_H_
