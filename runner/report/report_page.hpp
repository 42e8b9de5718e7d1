// Writes a report as a self-contained HTML page, and reads its data back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ferry {

/// A run on a page: its name, and the result of its RunReport::json(). A page shows one run, or two side by side.
struct ReportedRun {
  std::string name;  ///< "" if there is only one run
  std::string json;
};
[[nodiscard]] std::string report_page(const std::vector<ReportedRun>& runs);

/// The JSON of the run in a page of one run. Error(file), which names `file`, for any other text.
[[nodiscard]] std::string run_in_page(std::string_view page, const std::string& file);

/// Whether the text begins like such a page.
[[nodiscard]] bool is_report_page(std::string_view text);

}  // namespace ferry
