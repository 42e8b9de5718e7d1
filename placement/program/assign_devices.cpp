#include "placement/program/assign_devices.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/may_fail.hpp"
#include "ops/train/stages/place_stages.hpp"
#include "placement/program/parts.hpp"
#include "placement/program/users.hpp"

namespace ferry {
namespace {

std::string no_gpu_of(const TaskInfo& task) {
  return task.no_gpus.empty() ? "no GPU" : "no GPU (" + task.no_gpus + ")";
}

class DeviceAssigner {
 public:
  explicit DeviceAssigner(Program& program) : program_(program), users_(program) {}

  void run() {
    check_default_device();
    if (program_.options.reasons) program_.causes.of_place.assign(program_.nodes.size(), kNone);
    region(0);
    if (program_.options.reasons) add_constant_reasons();
    for (ProgramRegionId body = 0; body < program_.regions.size(); ++body)
      for (const NodeId id : program_.regions[body].order)
        program_.nodes[id].once = runs_once(program_.nodes[id], body != 0);
  }

 private:
  /// Adds the reasons for constants that have no device of their own.
  void add_constant_reasons() {
    for (NodeId id = 0; id < program_.nodes.size(); ++id)
      if (const Node& node = program_.nodes[id]; node.where == kNone && node.role() == OpRole::constant)
        add_reason(id, "made wherever it is used");
  }

  /// An op without an annotation can be on any task, so each task must have a device of the default kind. With soft
  /// placement, such ops are on the CPU on tasks without this kind; one warning covers all of these tasks.
  void check_default_device() {
    if (program_.options.default_device == DeviceKind::cpu) return;
    const std::vector<TaskInfo>& tasks = program_.topology->tasks;
    if (program_.options.soft_placement) return warn_of_default_device(tasks);
    Error error(Code::plan, "the default device is gpu, and not every task has one");
    bool missing = false;
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      missing = missing || tasks[t].gpus == 0;
      if (t < 12)
        error.note("task {} on {} has cpu:0{}", t, tasks[t].host_name,
                   as_is(tasks[t].gpus == 0 ? " and " + no_gpu_of(tasks[t])
                                            : " and gpu:0 to gpu:" + std::to_string(tasks[t].gpus - 1)));
    }
    if (tasks.size() > 12) error.note("and {} tasks more", tasks.size() - 12);
    if (missing) throw error.hint("--device auto or --device cpu; --device sim simulates GPUs");
  }

  void warn_of_default_device(std::span<const TaskInfo> tasks) {
    const auto has_none = [](const TaskInfo& task) { return task.gpus == 0; };
    const auto first = std::ranges::find_if(tasks, has_none);
    if (first == tasks.end()) return;
    const auto count = std::ranges::count_if(tasks, has_none);
    program_.warnings.push_back("moved ops that name no device from gpu:0 to cpu:0" +
                                (tasks.size() == 1 ? ""
                                                   : " on " + std::to_string(count) + " of " +
                                                         plural(static_cast<std::int64_t>(tasks.size()), "task")) +
                                ": task " + std::to_string(first - tasks.begin()) + " has " + no_gpu_of(*first));
  }

  void region(ProgramRegionId id) {
    const std::vector<NodeId>& order = program_.regions[id].order;
    for (NodeId node : order) place_annotated(node);
    for (NodeId node : order) place_by_inputs(node);
    for (std::size_t i = order.size(); i > 0; --i) place_by_users(order[i - 1]);
    for (NodeId node : order) place_with_variable(node);
    for (NodeId node : order) check_kernel(node);
  }

