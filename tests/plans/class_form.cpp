#include "tests/plans/class_form.hpp"

#include <algorithm>
#include <array>

#include "graph/op/op_work.hpp"
#include "plan/text/exact_text.hpp"
#include "tests/plans/form_reader.hpp"

namespace ferry::test {
namespace {

/// What a buffer or a feed has of a split value: an index into Plan::windows.
std::uint32_t read_window(FormReader& in, PlanTables& tables) {
  Window window;
  if (!in.accept("part of")) {
    in.expect("rows of dim");
    const std::vector<std::int64_t> dims = in.numbers();
    in.expect("that");
    window.has = in.accept("are read here") ? Window::Has::read
                 : in.accept("others read") ? Window::Has::given
                                            : (in.expect("others have"), Window::Has::got);
    if (window.has != Window::Has::read) window.halo_dim = static_cast<std::uint32_t>(dims[0]);
    in.expect("of");
  }
  in.expect("[");
  if (!in.sees("]")) window.sizes = in.numbers();
  in.expect("]");
  while (in.accept("cut in dim")) {
    const auto dim = in.number<std::uint32_t>();
    in.expect("over");
    window.splits.push_back({dim, tables.grouping(in.groups())});
  }
  while (in.accept("reads")) window.reads.push_back(in.reads());
  while (in.accept("along")) {
    const auto dim = in.number<std::uint32_t>();
    window.rows.push_back({dim, in.reads()});
  }
  return tables.window(std::move(window));
}

/// Reads what precedes the classes: feeds, fetches, channels and collectives.
class TablesReader {
 public:
  TablesReader(FormReader& in, PlanTables& tables) : in_(in), tables_(tables), plan_(tables.plan()) {}

  void read() {
    if (in_.accept("no feeds, fetches or messages")) return in_.end_line();
    if (in_.accept("feeds")) ports(plan_.feeds, "from");
    if (in_.accept("fetches")) ports(plan_.fetches, "to");
    if (in_.accept("channels")) {
      for (in_.end_line(); !over() && !in_.sees("collectives");) channel();
    }
    if (in_.accept("collectives")) {
      for (in_.end_line(); !over();) collective();
    }
  }

 private:
  bool over() { return in_.at_end() || in_.sees("class"); }

  void ports(std::vector<PlanPort>& ports, std::string_view where) {
    for (in_.end_line();
         !over() && !in_.sees_line("fetches") && !in_.sees_line("channels") && !in_.sees_line("collectives");) {
      PlanPort& port = ports.emplace_back();
      port.name = tables_.string(in_.name());
      const Type type = in_.type();
      port.dtype = type.dtype;
      port.sizes = type.shape.sizes();
      port.bounded = type.shape.bounded();
      in_.expect(where);
      if (in_.accept("each task")) {
        port.task = PlanPort::kEachTask;
        if (!in_.line_read()) port.window = read_window(in_, tables_);
      } else {
        in_.expect("task");
        port.task = in_.number<std::int32_t>();
      }
      in_.end_line();
    }
  }

  void channel() {
    if (in_.number<std::size_t>() != plan_.channels.size()) in_.fail("channels in order before this");
    Channel& channel = plan_.channels.emplace_back();
    channel.name = tables_.string(in_.name());
    in_.expect("task");
    channel.from = in_.number<std::int32_t>();
    in_.expect("-> task");
    channel.to = in_.number<std::int32_t>();
    channel.dtype = in_.dtype();
    channel.bytes = in_.counted<std::uint64_t>("byte");
    channel.slots = in_.counted<std::uint32_t>("slot");
    channel.put = in_.accept("put");
    channel.line = tables_.line(in_.source_line());
    in_.end_line();
  }

