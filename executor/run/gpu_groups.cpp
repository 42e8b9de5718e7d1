#include "executor/run/gpu_groups.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

using Kind = DeviceCollective::Kind;
static_assert(kMostFolded <= kMostFoldInputs);

/// The messages of a member of a collective for which the library has no function.
class Exchange {
 public:
  Exchange(const Schedule& schedule, const Collective& collective, int member, std::byte* input, std::byte* output)
      : schedule_(schedule), collective_(collective), member_(member), input_(input), output_(output) {}

  [[nodiscard]] std::vector<DeviceMessage> messages() {
    for (int peer = 0; peer < schedule_.members; ++peer) {
      switch (schedule_.kind) {
        case CollectiveKind::all_to_all:
          send(peer, peer);
          receive(peer, peer);
          break;
        case CollectiveKind::all_gather:
          send(peer, member_);
          receive(peer, peer);
          break;
        case CollectiveKind::scatter:
          if (member_ == schedule_.root) send(peer, peer);
          if (peer == schedule_.root) receive(peer, member_);
          break;
        default:  // gather
          if (peer == schedule_.root) send(peer, member_);
          if (member_ == schedule_.root) receive(peer, peer);
          break;
      }
    }
    return std::move(messages_);
  }

 private:
  void send(int peer, int part) { add(peer, 1, input_, schedule_.input_part(collective_.parts, member_, part)); }
  void receive(int peer, int part) { add(peer, 0, output_, schedule_.output_part(collective_.parts, member_, part)); }
  void add(int peer, int sends, std::byte* base, const PartRange& part) {
    const auto size = static_cast<std::int64_t>(size_of(collective_.dtype));
    if (part.count > 0)
      messages_.push_back({peer, sends, base + part.begin * size, static_cast<std::uint64_t>(part.count * size)});
  }

  const Schedule& schedule_;
  const Collective& collective_;
  const int member_;
  std::byte *const input_, *const output_;
  std::vector<DeviceMessage> messages_;
};

/// Makes the stages of a member of a sum that GPUs fold. The messages up to a wait are one call of the library; a copy
/// and the folds after it are one kernel.
class FoldedSum {
 public:
  FoldedSum(const Schedule& schedule, const Collective& collective, int member, const GpuGroups::OperandMemory& places,
            const KernelTable& kernels, const void* tag)
      : schedule_(schedule), collective_(collective), member_(member), places_(places), kernels_(kernels), tag_(tag) {}

  [[nodiscard]] std::vector<GpuCollective::Stage> stages() {
    for (const ScheduleStep& step : schedule_.steps)
      if (schedule_.concerns(step, member_)) add(step);
    call();
    fold();
    return std::move(stages_);
  }

