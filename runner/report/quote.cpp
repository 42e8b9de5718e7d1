#include "runner/report/quote.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/format.hpp"
#include "base/number_text.hpp"
#include "base/ranges.hpp"
#include "base/text.hpp"
#include "plan/text/plan_text.hpp"

namespace ferry {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostRoles = 5, kMostLines = 6, kMostMessages = 4, kMostOps = 4;  // in a text of one screen
constexpr double kHour = 3600, kSteps = 1000;  // the price of kSteps steps is printed if there is no epoch

Estimate::TaskClass role_of(const Plan& plan, std::uint32_t index) {
  const PlanClass& from = plan.classes[index];
  Estimate::TaskClass role{"class " + std::to_string(index), tasks_of_class(plan, index), from.threads};
  for (const PlanDevice& device : from.devices) role.bytes += device.step_bytes + device.state_bytes;
  for (const PlanVariable& variable : from.variables) role.variable_bytes += from.buffers[variable.buffer].bytes;
  return role;
}

std::string what_of(const StepWork& work, const StepWork::Message& message) {
  return work.what +
         (message.is_collective ? " of " + plural(static_cast<std::uint64_t>(message.members), "task") : "") +
         (message.between_hosts ? " between hosts" : "");
}

/// Sums the times of the kernels of one line of the user's program.
class LineTimes {
 public:
  explicit LineTimes(std::size_t groups) : of_groups_(groups) {}

  void add(const StepWork& work) {
    for (const std::uint32_t group : work.groups) of_groups_[group] += work.seconds;
    of_ops_[work.what] += work.seconds;
  }

  [[nodiscard]] Quote::Line line(const std::string& place) const {
    Quote::Line line{place, {of_ops_.begin(), of_ops_.end()}, std::ranges::max(of_groups_)};
    std::ranges::stable_sort(line.ops, std::ranges::greater(), &std::pair<std::string, double>::second);
    return line;
  }

