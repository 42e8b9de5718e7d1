#include <nlohmann/json.hpp>

#include "graph/op/op_time.hpp"
#include "graph/op/op_work.hpp"
#include "plan/text/plan_text.hpp"
#include "runner/files/cluster_file.hpp"
#include "runner/pictures/plan_pictures.hpp"

namespace ferry {
namespace {

using Json = nlohmann::ordered_json;

Json port_json(const Plan& plan, const PlanPort& port) {
  return {{"name", plan.string(port.name)},
          {"task", port.by_parts() ? Json("each") : Json(port.task)},
          {"dtype", name_of(port.dtype)},
          {"sizes", port.sizes},
          {"bounded", port.bounded}};
}

Json channel_json(const Plan& plan, const Channel& channel) {
  return {{"name", plan.string(channel.name)},    {"from", channel.from},   {"to", channel.to},
          {"dtype", name_of(channel.dtype)},      {"bytes", channel.bytes}, {"slots", channel.slots},
          {"line", plan.line(channel.line).str()}};
}

Json collective_json(const Plan& plan, const Collective& collective) {
  const Schedule& schedule = plan.schedules[collective.schedule];
  return {{"name", plan.string(collective.name)},
          {"kind", name_of(schedule.kind)},
          {"algorithm", schedule.algorithm},
          {"via", name_of(schedule.via)},
          {"reduce", name_of(collective.reduce)},
          {"dtype", name_of(collective.dtype)},
          {"parts", collective.parts},
          {"groups", plan.groupings[collective.grouping]},
          {"line", plan.line(collective.line).str()}};
}

Json instruction_json(const Plan& plan, const PlanClass& role, const Instruction& instruction) {
  const auto operands = [&](Range range) {
    Json list = Json::array();
    for (const std::uint32_t i : range) list.push_back(role.operands[i].number());
    return list;
  };
  Json json = {{"do", name_of(instruction.what)}, {"strand", instruction.strand}};
  if (instruction.op != kNone) json["op"] = plan.string(instruction.op);
  if (instruction.name != kNone) json["name"] = plan.string(instruction.name);
  if (instruction.target != kNone) json["target"] = instruction.target;
  if (instruction.other != kNone) json["other"] = instruction.other;
  json["inputs"] = operands(instruction.inputs);
  json["outputs"] = operands(instruction.outputs);
  if (instruction.line != kNone) json["line"] = plan.line(instruction.line).str();
  return json;
}

constexpr std::string_view kSpaces[] = {"step", "state", "sizes", "tile"};

Json buffer_json(const Plan& plan, const PlanClass& role, const Buffer& buffer) {
  Json json = {{"name", plan.string(buffer.name)},
               {"dtype", name_of(buffer.dtype)},
               {"sizes", buffer.sizes},
               {"bytes", buffer.bytes}};
  if (buffer.view_of != kNone) {
    json["view_of"] = buffer.view_of.number();
    json["from_byte"] = buffer.offset - role.buffers[buffer.view_of].offset;
  } else if (buffer.space != Buffer::Space::none) {
    json[std::string(kSpaces[static_cast<std::size_t>(buffer.space)]) + "_offset"] = buffer.offset;
  }
  return json;
}

Json class_json(const Plan& plan, std::uint32_t index) {
  const PlanClass& role = plan.classes[index];
  Json json = {{"tasks", tasks_of_class(plan, index)}, {"threads", role.threads}};
  for (const PlanQueue& queue : role.queues)
    json["queues"].push_back({{"device", queue.device}, {"role", name_of(queue.role)}});
  const auto range = [](const Range& r) { return Json{{"begin", r.first}, {"count", r.count}}; };
  if (!role.serving.turns.empty()) json["staleness"] = role.serving.staleness;
  for (const Serving::Turns& turns : role.serving.turns)  // ranges of the step's instructions
    json["turns"].push_back({{"worker", turns.worker}, {"give", range(turns.give)}, {"take", range(turns.take)}});
  for (const PlanDevice& device : role.devices)
    json["devices"].push_back({{"kind", name_of(device.kind)},
                               {"index", device.index},
                               {"step_bytes", device.step_bytes},
                               {"state_bytes", device.state_bytes}});
  for (const Buffer& buffer : role.buffers) json["buffers"].push_back(buffer_json(plan, role, buffer));
  for (const PlanVariable& variable : role.variables)
    json["variables"].push_back({{"name", plan.string(variable.name)}, {"buffer", variable.buffer.number()}});
  for (const Region& region : role.regions) {
    Json list = Json::array();
    for (std::uint32_t i = 0; i < region.instructions.count; ++i)
      list.push_back(instruction_json(plan, role, role.instructions[region.instructions[i]]));
    Json& added = json["regions"].emplace_back(Json{{"kind", name_of(region.kind)}, {"instructions", std::move(list)}});
    for (const Range& stretch : role.stretches)  // ranges of the region's instructions
      if (stretch.first - region.instructions.first < region.instructions.count)
        added["captured"].push_back(range({stretch.first - region.instructions.first, stretch.count}));
  }
  return json;
}

Json change_json(const Change& change) {
  return {change.before, change.after};
}

Json annotations_json(const LayoutAnnotations& annotations) {
  Json json = {{"axes", annotations.axes}, {"step_seconds", annotations.step_seconds}, {"ops", Json::array()}};
  for (const LayoutAnnotations::OfOp& of : annotations.ops) {
    Json layouts = Json::array();
    for (const Layout& layout : of.layouts) layouts.push_back(str(layout));
    json["ops"].push_back({{"op", of.op}, {"line", of.line.str()}, {"layouts", layouts}});
    if (of.task) json["ops"].back()["task"] = *of.task;
  }
  return json;
}

Json placement_json(const AutoPlacement& placement) {
  Json json = {{"entry", placement.entry},
               {"taken", placement.candidates[placement.taken].name},
               {"step_seconds", placement.step_seconds},
               {"computing_seconds", placement.computing_seconds},
               {"message_seconds", placement.message_seconds},
               {"model_seconds", placement.model_seconds},
               {"bound_seconds", placement.bound_seconds},
               {"memory_bytes", placement.memory_bytes},
               {"model_bytes", placement.model_bytes},
               {"bound_bytes", placement.bound_bytes},
               {"candidates", Json::array()}};
  for (const AutoPlacement::Candidate& candidate : placement.candidates)
    json["candidates"].push_back({{"name", candidate.name}, {"step_seconds", candidate.step_seconds}});
  if (placement.annotations) json["annotations"] = annotations_json(*placement.annotations);
  return json;
}

Json costs_json(const ComputeCosts& costs) {
  Json json;
  for (const ComputeFigure& figure : compute_figures()) json[figure.name] = costs.*figure.place;
  return json;
}

Json kernel_json(const StepWork::Kernel& kernel) {
  return {{"kind", name_of(kernel.work.kind)},
          {"flops", kernel.work.flops},
          {"bytes", kernel.work.bytes},
          {"device", name_of(kernel.device)},
          {"threads", kernel.threads}};
}

Json link_json(const LinkCost& link) {
  return {{"latency_seconds", link.latency_seconds}, {"bytes_per_second", link.bytes_per_second}};
}

Json message_json(const StepWork::Message& message) {
  Json json = {{"kind", message.is_collective ? name_of(message.kind) : "transfer"},
               {"members", message.members},
               {"hosts", message.hosts},
               {"given_bytes", message.given},
               {"got_bytes", message.got},
               {"between_hosts", message.between_hosts},
               {"link", link_json(message.link)}};
  if (message.hosts > 1) json["within_host"] = link_json(message.within_host);
  return json;
}

Json work_json(const StepWork& work) {
  Json json = {{"name", work.name},     {"op", work.what},     {"line", work.line.str()},
               {"groups", work.groups}, {"after", work.after}, {"runs", work.runs}};
  if (const auto* kernel = std::get_if<StepWork::Kernel>(&work.part)) json["kernel"] = kernel_json(*kernel);
  if (const auto* message = std::get_if<StepWork::Message>(&work.part)) json["message"] = message_json(*message);
  if (const auto* copy = std::get_if<StepWork::Copy>(&work.part))
    json["copy"] = {{"bytes", copy->bytes}, {"link", link_json(copy->link)}};
  json["seconds"] = work.seconds;
  return json;
}

Json step_json(const StepEstimate& step, const ComputeCosts& host) {
  Json json = {{"step_seconds", step.step_seconds},
               {"computing_seconds", step.computing_seconds},
               {"message_seconds", step.message_seconds},
               {"costs", {{"cpu", costs_json(host)}, {"gpu", costs_json(kGpuCosts)}}},
               {"groups", step.groups},
               {"work", Json::array()}};
  for (const StepWork& work : step.work) json["work"].push_back(work_json(work));
  return json;
}

Json place_json(const std::optional<std::string>& place) {
  return place ? Json(*place) : Json();
}

}  // namespace

std::string diff_json(const PlanDiff& diff) {
  Json json = {{"same", diff.empty()},
               {"tasks", change_json(diff.tasks)},
               {"messages", change_json(diff.messages)},
               {"bytes", change_json(diff.bytes)},
               {"copies", change_json(diff.copies)},
               {"sent", Json::array()},
               {"ops", Json::array()},
               {"memory", Json::array()}};
  for (const PlanDiff::Message& message : diff.by_line)
    json["sent"].push_back({{"name", message.name},
                            {"line", message.line.str()},
                            {"messages", change_json(message.messages)},
                            {"bytes", change_json(message.bytes)}});
  for (const PlanDiff::Op& op : diff.ops)
    json["ops"].push_back({{"name", op.name},
                           {"line", op.line.str()},
                           {"before", place_json(op.before)},
                           {"after", place_json(op.after)}});
  for (const PlanDiff::Memory& task : diff.memory)
    json["memory"].push_back({{"task", task.task}, {"bytes", change_json(task.bytes)}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string plan_json(const PlanResult& result) {
  const Plan& plan = result.plan;
  Json json = {{"version", plan.version},  {"tasks", Json::array()},    {"feeds", Json::array()},
               {"fetches", Json::array()}, {"channels", Json::array()}, {"collectives", Json::array()},
               {"classes", Json::array()}};
  for (std::size_t t = 0; t < plan.topology.tasks.size(); ++t) {
    const TaskInfo& task = plan.topology.tasks[t];
    json["tasks"].push_back({{"job", task.job},
                             {"index_in_job", task.index_in_job},
                             {"host", task.host_name},
                             {"threads", task.threads},
                             {"class", plan.class_of[t]}});
  }
  for (const PlanPort& port : plan.feeds) json["feeds"].push_back(port_json(plan, port));
  for (const PlanPort& port : plan.fetches) json["fetches"].push_back(port_json(plan, port));
  for (const Channel& channel : plan.channels) json["channels"].push_back(channel_json(plan, channel));
  for (const Collective& collective : plan.collectives)
    json["collectives"].push_back(collective_json(plan, collective));
  if (plan.bucket_bytes) json["bucket_bytes"] = *plan.bucket_bytes;
  if (result.placement) json["place"] = placement_json(*result.placement);
  if (result.step) json["step"] = step_json(*result.step, plan.topology.compute);
  for (std::uint32_t c = 0; c < plan.classes.size(); ++c) json["classes"].push_back(class_json(plan, c));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ferry
