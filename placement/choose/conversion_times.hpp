// ConversionTimes: the planned times of converting values from one layout to another on a mesh.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "placement/choose/message_times.hpp"
#include "placement/layout/conversion.hpp"
#include "placement/program/program.hpp"

namespace ferry {

/// Assigns numbers to types and layouts, and computes each time once. Not thread-safe.
class ConversionTimes {
 public:
  using Number = std::uint32_t;

  ConversionTimes(const Program& program, WhereId mesh) : program_(program), where_(program.wheres[mesh]) {}

  [[nodiscard]] Number number(const Layout& layout);
  [[nodiscard]] const Layout& layout(Number number) const { return layouts_[number]; }

  /// The time in picoseconds of the messages and copies that convert a value; kImpossible if none can, because a whole
  /// value cannot become a partial sum. `shares`: a sum over tasks shares its message with other sums (fuse_messages),
  /// so it has only a part of the latency.
  [[nodiscard]] std::int64_t of(PValueId value, bool shares, Number from, Number to);

 private:
  [[nodiscard]] std::int64_t compute_time(const Type& type, bool shares, bool once, const Layout& from,
                                          const Layout& to) const;
  /// The time of the step's messages, where `now` is the layout before the step.
  [[nodiscard]] std::int64_t message_time(const Type& type, bool shares, const Layout& now,
                                          const ConversionStep& step) const;
  /// The time in which a task copies its part out of a value, or joins or separates parts that are not consecutive in
  /// memory. `after` is the layout after the step.
  [[nodiscard]] std::int64_t copy_time(const Type& type, const ConversionStep& step, const Layout& now,
                                       const Layout& after) const;
  /// The time of a sum in a full bucket: its bytes, and its share of the bucket's latency.
  [[nodiscard]] std::int64_t shared_sum_time(const Type& type, bool one_host, const SumTime& time) const;
  [[nodiscard]] Number number_of_type(PValueId value);

  const Program& program_;
  const Where& where_;
  std::map<std::string, Number> number_of_;
  std::vector<Layout> layouts_;
  std::map<std::string, Number> types_;
  std::unordered_map<PValueId, Number> type_of_;
  std::unordered_map<std::uint64_t, std::int64_t> times_;
};

}  // namespace ferry