  void place_annotated(NodeId id) {
    Node& node = program_.nodes[id];
    if (node.kind == NodeKind::fetch) return;
    if (node.kind == NodeKind::feed) {
      const Op op = node.graph->op(node.op);
      auto home = op.annotation().empty() ? std::nullopt : resolve(op);
      program_.feed_homes.resize(program_.signature->feeds.size(), kNone);
      if (is_tried(node)) home = mesh_of_all(program_.tried->axes);
      program_.feed_homes[node.detail] = home ? *home : auto_home(node);
      if (is_fed_by_parts(program_, node)) return place_parts(id, home);
      place(id, usual_device(program_.signature->feeds[node.detail].task), kNone, [] { return "fed by this task"; });
      return;
    }
    if (node.kind == NodeKind::assign) return;
    const Op op = node.graph->op(node.op);
    if (node.def->is(kLocal)) check_local(op);
    if (node.kind == NodeKind::parameter) return;
    const auto where = op.annotation().empty() ? std::nullopt : resolve_once(op);
    if (where) return place(id, *where, id, [&] { return "annotated " + program_.text(op.annotation()); });
    if (is_tried(node)) return place(id, mesh_of_all(program_.tried->axes), id, [] { return "tried"; });
    if (program_.auto_mesh) return place_on_auto_mesh(id);
    if (const int stage = stage_of(node); stage != kNoStage && node.role() != OpRole::constant)
      place(id, usual_device(stage), kNone,
            [&] { return "no annotation: stage " + std::to_string(stage) + " of the pipeline"; });
  }

  /// The devices to which placement by itself moves a feed.
  WhereId auto_home(const Node& feed) {
    if (program_.auto_mesh) return auto_where();
    const int stage = stage_of(feed);
    return stage == kNoStage ? WhereId(kNone) : usual_device(stage);
  }

  /// The node's stage in AutoStages; kNoStage if it has none, or if the op has an annotation.
  [[nodiscard]] int stage_of(const Node& node) const {
    if (!program_.auto_stages || !node.graph->op(node.op).annotation().empty()) return kNoStage;
    return node.graph == program_.graph ? program_.auto_stages->of_ops[node.op] : body_stage_;
  }

  /// Puts an op without an annotation on the mesh of all tasks.
  void place_on_auto_mesh(NodeId id) {
    const Node& node = program_.nodes[id];
    if (node.kind == NodeKind::loop || node.kind == NodeKind::branch || node.role() == OpRole::constant) return;
    place(id, auto_where(), kNone, [] { return "no annotation: on all tasks, with the layouts that cost the least"; });
  }

  WhereId auto_where() {
    if (program_.auto_where == kNone) program_.auto_where = mesh_of_all(program_.auto_mesh->axes);
    return program_.auto_where;
  }

  /// The usual devices of all tasks, as a mesh with axes of these sizes.
  WhereId mesh_of_all(const std::vector<std::int64_t>& axes) {
    Where where;
    for (std::int32_t task = 0; task < program_.topology->size(); ++task) where.tasks.push_back(task);
    where.axes = axes;
    const auto has_gpu = [this](std::int32_t task) { return usual_kind(task) != DeviceKind::cpu; };
    if (std::ranges::all_of(where.tasks, has_gpu)) where.kind = *program_.options.default_device;
    return program_.intern(std::move(where));
  }

  [[nodiscard]] bool is_tried(const Node& node) const {
    return program_.tried && program_.tried->layouts.contains({node.graph, node.op});
  }

  /// A feed by parts is split over the mesh of the input, or over all tasks if the input has no mesh of several tasks.
  void place_parts(NodeId id, std::optional<WhereId> home) {
    const Node& node = program_.nodes[id];
    const Op op = node.graph->op(node.op);
    const bool on_mesh = home && program_.wheres[*home].tasks.size() > 1;
    const WhereId where =
        on_mesh ? *home : mesh_where(op, Mesh{{{"tasks", Mesh::kOpen}}, DeviceSpec::parse("/task:*")});
    place(id, where, id, [] { return "fed by parts, each task its own"; });
  }

  static void check_local(const Op& op) {
    const Annotation& annotation = op.annotation();
    const bool several = annotation.mesh != kNoMesh || annotation.device.all_tasks();
    if (!annotation.empty() && !several) return;
    throw Error(Code::plan, op.str() + " has another value on each task, and " +
                                (several ? "is annotated with several" : "is annotated with none"))
        .hint("choose its task, for example { auto there = g.device(\"/task:1\"); … }");
  }

