#include "runner/report/report_page.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "base/format.hpp"
#include "runner/page_files.hpp"

namespace ferry {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kBegin = "<!doctype html>\n<!-- ferry report -->\n";
constexpr std::string_view kOpen = "<script type=\"application/json\" class=\"run\"", kClose = "</script>";

/// JSON in a script element must not contain "<".
std::string escape_for_script(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json)
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  return text;
}

}  // namespace

std::string report_page(const std::vector<ReportedRun>& runs) {
  std::string page(kBegin);
  page += "<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>ferry report</title>\n";
  page += "<meta name=\"viewport\" content=\"width=device-width\">\n<style>\n" + std::string(kPageStyle) + "</style>\n";
  page += kPageBody;
  for (const ReportedRun& run : runs) {
    page += kOpen;
    page +=
        ">\n" + escape_for_script("{\"name\":" + Json(run.name).dump(-1, ' ', false, Json::error_handler_t::replace) +
                                  ",\"run\":" + run.json + "}");
    page += "\n" + std::string(kClose) + "\n";
  }
  return page + "<script>\n" + std::string(kPageScript) + "</script>\n</html>\n";
}

bool is_report_page(std::string_view text) {
  return text.starts_with(kBegin);
}

std::string run_in_page(std::string_view page, const std::string& file) {
  const std::size_t open = page.find(kOpen);
  const std::size_t begin = open == std::string_view::npos ? open : page.find('>', open);
  const std::size_t end = begin == std::string_view::npos ? begin : page.find(kClose, begin);
  if (end == std::string_view::npos)
    throw Error(Code::file, "{:?}: this report has no run in it", file).hint("write it again: ferry run --report");
  if (page.find(kOpen, end) != std::string_view::npos)
    throw Error(Code::file, "{:?}: this report compares two runs", file).hint("give the report of one run");
  const Json json = Json::parse(page.substr(begin + 1, end - begin - 1), nullptr, false);
  if (!json.is_object() || !json.contains("run") || !json["run"].is_object() || json["run"].value("format", 0) != 1)
    throw Error(Code::file, "{:?}: the run in this report cannot be read by ferry " FERRY_VERSION, file)
        .hint("write it again: ferry run --report");
  return json["run"].dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ferry
