#include "plan/text/plan_text.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/format.hpp"
#include "base/ranges.hpp"
#include "base/text.hpp"
#include "plan/text/exact_text.hpp"
#include "plan/traffic/class_traffic.hpp"

namespace ferry {
namespace {

constexpr std::string_view kSpaces[] = {"step", "state", "sizes", "tile"};

std::string at(const Plan& plan, std::uint32_t line) {
  const SourceLine where = plan.line(line);
  return where.known() ? formatted("  at {}", where.str()) : std::string();
}

std::string type(DType dtype, const std::vector<std::int64_t>& sizes, bool bounded) {
  std::string text(name_of(dtype));
  text += '[';
  for (std::size_t i = 0; i < sizes.size(); ++i)
    text += (i == 0 ? "" : ",") + std::string(i == 0 && bounded ? "<=" : "") + std::to_string(sizes[i]);
  return text + "]";
}

std::string name(const Plan& plan, std::uint32_t id) {
  return formatted("{}", plan.string(id));
}

/// A name as text: escaped for people, or exact.
std::string name(const Plan& plan, std::uint32_t id, bool exact) {
  return exact ? exact_name(plan.string(id)) : name(plan, id);
}

std::string operands(const PlanClass& role, Range range) {
  std::string text;
  for (const std::uint32_t i : range) text += (i == range.first ? "%" : ", %") + std::to_string(role.operands[i]);
  return text;
}

std::string device(const PlanDevice& device) {
  return std::string(name_of(device.kind)) + ":" + std::to_string(device.index) + " " +
         plural(device.step_bytes, "byte") + " a step and " + std::to_string(device.state_bytes) + " kept";
}

/// The text of a strand: "t1" for a thread, "gpu:0.in" for a queue.
std::string strand_text(const PlanClass& role, StrandId strand) {
  if (strand < role.threads) return "t" + std::to_string(strand);
  const PlanQueue& queue = role.queues[strand - role.threads];
  const PlanDevice& device = role.devices[queue.device];
  return std::string(name_of(device.kind)) + ":" + std::to_string(device.index) + "." +
         std::string(name_of(queue.role));
}

/// A group of more than kMostNamed tasks shows only the first kNamedOfMore tasks and the last task.
constexpr std::size_t kMostNamed = 16, kNamedOfMore = 4;

/// "0-3", "0,2,4,6"; "0,2,4,6,..,4094" for a long group that is not consecutive, such as a column of a large mesh.
std::string group_text(const std::vector<std::int32_t>& group) {
  std::vector<std::int32_t> first(group.begin(), group.begin() + std::min(group.size(), kMostNamed + 1));
  const std::string text = ranges(first);
  if (first.size() == group.size() || text.find('-') != std::string::npos) return ranges(group);
  first.resize(kNamedOfMore);
  return ranges(first) + ",.." + std::to_string(group.back());
}

std::string groups(const Grouping& grouping, bool exact) {
  const std::size_t named = exact || grouping.size() <= kMostNamed ? grouping.size() : kNamedOfMore;
  std::string text;
  for (std::size_t g = 0; g < named; ++g)
    text += (text.empty() ? "{" : " {") + (exact ? ranges(grouping[g]) : group_text(grouping[g])) + "}";
  if (named == grouping.size()) return text;
  return text + " .. {" + group_text(grouping.back()) + "}, " + plural(grouping.size(), "group");
}

/// The permissions of later passes for an instruction (Freedom).
std::string freedom(std::uint8_t may) {
  return std::string((may & kMovable) != 0 ? "movable" : "") + (may == (kMovable | kFusable) ? ", " : "") +
         ((may & kFusable) != 0 ? "fusable" : "");
}

/// The action of an instruction, without its number and the user's line.
std::string action(const Plan& plan, const PlanClass& role, const Instruction& instruction, bool exact) {
  const auto name = [&](std::uint32_t id) { return ferry::name(plan, id, exact); };
  std::string text;
  switch (instruction.what) {
    case Opcode::kernel:
      text = name(instruction.op) + " " + name(instruction.name) + " (" + operands(role, instruction.inputs) + ")";
      break;
    case Opcode::feed:
      text = "feed " + name(plan.feeds[instruction.feed()].name);
      break;
    case Opcode::fetch:
      text = "fetch " + name(plan.fetches[instruction.fetch()].name) + " (" + operands(role, instruction.inputs) + ")";
      break;
    case Opcode::loop:
    case Opcode::branch:
      text = std::string(name_of(instruction.what)) + " " + name(instruction.name) + " (" +
             operands(role, instruction.inputs) + ") regions " + std::to_string(instruction.region()) + ", " +
             std::to_string(instruction.other_region());
      break;
    case Opcode::stencil_begin:
    case Opcode::stencil:
    case Opcode::tiles:
      text = (instruction.what == Opcode::tiles ? "" : std::string(name_of(instruction.what)) + " ") +
             name(instruction.op) + " " + name(instruction.name) + " (" + operands(role, instruction.inputs) +
             ") region " + std::to_string(instruction.region()) + " by " +
             (instruction.tile_elements() == 0 ? "pieces" : std::to_string(instruction.tile_elements()));
      break;
    default:
      text = instruction.swaps() && !exact ? "swap" : std::string(name_of(instruction.what));
      if (instruction.target != kNone) text += " " + std::to_string(instruction.target);
      if (instruction.inputs.count > 0) text += " (" + operands(role, instruction.inputs) + ")";
      if (instruction.what == Opcode::send && plan.channels[instruction.channel()].put) text += " put";
  }
  if (instruction.outputs.count > 0) text += " -> " + operands(role, instruction.outputs);
  if (instruction.scratch != kNone) text += " with %" + std::to_string(instruction.scratch);
  return text;
}

/// The facts about an instruction that the text for people leaves out.
std::string other_facts(const Plan& plan, const Instruction& i) {
  const auto number = [](const char* what, std::uint32_t value) {
    return value == kNone ? std::string() : " " + std::string(what) + " " + std::to_string(value);
  };
  const bool tiled = i.what == Opcode::tiles || i.what == Opcode::stencil || i.what == Opcode::stencil_begin;
  const bool shows_op = tiled || i.what == Opcode::kernel, nests = i.what == Opcode::loop || i.what == Opcode::branch;
  std::string text;
  if (!shows_op && !nests && i.name != kNone) text += " of " + name(plan, i.name, true);
  if (!shows_op && i.op != kNone) text += " op " + name(plan, i.op, true);
  if (i.what == Opcode::feed || i.what == Opcode::fetch) text += number("port", i.target);
  if (!tiled && !nests) text += number("other", i.other);
  text += number("attrs", i.attrs);
  if (i.in_place != 0) text += number("over", i.in_place);
  return text;
}

/// Prints a plan for people, or with every fact that passes read.
class Printer {
 public:
  explicit Printer(const Plan& plan, bool exact = false) : plan_(plan), exact_(exact) {}

