#include "executor/job/cluster_arguments.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/format.hpp"
#include "base/numbers.hpp"

namespace ferry {
namespace {

void set(ClusterOptions& options, std::string_view name, std::string_view value) {
  if (value.empty())
    throw Error(Code::usage, std::string(name) + ": its value is empty").hint("leave " + std::string(name) + " out");
  if (name == "--tasks")
    options.tasks = whole_number(name, value, 1, kMostTasks);
  else if (name == "--threads")
    options.threads = whole_number(name, value, 1, kMostThreads);
  else if (name == "--deadline")
    options.deadline = time_span(name, value);
  else if (name == "--transport")
    options.transport = value;
  else if (name == "--interface")
    options.interface = value;
  else if (name == "--device")
    options.simulated = simulation_seed(value);
  else if (name == "--invariant")
    options.invariant = whole_number(name, value, 1, kMostTasks);
  else
    options.jobs = value;
}

bool is_ours(std::string_view name) {
  return name == "--tasks" || name == "--threads" || name == "--deadline" || name == "--transport" ||
         name == "--interface" || name == "--jobs" || name == "--invariant";
}

/// An example of --jobs for `tasks` tasks.
std::string example_jobs(int count) {
  const int last = count - 1;
  if (last == 0) return "--jobs worker=0";
  return "for example --jobs ps=0,worker=1" + (last == 1 ? "" : "-" + std::to_string(last));
}

/// Whether the argument is --device=sim or --device=sim:SEED, or is --device and `next` is sim or sim:SEED. Other
/// devices are left to the program.
bool is_simulation(std::string_view argument, const char* next) {
  constexpr std::string_view kName = "--device", kNameAnd = "--device=";
  if (argument == kName) return next != nullptr && simulation_seed(next).has_value();
  return argument.starts_with(kNameAnd) && simulation_seed(argument.substr(kNameAnd.size())).has_value();
}

}  // namespace

void check_options(const ClusterOptions& options) {
  require_range("ClusterOptions::tasks", options.tasks, 0, kMostTasks);
  require_range("ClusterOptions::threads", options.threads, 0, kMostThreads);
  require_range("ClusterOptions::memory_bytes", options.memory_bytes, std::uint64_t{0}, kMostBytes);
  require_range("ClusterOptions::gpu_memory_bytes", options.gpu_memory_bytes, std::uint64_t{0}, kMostBytes);
  require_time("ClusterOptions::deadline", options.deadline);
  require_range("ClusterOptions::invariant", options.invariant, 0, kMostTasks);
  require_range("ClusterOptions::hosts", options.hosts, 0, kMostTasks);
}

void take_cluster_options(int& argc, char** argv, ClusterOptions& options) {
  int kept = 0;
  for (int i = 0; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::string_view name = argument.substr(0, argument.find('='));
    if (i == 0 || !(is_ours(name) || is_simulation(argument, i + 1 < argc ? argv[i + 1] : nullptr))) {
      argv[kept++] = argv[i];
    } else if (name.size() < argument.size()) {
      set(options, name, argument.substr(name.size() + 1));
    } else if (name == "--invariant") {
      options.invariant = kDefaultShards;
    } else if (++i < argc) {
      set(options, name, argv[i]);
    } else {
      throw Error(Code::usage, std::string(name) + ": a value is missing");
    }
  }
  argc = kept;
  if (argv[argc] != nullptr) argv[argc] = nullptr;
}

void apply_jobs(std::string_view jobs, std::vector<TaskInfo>& tasks) {
  for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i].index_in_job = static_cast<std::int32_t>(i);
  if (jobs.empty()) return;
  const int count = static_cast<int>(tasks.size());
  const auto fail = [&](const std::string& why, const std::string& hint = {}) {
    throw Error(Code::usage, "--jobs {}: {}", jobs, as_is(why)).hint(hint.empty() ? example_jobs(count) : hint);
  };
  const auto number = [&](std::string_view text, int least) {
    int value = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > kMostTasks)
      fail(formatted("{:?} is not the number of a task, {} or more", text, least));
    return value;
  };
  std::vector<bool> given(tasks.size(), false);
  std::vector<std::string> seen;
  std::string_view job;
  int index = 0;
  for (std::string_view item : split(jobs, ',')) {
    if (const std::size_t equals = item.find('='); equals != std::string_view::npos) {
      job = item.substr(0, equals);
      if (job.empty()) fail("a job has no name");
      for (const std::string& other : seen)
        if (other == job) fail("the job '" + std::string(job) + "' is named twice");
      seen.emplace_back(job);
      item.remove_prefix(equals + 1);
      index = 0;
    }
    if (job.empty()) fail("expected NAME=TASKS");
    const std::size_t dash = item.find('-');
    const int first = number(item.substr(0, dash), 0);
    const int last = dash == std::string_view::npos ? first : number(item.substr(dash + 1), first);
    if (last >= std::ssize(given)) given.resize(static_cast<std::size_t>(last) + 1, false);
    for (int task = first; task <= last; ++task) {
      const auto t = static_cast<std::size_t>(task);
      if (given[t]) fail("task " + std::to_string(task) + " is given twice");
      given[t] = true;
      if (task >= count) continue;
      tasks[t].job = job;
      tasks[t].index_in_job = index++;
    }
  }
  const auto without = std::ranges::find(given, false);
  if (std::ssize(given) > count) {
    const auto missing = std::find(given.begin() + count, given.end(), true) - given.begin();
    const std::string enough = std::to_string(given.size());
    fail("there is no task " + std::to_string(missing) + " of " + std::to_string(count),
         without != given.end() ? ""
                                : "start " + enough + " tasks (--tasks " + enough + " in one process, mpirun -np " +
                                      enough + " or ferry launch -n " + enough + "), or " + example_jobs(count));
  }
  if (without != given.end()) fail("task " + std::to_string(without - given.begin()) + " has no job");
}

}  // namespace ferry