  /// Calls resolve() once for each annotation. With soft placement it calls it for each op, because resolve() warns of
  /// every op that it moves.
  std::optional<WhereId> resolve_once(const Op& op) {
    if (program_.options.soft_placement) return resolve(op);
    const auto [at, fresh] = resolved_.try_emplace(&op.annotation());
    if (fresh) at->second = resolve(op);
    return at->second;
  }

  /// The devices that the op's annotation names. Returns nullopt if the job has several tasks and the annotation names
  /// neither a job, a task nor a kind of device.
  std::optional<WhereId> resolve(const Op& op) {
    const Annotation& annotation = op.annotation();
    // If the job lacks tasks, the error is for the op on the highest task, and so has the number of tasks that
    // suffices.
    if (task_of(op) >= program_.topology->size())
      if (const Op highest = op_on_highest_task(op); task_of(highest) > task_of(op)) return resolve(highest);
    try {
      if (annotation.mesh != kNoMesh) return mesh_where(op, program_.graph->meshes()[annotation.mesh]);
      if (annotation.device.all_tasks()) return mesh_where(op, Mesh{{{"tasks", Mesh::kOpen}}, annotation.device});
      const DeviceSpec& device = annotation.device;
      if (!device.task && !device.job && program_.topology->size() > 1 && !device.kind) return std::nullopt;
      DeviceSpec task = device;
      if (!task.task) task.task = 0;
      const int number = program_.topology->resolve(task);
      const auto [kind, index] = device_on(op, {&number, 1}, device);
      return program_.single(number, kind, index);
    } catch (Error& error) {
      throw error.note("for " + op.str());
    }
  }

  /// The number of the task that the op's annotation names; 0 if it names none, or a task of a job.
  static std::int32_t task_of(const Op& op) {
    const DeviceSpec& device = op.annotation().device;
    return device.job ? 0 : device.task.value_or(0);
  }

  [[nodiscard]] Op op_on_highest_task(Op highest) const {
    for (const Node& node : program_.nodes) {
      if (node.kind == NodeKind::fetch || node.kind == NodeKind::assign) continue;
      const Op op = node.graph->op(node.op);
      if (task_of(op) > task_of(highest)) highest = op;
    }
    return highest;
  }

  WhereId mesh_where(const Op& op, const Mesh& mesh) {
    Where where;
    for (int task : program_.topology->tasks_of(mesh.devices)) where.tasks.push_back(task);
    const auto total = static_cast<std::int64_t>(where.tasks.size());
    std::int64_t fixed = 1;
    for (const Mesh::Axis& axis : mesh.axes)
      if (axis.size != Mesh::kOpen) fixed *= axis.size;
    bool open = false;
    for (const Mesh::Axis& axis : mesh.axes) {
      open = open || axis.size == Mesh::kOpen;
      where.axes.push_back(axis.size == Mesh::kOpen ? total / fixed : axis.size);
    }
    if (total == 0 || (open ? total % fixed != 0 : fixed != total))
      throw Error(Code::plan, "the mesh " + mesh.str() + " does not fit a job of " + plural(total, "task"))
          .hint(open ? "use a number of tasks that is a multiple of " + std::to_string(fixed)
                     : "use " + plural(fixed, "task"));
    std::tie(where.kind, where.index) = device_on(op, where.tasks, mesh.devices.merged(op.annotation().device));
    return program_.intern(std::move(where));
  }

