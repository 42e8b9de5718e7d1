#include "plan/plan.hpp"

namespace ferry {

std::string_view name_of(Opcode what) {
  static constexpr std::string_view kNames[] = {
      "kernel", "feed",   "fetch",           "copy",  "send", "send_wait",     "receive", "receive_wait", "collective",
      "loop",   "branch", "collective_wait", "tiles", "join", "stencil_begin", "stencil"};
  return kNames[static_cast<std::size_t>(what)];
}

std::string_view name_of(Region::Kind kind) {
  static constexpr std::string_view kNames[] = {"setup", "step", "condition", "body", "branch", "tile"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(PlanQueue::Role role) {
  static constexpr std::string_view kNames[] = {"compute", "in", "out", "collective"};
  return kNames[static_cast<std::size_t>(role)];
}

std::string_view name_of(Via via) {
  static constexpr std::string_view kNames[] = {"messages", "put", "get", "library"};
  return kNames[static_cast<std::size_t>(via)];
}

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return "all_reduce";
    case CollectiveKind::reduce_scatter:
      return "reduce_scatter";
    case CollectiveKind::all_gather:
      return "all_gather";
    case CollectiveKind::all_to_all:
      return "all_to_all";
    case CollectiveKind::broadcast:
      return "broadcast";
    case CollectiveKind::scatter:
      return "scatter";
    case CollectiveKind::gather:
      return "gather";
    case CollectiveKind::reduce:
      return "reduce";
  }
  return "?";
}

std::string task_text(const PlanPort& port) {
  return port.by_parts() ? "each task" : "task " + std::to_string(port.task);
}

}  // namespace ferry