  void collective() {
    if (in_.number<std::size_t>() != plan_.collectives.size()) in_.fail("collectives in order before this");
    Collective& collective = plan_.collectives.emplace_back();
    Schedule schedule;
    schedule.kind = static_cast<CollectiveKind>(
        in_.one_of(names_of<CollectiveKind, CollectiveKind::reduce>(), "the kind of the collective"));
    const bool folds = schedule.kind == CollectiveKind::all_reduce || schedule.kind == CollectiveKind::reduce_scatter ||
                       schedule.kind == CollectiveKind::reduce;
    if (folds) collective.reduce = static_cast<Reduce>(in_.one_of(names_of<Reduce, Reduce::min>(), "sum, max or min"));
    collective.name = tables_.string(in_.name());
    schedule.algorithm = in_.word();
    if (in_.accept("by"))
      schedule.via = static_cast<Via>(in_.one_of(names_of<Via, Via::library>(), "put, get, library"));
    if (in_.accept("on gpu:")) collective.gpu = in_.number<std::uint32_t>();
    collective.dtype = in_.dtype();
    (void)in_.counted("element");
    if (in_.accept("in")) collective.parts = in_.numbers();
    if (in_.accept("root")) schedule.root = in_.number<std::int32_t>();
    schedule.guest_root = in_.accept("guest");
    in_.expect("over");
    const Grouping groups = in_.groups();
    schedule.members = static_cast<std::int32_t>(groups[0].size());
    collective.grouping = tables_.grouping(groups);
    collective.schedule = tables_.schedule(whole(schedule, collective.parts, groups[0]));
    collective.line = tables_.line(in_.source_line());
    in_.end_line();
  }

  /// The schedule that the planner makes for these facts.
  Schedule whole(const Schedule& facts, const std::vector<std::int64_t>& parts,
                 const std::vector<std::int32_t>& group) {
    if (facts.via == Via::put || facts.via == Via::get) return in_shared_memory(by_messages(facts, parts, group));
    if (facts.via == Via::library) return folded_on_gpus(by_messages(facts, parts, group));
    return by_messages(facts, parts, group);
  }

  Schedule by_messages(const Schedule& s, const std::vector<std::int64_t>& parts,
                       const std::vector<std::int32_t>& group) {
    if (s.algorithm == "direct") return direct_schedule(s.kind, s.members, s.root, s.guest_root);
    if (s.algorithm == "library") return library_schedule(s.kind, s.members, s.root, s.guest_root);
    if (s.algorithm == "sparse") return sparse_exchange(s.members, parts);
    if (s.algorithm == "one-shot") return one_shot_schedule(s.members);
    if (s.algorithm == "ring") return ring_schedule(s.kind, s.members);
    if (s.algorithm == "doubling") return doubling_schedule(s.members);
    if (s.algorithm == "tree") return tree_schedule(s.kind, s.members, s.root, s.guest_root);
    if (s.algorithm != "hierarchical") in_.fail("an algorithm before this");
    std::vector<std::int32_t> hosts;
    for (const std::int32_t task : group) hosts.push_back(plan_.topology.tasks.at(static_cast<std::size_t>(task)).host);
    return hierarchical_schedule(s.kind, hosts, s.root, s.guest_root);
  }

  FormReader& in_;
  PlanTables& tables_;
  Plan& plan_;
};

/// Reads a class, and what passes leave for later ones.
class ClassReader {
 public:
  ClassReader(FormReader& in, PlanTables& tables, std::uint32_t index)
      : in_(in), tables_(tables), index_(index), made_(tables), role_(made_.role) {}

  ClassPlan read() {
    head();
    while (in_.accept("queue")) queue();
    while (in_.accept("turn of task")) turns();
    while (in_.sees("%")) buffer();
    while (in_.accept("variable")) variable();
    while (sees_region()) region();
    in_.expect("for later passes");
    if (in_.accept(", which may add no instruction")) join();
    in_.end_line();
    facts();
    return std::move(made_);
  }

 private:
  void join() {
    made_.join();
    for (const auto& [region, range] : stretches_)
      role_.stretches.push_back({role_.regions[region].instructions.first + range.first, range.count});
  }