 private:
  void add(const ScheduleStep& step) {
    const std::span<const std::int64_t> parts = collective_.parts;
    const int peer = step.peer.resolve(member_, schedule_.members);
    const int part = step.part.resolve(member_, schedule_.members);
    switch (step.kind) {
      case ScheduleStep::Kind::send_input:
        return message(peer, 1, places_.input, schedule_.input_part(parts, member_, part));
      case ScheduleStep::Kind::send_output:
        return message(peer, 1, places_.output, schedule_.output_part(parts, member_, part));
      case ScheduleStep::Kind::receive_output:
        return message(peer, 0, places_.output, schedule_.output_part(parts, member_, part));
      case ScheduleStep::Kind::receive_slot:
        return message(peer, 0, slot(peer), {0, schedule_.input_part(parts, peer, part).count});
      case ScheduleStep::Kind::wait:
      case ScheduleStep::Kind::wait_sends:
        return call();
      case ScheduleStep::Kind::copy:
      case ScheduleStep::Kind::fold:
        folded_ = schedule_.output_part(parts, member_, part);
        folding_.push_back(peer == member_ ? at(places_.input, schedule_.input_part(parts, member_, part).begin)
                                           : slot(peer));
        return;
      default:
        assertion_failed("step", "a sum that GPUs fold has no such step");
    }
  }

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(size_of(collective_.dtype)); }
  [[nodiscard]] std::byte* at(std::byte* base, std::int64_t element) const { return base + element * size(); }
  [[nodiscard]] std::byte* slot(int peer) const {
    return places_.slots +
           (peer - (peer > member_ ? 1 : 0)) * slot_bytes(schedule_, collective_.parts, collective_.dtype);
  }

  void message(int peer, int sends, std::byte* base, const PartRange& part) {
    fold();
    calls_ = true;
    if (part.count > 0)
      messages_.push_back({peer, sends, at(base, part.begin), static_cast<std::uint64_t>(part.count * size())});
  }

  void call() {
    if (!std::exchange(calls_, false)) return;
    GpuCollective::Stage stage;
    stage.messages = std::exchange(messages_, {});
    stage.call = {
        .kind = Kind::exchange, .messages = stage.messages.data(), .message_count = stage.messages.size(), .tag = tag_};
    stages_.push_back(std::move(stage));
  }

  void fold() {
    const std::vector<std::byte*> inputs = std::exchange(folding_, {});
    if (inputs.empty() || folded_.count == 0) return;
    GpuCollective::Stage stage;
    stage.fold = std::make_unique<GpuFold>(kernels_, collective_.reduce, collective_.dtype, folded_.count, inputs,
                                           at(places_.output, folded_.begin));
    stages_.push_back(std::move(stage));
  }

  const Schedule& schedule_;
  const Collective& collective_;
  const int member_;
  const GpuGroups::OperandMemory places_;
  const KernelTable& kernels_;
  const void* const tag_;
  std::vector<GpuCollective::Stage> stages_;
  std::vector<DeviceMessage> messages_;  // of the next call
  bool calls_ = false;                   // there is a next call, even if all its messages are empty
  std::vector<std::byte*> folding_;
  PartRange folded_;
};

/// The library's function for a collective; `exchange` if it has none for the kind, or for parts of different sizes.
Kind kind_of(const Schedule& schedule, const Collective& collective) {
  const auto& parts = collective.parts;
  switch (schedule.kind) {
    case CollectiveKind::all_reduce:
      return Kind::all_reduce;
    case CollectiveKind::reduce:
      return Kind::reduce;
    case CollectiveKind::reduce_scatter:
      return Kind::reduce_scatter;
    case CollectiveKind::broadcast:
      return Kind::broadcast;
    case CollectiveKind::all_gather:
      return std::ranges::all_of(parts, [&](std::int64_t part) { return part == parts[0]; }) ? Kind::all_gather
                                                                                             : Kind::exchange;
    default:
      return Kind::exchange;
  }
}

}  // namespace

GpuFold::GpuFold(const KernelTable& kernels, Reduce reduce, DType dtype, std::int64_t count,
                 std::span<std::byte* const> inputs, std::byte* output)
    : sizes_{count},
      run_{.inputs = {}, .outputs = {}, .scratch = {}, .parallel = parallel_, .step = step_, .iterations = {}} {
  for (std::byte* const input : inputs) arrays_.push_back({input, dtype, sizes_, sizes_, begin_});
  arrays_.push_back({output, dtype, sizes_, sizes_, begin_});
  run_.inputs = std::span(arrays_).first(inputs.size());
  run_.outputs = std::span(arrays_).last(1);
  const Kernel* const kernel = kernels.find(fold_kernel(reduce));
  if (kernel == nullptr) throw Error(Code::plan, "the devices have no kernel for " + std::string(fold_kernel(reduce)));
  const std::vector<Type> types(arrays_.size(), {dtype, Shape(sizes_)});
  const Attrs none;
  kernel_ = ferry::bind(kernels, *kernel,
                        {.name = fold_kernel(reduce),
                         .attrs = none,
                         .inputs = std::span(types).first(inputs.size()),
                         .outputs = std::span(types).last(1),
                         .data_folder = {}});
  run_.state = kernel_.state.get();
}

DeviceLaunch GpuFold::launch(void* queue, const void* tag) {
  run_.queue = queue;
  return {kernel_.run, &run_, tag};
}