 private:
  std::vector<double> of_groups_;         // of each group of tasks
  std::map<std::string, double> of_ops_;  // by type of op
};

/// Formats the time of a step, or of many steps.
std::string time_text(double seconds) {
  if (seconds < 1e-3) return digits_text(seconds * 1e6, 3) + " us";
  if (seconds < 1) return digits_text(seconds * 1e3, 3) + " ms";
  if (seconds < 10 * 60) return digits_text(seconds, 3) + " s";
  if (seconds < 10 * kHour) return decimals_text(seconds / 60, 1) + " min";
  return decimals_text(seconds / kHour, 1) + " h";
}

std::string price_text(double price) {
  return price < 1000 ? digits_text(price, 4) : decimals_text(price, 0);
}

/// The price of `tasks` tasks for that time.
double price_of(const Quote& quote, int tasks, double seconds) {
  return *quote.price * tasks * seconds / kHour;
}

/// The time for which prices are printed: the time of an epoch, or of kSteps steps.
double priced_seconds(const Estimate& estimate) {
  return estimate.epoch_seconds.value_or(kSteps * estimate.step_seconds);
}

std::string priced_name(const Estimate& estimate) {
  return estimate.epoch_seconds ? "an epoch" : "1000 steps";
}

std::string head_text(const Quote& quote) {
  const Estimate& job = quote.job;
  return "quote of " + (quote.entry.empty() ? "the outputs" : formatted("the entry {}", quote.entry)) + " on " +
         plural(static_cast<std::uint64_t>(job.tasks), "task") +
         (job.placement.empty() ? "" : ", placed by itself: " + job.placement) + "\n" + "a step takes " +
         time_text(job.step_seconds) + ": computing " + time_text(job.computing_seconds) + ", messages " +
         time_text(job.message_seconds) + "\n";
}

std::string epoch_text(const Quote& quote) {
  const Estimate& job = quote.job;
  std::string text;
  if (quote.data)
    text = "an epoch of " + plural(static_cast<std::uint64_t>(quote.data->steps()), "step") + " takes " +
           time_text(*job.epoch_seconds) + "\n";
  if (quote.price)
    text += priced_name(job) + (quote.data ? " costs " : " cost ") +
            price_text(price_of(quote, job.tasks, priced_seconds(job))) + ", at " + price_text(*quote.price) +
            " for a task and an hour\n";
  return text;
}

std::string tasks_text(const std::vector<int>& tasks) {
  return formatted("{}{}", tasks.size() == 1 ? "task " : "tasks ", ranges(tasks));
}

std::string memory_text(const Estimate& job) {
  std::string text = "memory of a task\n";
  for (std::size_t i = 0; i < std::min(job.roles.size(), kMostRoles); ++i) {
    const Estimate::TaskClass& role = job.roles[i];
    text += right_aligned(human_bytes(role.bytes), 12) + "  " + role.name + ": " + tasks_text(role.tasks) + ", " +
            plural(role.threads, "thread") + "; variables take " + human_bytes(role.variable_bytes) + " of it\n";
  }
  if (job.roles.size() > kMostRoles) text += "  and " + std::to_string(job.roles.size() - kMostRoles) + " more\n";
  return text;
}

/// A time, and its share of the step.
std::string share_text(double seconds, const Quote& quote) {
  const double step = quote.job.step_seconds;
  return right_aligned(time_text(seconds), 12) +
         right_aligned(decimals_text(step > 0 ? 100 * seconds / step : 0, 0) + " %", 6) + "  ";
}

std::string ops_text(const Quote::Line& line) {
  std::vector<std::string> ops;
  for (std::size_t i = 0; i < std::min(line.ops.size(), kMostOps); ++i)
    ops.push_back(formatted("{}", line.ops[i].first));
  if (line.ops.size() > kMostOps) ops.emplace_back("…");
  return join(ops, ", ");
}

std::string lines_text(const Quote& quote) {
  if (quote.lines.empty()) return {};
  std::string text = "lines with the longest kernels, in a step of a task\n";
  for (std::size_t i = 0; i < std::min(quote.lines.size(), kMostLines); ++i) {
    const Quote::Line& line = quote.lines[i];
    text += formatted("{}{}  {}\n", as_is(share_text(line.seconds, quote)), line.place, as_is(ops_text(line)));
  }
  return text;
}

std::string messages_text(const Quote& quote) {
  if (quote.messages.empty()) return {};
  std::string text = "the longest messages\n";
  for (std::size_t i = 0; i < std::min(quote.messages.size(), kMostMessages); ++i) {
    const Quote::Message& message = quote.messages[i];
    text += formatted("{}{}, {}: {}{}\n", as_is(share_text(message.seconds, quote)), as_is(message.what),
                      human_bytes(message.bytes), message.name,
                      as_is((message.line.empty() ? "" : formatted("  at {}", message.line))));
  }
  return text;
}

/// The estimate with which speedups compare: the first estimate of the table.
const Estimate* first_of(const std::vector<Quote::Row>& table) {
  for (const Quote::Row& row : table)
    if (const auto* estimate = std::get_if<Estimate>(&row.estimate)) return estimate;
  return nullptr;
}

double speedup(const Quote& quote, const Estimate& estimate) {
  const Estimate* const first = first_of(quote.table);
  return estimate.step_seconds > 0 ? first->step_seconds / estimate.step_seconds : 1;
}

std::string row_text(const Quote& quote, const Quote::Row& row) {
  const std::string tasks = right_aligned(std::to_string(row.tasks), 7);
  const auto* estimate = std::get_if<Estimate>(&row.estimate);
  if (estimate == nullptr) return tasks + "  left out: " + std::get<std::string>(row.estimate) + "\n";
  std::string text = tasks + right_aligned(time_text(estimate->step_seconds), 12) +
                     right_aligned(decimals_text(speedup(quote, *estimate), 2), 9) +
                     right_aligned(human_bytes(estimate->bytes()), 12);
  if (estimate->epoch_seconds) text += right_aligned(time_text(*estimate->epoch_seconds), 12);
  if (quote.price) text += right_aligned(price_text(price_of(quote, estimate->tasks, priced_seconds(*estimate))), 14);
  return text + "\n";
}

std::string table_text(const Quote& quote) {
  std::string text = "  tasks        step  speedup      memory";
  if (quote.data) text += "       epoch";
  if (quote.price) text += right_aligned("price of " + priced_name(quote.job), quote.data ? 20 : 22);
  text += "\n";
  for (const Quote::Row& row : quote.table) text += row_text(quote, row);
  return text;
}

std::string notes_text(const Quote& quote) {
  std::string text = quote.costs.empty() ? "costs: built in; ferry calibrate measures this machine\n"
                                         : formatted("costs: {}\n", quote.costs);
  if (quote.here) text += "each thread is assumed to have a core of its own\n";
  if (quote.iterations > 0)
    text += "each loop is assumed to have " + std::to_string(quote.iterations) + " iterations\n";
  return text;
}

void add_estimate(const Quote& quote, const Estimate& estimate, Json& json) {
  json["tasks"] = estimate.tasks;
  if (!estimate.placement.empty()) json["placement"] = estimate.placement;
  json["step_seconds"] = estimate.step_seconds;
  json["computing_seconds"] = estimate.computing_seconds;
  json["message_seconds"] = estimate.message_seconds;
  for (const Estimate::TaskClass& role : estimate.roles) json["memory_bytes"][role.name] = role.bytes;
  for (const Estimate::TaskClass& role : estimate.roles) json["variable_bytes"][role.name] = role.variable_bytes;
  if (quote.price) json["step_price"] = price_of(quote, estimate.tasks, estimate.step_seconds);
  if (!estimate.epoch_seconds) return;
  json["epoch_seconds"] = *estimate.epoch_seconds;
  if (quote.price) json["epoch_price"] = price_of(quote, estimate.tasks, *estimate.epoch_seconds);
}

Json ops_json(const Quote::Line& line) {
  Json json = Json::array();
  for (const auto& [op, seconds] : line.ops) json.push_back({{"op", op}, {"seconds", seconds}});
  return json;
}

Json row_json(const Quote& quote, const Quote::Row& row) {
  Json json;
  if (const auto* estimate = std::get_if<Estimate>(&row.estimate)) {
    add_estimate(quote, *estimate, json);
    json["speedup"] = speedup(quote, *estimate);
  } else {
    json = {{"tasks", row.tasks}, {"left_out", std::get<std::string>(row.estimate)}};
  }
  return json;
}

}  // namespace