  void head() {
    in_.expect("class");
    if (in_.number<std::uint32_t>() != index_) in_.fail("classes in order before this");
    in_.expect(":");
    if (!in_.accept("tasks")) in_.expect("task");
    for (const std::int32_t task : in_.ranges()) {
      std::vector<std::uint32_t>& class_of = tables_.plan().class_of;
      if (static_cast<std::size_t>(task) >= class_of.size()) in_.fail("tasks that the options have before this");
      class_of[task] = index_;
    }
    in_.expect(",");
    role_.threads = in_.counted<std::uint32_t>("thread");
    while (in_.accept(",")) {
      if (in_.accept("serves workers that are at most")) {
        role_.serving.staleness = in_.counted("step");
        in_.expect("apart");
      } else {
        device();
      }
    }
    in_.end_line();
    for (std::uint32_t t = 0; t < role_.threads; ++t) strands_.push_back("t" + std::to_string(t));
  }

  void device() {
    PlanDevice& device = role_.devices.emplace_back();
    device.kind = kind();
    device.index = in_.number<std::uint32_t>();
    device.step_bytes = in_.counted<std::uint64_t>("byte");
    in_.expect("a step and");
    device.state_bytes = in_.number<std::uint64_t>();
    in_.expect("kept");
  }

  DeviceKind kind() {
    const auto kind = static_cast<DeviceKind>(in_.one_of(names_of<DeviceKind, DeviceKind::gpu>(), "a kind of device"));
    in_.expect(":");
    return kind;
  }

  void queue() {
    PlanQueue& queue = role_.queues.emplace_back();
    const DeviceKind kind = this->kind();
    const auto index = in_.number<std::uint32_t>();
    const auto found = std::ranges::find_if(
        role_.devices, [&](const PlanDevice& device) { return device.kind == kind && device.index == index; });
    if (found == role_.devices.end()) in_.fail("a device of the class before this");
    queue.device = static_cast<std::uint32_t>(found - role_.devices.begin());
    in_.expect(".");
    queue.role = static_cast<PlanQueue::Role>(
        in_.one_of(names_of<PlanQueue::Role, PlanQueue::Role::collective>(), "the role of a queue"));
    in_.end_line();
    strands_.push_back(std::string(name_of(kind)) + ":" + std::to_string(index) + "." +
                       std::string(name_of(queue.role)));
  }

  void turns() {
    Serving::Turns& turns = role_.serving.turns.emplace_back();
    turns.worker = in_.number<std::int32_t>();
    in_.expect("give");
    turns.give = range();
    in_.expect("take");
    turns.take = range();
    in_.end_line();
  }

  Range range() {
    const auto first = in_.number<std::uint32_t>();
    in_.expect("+");
    return {first, in_.number<std::uint32_t>()};
  }

  void buffer() {
    static constexpr std::string_view kSpaces[] = {"step", "state", "sizes", "tile"};
    if (in_.reference() != role_.buffers.size()) in_.fail("buffers in order before this");
    Buffer& buffer = role_.buffers.emplace_back();
    if (const std::string name = in_.name(); !name.empty()) buffer.name = tables_.string(name);
    const Type type = in_.type();
    buffer.dtype = type.dtype;
    buffer.sizes = Sizes(type.shape.sizes());
    buffer.bounded = type.shape.bounded();
    buffer.bytes = static_cast<std::uint64_t>(type.bytes());
    buffer.space = static_cast<Buffer::Space>(in_.one_of(kSpaces, "step, state, sizes or tile"));
    in_.expect("+");
    buffer.offset = in_.number<std::uint64_t>();
    if (in_.accept("view of")) buffer.view_of = in_.reference();
    if (!in_.line_read() && !in_.sees("device") && !in_.sees("part") && !in_.sees("rows"))
      buffer.bytes = in_.counted<std::uint64_t>("byte");
    if (in_.accept("device")) buffer.device = in_.number<std::uint32_t>();
    if (!in_.line_read()) buffer.window = read_window(in_, tables_);
    in_.end_line();
  }

  void variable() {
    PlanVariable& variable = role_.variables.emplace_back();
    variable.name = tables_.string(in_.name());
    in_.expect("in");
    variable.buffer = in_.reference();
    in_.end_line();
  }

  bool sees_region() { return in_.sees_line("setup") || in_.sees_line("step") || in_.sees("region"); }