  std::string text() {
    totals();
    tables();
    for (std::uint32_t c = 0; c < plan_.classes.size(); ++c) role(c, plan_.classes[c]);
    return std::move(out_);
  }

  std::string totals_text() {
    totals();
    return std::move(out_);
  }

  std::string tables_text() {
    tables();
    return std::move(out_);
  }

  std::string class_text(std::uint32_t index, const PlanClass& plan_class) {
    role(index, plan_class);
    return std::move(out_);
  }

  [[nodiscard]] std::string heading(std::uint32_t index, const PlanClass& role) const {
    const auto tasks = tasks_of_class(plan_, index);
    std::string head = "class " + std::to_string(index) + ": task" + (tasks.size() == 1 ? " " : "s ") + ranges(tasks) +
                       ", " + plural(role.threads, "thread");
    for (const PlanDevice& d : role.devices) head += ", " + device(d);
    if (!role.serving.turns.empty())
      head += ", serves workers that are at most " +
              plural(static_cast<std::uint64_t>(role.serving.staleness), "step") + " apart";
    return head;
  }

 private:
  void line(const std::string& text) { out_.append(text).append("\n"); }
  [[nodiscard]] std::string name(std::uint32_t id) const { return ferry::name(plan_, id, exact_); }

  void tables() {
    ports("feeds", plan_.feeds, " from ");
    ports("fetches", plan_.fetches, " to ");
    channels();
    collectives();
  }