std::uint64_t Estimate::bytes() const {
  std::uint64_t most = 0;
  for (const TaskClass& role : roles) most = std::max(most, role.bytes);
  return most;
}

Estimate estimate(const PlanResult& result, const std::optional<Batches>& data, double last) {
  const StepEstimate& step = *result.step;
  Estimate made{.tasks = result.plan.topology.size(),
                .step_seconds = step.step_seconds,
                .computing_seconds = step.computing_seconds,
                .message_seconds = step.message_seconds};
  if (result.placement) made.placement = result.placement->candidates[result.placement->taken].name;
  for (std::uint32_t index = 0; index < result.plan.classes.size(); ++index)
    made.roles.push_back(role_of(result.plan, index));
  if (data) made.epoch_seconds = static_cast<double>(data->steps() - 1) * step.step_seconds + last;
  return made;
}

void add_work(const StepEstimate& step, Quote& quote) {
  std::map<std::string, LineTimes> lines;
  for (const StepWork& work : step.work) {
    if (work.runs > 1) quote.iterations = quote.iterations == 0 ? work.runs : std::min(quote.iterations, work.runs);
    if (const auto* message = std::get_if<StepWork::Message>(&work.part); message != nullptr && work.seconds > 0)
      quote.messages.push_back({work.name, what_of(work, *message), work.line.str(),
                                static_cast<std::uint64_t>(std::max(message->given, message->got)), work.seconds});
    if (const auto* copy = std::get_if<StepWork::Copy>(&work.part); copy != nullptr)
      quote.messages.push_back(
          {work.name, work.what, work.line.str(), static_cast<std::uint64_t>(copy->bytes), work.seconds});
    if (std::holds_alternative<StepWork::Kernel>(work.part))
      lines.try_emplace(work.line.known() ? work.line.str() : work.name, step.groups.size()).first->second.add(work);
  }
  for (const auto& [place, times] : lines) quote.lines.push_back(times.line(place));
  std::ranges::stable_sort(quote.lines, std::ranges::greater(), &Quote::Line::seconds);
  std::ranges::stable_sort(quote.messages, std::ranges::greater(), &Quote::Message::seconds);
}

std::string quote_text(const Quote& quote) {
  return head_text(quote) + epoch_text(quote) + memory_text(quote.job) + lines_text(quote) + messages_text(quote) +
         table_text(quote) + notes_text(quote);
}

std::string quote_json(const Quote& quote) {
  Json json = {{"entry", quote.entry}};
  add_estimate(quote, quote.job, json);
  for (const Estimate::TaskClass& role : quote.job.roles) json["tasks_of"][role.name] = role.tasks;
  if (quote.data) json["epoch_steps"] = quote.data->steps();
  if (quote.price) json["task_hour_price"] = *quote.price;
  if (quote.iterations > 0) json["loop_iterations"] = quote.iterations;
  json["costs"] = quote.costs.empty() ? "built in" : quote.costs;
  json["lines"] = Json::array();
  for (const Quote::Line& line : quote.lines)
    json["lines"].push_back({{"line", line.place}, {"ops", ops_json(line)}, {"seconds", line.seconds}});
  json["messages"] = Json::array();
  for (const Quote::Message& message : quote.messages)
    json["messages"].push_back({{"name", message.name},
                                {"what", message.what},
                                {"line", message.line},
                                {"bytes", message.bytes},
                                {"seconds", message.seconds}});
  json["table"] = Json::array();
  for (const Quote::Row& row : quote.table) json["table"].push_back(row_json(quote, row));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ferry
