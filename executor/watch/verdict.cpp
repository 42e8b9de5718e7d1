#include "executor/watch/verdict.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/text.hpp"
#include "comm/failure.hpp"

namespace ferry {
namespace {

using Doing = Pulse::Doing;
constexpr std::size_t kLines = 12;
/// How long a task waits for a task of this machine that has left, before the wait counts as endless. In this time the
/// last message of that task arrives.
constexpr std::chrono::seconds kLeftGrace{1};
/// A call of the session that has lasted this long may be an exchange, which needs all tasks.
constexpr std::chrono::milliseconds kMayExchange{500};

/// How long the task has been stopped. A task that is stopped and continued repeatedly may be stopped at each check of
/// its state. Its last heartbeat shows that it ran in between.
Duration stopped_for(const TaskStatus& task) {
  return std::min(task.state_age, task.silent);
}

bool is_lost(const TaskStatus& task, Duration patience) {
  if (task.pulse.doing == Doing::left) return false;
  if (!task.on_this_machine) return task.known && task.silent >= patience;
  return (task.state == ProcessState::gone && task.state_age >= kGoneGrace) ||
         (task.state == ProcessState::stopped && stopped_for(task) >= patience);
}

/// Whether `task` needs something from `other`, according to its last pulse.
bool awaits(const TaskStatus& task, int other) {
  if (task.pulse.doing == Doing::waiting)
    return std::ranges::find(task.pulse.awaited, static_cast<std::int64_t>(other)) != task.pulse.awaited.end();
  return task.pulse.doing == Doing::inside && !task.pulse.busy && task.pulse.age >= kMayExchange;
}

const TaskStatus& at(std::span<const TaskStatus> tasks, std::int64_t task) {
  return tasks[task];
}

/// Whether this process hears from another task of the host of `task`, another host than this one.
bool hears_host_of(std::span<const TaskStatus> tasks, const TaskStatus& task) {
  return std::ranges::any_of(tasks, [&](const TaskStatus& other) {
    return !other.on_this_machine && other.host == task.host && other.known && other.silent < kFresh &&
           other.pulse.doing != Doing::left;
  });
}

/// Whether another task of the host of `task`, which sees the state of its process, should reach the verdict first.
bool waits_for_neighbor(std::span<const TaskStatus> tasks, const TaskStatus& task, Duration patience) {
  return !task.on_this_machine && task.silent < patience + patience / 2 && hears_host_of(tasks, task);
}

/// The texts of ops have the numbers of shards, since plans call them tasks.
void explain_shards(Error& error, std::span<const TaskStatus> tasks) {
  if (tasks[0].process >= 0) error.note("with --invariant, each task of a graph or of its ops is a shard");
}

void add_waiting(Error& error, std::span<const TaskStatus> tasks, std::int64_t culprit, Duration patience) {
  std::size_t lines = 0;
  for (const TaskStatus& task : tasks) {
    if (task.pulse.task == culprit || is_lost(task, patience) || task.pulse.doing != Doing::waiting) continue;
    if (++lines <= kLines) error.note(who(task) + " " + doing_text(task));
  }
  if (lines > kLines) error.note("and {} more", lines - kLines);
  explain_shards(error, tasks);
}

/// Returns the task that prints the verdict: the lowest task that waits or is in a call; `otherwise` if there is none.
int teller_of(std::span<const TaskStatus> tasks, Duration patience, int otherwise) {
  for (const TaskStatus& task : tasks)
    if (!is_lost(task, patience) && (task.pulse.doing == Doing::waiting || task.pulse.doing == Doing::inside))
      return task.pulse.task;
  return otherwise;
}

std::string last_seen(const TaskStatus& task) {
  return task.pulse.text.empty() ? std::string() : "; it was last seen in " + task.pulse.text;
}

/// A lost task, as an error and a suggestion, which is printed last.
struct LostTask {
  Error error;
  std::string hint;
  int culprit = 0;
};

LostTask gone(const TaskStatus& task, const std::string& why) {
  return {Error(Code::peer_lost, who(task) + " is gone: " + why + last_seen(task)),
          "see its last output; the system kills a process when memory runs out (see dmesg)", task.pulse.task};
}

LostTask stopped(const TaskStatus& task) {
  return {Error(Code::stalled, who(task) + " was stopped (SIGSTOP or Ctrl-Z) " + seconds_text(stopped_for(task)) +
                                   " ago" + last_seen(task)),
          "see who sent the signal (a batch system, Ctrl-Z); the job ends, so that SIGCONT does not help",
          task.pulse.task};
}

/// `task` is the first task of another host that this process does not hear from and that another task waits for.
LostTask silent(std::span<const TaskStatus> tasks, const TaskStatus& task, const TaskStatus& self) {
  std::set<std::string> lost_hosts, heard_hosts;
  std::vector<int> lost;
  for (const TaskStatus& other : tasks) {
    if (other.on_this_machine || !other.known || other.pulse.doing == Doing::left) continue;
    const bool heard = other.silent < kFresh;
    (heard ? heard_hosts : lost_hosts).insert(other.host);
    if (heard || other.host != task.host) continue;
    const int number = other.process < 0 ? other.pulse.task : other.process;
    if (lost.empty() || lost.back() != number) lost.push_back(number);
  }
  const std::string since = " for " + seconds_text(task.silent);
  if (heard_hosts.empty() && lost_hosts.size() > 1)
    return {Error(Code::peer_lost, "host " + self.host + " is cut off: it has heard from no other host" + since),
            "look at the network of host " + self.host, self.pulse.task};
  const auto hears = [&](const TaskStatus& other) {
    return !other.on_this_machine && other.silent < kFresh && other.host != task.host &&
           std::ranges::find(other.unheard, static_cast<std::int64_t>(task.pulse.task)) == other.unheard.end();
  };
  if (const auto third = std::ranges::find_if(tasks, hears); third != tasks.end())
    return {Error(Code::peer_lost, "the link from host " + task.host + " to host " + self.host +
                                       " is cut: " + tasks_text(lost) + " cannot be heard here" + since + ", but " +
                                       who(*third) + " hears from there"),
            "look at the network between these two hosts", task.pulse.task};
  if (hears_host_of(tasks, task))
    return {Error(Code::stalled, who(task) + " cannot be heard" + since + ", but other tasks of host " + task.host +
                                     " can: it was stopped (SIGSTOP or Ctrl-Z), or it was killed" + last_seen(task)),
            "look at this process on host " + task.host + " (in the output of ps, T marks a stopped process)",
            task.pulse.task};
  return {
      Error(Code::peer_lost, tasks_text(lost) + " of host " + task.host + " cannot be heard" + since + ": " +
                                 (lost.size() > 1 ? "they were" : "it was") +
                                 " stopped (SIGSTOP or Ctrl-Z), or the host or its network is down" + last_seen(task)),
      "see whether host " + task.host + " answers (ping), and look at its processes (ps marks stopped ones by T)",
      task.pulse.task};
}

JobVerdict verdict_on(LostTask loss, std::span<const TaskStatus> tasks, int teller, Duration patience) {
  add_waiting(loss.error, tasks, loss.culprit, patience);
  loss.error.hint(loss.hint);
  return {loss.culprit, teller, loss.error.code(), loss.error.text()};
}

/// Follows the waits between tasks, starting at `from`, and returns the tasks on the way. The last one does not wait,
/// or waits for a task that is already on the list.
std::vector<std::int64_t> chain(std::span<const TaskStatus> tasks, std::int64_t from) {
  std::vector<std::int64_t> way{from};
  for (;;) {
    const Pulse& pulse = at(tasks, way.back()).pulse;
    if (pulse.doing != Doing::waiting) return way;
    // The members of a collective that have reached it have the same `collective_key`.
    const auto absent = [&](std::int64_t other) {
      return pulse.collective_key == 0 || at(tasks, other).pulse.collective_key != pulse.collective_key;
    };
    const auto next = std::ranges::find_if(pulse.awaited, absent);
    if (next == pulse.awaited.end()) return way;
    const bool again = std::ranges::find(way, *next) != way.end();
    way.push_back(*next);
    if (again) return way;
  }
}

/// The hosts of the tasks, each once.
std::vector<std::string> hosts_of(std::span<const TaskStatus> tasks, std::span<const std::int64_t> numbers) {
  std::vector<std::string> hosts;
  for (const std::int64_t number : numbers)
    if (const std::string& host = at(tasks, number).host; std::ranges::find(hosts, host) == hosts.end())
      hosts.push_back(host);
  std::ranges::sort(hosts);
  return hosts;
}

}  // namespace

std::string who(const TaskStatus& task) {
  const std::string number = std::to_string(task.pulse.task);
  if (task.host.empty()) return "task " + number;
  const std::string place = "host " + task.host + ", process " + std::to_string(task.pid) + ")";
  if (task.process < 0) return "task " + number + " (" + place;
  return "shard " + number + " (task " + std::to_string(task.process) + ", " + place;
}

std::string doing_text(const TaskStatus& task) {
  const bool lasts = task.pulse.age >= std::chrono::milliseconds(100);
  const std::string since = lasts ? ", for " + seconds_text(task.pulse.age) : std::string();
  switch (task.pulse.doing) {
    case Doing::outside:
      if (!task.known) return "cannot be heard by the watch";
      return std::string(task.pulse.busy ? "computes in" : "is in") +
             " the program's own code, outside of the session" + (task.pulse.busy ? "" : ", and computes nothing") +
             since + (task.pulse.text.empty() ? "" : ", asleep in " + task.pulse.text);
    case Doing::inside:
      return "is in " + task.pulse.text + since;
    case Doing::computing:
      return "computes " + task.pulse.text + since;
    case Doing::waiting:
      return "waits in " + task.pulse.text + since;
    case Doing::left:
      return "has left the job";
  }
  return {};
}

std::optional<JobVerdict> judge_lost(std::span<const TaskStatus> tasks, int self, Duration patience) {
  for (const TaskStatus& task : tasks) {
    const int number = task.pulse.task;
    const bool needed = std::ranges::any_of(tasks, [&](const TaskStatus& other) {
      return other.pulse.task != number && !is_lost(other, patience) && awaits(other, number);
    });
    const bool crashed = task.on_this_machine && task.state == ProcessState::gone;
    if (!is_lost(task, patience) || !(needed || crashed) || waits_for_neighbor(tasks, task, patience)) continue;
    LostTask loss = !task.on_this_machine ? silent(tasks, task, at(tasks, self))
                    : task.state == ProcessState::stopped
                        ? stopped(task)
                        : gone(task, "it was killed, it crashed, or it ended before the job was done");
    return verdict_on(std::move(loss), tasks, teller_of(tasks, patience, self), patience);
  }
  return std::nullopt;
}

JobVerdict judge_ended(std::span<const TaskStatus> tasks, const Failure& failure, int self) {
  // Other processes find the same at the same time. So each of them names a task that certainly prints its verdict.
  return verdict_on(gone(at(tasks, failure.task), failure.text), tasks, self, kPatience);
}

bool awaits_request(std::span<const TaskStatus> tasks) {
  const auto may_request = [&](std::int64_t task) {
    const TaskStatus& it = at(tasks, task);
    return it.pulse.doing == Doing::outside && it.known && it.silent < kFresh && it.state == ProcessState::running;
  };
  bool awaits = false;
  for (const TaskStatus& task : tasks) {
    if (task.pulse.doing == Doing::outside || task.pulse.doing == Doing::left) continue;
    if (task.pulse.doing != Doing::inside || task.pulse.awaited.empty()) return false;
    awaits = awaits || std::ranges::any_of(task.pulse.awaited, may_request);
  }
  return awaits;
}

std::optional<JobVerdict> judge_direct(std::span<const TaskStatus> tasks) {
  std::unordered_map<std::uint64_t, const TaskStatus*> first_at;
  for (const TaskStatus& task : tasks) {
    if (task.pulse.doing != Doing::waiting || task.pulse.call_key == 0) continue;
    const TaskStatus& first = *first_at.try_emplace(task.pulse.call_key, &task).first->second;
    if (first.pulse.collective_key != task.pulse.collective_key) {
      const int culprit = task.pulse.task;
      Error error(Code::plan, "tasks {} and {} make different direct calls", first.pulse.task, culprit);
      error.note(who(first) + " " + doing_text(first)).note(who(task) + " " + doing_text(task));
      error.hint("all tasks of a group make the same calls in the same order, with the same sizes and dtypes");
      return JobVerdict{culprit, first.pulse.task, error.code(), error.text()};
    }
    const auto left = [&](std::int64_t other) {
      return at(tasks, other).pulse.doing == Doing::left && at(tasks, other).on_this_machine;
    };
    const auto gone = std::ranges::find_if(task.pulse.awaited, left);
    if (gone == task.pulse.awaited.end() || task.pulse.age < kLeftGrace) continue;
    Error error(Code::peer_lost, who(at(tasks, *gone)) + " has left the job, and others wait for it");
    add_waiting(error, tasks, *gone, kLeftGrace);
    error.hint("all tasks of a group make the same direct calls, as often as each other");
    return JobVerdict{static_cast<int>(*gone), task.pulse.task, error.code(), error.text()};
  }
  return std::nullopt;
}

JobVerdict judge_connection(std::span<const TaskStatus> tasks, const Failure& failure) {
  return {failure.task, failure.unreached_by, failure.code,
          lost_connection_text(who(at(tasks, failure.unreached_by)), who(at(tasks, failure.task)), failure)};
}

std::optional<JobVerdict> judge_stalled(std::span<const TaskStatus> tasks, Duration idle) {
  const auto first = std::ranges::find_if(tasks, [](const TaskStatus& t) { return t.pulse.doing == Doing::waiting; });
  if (first == tasks.end()) return std::nullopt;
  const std::vector<std::int64_t> way = chain(tasks, first->pulse.task);
  const TaskStatus& last = at(tasks, way.back());
  if (last.pulse.busy) return std::nullopt;
  std::string text = "no progress for " + seconds_text(idle) + ": " + who(*first) + " " + doing_text(*first);
  for (std::size_t i = 1; i + 1 < way.size(); ++i)
    text += "; " + who(at(tasks, way[i])) + " " + doing_text(at(tasks, way[i]));
  const bool circle = last.pulse.doing == Doing::waiting;
  if (way.size() > 1) text += (circle ? "; " : ", and ") + who(last) + " " + doing_text(last);
  Error error(last.pulse.doing == Doing::left ? Code::peer_lost : Code::stalled, text);
  std::size_t lines = 0;
  for (const TaskStatus& task : tasks) {
    const bool told = std::ranges::find(way, static_cast<std::int64_t>(task.pulse.task)) != way.end();
    if (!told && ++lines <= kLines) error.note(who(task) + " " + doing_text(task));
  }
  if (lines > kLines) error.note("and {} more", lines - kLines);
  explain_shards(error, tasks);
  // A verified plan has no deadlock. So in a circle of waits, the message that a task waits for has been sent.
  const std::vector<std::string> hosts = hosts_of(tasks, way);
  if (circle && hosts.size() > 1) {
    error.note("all of them wait, each for another: a message between the hosts " + join(hosts, ", ") +
               " does not arrive");
    error.hint("see what the network between these hosts loses (ip -s link, nstat -az TcpRetransSegs)");
  } else {
    error.hint("look at what task {} is doing; --deadline SECONDS allows for longer steps",
               last.process < 0 ? last.pulse.task : last.process);
  }
  return JobVerdict{last.pulse.task, first->pulse.task, error.code(), error.text()};
}

}  // namespace ferry
