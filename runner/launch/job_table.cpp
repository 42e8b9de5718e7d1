#include "runner/launch/job_table.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/ranges.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

using TableLine = std::array<std::string, 4>;
constexpr std::size_t kMostTasks = 16, kMostLines = 30, kMostCell = 40;

std::vector<TableLine> lines_of_tasks(std::span<const HostRow> rows) {
  std::vector<TableLine> lines = {{"task", "host", "process", "cores"}};
  for (const HostRow& row : rows)
    for (std::size_t i = 0; i < row.processes.size(); ++i)
      lines.push_back(
          {std::to_string(row.first + static_cast<int>(i)), row.host, std::to_string(row.processes[i]), row.cores});
  return lines;
}

std::vector<TableLine> lines_of_hosts(std::span<const HostRow> rows) {
  std::vector<TableLine> lines = {{"tasks", "host", "processes", "cores"}};
  for (const HostRow& row : rows) {
    std::vector<int> tasks(row.processes.size());
    std::iota(tasks.begin(), tasks.end(), row.first);
    std::vector<int> processes = row.processes;
    std::sort(processes.begin(), processes.end());
    lines.push_back({ranges(tasks), row.host, ranges(processes), row.cores});
  }
  return lines;
}

/// The width of the text in characters.
std::size_t width_of(const std::string& text) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
}

}  // namespace

std::vector<std::string> job_table(std::span<const HostRow> rows) {
  std::size_t tasks = 0;
  for (const HostRow& row : rows) tasks += row.processes.size();
  std::vector<TableLine> lines = tasks <= kMostTasks ? lines_of_tasks(rows) : lines_of_hosts(rows);
  const std::size_t left_out = lines.size() > kMostLines ? lines.size() - kMostLines : 0;
  lines.resize(lines.size() - left_out);
  std::array<std::size_t, 4> widths{};
  for (TableLine& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) {
      line[i] = escaped(line[i], kMostCell);
      widths[i] = std::max(widths[i], width_of(line[i]));
    }
  std::vector<std::string> text;
  for (const TableLine& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i)
      row += "  " + line[i] + std::string(widths[i] - width_of(line[i]), ' ');
    text.push_back(row.substr(0, row.find_last_not_of(' ') + 1));
  }
  if (left_out > 0) text.push_back("  … and " + plural(left_out, "more host"));
  return text;
}

}  // namespace ferry