  void region() {
    const bool numbered = in_.accept("region");
    const auto number = numbered ? in_.number<std::uint32_t>() : kNone;
    const std::size_t kind = in_.one_of(names_of<Region::Kind, Region::Kind::tile>(), "the kind of the region");
    if (numbered) {
      if (number != made_.regions()) in_.fail("regions in order before this");
      (void)made_.add(static_cast<Region::Kind>(kind));
    }
    in_.end_line();
    region_ = numbered ? number : static_cast<std::uint32_t>(kind);
    std::vector<Instruction>& list = made_.list(region_);
    while (!in_.at_end() && !sees_region() && !in_.sees("class") && !in_.sees("for later passes")) {
      const auto at = static_cast<std::uint32_t>(list.size());
      if (in_.accept("captured: the next")) {
        stretches_.push_back({region_, {at, in_.number<std::uint32_t>()}});
        in_.expect("on");
        (void)in_.word();
        in_.end_line();
      } else {
        if (in_.number<std::uint32_t>() != at) in_.fail("instructions in order before this");
        list.push_back(instruction(role_.strands() > 1));
      }
    }
  }

  Instruction instruction(bool has_strand) {
    Instruction instruction;
    if (has_strand) instruction.strand = strand(in_.word());
    action(instruction);
    if (in_.accept("->")) instruction.outputs = operands();
    if (in_.accept("with")) instruction.scratch = in_.reference();
    if (in_.accept("of")) instruction.name = tables_.string(in_.name());
    if (in_.accept("op")) instruction.op = tables_.string(in_.name());
    if (in_.accept("port")) instruction.target = in_.number<std::uint32_t>();
    if (in_.accept("other")) instruction.other = in_.number<std::uint32_t>();
    if (in_.accept("attrs")) attrs(instruction);
    if (in_.accept("over")) instruction.in_place = in_.number<std::uint32_t>();
    if (in_.accept("after")) waits(instruction);
    if (in_.accept("(")) {
      if (in_.accept("movable")) instruction.may |= kMovable;
      in_.accept(",");
      if (in_.accept("fusable")) instruction.may |= kFusable;
      in_.expect(")");
    }
    instruction.line = tables_.line(in_.source_line());
    in_.end_line();
    return instruction;
  }

  std::uint16_t strand(const std::string& name) const {
    const auto found = std::ranges::find(strands_, name);
    if (found == strands_.end()) in_.fail("a thread or queue of the class before this");
    return static_cast<std::uint16_t>(found - strands_.begin());
  }

  void attrs(Instruction& instruction) {
    instruction.attrs = in_.number<std::uint32_t>();
    std::vector<Attrs>& all = tables_.plan().attrs;
    all.resize(std::max<std::size_t>(all.size(), std::size_t{instruction.attrs} + 1));
  }

  void waits(Instruction& instruction) {
    instruction.waits.first = static_cast<std::uint32_t>(role_.waits.size());
    do {
      const std::string text = in_.until(" ,");
      const std::size_t colon = text.rfind(':');
      if (colon == std::string::npos) in_.fail("STRAND:COUNT before this");
      role_.waits.push_back({strand(text.substr(0, colon)), in_.number_in(std::string_view(text).substr(colon + 1))});
    } while (in_.accept(","));
    instruction.waits.count = static_cast<std::uint32_t>(role_.waits.size()) - instruction.waits.first;
  }

  Range operands() {
    const std::vector<std::uint32_t> buffers = in_.references();
    const Range range{static_cast<std::uint32_t>(role_.operands.size()), static_cast<std::uint32_t>(buffers.size())};
    role_.operands.insert(role_.operands.end(), buffers.begin(), buffers.end());
    return range;
  }

  void inputs(Instruction& instruction) {
    in_.expect("(");
    instruction.inputs = operands();
    in_.expect(")");
  }

