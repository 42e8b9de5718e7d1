#include "runner/launch/slurm.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

constexpr const char* kList = "SLURM_JOB_NODELIST";
constexpr const char* kCounts = "SLURM_TASKS_PER_NODE";
constexpr std::size_t kMostNodes = 1 << 16;

/// Variables that salloc, sbatch or the user may set. With them, srun gives a step fewer CPUs than the job has on the
/// node: most imply --exact, and so the CPUs of one task.
constexpr const char* kFewerCpus[] = {"SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK", "SLURM_CPUS_PER_GPU",
                                      "SLURM_TRES_PER_TASK", "SLURM_EXACT",        "SLURM_EXCLUSIVE",
                                      "SLURM_HINT"};

[[noreturn]] void fail(const std::string& variable, std::string_view text, const std::string& why) {
  throw Error(Code::usage, "{}={:.200}: {}", as_is(variable), text, as_is(why)).hint("--hosts or --hostfile instead");
}

/// Splits at the commas that are not in brackets.
std::vector<std::string_view> items_of(std::string_view text) {
  std::vector<std::string_view> items;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '[' || text[i] == ']')) inside = text[i] == '[';
    if (i < text.size() && (text[i] != ',' || inside)) continue;
    items.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return items;
}

/// Expands lists of nodes.
class NodeList {
 public:
  NodeList(std::string_view text, const std::string& variable) : text_(text), variable_(variable) {
    for (const std::string_view item : items_of(text)) expand("", item);
  }
  std::vector<std::string> names;

 private:
  void expand(const std::string& begun, std::string_view rest) {
    const std::size_t open = rest.find('['), close = rest.find(']');
    if (open == std::string_view::npos) {
      if (close != std::string_view::npos) fail(variable_, text_, "']' without '['");
      return add(begun + std::string(rest));
    }
    if (close == std::string_view::npos || close < open) fail(variable_, text_, "'[' without ']'");
    const std::string front = begun + std::string(rest.substr(0, open));
    for (const std::string_view range : split(rest.substr(open + 1, close - open - 1), ',')) {
      const std::string_view first = range.substr(0, range.find('-'));
      const std::string_view last = first.size() < range.size() ? range.substr(first.size() + 1) : first;
      const int from = number(first), to = number(last);
      if (to < from || to - from >= static_cast<int>(kMostNodes))
        fail(variable_, text_, formatted("no range: {:?}", range));
      for (int i = from; i <= to; ++i) {
        std::string digits = std::to_string(i);
        if (digits.size() < first.size()) digits.insert(0, first.size() - digits.size(), '0');
        expand(front + digits, rest.substr(close + 1));
      }
    }
  }

  [[nodiscard]] int number(std::string_view digits) const {
    // Leading zeros belong to the node's name.
    const std::size_t begin = std::min(digits.find_first_not_of('0'), digits.empty() ? 0 : digits.size() - 1);
    try {
      return whole_number("a node's number", digits.substr(begin), 0, 1 << 30);
    } catch (const Error& error) {
      fail(variable_, text_, error.text());
    }
  }

  void add(std::string name) {
    if (name.empty() || name.front() == '-') fail(variable_, text_, formatted("{:?} is no name of a host", name));
    if (names.size() == kMostNodes) fail(variable_, text_, "more than 65,536 nodes");
    names.push_back(std::move(name));
  }

  const std::string_view text_;
  const std::string& variable_;
};

std::string environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

/// The end of the names of variables for a component of a heterogeneous job.
std::string het_suffix(int group) {
  return "_HET_GROUP_" + std::to_string(group);
}

/// The nodes in the variables of SLURM whose names end in `suffix`. Nothing if they are not set.
std::optional<std::vector<LaunchHost>> hosts_in_variables(const std::string& suffix, std::optional<int> het_group) {
  const std::string list = kList + suffix, counts = kCounts + suffix;
  const std::string nodes = environment(list), slots_text = environment(counts);
  if (nodes.empty()) return std::nullopt;
  const std::vector<std::string> names = parse_nodelist(nodes, list);
  const std::vector<int> slots =
      slots_text.empty() ? std::vector<int>(names.size(), 1) : parse_node_counts(slots_text, counts);
  if (slots.size() != names.size())
    fail(counts, slots_text, std::to_string(slots.size()) + " counts for " + plural(names.size(), "node"));
  std::vector<LaunchHost> hosts;
  for (std::size_t i = 0; i < names.size(); ++i)
    hosts.push_back({.name = names[i], .slots = slots[i], .where = list, .by_srun = true, .het_group = het_group});
  return hosts;
}

}  // namespace

std::vector<std::string> parse_nodelist(std::string_view text, const std::string& variable) {
  return NodeList(text, variable).names;
}

std::vector<int> parse_node_counts(std::string_view text, const std::string& variable) {
  std::vector<int> counts;
  for (const std::string_view item : split(text, ',')) {
    const std::size_t open = item.find("(x");
    const bool repeated = open != std::string_view::npos && item.ends_with(')');
    try {
      const int count = whole_number("a count", item.substr(0, open), 1, kMostSlots);
      const int times = repeated ? whole_number("a count", item.substr(open + 2, item.size() - open - 3), 1,
                                                static_cast<int>(kMostNodes - counts.size()))
                                 : 1;
      counts.insert(counts.end(), static_cast<std::size_t>(times), count);
    } catch (const Error& error) {
      fail(variable, text, error.text());
    }
  }
  return counts;
}

std::optional<std::vector<LaunchHost>> allocated_hosts() {
  if (environment("SLURM_HET_SIZE").empty()) return hosts_in_variables("", std::nullopt);
  std::vector<LaunchHost> all;
  for (int group = 0;; ++group) {
    auto hosts = hosts_in_variables(het_suffix(group), group);
    if (!hosts) break;
    std::ranges::move(*hosts, std::back_inserter(all));
  }
  if (all.empty()) return std::nullopt;
  return all;
}

bool in_slurm_step() {
  return !environment("SLURMD_NODENAME").empty();
}

ProgramStart srun_program(const LaunchHost& node) {
  // The step runs beside other steps, with all CPUs that the job has on the node, and does not buffer the output.
  ProgramStart srun{.arguments = {"srun", "--nodes=1", "--ntasks=1", "--overlap", "--cpu-bind=none", "--unbuffered",
                                  "--nodelist=" + node.name}};
  if (node.het_group) srun.arguments.push_back("--het-group=" + std::to_string(*node.het_group));
  for (const char* variable : kFewerCpus) {
    srun.unset.emplace_back(variable);
    if (node.het_group) srun.unset.push_back(variable + het_suffix(*node.het_group));
  }
  return srun;
}

}  // namespace ferry
