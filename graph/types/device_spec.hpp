// Device annotations, in TensorFlow's grammar: "/job:ps/task:0/gpu:1". Every part is optional; "/task:*" means all
// tasks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

enum class DeviceKind : unsigned char { cpu, gpu };

[[nodiscard]] std::string_view name_of(DeviceKind kind);

/// A partial name of a device. Placement decides the absent parts.
struct DeviceSpec {
  static constexpr int kAllTasks = -1;  ///< value of `task`

  std::optional<std::string> job;  ///< name of a job, such as "worker"
  std::optional<int> task;         ///< number in the job; kAllTasks for "/task:*"
  std::optional<DeviceKind> kind;  ///< CPU or GPU
  std::optional<int> index;        ///< number of the device on its task

  /// Parses "/job:NAME/task:N/cpu:0"; "/gpu:*" leaves the index open. Error(usage) points at the fault with a caret.
  [[nodiscard]] static DeviceSpec parse(std::string_view text);
  /// The inverse of parse(); "" for an empty spec.
  [[nodiscard]] std::string str() const;
  [[nodiscard]] bool empty() const { return !job && !task && !kind && !index; }
  [[nodiscard]] bool all_tasks() const;
  /// Returns this spec with the parts of `inner` in place of its own, as in nested scopes. A new job also removes this
  /// spec's task, a new kind its index.
  [[nodiscard]] DeviceSpec merged(const DeviceSpec& inner) const;

  bool operator==(const DeviceSpec&) const = default;
};

}  // namespace ferry
#pragma GCC visibility pop
