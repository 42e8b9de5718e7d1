// The pipeline: all passes of planning, in order. `select` makes a Program from the graph; `lower` makes a ClassPlan
// for each role from the Program.
#include <algorithm>
#include <functional>
#include <utility>

#include "base/error.hpp"
#include "base/float_state.hpp"
#include "base/system/clock.hpp"
#include "graph/legality.hpp"
#include "placement/choose/choose_layouts.hpp"
#include "placement/choose/choose_mesh.hpp"
#include "placement/choose/find_annotations.hpp"
#include "placement/choose/judge.hpp"
#include "placement/choose/stage_candidates.hpp"
#include "placement/class/capture_stretches.hpp"
#include "placement/class/check_budget.hpp"
#include "placement/class/copy_between_devices.hpp"
#include "placement/class/order_queues.hpp"
#include "placement/class/pack_inputs.hpp"
#include "placement/class/place_strands.hpp"
#include "placement/class/plan_memory.hpp"
#include "placement/class/share_memory.hpp"
#include "placement/class/update_variables.hpp"
#include "placement/fuse/fuse_elements.hpp"
#include "placement/fuse/fuse_epilogues.hpp"
#include "placement/fuse/fuse_stencils.hpp"
#include "placement/layout/join_windows.hpp"
#include "placement/layout/propagate.hpp"
#include "placement/layout/reshard.hpp"
#include "placement/lower/find_roles.hpp"
#include "placement/lower/lower.hpp"
#include "placement/messages/coalesce.hpp"
#include "placement/messages/fuse_messages.hpp"
#include "placement/messages/pair_gpus.hpp"
#include "placement/microbatches/order_microbatches.hpp"
#include "placement/pipeline.hpp"
#include "placement/planner.hpp"
#include "placement/program/assign_devices.hpp"
#include "placement/program/check_program.hpp"
#include "placement/program/drop_identities.hpp"
#include "placement/program/fold.hpp"
#include "placement/program/merge.hpp"
#include "placement/program/select.hpp"
#include "placement/program/send_parts.hpp"
#include "placement/serving/serve_workers.hpp"
#include "plan/text/exact_text.hpp"
#include "plan/text/plan_text.hpp"
#include "plan/variable_packing.hpp"

namespace ferry {
namespace {

constexpr std::string_view kSelect = "select", kNumberMessages = "number_messages", kFindRoles = "find_roles",
                           kLower = "lower";

// One pass a line.
// clang-format off
constexpr FormPass<Program> kProgramPasses[] = {
    {"assign_devices", assign_devices},
    {"fold", fold},
    {"drop_identities", drop_identities},
    {"merge", merge},
    {"send_parts", send_parts},
    {"join_windows", join_windows},
    {"choose_layouts", choose_layouts},
    {"propagate", propagate},
    {"reshard", reshard},
    {"serve_workers", serve_workers},
    {"order_microbatches", order_microbatches},
    {"pair_gpus", pair_gpus},
    {"fuse_messages", fuse_messages},
    {"coalesce", coalesce},
};

constexpr FormPass<ClassPlan> kClassPasses[] = {
    {"update_variables", update_variables},
    {"copy_between_devices", copy_between_devices},
    {"pack_inputs", pack_inputs},
    {"fuse_epilogues", fuse_epilogues},
    {"fuse_stencils", fuse_stencils},
    {"fuse_elements", fuse_elements},
    {"join_regions", [](ClassPlan& plan) { plan.join(); }},
    {"place_strands", place_strands},
    {"order_queues", order_queues},
    {"swap_carried", swap_carried},
    {"share_memory", share_memory},
    {"plan_memory", plan_memory},
    {"capture_stretches", capture_stretches},
};
// clang-format on

/// Runs passes. As the options ask, it checks their results and reports them with their times.
class PassRunner {
 public:
  explicit PassRunner(const PlanOptions& options) : options_(options) {}

  /// Returns the result of `pass`. `check` throws if the result breaks an invariant of its form; `text` prints it.
  template <class F, class Check, class Text>
  auto run(std::string_view name, F pass, Check check, Text text) const {
    const TimePoint start = system_clock().now();
    auto made = pass();
    const double seconds = std::chrono::duration<double>(system_clock().now() - start).count();
    if (options_.check_passes) checked(name, [&] { check(made); });
    if (options_.on_pass) options_.on_pass({name, seconds, [&] { return text(made); }});
    return made;
  }

  template <class F>
  Program program(std::string_view name, F pass) const {
    return run(name, pass, check_program, [](const Program& made) { return made.str(); });
  }