  /// The kind and index of the devices that `device` names on all of these tasks. If a task has no such GPU, returns
  /// cpu:0 with soft placement, else throws Error(plan).
  std::pair<DeviceKind, std::int32_t> device_on(const Op& op, std::span<const std::int32_t> tasks,
                                                const DeviceSpec& device) {
    const bool everywhere =
        std::ranges::all_of(tasks, [this](int task) { return usual_kind(task) != DeviceKind::cpu; });
    const DeviceKind kind = device.kind.value_or(everywhere ? *program_.options.default_device : DeviceKind::cpu);
    const int index = device.index.value_or(0);
    for (const std::int32_t task : tasks) {
      const TaskInfo& info = program_.topology->tasks[task];
      const int gpus = info.gpus;
      if (index < (kind == DeviceKind::cpu ? 1 : gpus)) continue;
      const std::string missing =
          "/task:" + std::to_string(task) + "/" + std::string(name_of(kind)) + ":" + std::to_string(index);
      const std::string there = "task " + std::to_string(task) + " has cpu:0" +
                                (gpus > 0 ? " and gpu:0 to gpu:" + std::to_string(gpus - 1) +
                                                (info.no_gpus.empty() ? "" : "; " + info.no_gpus)
                                          : "; it has " + no_gpu_of(info));
      if (!program_.options.soft_placement || kind == DeviceKind::cpu)
        throw Error(Code::plan, "there is no device " + missing)
            .note(there)
            .at(op.line())
            .hint(kind == DeviceKind::cpu ? "each task has one CPU device, cpu:0, however many cores it uses"
                                          : "--soft-placement moves such ops to the CPU, --device sim simulates GPUs");
      program_.warnings.push_back("moved " + op.str() + " from " + missing + " to cpu:0: " + there);
      return {DeviceKind::cpu, 0};
    }
    return {kind, index};
  }

  /// Bytes of inputs and outputs that move to or from other devices if the node runs on `where`.
  std::int64_t moved_bytes(const Node& node, WhereId where) const {
    std::int64_t bytes = 0;
    for (PValueId input : program_.inputs(node)) {
      const WhereId at = program_.nodes[program_.values[input].producer].where;
      if (at != kNone && at != where) bytes += program_.values[input].type.bytes();
    }
    for (const PValueId output : node.outputs) {
      for (NodeId user : users_[output]) {
        const WhereId at = program_.nodes[user].where;
        if (at == kNone || at == where) continue;
        bytes += program_.values[output].type.bytes();
        break;
      }
    }
    return bytes;
  }

  void place_by_inputs(NodeId id) {
    Node& node = program_.nodes[id];
    if (node.kind == NodeKind::loop || node.kind == NodeKind::branch) bodies(id);
    if (node.where != kNone || node.kind == NodeKind::parameter || node.kind == NodeKind::assign) return;
    std::vector<WhereId>& candidates = candidates_;
    candidates.clear();
    for (PValueId input : program_.inputs(node)) {
      const NodeId producer = program_.values[input].producer;
      const WhereId at = program_.nodes[producer].where;
      if (at == kNone) continue;
      if (!program_.wheres[at].single())
        return place(id, at, producer, [&] { return "on the mesh of its input " + program_.name(input); });
      if (std::find(candidates.begin(), candidates.end(), at) == candidates.end()) candidates.push_back(at);
    }
    if (candidates.empty()) return;
    for (const PValueId output : node.outputs)
      for (NodeId user : users_[output]) {
        const Node& using_node = program_.nodes[user];
        if (using_node.where != kNone && using_node.kind != NodeKind::fetch &&
            program_.wheres[using_node.where].single() &&
            std::find(candidates.begin(), candidates.end(), using_node.where) == candidates.end())
          candidates.push_back(using_node.where);
      }
    choose(id, candidates);
  }

  void choose(NodeId id, std::span<const WhereId> candidates) {
    const Node& node = program_.nodes[id];
    if (candidates.size() == 1)
      return place(id, candidates[0], neighbour(node, candidates[0]), [] { return "where its inputs are"; });
    WhereId best = candidates[0];
    std::int64_t least = moved_bytes(node, best);
    for (WhereId candidate : candidates.subspan(1)) {
      const std::int64_t bytes = moved_bytes(node, candidate);
      if (bytes >= least) continue;
      least = bytes;
      best = candidate;
    }
    // The text is made before the node counts as placed, so that it shows the bytes that this choice compared.
    std::string why;
    if (program_.options.reasons) why = reason_of_choice(node, best, least, candidates);
    place(id, best, neighbour(node, best), [&] { return why; });
  }

