// Device annotations, in TensorFlow's grammar: "/job:ps/task:0/gpu:1", every part optional, "/task:*" for all tasks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

enum class DeviceKind : unsigned char { cpu, gpu };

[[nodiscard]] std::string_view name_of(DeviceKind kind);

/// A partial name of a device. Parts that are absent are decided by placement.
struct DeviceSpec {
  static constexpr int kAllTasks = -1;

  std::optional<std::string> job;
  std::optional<int> task;  ///< kAllTasks for "/task:*"
  std::optional<DeviceKind> kind;
  std::optional<int> index;

  /// Reads "/job:NAME/task:N/cpu:0", also "/gpu:*" without an index. Error(usage) shows the fault with a caret.
  [[nodiscard]] static DeviceSpec parse(std::string_view text);
  /// The inverse of parse; "" when nothing is set.
  [[nodiscard]] std::string str() const;
  [[nodiscard]] bool empty() const { return !job && !task && !kind && !index; }
  [[nodiscard]] bool all_tasks() const;
  /// Parts of `inner` win over parts of this one, as in nested scopes. A new job also drops this one's task, a new kind
  /// its index.
  [[nodiscard]] DeviceSpec merged(const DeviceSpec& inner) const;

  bool operator==(const DeviceSpec&) const = default;
};

}  // namespace ferry
#pragma GCC visibility pop
