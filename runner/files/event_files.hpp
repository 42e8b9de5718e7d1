// --tensorboard DIR: writes the scalars that a run fetches as event files for TensorBoard.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/files/files.hpp"
#include "base/system/clock.hpp"
#include "runner/files/growing_file.hpp"
#include "runner/files/metrics.hpp"

namespace ferry {

/// Writes the files DIR/ENTRY/events.out.tfevents.SECONDS.HOST.PROCESS. TensorBoard shows a run for each entry, with a
/// scalar for each fetch. The name of an entry's folder is file_name_of() the entry, so that every folder is inside
/// DIR. The format is TFRecord, with serialized tensorflow.Event messages (tensorflow/core/util/event.proto). Files
/// that a folder already has stay; TensorBoard drops their steps that this run repeats. Used from one thread.
class EventFiles final : public MetricsSink {
 public:
  /// `before`: the number of steps done before this run. A file is created with the first scalars of its entry. Errors
  /// as FileSystem::make_folders.
  EventFiles(std::string folder, std::int64_t before, FileSystem& files, Clock& clock);

  /// If an entry's file cannot be created or extended, ferry prints one warning, the run continues, and the entry's
  /// scalars are dropped.
  void add(std::int64_t step, std::string_view entry, const Metrics& metrics) override;
  void flush() override;

 private:
  std::unique_ptr<GrowingFile> file_for(std::string_view entry, std::int64_t step);

  const std::string folder_;
  const std::int64_t before_;
  FileSystem& files_;
  Clock& clock_;
  std::map<std::string, std::unique_ptr<GrowingFile>, std::less<>> of_entry_;
};

/// One record of a TFRecord file: the length, its checksum, the data, and its checksum (CRC-32C, masked).
[[nodiscard]] std::string tf_record(std::string_view data);

}  // namespace ferry