  /// The first node on `where` that makes an input of the node or uses an output.
  NodeId neighbour(const Node& node, WhereId where) const {
    if (!program_.options.reasons) return kNone;
    for (PValueId input : program_.inputs(node))
      if (program_.nodes[program_.values[input].producer].where == where) return program_.values[input].producer;
    for (const PValueId output : node.outputs)
      for (NodeId user : users_[output])
        if (program_.nodes[user].where == where) return user;
    return kNone;
  }

  std::string reason_of_choice(const Node& node, WhereId best, std::int64_t least,
                               std::span<const WhereId> candidates) const {
    std::string why = "moves the fewest bytes (" + std::to_string(least) + ")";
    for (WhereId candidate : candidates)
      if (candidate != best)
        why += "; rejected " + program_.wheres[candidate].str() + ": " + std::to_string(moved_bytes(node, candidate)) +
               " bytes";
    return why;
  }

  void place_by_users(NodeId id) {
    Node& node = program_.nodes[id];
    if (node.where != kNone || node.kind == NodeKind::parameter || node.kind == NodeKind::assign ||
        node.role() == OpRole::constant)
      return;
    for (const PValueId output : node.outputs)
      for (NodeId user : users_[output]) {
        const WhereId at = program_.nodes[user].where;
        if (at != kNone && program_.nodes[user].kind != NodeKind::fetch)
          return place(id, at, user, [&] { return "with its user " + program_.name(program_.nodes[user]); });
      }
    place(id, default_where(), kNone, [] { return "no annotation, no placed input or user: the default"; });
  }

  void place_with_variable(NodeId id) {
    const Node& node = program_.nodes[id];
    if (node.kind != NodeKind::assign) return;
    const NodeId variable = program_.values[program_.inputs(node)[0]].producer;
    place(id, program_.nodes[variable].where, variable, [] { return "with its variable"; });
  }

  /// Places the parameters of bodies where the owner's inputs are. If the owner has no device yet, it is where its
  /// first input is; reshard extends it to all tasks that take part in its bodies.
  void bodies(NodeId id) {
    const Node owner = program_.nodes[id];
    const int outer_stage = std::exchange(body_stage_, stage_of(owner));
    const auto inputs = program_.inputs(owner);
    for (ProgramRegionId region_id : {owner.detail, owner.detail + 1}) {
      const std::vector<PValueId> parameters = program_.regions[region_id].parameters;
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const PValueId argument = inputs[program_.argument(owner, region_id, i)];
        place(program_.values[parameters[i]].producer, parameter_where(owner, argument),
              program_.values[argument].producer, [] { return "where the owner's input is"; });
      }
      region(region_id);
    }
    body_stage_ = outer_stage;
    if (program_.nodes[id].where == kNone) {
      const PValueId first = inputs[0];
      const WhereId at = program_.nodes[program_.values[first].producer].where;
      place(id, at == kNone ? default_where() : at, program_.values[first].producer,
            [] { return "where its first input is"; });
    }
  }

  /// The devices of a parameter. A loop on one device moves its inputs there before the first iteration, because a
  /// parameter elsewhere would be sent in each iteration.
  WhereId parameter_where(const Node& owner, PValueId argument) {
    const WhereId at = program_.nodes[program_.values[argument].producer].where;
    if (at == kNone) return owner.where != kNone ? owner.where : default_where();
    const auto on_one_device = [this](WhereId where) { return where != kNone && program_.wheres[where].single(); };
    return owner.kind == NodeKind::loop && on_one_device(owner.where) && on_one_device(at) ? owner.where : at;
  }

  WhereId default_where() { return program_.auto_mesh ? auto_where() : usual_device(0); }

  /// The device of ops on the task that name no device.
  WhereId usual_device(int task) { return program_.single(task, usual_kind(task)); }
  [[nodiscard]] DeviceKind usual_kind(int task) const {
    return program_.topology->tasks[task].gpus > 0 ? *program_.options.default_device : DeviceKind::cpu;
  }