  template <class F>
  ClassPlan role(std::string_view name, F pass) const {
    return run(name, pass, check_class, [](const ClassPlan& made) { return made.str(); });
  }

 private:
  template <class Check>
  static void checked(std::string_view name, Check check) {
    try {
      check();
    } catch (const Error& error) {
      throw Error(Code::bug, "after pass " + std::string(name) + ": " + error.what());
    }
  }

  const PlanOptions& options_;
};

/// The inputs from which a Program is made.
struct PlanRequest {
  const Graph& graph;
  const Signature& signature;
  const Topology& topology;  ///< as planning sees it
  const KernelLookup& kernels;
  const Topology& real;  ///< with the hosts that have the memory
};

/// The program after all passes. `place` or `tried` decides the placement of ops without an annotation.
Program placed(const PassRunner& pipeline, const PlanRequest& request, const PlanOptions& options,
               const AutoPlace& place, std::optional<TriedAnnotations> tried = {}) {
  Program program = pipeline.program(kSelect, [&] {
    Program selected = select(request.graph, request.signature, request.topology, request.kernels, options);
    selected.auto_mesh = place.mesh;
    selected.auto_stages = place.stages;
    selected.tried = std::move(tried);
    return selected;
  });
  for (const FormPass<Program>& pass : kProgramPasses)
    program = pipeline.program(pass.name, [&] {
      pass.run(program);
      return std::move(program);
    });
  return program;
}

/// The options without reports on the passes.
PlanOptions without_reports(PlanOptions options) {
  options.reasons = false;
  options.on_pass = {};
  options.compared = {};
  return options;
}

/// Fills the plan's tables and makes its classes, one for each role.
void lower_all(const PassRunner& pipeline, const Program& program, VariablePacking packing, Plan& plan) {
  Lowering shared = pipeline.run(
      kNumberMessages, [&] { return Lowering(program, plan, packing); }, [](const auto&) {},
      [&](const Lowering&) { return exact_tables_of(plan); });
  ClassNodes nodes = pipeline.run(
      kFindRoles,
      [&] {
        plan.class_of = find_roles(program, plan, shared.messages);
        return ClassNodes(program, plan, shared.messages);
      },
      [](const auto&) {}, [&](const ClassNodes&) { return roles_text(plan.class_of); });
  for (std::size_t task = 0; task < plan.class_of.size(); ++task) {
    const std::uint32_t plan_class = plan.class_of[task];
    if (plan_class < plan.classes.size()) continue;
    ClassPlan role = pipeline.role(kLower, [&] { return lower(shared, nodes, static_cast<std::int32_t>(task)); });
    nodes.forget(plan_class);
    for (const FormPass<ClassPlan>& pass : kClassPasses)
      role = pipeline.role(pass.name, [&] {
        pass.run(role);
        return std::move(role);
      });
    plan.classes.push_back(std::move(role.role));
  }
}

/// The plan of a placed program, which shows the memory that it needs at least. It has no topology and no budget yet
/// (make_plan() sets them).
Plan lowered(const PassRunner& pipeline, const Program& program) {
  Plan plan;
  lower_all(pipeline, program, VariablePacking::none, plan);
  return plan;
}

/// The limits of memory of the request. Initial values of variables are set without a budget.
MemoryLimits limits_of(const PlanRequest& request) {
  return {request.real, request.signature.initial ? Budget{} : request.graph.budget()};
}

/// The annotations that reproduce the choices of a placed program.
std::optional<LayoutAnnotations> annotations_of(const Program& program, const PlanRequest& request,
                                                const PlanOptions& given) {
  const PlanOptions options = without_reports(given);
  const PassRunner pipeline(options);
  const MemoryLimits limits = limits_of(request);
  const auto place = [&](TriedAnnotations tried) { return placed(pipeline, request, options, {}, std::move(tried)); };
  return find_annotations(program, {place, [&](const Program& annotated) {
                                      return !limits.any() || limits.allow(lowered(pipeline, annotated));
                                    }});
}

/// Chooses the mesh by the request that decides for the whole graph, or, if there is none or it cannot be planned, by
/// the request itself. The result has a program only if it is for the request itself.
MeshChoice decided_mesh(const PlanRequest& request, const std::function<MeshPlanning(const Signature&)>& planning_of) {
  if (const std::optional<Signature> deciding = deciding_request(request.graph)) try {
      const bool same = *deciding == request.signature;
      MeshChoice choice = choose_mesh(request.topology, planning_of(same ? request.signature : *deciding));
      choice.report.entry = "train";
      if (!same) choice.program.reset();
      if (!choice.place.mesh) return choice;
      AutoMesh& mesh = *choice.place.mesh;
      mesh.of_request =
          deciding->fetches == request.signature.fetches && deciding->targets == request.signature.targets;
      if (same)
        mesh.variables.clear();  // the choices contain the layouts of variables
      else
        mesh.choices.clear();  // they are for the deciding request, which has other ops
      return choice;
    } catch (const Error& error) {
      if (error.code() != Code::plan) throw;
    }
  MeshChoice choice = choose_mesh(request.topology, planning_of(request.signature));
  if (!choice.place.mesh) return choice;
  choice.place.mesh->of_request = true;
  choice.place.mesh->variables.clear();
  return choice;
}

/// Chooses a mesh and the layouts of variables, without reports on the passes for this. It plans the request that
/// decides for the whole graph, if there is one and it can be planned. It also considers the memory of the request
/// itself.
MeshChoice chosen_mesh(const PlanRequest& request, const PlanOptions& given) {
  const PlanOptions options = without_reports(given);
  const PassRunner pipeline(options);
  const MemoryLimits limits = limits_of(request);
  const auto planning_of = [&](const Signature& signature) {
    const auto place = [&](const AutoPlace& where) {
      return placed(pipeline, {request.graph, signature, request.topology, request.kernels, request.real}, options,
                    where);
    };
    const auto stages = [&] { return stage_candidates(request.graph, signature, request.topology); };
    return MeshPlanning{place, [&](const Program& program) { return lowered(pipeline, program); }, stages, limits};
  };
  MeshChoice choice = decided_mesh(request, planning_of);
  std::optional<AutoMesh>& mesh = choice.place.mesh;
  if (mesh && mesh->choices.empty() && limits.any()) {
    set_fitting_choices(*mesh, planning_of(request.signature));
    choice.program.reset();
  }
  return choice;
}

}  // namespace

std::span<const FormPass<Program>> program_passes() {
  return kProgramPasses;
}

std::span<const FormPass<ClassPlan>> class_passes() {
  return kClassPasses;
}

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names{kSelect};
  for (const FormPass<Program>& pass : kProgramPasses) names.push_back(pass.name);
  names.insert(names.end(), {kNumberMessages, kFindRoles, kLower});
  for (const FormPass<ClassPlan>& pass : kClassPasses) names.push_back(pass.name);
  return names;
}