  void action(Instruction& instruction) {
    const auto names = names_of<Opcode, Opcode::stencil>();
    std::size_t what = 1;
    while (what < names.size() && !in_.accept(names[what])) ++what;
    instruction.what = what < names.size() ? static_cast<Opcode>(what) : Opcode::kernel;
    switch (instruction.what) {
      case Opcode::kernel:
      case Opcode::stencil_begin:
      case Opcode::stencil:
        return kernel(instruction);
      case Opcode::feed:
      case Opcode::fetch:
        (void)in_.name();
        if (instruction.what == Opcode::fetch) inputs(instruction);
        return;
      case Opcode::loop:
      case Opcode::branch:
        instruction.name = tables_.string(in_.name());
        inputs(instruction);
        in_.expect("regions");
        instruction.target = in_.number<std::uint32_t>();
        in_.expect(",");
        instruction.other = in_.number<std::uint32_t>();
        return;
      default:
        if (!in_.line_read() && in_.sees_number()) instruction.target = in_.number<std::uint32_t>();
        if (in_.sees("(%")) inputs(instruction);
        in_.accept("put");
    }
  }

  void kernel(Instruction& instruction) {
    if (const std::string op = in_.name(); !op.empty()) instruction.op = tables_.string(op);
    if (const std::string name = in_.name(); !name.empty()) instruction.name = tables_.string(name);
    inputs(instruction);
    if (instruction.what == Opcode::kernel && !in_.sees("region")) return;
    if (instruction.what == Opcode::kernel) instruction.what = Opcode::tiles;
    in_.expect("region");
    instruction.target = in_.number<std::uint32_t>();
    in_.expect("by");
    instruction.other = in_.accept("pieces") ? 0 : in_.number<std::uint32_t>();
  }

  void facts() {
    in_.expect("fuse from");
    made_.facts.fuse_from = in_.counted("element");
    in_.end_line();
    while (in_.accept("op")) op();
    while (in_.accept("kernel")) work();
    while (in_.accept("rows of")) {
      const std::uint32_t buffer = in_.reference();
      in_.expect("have");
      made_.facts.rows[buffer] = in_.counted("element");
      in_.end_line();
    }
    while (in_.accept("update")) {
      VariableUpdate& update = made_.updates.emplace_back();
      update.variable = in_.reference();
      in_.expect("to");
      update.value = in_.reference();
      in_.expect(":");
      update.instruction = instruction(false);
    }
    while (in_.accept("pack")) {
      const std::uint32_t buffer = in_.reference();
      in_.expect(":");
      made_.packing[buffer].push_back(instruction(false));
    }
  }

  void work() {
    OpWork& work = made_.facts.work[tables_.string(in_.name())];
    in_.expect("has");
    work.flops = in_.decimal();
    for (const WorkKind kind : {WorkKind::product, WorkKind::convolution, WorkKind::reduction})
      if (in_.accept(name_of(kind))) work.kind = kind;
    in_.expect("flops,");
    work.bytes = in_.decimal();
    in_.expect("bytes");
    in_.end_line();
  }

  void op() {
    const std::uint32_t op = tables_.string(in_.name());
    if (in_.accept("elementwise")) made_.facts.elementwise.insert(op);
    if (in_.accept("shifts")) made_.facts.shifts.insert(op);
    if (in_.accept("finishes")) made_.facts.heads.insert(op);
    if (in_.accept("streams")) made_.facts.streams.insert(op);
    in_.end_line();
  }

  FormReader& in_;
  PlanTables& tables_;
  const std::uint32_t index_;
  ClassPlan made_;
  PlanClass& role_;
  std::uint32_t region_ = 0;
  std::vector<std::string> strands_;                        // their names
  std::vector<std::pair<std::uint32_t, Range>> stretches_;  // region, and instructions counted from its first
};

}  // namespace

std::string ClassForms::str(void (*pass)(ClassPlan&)) {
  std::string text;
  for (ClassPlan& form : classes) {
    if (pass != nullptr) {
      pass(form);
      check_class(form);
    }
    text += form.str();
    plan->classes.push_back(form.role);
  }
  return exact_tables_of(*plan) + text;
}

ClassForms parse_classes(std::string_view text, const Topology& topology, std::uint32_t first) {
  ClassForms forms;
  forms.plan->classes.resize(first);
  forms.plan->topology = topology;
  forms.plan->class_of.assign(topology.tasks.size(), kNone);
  FormReader in(text);
  TablesReader(in, *forms.tables).read();
  while (!in.at_end()) forms.classes.push_back(ClassReader(in, *forms.tables, first++).read());
  return forms;
}

}  // namespace ferry::test
