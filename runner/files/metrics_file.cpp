#include "runner/files/metrics_file.hpp"

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

using Json = nlohmann::ordered_json;

/// The file's lines for steps up to `before`, unchanged. Adds the entries that have a line for step `before` to
/// `at_before`.
std::string read_kept_lines(const std::string& path, std::int64_t before, FileSystem& files,
                            std::set<std::string, std::less<>>& at_before) {
  if (before == 0 || !files.exists(path)) return {};
  const FileBytes bytes = files.read(path);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text = text.substr(0, text.rfind('\n') + 1);  // a killed run may have left an incomplete line
  std::string kept;
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const auto fields = nlohmann::json::parse(line, nullptr, false);
    const bool is_line = fields.is_object() && fields.contains("step") && fields["step"].is_number_integer();
    if (!is_line)
      throw Error(Code::file, "{:?}:{}: this is no line of --metrics", path, number)
          .hint("give another file, or remove this one");
    const auto step = fields["step"].get<std::int64_t>();
    if (step <= before) kept += std::string(line) + "\n";
    if (step == before) at_before.insert(fields.value("entry", ""));
  }
  return kept;
}

}  // namespace

MetricsFile::MetricsFile(const std::string& path, std::int64_t before, FileSystem& files, Clock& clock)
    : before_(before),
      clock_(clock),
      begin_(clock.now()),
      file_(path, read_kept_lines(path, before, files, at_before_), "--metrics", files, clock) {}

void MetricsFile::add(std::int64_t step, std::string_view entry, const Metrics& metrics) {
  if (step == before_ && at_before_.contains(entry)) return;
  Json line;
  line["step"] = step;
  line["seconds"] = std::chrono::duration<double>(clock_.now() - begin_).count();
  line["entry"] = entry;
  Json& values = line["values"] = Json::object();
  for (const auto& [name, value] : metrics) values[name] = value;
  file_.add(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace ferry
