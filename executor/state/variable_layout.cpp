#include "executor/state/variable_layout.hpp"

#include "plan/group_places.hpp"

namespace ferry {

std::shared_ptr<const VariableLayout> VariableLayout::at_task_0(const std::vector<std::int64_t>& sizes,
                                                                std::size_t tasks) {
  auto layout = std::make_shared<VariableLayout>(tasks);
  layout->set_part(0, {true, sizes, std::vector<std::int64_t>(sizes.size(), 0), sizes});
  return layout;
}

void VariableLayout::set_part(std::size_t task, const VariablePart& part, std::int32_t device) {
  if (device != kHost && devices_.empty()) devices_.assign(of_task_.size(), kHost);
  if (device != kHost) devices_[task] = device;
  const auto [at, fresh] = numbers_.try_emplace({part.begin, part.sizes}, static_cast<std::uint32_t>(parts_.size()));
  if (fresh) parts_.push_back({part, task});
  ++parts_[at->second].tasks;
  of_task_[task] = at->second;
}

VariableLayouts variable_layouts(const Plan& plan) {
  std::map<std::string, std::pair<DType, std::shared_ptr<VariableLayout>>, std::less<>> made;
  GroupPlaces places(plan);
  const auto tasks = static_cast<std::size_t>(plan.topology.size());
  for (int task = 0; task < plan.topology.size(); ++task) {
    const PlanClass& c = plan.class_for(task);
    for (const PlanVariable& variable : c.variables) {
      auto& [dtype, layout] = made[std::string(plan.string(variable.name))];
      if (layout == nullptr) layout = std::make_shared<VariableLayout>(tasks);
      const Buffer& buffer = c.buffers[variable.buffer];
      dtype = buffer.dtype;
      VariablePart part{true, buffer.sizes, std::vector<std::int64_t>(buffer.sizes.size(), 0), buffer.sizes};
      if (buffer.window != kNone) {
        part.whole = plan.windows[buffer.window].sizes;
        part.begin = places.begin(plan.windows[buffer.window], task);
      }
      const PlanDevice& device = c.devices[buffer.device];
      layout->set_part(
          static_cast<std::size_t>(task), part,
          device.kind == DeviceKind::cpu ? VariableLayout::kHost : static_cast<std::int32_t>(device.index));
    }
  }
  return {made.begin(), made.end()};
}

}  // namespace ferry