  void totals() {
    of_classes_.emplace(plan_);
    count_of("a step");
    for (const std::uint32_t plan_class : classes_by_first_task()) count_class(plan_class, 1, "a step");
    std::string head = "plan of " + plural(plan_.topology.size(), "task") + " in " +
                       (plan_.classes.size() == 1 ? "1 class" : std::to_string(plan_.classes.size()) + " classes") +
                       "; ";
    for (const auto& [what, traffic] : traffic_) {
      line(head + what + " sends " + plural(static_cast<std::uint64_t>(traffic.sent_messages), "message") + " of " +
           plural(static_cast<std::uint64_t>(traffic.sent_bytes), "byte") + ", copies " +
           plural(static_cast<std::uint64_t>(traffic.copies), "value") +
           (traffic.collective_bytes == 0
                ? ""
                : ", gives " + plural(static_cast<std::uint64_t>(traffic.collective_bytes), "byte") +
                      " to collectives of GPUs"));
      head = "  ";
    }
    if (plan_.bucket_bytes)
      line("sums in buckets of " + plural(static_cast<std::uint64_t>(*plan_.bucket_bytes), "byte"));
  }

  [[nodiscard]] std::vector<std::uint32_t> classes_by_first_task() const {
    std::vector<std::uint32_t> order;
    std::vector<bool> seen(plan_.classes.size(), false);
    for (const std::uint32_t plan_class : plan_.class_of) {
      if (!seen[plan_class]) order.push_back(plan_class);
      seen[plan_class] = true;
    }
    return order;
  }

  /// Counts the traffic of the tasks of a class in the region. Each iteration of a loop and each side of a branch in it
  /// counts under a separate title, if it has traffic, because the plan does not say how often it runs.
  void count_class(std::uint32_t plan_class, RegionId region, const std::string& what) {
    const PlanClass& role = plan_.classes[plan_class];
    const Traffic here = of_classes_->of(plan_class, region);
    if (here != Traffic{}) count_of(what) += here;
    const Range range = role.regions[region].instructions;
    for (const std::uint32_t i : range) {
      const Instruction& owner = role.instructions[i];
      if (owner.what != Opcode::loop && owner.what != Opcode::branch) continue;
      const bool loops = owner.what == Opcode::loop;
      const std::string in = region == 1 ? "" : " in " + what, named = " " + name(owner.name);
      count_class(plan_class, owner.region(), (loops ? "each turn of" : "the true side of") + named + in);
      count_class(plan_class, owner.other_region(), (loops ? "each turn of" : "the false side of") + named + in);
    }
  }

  Traffic& count_of(const std::string& what) {
    const auto at = std::ranges::find(traffic_, what, &std::pair<std::string, Traffic>::first);
    return at != traffic_.end() ? at->second : traffic_.emplace_back(what, Traffic{}).second;
  }

  void ports(const std::string& title, const std::vector<PlanPort>& ports, const std::string& where) {
    if (!ports.empty()) line(title);
    for (const PlanPort& port : ports)
      line("  " + name(port.name) + " " + type(port.dtype, port.sizes, port.bounded) + where + task_text(port) +
           (port.window == kNone ? "" : window(plan_.windows[port.window])));
  }

  void channels() {
    if (!plan_.channels.empty()) line("channels");
    for (std::size_t i = 0; i < plan_.channels.size(); ++i) {
      const Channel& channel = plan_.channels[i];
      line("  " + std::to_string(i) + " " + name(channel.name) + " task " + std::to_string(channel.from) + " -> task " +
           std::to_string(channel.to) + " " + std::string(name_of(channel.dtype)) + " " +
           plural(channel.bytes, "byte") + " " + plural(channel.slots, "slot") + (channel.put ? " put" : "") +
           at(plan_, channel.line));
    }
  }

  static std::string by(const Schedule& schedule) {
    const bool plain = schedule.via == Via::messages || schedule.library_does_all();
    return plain ? "" : " by " + std::string(name_of(schedule.via));
  }

  void collectives() {
    if (!plan_.collectives.empty()) line("collectives");
    for (std::size_t i = 0; i < plan_.collectives.size(); ++i) {
      const Collective& collective = plan_.collectives[i];
      const Schedule& schedule = plan_.schedules[collective.schedule];
      std::string text = "  " + std::to_string(i) + " " + std::string(name_of(schedule.kind));
      if (collective.reduce != Reduce::none) text += " " + std::string(name_of(collective.reduce));
      std::int64_t elements = 0;
      for (std::int64_t part : collective.parts) elements += part;
      line(text + " " + name(collective.name) + " " + schedule.algorithm + by(schedule) +
           (collective.gpu == kNone ? "" : " on gpu:" + std::to_string(collective.gpu)) + " " +
           std::string(name_of(collective.dtype)) + " " + plural(static_cast<std::uint64_t>(elements), "element") +
           (exact_ ? parts(collective.parts) + of_schedule(schedule) : "") + " over " +
           groups(plan_.groupings[collective.grouping], exact_) + at(plan_, collective.line));
    }
  }

