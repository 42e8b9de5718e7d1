// A report as a page of HTML that needs nothing else, and back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ferry {

/// The page for one run, or for two side by side: the result of RunReport::json() for each run, and its name.
struct ReportedRun {
  std::string name;  ///< "" of a single run
  std::string json;
};
[[nodiscard]] std::string report_page(const std::vector<ReportedRun>& runs);

/// The JSON of the run in a page with one. Error(file), which names `file`, for any other text.
[[nodiscard]] std::string run_in_page(std::string_view page, const std::string& file);

/// Whether the text is such a page, by its beginning.
[[nodiscard]] bool is_report_page(std::string_view text);

}  // namespace ferry
