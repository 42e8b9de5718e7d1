#include "plan/largest_values.hpp"

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"

namespace ferry {

std::vector<LargeValue> largest_values(const Plan& plan, const PlanClass& role, std::size_t count,
                                       const std::function<bool(std::uint32_t device)>& counts) {
  std::vector<std::uint32_t> ids;
  for (std::uint32_t b = 0; b < role.buffers.size(); ++b)
    if (const Buffer& buffer = role.buffers[b]; buffer.view_of == kNone && buffer.space != Buffer::Space::none &&
                                                buffer.space != Buffer::Space::tile && counts(buffer.device))
      ids.push_back(b);
  std::ranges::stable_sort(
      ids, [&](std::uint32_t a, std::uint32_t b) { return role.buffers[a].bytes > role.buffers[b].bytes; });
  ids.resize(std::min(ids.size(), count));
  std::map<std::uint32_t, SourceLine> lines;
  for (const Instruction& instruction : role.instructions)
    for (const BufferId b : role.outputs(instruction)) lines.try_emplace(b, plan.line(instruction.line));
  std::vector<LargeValue> values;
  for (const std::uint32_t b : ids) {
    const Buffer& buffer = role.buffers[b];
    const std::string_view name = plan.string(buffer.name);
    values.push_back({(name.empty() ? "scratch" : formatted("'{}'", name)) + " " +
                          Type{buffer.dtype, Shape(std::span<const std::int64_t>(buffer.sizes))}.str() + ": " +
                          human_bytes(buffer.bytes),
                      lines[b]});
  }
  return values;
}

}  // namespace ferry