bool is_placed_by_itself(const Graph& graph, const PlanningOptions& options) {
  return options.placing ? *options.placing == Placing::automatic : graph.is_auto_placed();
}

PlanResult make_plan(const Graph& graph, const Signature& signature, const Topology& topology,
                     const KernelLookup& kernels, const PlanOptions& options) {
  const DefaultFloats floats;
  if (options.bucket_bytes && *options.bucket_bytes < 0)
    throw Error(Code::usage, "buckets of {} bytes", *options.bucket_bytes).hint("0 or more");
  check_legal(graph);
  Topology planned_on = topology;
  if (options.one_host)
    for (TaskInfo& task : planned_on.tasks) task.host = 0;
  const PassRunner pipeline(options);
  const PlanRequest request{graph, signature, planned_on, kernels, topology};
  PlanResult result;
  MeshChoice choice;
  if (is_placed_by_itself(graph, options)) {
    choice = chosen_mesh(request, options);
    result.placement = std::move(choice.report);
  }
  const bool reports = options.reasons || options.on_pass || !options.compared.empty();
  Program program =
      choice.program && !reports ? std::move(*choice.program) : placed(pipeline, request, options, choice.place);
  if (options.step_estimate) result.step = estimate_step(program);
  if (result.placement) result.placement->alternatives = std::move(program.alternatives);
  if (result.placement && options.annotations)
    result.placement->annotations = annotations_of(program, request, options);
  const bool changed_to_fit = result.placement && result.placement->memory_bytes > 0;
  lower_all(pipeline, program, changed_to_fit ? VariablePacking::none : VariablePacking::all, result.plan);
  const auto packs = [](const PlanClass& role) { return !variable_packing(role).empty(); };
  if (std::ranges::any_of(result.plan.classes, packs) && !limits_of(request).allow(result.plan)) {
    result.plan = {};
    lower_all(pipeline, program, VariablePacking::none, result.plan);
  }
  result.plan.topology = topology;
  result.plan.bucket_bytes = options.bucket_bytes;
  if (!signature.initial) check_budget(result.plan, graph.budget());
  result.reasons = std::move(program.reasons);
  result.pipelines = std::move(program.pipelines);
  result.warnings = std::move(program.warnings);
  return result;
}

}  // namespace ferry
