// --tensorboard DIR: the scalars that a run fetches, as event files that TensorBoard shows.
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

/// DIR/ENTRY/events.out.tfevents.SECONDS.HOST.PROCESS: a run of TensorBoard's for each entry, with a scalar for each
/// fetch. The folder's name is file_name_of() the entry, so that none leads out of DIR. The format is TFRecord, with
/// serialized tensorflow.Event messages (tensorflow/core/util/event.proto). What a folder already has stays;
/// TensorBoard drops those steps of it that the run does again. Used from one thread.
class EventFiles final : public MetricsSink {
 public:
  /// `before`: steps that were done before this run. Files are made with the first scalars of their entry. Errors as
  /// FileSystem::make_folders.
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

/// One record of a TFRecord file: the length, a checksum of it, the data, and a checksum of these (CRC-32C, masked).
[[nodiscard]] std::string tf_record(std::string_view data);

}  // namespace ferry