/// The plan's groups that no earlier plan had, in the order of the plan's collectives.
std::vector<GpuGroups::Group> GpuGroups::add_new_groups(const Plan& plan) {
  std::vector<Group> found;
  for (std::uint32_t c = 0; c < plan.collectives.size(); ++c) {
    if (plan.collectives[c].gpu == kNone) continue;
    for (const std::vector<std::int32_t>& tasks : plan.groupings[plan.collectives[c].grouping])
      if (Group group{tasks, plan.collectives[c].gpu}; known_.insert(group).second) found.push_back(std::move(group));
  }
  return found;
}

void GpuGroups::join(const Plan& plan, int task, const Devices* devices, Transport& transport,
                     const Deadline& deadline) {
  const std::vector<Group> fresh = add_new_groups(plan);
  if (fresh.empty()) return;
  devices_ = devices;
  // The first task of each group makes the group's name.
  std::string names;
  for (const Group& group : fresh)
    if (group.tasks.front() == task) {
      const DeviceGroupName name = devices->name_group();
      names.append(name.bytes, sizeof name.bytes);
    }
  const std::vector<std::string> of_tasks = transport.exchange(names, deadline);
  std::vector<std::size_t> read(of_tasks.size(), 0);
  for (const Group& group : fresh) {
    const auto first = static_cast<std::size_t>(group.tasks.front());
    DeviceGroupName name{};
    const std::size_t at = read[first]++ * sizeof name.bytes;
    const auto me = std::ranges::find(group.tasks, task);
    if (me == group.tasks.end()) continue;
    if (of_tasks[first].size() < at + sizeof name.bytes)
      throw Error(Code::peer_lost, "task {} does not name the group of its GPUs", first);
    std::memcpy(name.bytes, of_tasks[first].data() + at, sizeof name.bytes);
    Devices::Owned member = devices->join_group(static_cast<int>(group.gpu), name, static_cast<int>(group.tasks.size()),
                                                static_cast<int>(me - group.tasks.begin()));
    while (!devices->joined(member.get())) {
      if (deadline.expired())
        throw Error(Code::stalled, "task {} waits for the GPUs of {} to form a group with its own", task,
                    plural(group.tasks.size() - 1, "other task"))
            .hint("see what these tasks and the network between them do; --device cpu computes without GPUs");
      transport.idle(std::chrono::microseconds(50));
    }
    joined_.emplace(group, std::move(member));
  }
}

std::unique_ptr<GpuCollective> GpuGroups::collective(const Plan& plan, int task, const Instruction& instruction,
                                                     const OperandMemory& places, const KernelTable& kernels) const {
  const Collective& collective = plan.collectives[instruction.collective()];
  const Schedule& schedule = plan.schedules[collective.schedule];
  const Membership place = membership(plan.groupings[collective.grouping], task);
  auto made = std::make_unique<GpuCollective>();
  const std::int64_t given = schedule.library_does_all() ? schedule.input_elements(collective.parts, place.member)
                                                         : schedule.sent_elements(collective.parts, place.member);
  made->bytes = given * static_cast<std::int64_t>(size_of(collective.dtype));
  made->group = joined_.at({*place.group, collective.gpu}).get();
  if (!schedule.library_does_all()) {
    made->stages = FoldedSum(schedule, collective, place.member, places, kernels, &instruction).stages();
    return made;
  }
  GpuCollective::Stage& all = made->stages.emplace_back();
  all.call = {.kind = kind_of(schedule, collective),
              .reduce = collective.reduce,
              .dtype = collective.dtype,
              .root = schedule.root,
              .count = static_cast<std::uint64_t>(collective.parts[0]),
              .input = places.input,
              .output = places.output,
              .tag = &instruction};
  if (all.call.kind == Kind::exchange) {
    all.messages = Exchange(schedule, collective, place.member, places.input, places.output).messages();
    all.call.count = 0;
    all.call.messages = all.messages.data();
    all.call.message_count = all.messages.size();
  }
  return made;
}

void GpuGroups::abandon() {
  for (const auto& [_, member] : joined_) devices_->abandon(member.get());
}

}  // namespace ferry
