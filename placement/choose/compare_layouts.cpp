#include "placement/choose/compare_layouts.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "placement/choose/judge.hpp"
#include "placement/choose/model.hpp"
#include "placement/explain/op_pattern.hpp"
#include "placement/solve/solve_within.hpp"

namespace ferry {
namespace {

class Comparison {
 public:
  explicit Comparison(const Program& program)
      : program_(program),
        model_(LayoutModel::of(program, mesh_of(program))),
        problem_(model_.problem()),
        chosen_(model_.choices(program, program.chosen)),
        value_(problem_.value(chosen_)) {}

  std::optional<Alternative> of(NodeId node) {
    const std::optional<std::uint32_t> variable = model_.variable(program_, node);
    if (!variable) return std::nullopt;
    const std::uint32_t choice = chosen_[*variable];
    Alternative found;
    found.subject = program_.name(program_.nodes[node]);
    found.line = program_.line(program_.nodes[node]);
    found.layouts = model_.text(program_, node, choice);
    std::int64_t& cost = problem_.costs[*variable][choice];
    const bool computes = program_.nodes[node].kind == NodeKind::compute;
    const std::int64_t computing = computes ? model_.computing(node, choice) : 0;
    found.computing_seconds = seconds(computing);
    found.message_seconds = seconds(messages(*variable) + cost - computing);
    const std::int64_t possible = std::exchange(cost, kImpossible);
    const Solution other = solved();
    cost = possible;
    const bool fits = !other.choices.empty();
    if (fits && other.value >= kImpossible) return found;
    if (fits) found.other = model_.text(program_, node, other.choices[*variable]);
    found.at_least_seconds = seconds(std::max<std::int64_t>(other.bound - value_, 0));
    found.found_seconds = fits ? seconds(other.value - value_) : std::numeric_limits<double>::infinity();
    return found;
  }

 private:
  static AutoMesh mesh_of(const Program& program) {
    AutoMesh mesh = *program.auto_mesh;
    if (mesh.of_request) mesh.variables.clear();
    return mesh;
  }

  /// The solution of the problem within the limit of memory, if there is one. No choices: none were found that fit.
  [[nodiscard]] Solution solved() const {
    const Solution fastest = solve(problem_, {.precision = kPrecision});
    const std::optional<std::int64_t> most = program_.auto_mesh->most_bytes;
    if (!most || fastest.value >= kImpossible || model_.memory().peak(problem_, fastest.choices).bytes <= *most)
      return fastest;
    Solution fitting = solve_within(problem_, model_.memory(), *most, kNoSolution, {.precision = kPrecision});
    fitting.bound = std::max(fitting.bound, fastest.bound);
    return fitting;
  }

  [[nodiscard]] double seconds(std::int64_t cost) const {
    return seconds_of(static_cast<double>(cost) * static_cast<double>(model_.unit()));
  }

  /// The time of the conversions between the variable's choice and the choices of its neighbours.
  [[nodiscard]] std::int64_t messages(std::uint32_t variable) const {
    std::int64_t sum = 0;
    for (const Problem::Edge& edge : problem_.edges)
      if (edge.a == variable || edge.b == variable)
        sum += edge.costs[chosen_[edge.a] * problem_.costs[edge.b].size() + chosen_[edge.b]];
    return sum;
  }

  /// Small differences matter here: the search ends only at a difference of a millionth, or at its limit of passes.
  static constexpr std::int64_t kPrecision = 1'000'000;

  const Program& program_;
  const LayoutModel model_;
  Problem problem_;
  const std::vector<std::uint32_t> chosen_;
  const std::int64_t value_;
};

}  // namespace

std::vector<Alternative> compare_layouts(const Program& program, const std::string& pattern) {
  std::vector<Alternative> found;
  std::optional<Comparison> comparison;
  for (const ProgramRegion& region : program.regions)
    for (const NodeId node : region.order) {
      const std::string name = program.name(program.nodes[node]);
      if (!matches(name, pattern) && !matches(pattern, name)) continue;  // the pattern may be "split:1", a value
      if (!comparison) comparison.emplace(program);
      if (std::optional<Alternative> of_node = comparison->of(node)) found.push_back(*std::move(of_node));
    }
  return found;
}

}  // namespace ferry