  /// `why` returns the reason as text; it is called only if PlanOptions::reasons. `from` is the node that determined
  /// this place: the node itself if it is annotated, kNone if there is none.
  template <class Why>
  void place(NodeId id, WhereId where, NodeId from, const Why& why) {
    Node& node = program_.nodes[id];
    node.where = where;
    if (!program_.options.reasons) return;
    std::vector<NodeId>& causes = program_.causes.of_place;
    causes[id] = from == id || from == kNone ? from : causes[from];
    if (node.kind == NodeKind::parameter) return;
    add_reason(id, program_.wheres[where].str() + ": " + why());
  }

  void add_reason(NodeId id, std::string why) {
    const Node& node = program_.nodes[id];
    program_.reason_of[id] = program_.reasons.size();
    program_.reasons.push_back({program_.name(node), std::move(why), program_.line(node)});
  }

  /// Whether the node is computed in the setup. This holds for ops that give the same value in every step (kOnce), and
  /// for pure ops on values computed once on the same devices. Values that go to other devices are sent in every step,
  /// as the graph says. An op that can fail, for example by a division by zero, stays in its loop or branch, which may
  /// never run.
  bool runs_once(const Node& node, bool in_body) const {
    if (node.kind != NodeKind::compute) return false;
    if (node.def->is(kOnce)) return true;
    if (node.inputs == 0 || node.def->is(kStateful) || node.def->is(kRandom) || node.def->is(kEffect)) return false;
    if (in_body && may_fail(program_, node)) return false;
    const auto inputs = program_.inputs(node);
    return std::all_of(inputs.begin(), inputs.end(), [&](PValueId input) {
      const Node& producer = program_.nodes[program_.values[input].producer];
      return producer.once && (producer.where == kNone || producer.where == node.where);
    });
  }

  void check_kernel(NodeId id) {
    const Node& node = program_.nodes[id];
    if (node.kind != NodeKind::compute || node.where == kNone) return;
    const DeviceKind kind = program_.runs_on_host(node) ? DeviceKind::cpu : program_.where(node).kind;
    if (node.def == checked_def_ && node.where == checked_where_ && kind == checked_kind_) return;
    if (node.def->is(kView) || program_.kernels->find(node.def->name, kind) != nullptr) {
      checked_def_ = node.def;
      checked_where_ = node.where;
      checked_kind_ = kind;
      return;
    }
    const Op op = node.graph->op(node.op);
    if (kind == DeviceKind::gpu && program_.options.soft_placement &&
        program_.kernels->find(node.def->name, DeviceKind::cpu) != nullptr) {
      Where cpu = program_.where(node);
      cpu.kind = DeviceKind::cpu;
      cpu.index = 0;
      program_.warnings.push_back("moved " + op.str() + " from " + program_.where(node).str() +
                                  " to the CPU: no kernel");
      program_.nodes[id].where = program_.intern(std::move(cpu));
      return;
    }
    throw Error(Code::plan, "there is no " + std::string(name_of(kind)) + " kernel for " + op.str())
        .hint(
            kind == DeviceKind::gpu
                ? "place it on cpu:0 (--device cpu), simulate GPUs (--device sim), or use --soft-placement"
                : "load the library that has it: --ops LIB.so, or ExecutionOptions::kernels (docs/guide/user_ops.md)");
  }

  Program& program_;
  const Users users_;
  std::unordered_map<const Annotation*, std::optional<WhereId>> resolved_;
  std::vector<WhereId> candidates_;
  int body_stage_ = kNoStage;           // the stage of the op that owns the region
  const OpDef* checked_def_ = nullptr;  // an op that is known to have a kernel on checked_where_
  WhereId checked_where_ = kNone;
  DeviceKind checked_kind_ = DeviceKind::cpu;
};

}  // namespace

void assign_devices(Program& program) {
  program.placed = true;
  DeviceAssigner(program).run();
}

}  // namespace ferry