  static std::string parts(const std::vector<std::int64_t>& sizes) {
    std::string text;
    for (const std::int64_t size : sizes) text.append(text.empty() ? " in " : ",") += std::to_string(size);
    return text;
  }

  static std::string of_schedule(const Schedule& schedule) {
    return (schedule.root == 0 ? "" : " root " + std::to_string(schedule.root)) + (schedule.guest_root ? " guest" : "");
  }

  void role(std::uint32_t index, const PlanClass& role) {
    line(heading(index, role));
    if (exact_) queues_and_turns(role);
    for (std::size_t b = 0; b < role.buffers.size(); ++b) buffer(role, b);
    for (const PlanVariable& variable : role.variables)
      line("  variable " + name(variable.name) + " in %" + std::to_string(variable.buffer));
    for (std::size_t r = 0; r < role.regions.size(); ++r) region(role, r);
  }

  void queues_and_turns(const PlanClass& role) {
    for (std::uint32_t q = 0; q < role.queues.size(); ++q) line("  queue " + strand_text(role, role.threads + q));
    for (const Serving::Turns& turns : role.serving.turns)
      line("  turn of task " + std::to_string(turns.worker) + " give " + range(turns.give) + " take " +
           range(turns.take));
  }

  static std::string range(Range range) { return std::to_string(range.first) + "+" + std::to_string(range.count); }

  void buffer(const PlanClass& role, std::size_t index) {
    const Buffer& b = role.buffers[index];
    std::string text = "  %" + std::to_string(index) + " " + name(b.name) + " " + type(b.dtype, b.sizes, b.bounded);
    if (b.view_of != kNone && !exact_)
      text += view(b, role.buffers[b.view_of]);
    else if (b.space == Buffer::Space::none && !exact_)
      text += " sizes only";
    else
      text += " " + std::string(kSpaces[static_cast<std::size_t>(b.space)]) + "+" + std::to_string(b.offset);
    if (b.view_of != kNone && exact_) text += " view of %" + std::to_string(b.view_of);
    if (exact_ && b.bytes != plain_bytes(b)) text += " " + plural(b.bytes, "byte");
    if (role.devices.size() > 1) text += " device " + std::to_string(b.device);
    if (b.window != kNone) text += window(plan_.windows[b.window]);
    line(text);
  }

  static std::uint64_t plain_bytes(const Buffer& b) {
    std::uint64_t bytes = size_of(b.dtype);
    for (const std::int64_t size : b.sizes.vector()) bytes *= static_cast<std::uint64_t>(size);
    return bytes;
  }

  static std::string view(const Buffer& b, const Buffer& of) {
    const std::string whole = "%" + std::to_string(b.view_of);
    if (b.bytes == of.bytes) return " view of " + whole;
    return " in " + whole + " from byte " + std::to_string(b.offset - of.offset);
  }

  static std::string dims(const std::vector<RowsRead>& rows) {
    std::string text;
    for (const RowsRead& one : rows) text += (text.empty() ? "" : ",") + std::to_string(one.dim);
    return text;
  }

