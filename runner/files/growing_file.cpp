#include "runner/files/growing_file.hpp"

#include <chrono>
#include <utility>

#include "base/error.hpp"
#include "base/system/log.hpp"

namespace ferry {
namespace {

constexpr Duration kBetweenWrites = std::chrono::milliseconds(200);
constexpr std::size_t kMostUnwritten = 1 << 16;

}  // namespace

GrowingFile::GrowingFile(std::string path, std::string_view content, std::string option, FileSystem& files,
                         Clock& clock)
    : path_(std::move(path)), option_(std::move(option)), files_(files), clock_(clock), flushed_(clock.now()) {
  files_.write(path_, content);
}

void GrowingFile::add(std::string_view bytes) {
  unwritten_ += bytes;
  if (clock_.now() - flushed_ >= kBetweenWrites || unwritten_.size() >= kMostUnwritten) flush();
}

void GrowingFile::flush() {
  flushed_ = clock_.now();
  const std::string bytes = std::exchange(unwritten_, {});
  if (bytes.empty() || full_) return;
  try {
    files_.append(path_, bytes);
  } catch (const Error& error) {
    full_ = true;
    log_warn(error.text() + "\n  " + option_ + ": the run continues and writes nothing more there");
  }
}

}  // namespace ferry
