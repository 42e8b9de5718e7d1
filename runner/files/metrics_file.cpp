#include "runner/files/metrics_file.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

using Json = nlohmann::ordered_json;

constexpr Duration kBetweenWrites = std::chrono::milliseconds(200);
constexpr std::size_t kMostUnwritten = 1 << 16;

/// The lines in the file for steps up to `before`, unchanged.
std::string kept_lines(const std::string& path, std::int64_t before, FileSystem& files) {
  if (before == 0 || !files.exists(path)) return {};
  const FileBytes bytes = files.read(path);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text = text.substr(0, text.rfind('\n') + 1);  // a run that was killed may have left a part of a line
  std::string kept;
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const auto fields = nlohmann::json::parse(line, nullptr, false);
    const bool is_line = fields.is_object() && fields.contains("step") && fields["step"].is_number_integer();
    if (!is_line)
      throw Error(Code::file, in_quotes(path) + ":" + std::to_string(number) + ": this is no line of --metrics")
          .hint("give another file, or remove this one");
    if (fields["step"].get<std::int64_t>() <= before) kept += std::string(line) + "\n";
  }
  return kept;
}

}  // namespace

MetricsFile::MetricsFile(std::string path, std::int64_t before, FileSystem& files, Clock& clock)
    : path_(std::move(path)), files_(files), clock_(clock), begin_(clock.now()), flushed_(begin_) {
  files_.write(path_, kept_lines(path_, before, files_));
}

void MetricsFile::add(std::int64_t step, std::string_view entry, const Metrics& metrics) {
  const TimePoint now = clock_.now();
  Json line;
  line["step"] = step;
  line["seconds"] = std::chrono::duration<double>(now - begin_).count();
  line["entry"] = entry;
  Json& values = line["values"] = Json::object();
  for (const auto& [name, value] : metrics) values[name] = value;
  lines_ += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (now - flushed_ >= kBetweenWrites || lines_.size() >= kMostUnwritten) flush();
}

void MetricsFile::flush() {
  flushed_ = clock_.now();
  const std::string lines = std::exchange(lines_, {});
  if (lines.empty() || full_) return;
  try {
    files_.append(path_, lines);
  } catch (const Error& error) {
    full_ = true;
    log_warn(error.text() + "\n  --metrics: the run goes on, no more lines are written");
  }
}

}  // namespace ferry