  std::string window(const Window& w) const {
    std::string text = w.has == Window::Has::part   ? " part of ["
                       : w.has == Window::Has::read ? " rows of dim " + dims(w.rows) + " that are read here of ["
                       : w.has == Window::Has::given
                           ? " rows of dim " + std::to_string(w.halo_dim) + " that others read of ["
                           : " rows of dim " + std::to_string(w.halo_dim) + " that others have of [";
    for (std::size_t i = 0; i < w.sizes.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(w.sizes[i]);
    text += "]";
    for (const SplitDim& split : w.splits)
      text += " cut in dim " + std::to_string(split.dim) + " over " + groups(plan_.groupings[split.grouping], exact_);
    return exact_ ? text + rows_of(w) : text;
  }

  static std::string rows_of(const Window& w) {
    std::string text;
    for (const Reads& reads : w.reads) text += " reads " + exact_text_of(reads);
    for (const RowsRead& rows : w.rows) text += " along " + std::to_string(rows.dim) + " " + exact_text_of(rows.reads);
    return text;
  }

  void region(const PlanClass& role, std::size_t index) {
    const Region& region = role.regions[index];
    if (index > 1 || region.instructions.count > 0)
      line("  " + (index > 1 ? "region " + std::to_string(index) + " " : std::string()) +
           std::string(name_of(region.kind)));
    for (std::uint32_t i = 0; i < region.instructions.count; ++i) {
      if (index == 1 && !exact_) turn(role.serving, i);
      stretch(role, region.instructions[i]);
      const Instruction& instruction = role.instructions[region.instructions[i]];
      std::string text = "    " + std::to_string(i) + " ";
      if (role.strands() > 1) text += strand_text(role, instruction.strand) + " ";
      text += action(plan_, role, instruction, exact_);
      if (exact_) text += other_facts(plan_, instruction);
      for (std::uint32_t w = 0; w < instruction.waits.count; ++w) {
        const Wait& wait = role.waits_of(instruction)[w];
        text += (w == 0 ? "  after " : ", ") + strand_text(role, wait.strand) + ":" + std::to_string(wait.count);
      }
      if (instruction.may != 0) text += "  (" + freedom(instruction.may) + ")";
      line(text + at(plan_, instruction.line));
    }
  }

  /// Prints a line if a turn begins at this position of the step, or if the last turn has ended.
  void turn(const Serving& serving, std::uint32_t at) {
    for (const Serving::Turns& turns : serving.turns) {
      const std::string worker = std::to_string(turns.worker);
      if (turns.give.first == at && turns.give.count > 0) line("    give to task " + worker);
      if (turns.take.first == at && turns.take.count > 0) line("    take from task " + worker);
      if (&turns == &serving.turns.back() && turns.take.first + turns.take.count == at) line("    after all turns");
    }
  }

  /// Prints a line if a stretch begins at this position.
  void stretch(const PlanClass& role, std::uint32_t at) {
    const auto begins = [at](const Range& one) { return one.first == at; };
    if (const auto found = std::ranges::find_if(role.stretches, begins); found != role.stretches.end())
      line("    captured: the next " + std::to_string(found->count) + " on " +
           strand_text(role, role.instructions[at].strand));
  }

  const Plan& plan_;
  const bool exact_;
  std::optional<ClassTraffic> of_classes_;  // set by totals(), which needs a finished plan
  std::string out_;
  std::vector<std::pair<std::string, Traffic>> traffic_;  // of all tasks: in a step, in each iteration of a loop, …
};

}  // namespace

std::string exact_name(std::string_view name) {
  const auto plain = [](char c) { return c > ' ' && c < 0x7f && c != '"' && c != '\\'; };
  if (!name.empty() && std::ranges::all_of(name, plain)) return std::string(name);
  return "\"" + escaped(name, std::string_view::npos) + "\"";
}

std::string exact_text_of(const Reads& reads) {
  std::string text;
  for (const std::int64_t number : {reads.begin, reads.step, reads.size, reads.extent, reads.windows.begin,
                                    reads.windows.step, reads.windows.extent})
    text.append(text.empty() ? "(" : ",") += std::to_string(number);
  return text + ")";
}

std::string text_of(const Plan& plan, const PlanClass& role, const Instruction& instruction) {
  return action(plan, role, instruction, false);
}

std::string exact_text_of(const Plan& plan, const PlanClass& role, const Instruction& instruction) {
  return action(plan, role, instruction, true) + other_facts(plan, instruction) + at(plan, instruction.line);
}

std::vector<int> tasks_of_class(const Plan& plan, std::uint32_t index) {
  std::vector<int> tasks;
  for (std::size_t task = 0; task < plan.class_of.size(); ++task)
    if (plan.class_of[task] == index) tasks.push_back(static_cast<int>(task));
  return tasks;
}

std::string text_of(const Plan& plan) {
  return Printer(plan).text();
}

std::string totals_text_of(const Plan& plan) {
  return Printer(plan).totals_text();
}

std::string heading_of(const Plan& plan, std::uint32_t index) {
  return Printer(plan).heading(index, plan.classes[index]);
}

std::string exact_tables_of(const Plan& plan) {
  const std::string text = Printer(plan, true).tables_text();
  return text.empty() ? "no feeds, fetches or messages\n" : text;
}

std::string exact_text_of(const Plan& plan, const PlanClass& role, std::uint32_t index) {
  return Printer(plan, true).class_text(index, role);
}

std::string roles_text(const std::vector<std::uint32_t>& class_of) {
  std::map<std::uint32_t, std::vector<int>> tasks;
  for (std::size_t task = 0; task < class_of.size(); ++task) tasks[class_of[task]].push_back(static_cast<int>(task));
  std::string text;
  for (const auto& [role, members] : tasks)
    text += "class " + std::to_string(role) + ": task" + (members.size() == 1 ? " " : "s ") + ranges(members) + "\n";
  return text;
}

}  // namespace ferry
