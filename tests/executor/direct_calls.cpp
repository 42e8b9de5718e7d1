// Random sequences of direct calls, with groups and several calls in flight, beside what they should give:
//
//     direct_calls inproc|shm|tcp FIRST COUNT           # of 1 to 5 tasks, which are threads
//     direct_calls unlike.inproc|.shm|.tcp FIRST COUNT  # one task makes another call, and all tasks must say so
//     mpirun -np 3 direct_calls mpi FIRST COUNT
//     mpirun -np 2 direct_calls memory 0 COUNT          # calls of 1,000 sizes: memory must not grow
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/system/log.hpp"
#include "comm/backends.hpp"
#include "comm/rendezvous.hpp"
#include "executor/cluster.hpp"
#include "tests/comm/ends.hpp"
#include "tests/support/dice.hpp"

namespace {

using namespace ferry;
using test::Dice;

/// Throws where a sequence gives other values than it should.
struct Wrong {
  std::string what;
};

/// The tasks of a call: all of the cluster, or a group of them.
struct Team {
  const Collectives* calls = nullptr;
  std::function<void()> barrier;
  std::vector<int> tasks;
  int self = 0;
};

template <class T>
std::vector<T> values_of(std::uint64_t seed, int task, std::size_t count) {
  Dice dice(seed * 64 + static_cast<std::uint64_t>(task));
  std::vector<T> values(count);
  for (T& value : values)
    value = static_cast<T>(static_cast<double>(dice.below(2001) - 1000) / (std::is_integral_v<T> ? 10 : 7));
  return values;
}

template <class T>
void fold(std::vector<T>& into, const std::vector<T>& other, Reduce reduce) {
  for (std::size_t i = 0; i < into.size(); ++i) {
    if (reduce == Reduce::sum) into[i] = static_cast<T>(into[i] + other[i]);
    if (reduce == Reduce::max) into[i] = std::max(into[i], other[i]);
    if (reduce == Reduce::min) into[i] = std::min(into[i], other[i]);
  }
}

template <class T>
std::vector<T> folded(std::uint64_t seed, const Team& team, std::size_t count, Reduce reduce) {
  std::vector<T> all = values_of<T>(seed, team.tasks[0], count);
  for (std::size_t i = 1; i < team.tasks.size(); ++i) fold(all, values_of<T>(seed, team.tasks[i], count), reduce);
  return all;
}

/// A call in flight, and the check of its result, which owns the memory of the call. The request comes last, because
/// its destructor waits for the call, and the memory must outlive it.
struct Pending {
  std::function<void()> check;
  Request request;
};

/// Values in memory of one of two kinds.
template <class T>
struct Memory {
  Memory(const Collectives& calls, std::vector<T> values, bool lent) : plain(std::move(values)) {
    if (!lent) return;
    buffer = calls.buffer<T>(plain.size());
    std::copy(plain.begin(), plain.end(), buffer.begin());
  }
  std::span<T> span() { return buffer.size() > 0 ? buffer.span() : std::span<T>(plain); }
  std::vector<T> plain;
  LentBuffer<T> buffer;
};

template <class T>
void require_equal(std::span<T> got, const std::vector<T>& wanted, const char* call) {
  if (got.size() == wanted.size() && (wanted.empty() || std::memcmp(got.data(), wanted.data(), got.size_bytes()) == 0))
    return;
  std::size_t at = 0;
  while (at < std::min(got.size(), wanted.size()) && std::memcmp(&got[at], &wanted[at], sizeof(T)) == 0) ++at;
  throw Wrong{std::string(call) + " of " + std::to_string(wanted.size()) + " elements is wrong at " +
              std::to_string(at)};
}

enum class Call : int {
  all_reduce,
  reduce_scatter,
  all_gather,
  uneven,
  all_to_all,
  broadcast,
  each,
  pair,
  barrier,
  last
};

/// One call, the same on all tasks except for their values.
struct Step {
  Call call = Call::barrier;
  int dtype = 0;
  Reduce reduce = Reduce::sum;
  std::size_t count = 0;
  int root = 0, other = 0;  ///< members, modulo their number
  bool in_group = false, starts = false;
  std::uint64_t seed = 0;
};

Step random_step(Dice& dice) {
  static const std::vector<std::size_t> counts = {0, 1, 2, 3, 7, 12, 13, 100, 1000, 4096, 4097, 20'000};
  Step step;
  step.call = static_cast<Call>(dice.below(static_cast<int>(Call::last)));
  step.dtype = dice.below(5);
  step.reduce = static_cast<Reduce>(1 + dice.below(3));
  step.count = dice.of(counts);
  step.root = dice.below(60);
  step.other = dice.below(60);
  step.in_group = dice.one_in(3);
  step.starts = dice.one_in(2);
  step.seed = dice.next() >> 8U;
  return step;
}

/// Makes a call; where it is started, returns it.
template <class T>
std::optional<Pending> make(const Step& step, const Team& team, bool lent) {
  const Collectives& c = *team.calls;
  const auto members = team.tasks.size();
  const int own = team.tasks[team.self];
  const auto mine = [&](std::size_t count) { return values_of<T>(step.seed, own, count); };
  const auto finish = [&](Request request, std::function<void()> check) -> std::optional<Pending> {
    if (step.starts) return Pending{std::move(check), std::move(request)};
    request.wait();
    check();
    return std::nullopt;
  };
  const int root = step.root % static_cast<int>(members);
  switch (step.call) {
    case Call::all_reduce: {
      const auto values = std::make_shared<Memory<T>>(c, mine(step.count), lent);
      Request request;
      if (step.starts)
        request = c.start_all_reduce(values->span(), step.reduce);
      else
        c.all_reduce(values->span(), step.reduce);
      return finish(std::move(request), [=, wanted = folded<T>(step.seed, team, step.count, step.reduce)] {
        require_equal(values->span(), wanted, "all_reduce");
      });
    }
    case Call::reduce_scatter: {
      const Part part = part_of(static_cast<std::int64_t>(step.count), static_cast<std::int64_t>(members), team.self);
      const auto values = std::make_shared<Memory<T>>(c, mine(step.count), lent);
      const auto got = std::make_shared<Memory<T>>(c, std::vector<T>(static_cast<std::size_t>(part.size)), lent);
      std::vector<T> wanted = folded<T>(step.seed, team, step.count, step.reduce);
      wanted = {wanted.begin() + part.begin, wanted.begin() + part.begin + part.size};
      return finish(c.start_reduce_scatter<T>(values->span(), got->span(), step.reduce),
                    [=] { static_cast<void>(values), require_equal(got->span(), wanted, "reduce_scatter"); });
    }
    case Call::all_gather: {
      const auto values = std::make_shared<Memory<T>>(c, mine(step.count), lent);
      const auto got = std::make_shared<Memory<T>>(c, std::vector<T>(step.count * members), lent);
      std::vector<T> wanted;
      for (const int task : team.tasks)
        for (const T value : values_of<T>(step.seed, task, step.count)) wanted.push_back(value);
      return finish(c.start_all_gather<T>(values->span(), got->span()),
                    [=] { static_cast<void>(values), require_equal(got->span(), wanted, "all_gather"); });
    }
    case Call::uneven: {
      const auto count_of = [&](int task) { return step.count * static_cast<std::size_t>(task % 3); };
      std::vector<T> wanted;
      for (const int task : team.tasks)
        for (const T value : values_of<T>(step.seed, task, count_of(task))) wanted.push_back(value);
      std::vector<T> got = c.all_gather<T>(mine(count_of(own)));
      require_equal(std::span<T>(got), wanted, "uneven all_gather");
      return std::nullopt;
    }
    case Call::all_to_all: {
      const auto values = std::make_shared<Memory<T>>(c, mine(step.count * members), lent);
      const auto got = std::make_shared<Memory<T>>(c, std::vector<T>(step.count * members), lent);
      std::vector<T> wanted;
      for (const int task : team.tasks) {
        const std::vector<T> theirs = values_of<T>(step.seed, task, step.count * members);
        const auto first = theirs.begin() + team.self * static_cast<std::ptrdiff_t>(step.count);
        wanted.insert(wanted.end(), first, first + static_cast<std::ptrdiff_t>(step.count));
      }
      return finish(c.start_all_to_all<T>(values->span(), got->span()),
                    [=] { static_cast<void>(values), require_equal(got->span(), wanted, "all_to_all"); });
    }
    case Call::broadcast: {
      const auto values = std::make_shared<Memory<T>>(c, mine(step.count), lent);
      const auto wanted = values_of<T>(step.seed, team.tasks[root], step.count);
      return finish(c.start_broadcast(values->span(), root),
                    [=] { require_equal(values->span(), wanted, "broadcast"); });
    }
    case Call::each: {
      const auto first = std::make_shared<std::vector<T>>(mine(step.count));
      const auto second = std::make_shared<std::vector<T>>(values_of<T>(step.seed + 1, own, 5));
      const std::vector<std::span<T>> spans = {*first, *second};
      return finish(c.start_all_reduce_each<T>(spans, step.reduce),
                    [=, a = folded<T>(step.seed, team, step.count, step.reduce),
                     b = folded<T>(step.seed + 1, team, 5, step.reduce)] {
                      require_equal(std::span<T>(*first), a, "all_reduce_each");
                      require_equal(std::span<T>(*second), b, "all_reduce_each");
                    });
    }
    case Call::pair: {
      const int other = step.other % static_cast<int>(members);
      if (other == root || (team.self != root && team.self != other)) return std::nullopt;
      const auto values = std::make_shared<Memory<T>>(c, mine(step.count), lent);
      if (team.self == root) return finish(c.start_send<T>(values->span(), other), [values] {});
      const auto wanted = values_of<T>(step.seed, team.tasks[root], step.count);
      return finish(c.start_receive(values->span(), root), [=] { require_equal(values->span(), wanted, "receive"); });
    }
    case Call::barrier:
    case Call::last:
      team.barrier();
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Pending> make_of_dtype(const Step& step, const Team& team, bool lent) {
  switch (step.dtype) {
    case 0:
      return make<float>(step, team, lent);
    case 1:
      return make<double>(step, team, lent);
    case 2:
      return make<std::int32_t>(step, team, lent);
    case 3:
      return make<std::int64_t>(step, team, lent);
    default:
      return make<std::int16_t>(step, team, lent);
  }
}

void finish_one(std::vector<Pending>& pending, std::size_t at) {
  while (at % 2 == 0 && !pending[at].request.test()) std::this_thread::yield();
  pending[at].request.wait();
  pending[at].check();
  pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(at));
}

Team all_of(const Cluster& cluster) {
  Team team{.calls = &cluster, .barrier = [&cluster] { cluster.barrier(); }, .tasks = {}, .self = cluster.rank()};
  for (int task = 0; task < cluster.size(); ++task) team.tasks.push_back(task);
  return team;
}

/// The group of this task, checked.
Team team_of(const Group& group, const std::vector<int>& colors, const std::vector<int>& keys, int self) {
  Team team{.calls = &group, .barrier = [&group] { group.barrier(); }, .tasks = {}, .self = group.rank()};
  for (std::size_t task = 0; task < colors.size(); ++task)
    if (colors[task] == colors[self]) team.tasks.push_back(static_cast<int>(task));
  std::ranges::stable_sort(team.tasks, {}, [&](int task) { return keys[task]; });
  if (!std::ranges::equal(group.tasks(), team.tasks) || team.tasks[group.rank()] != self ||
      group.size() != static_cast<int>(team.tasks.size()))
    throw Wrong{"split makes another group"};
  return team;
}

/// A sequence of calls of all tasks and of groups.
void run_sequence(const Cluster& cluster, std::uint64_t number) {
  constexpr std::size_t kMostPending = 6;
  Dice shared(number), own(number * 64 + static_cast<std::uint64_t>(cluster.rank()) + 1);
  const Team all = all_of(cluster);
  std::vector<int> colors, keys;
  for (int task = 0; task < cluster.size(); ++task) {
    colors.push_back(shared.below(2));
    keys.push_back(shared.below(3));
  }
  const auto self = static_cast<std::size_t>(cluster.rank());
  const Group group = cluster.split(colors[self], keys[self]);
  const Team team = team_of(group, colors, keys, cluster.rank());
  std::vector<Pending> pending;
  for (int left = 3 + shared.below(8); left > 0; --left) {
    const Step step = random_step(shared);
    auto started = make_of_dtype(step, step.in_group ? team : all, own.one_in(3));
    if (started) pending.push_back(std::move(*started));
    while (pending.size() > kMostPending || (!pending.empty() && own.one_in(4)))
      finish_one(pending, own.below(pending.size()));
  }
  while (!pending.empty()) finish_one(pending, own.below(pending.size()));
}

/// One task makes another call than the others, who do not take it for the one that they make.
void run_unlike(const Cluster& cluster, std::uint64_t number) {
  Dice shared(number);
  const Team all = all_of(cluster);
  const int odd = shared.below(cluster.size()), at = shared.below(5), kind = shared.below(7);
  std::vector<Pending> pending;
  for (int i = 0; i < 5; ++i) {
    Step step = random_step(shared);
    if (i == at || step.call == Call::pair) step.call = Call::all_reduce;
    Step next = random_step(shared);
    if (cluster.rank() == odd && i == at) {
      if (kind == 0) ++step.count;
      if (kind == 1) step.dtype = (step.dtype + 1) % 5;
      if (kind == 2) step.reduce = step.reduce == Reduce::sum ? Reduce::max : Reduce::sum;
      if (kind == 3) step.call = Call::broadcast;
      if (kind == 4) step.call = Call::all_gather;
      if (kind == 5) step.call = Call::each, step.count += 3;
      if (kind == 6) return;
    }
    auto started = make_of_dtype(step, all, false);
    if (started) pending.push_back(std::move(*started));
    if (!pending.empty() && shared.one_in(3)) finish_one(pending, 0);
    static_cast<void>(next);
  }
  while (!pending.empty()) finish_one(pending, 0);
  cluster.barrier();
}

// ---- Jobs ----

using Body = std::function<void(const Cluster&)>;

/// Runs `body` on tasks that are threads.
void on_threads(const std::string& transport, int tasks, Duration deadline, const Body& body) {
  const std::string secret = "what the tasks of a test know";
  const RendezvousServer server({.tasks = tasks, .secret = secret});
  auto ends = inproc_transports(tasks);
  test::run_tasks(tasks, [&](int task) {
    std::unique_ptr<Transport> end = std::move(ends[task]);
    if (transport == "shm") end = shared_memory_transport(std::move(end), 1, std::chrono::seconds(20));
    if (transport == "tcp") {
      end->close();
      end = tcp_transport({.task = task,
                           .tasks = tasks,
                           .address = server.address(),
                           .port = server.port(),
                           .served = true,
                           .secret = secret});
    }
    std::vector<std::unique_ptr<Transport>> local;
    local.push_back(std::move(end));
    ClusterOptions options{.threads = 1, .jobs = ""};
    options.deadline = std::chrono::duration_cast<std::chrono::milliseconds>(deadline);
    body(Cluster::over(std::move(local), std::move(options)));
  });
  log_task(-1);
}

int complain(const std::string& what) {
  std::cout << what << std::endl;
  return 1;
}

int run_sequences(const std::string& transport, std::uint64_t first, std::uint64_t count) {
  constexpr std::uint64_t kPerJob = 25;
  for (std::uint64_t begin = first; begin < first + count; begin += kPerJob) {
    std::uint64_t number = begin;
    try {
      on_threads(transport, 1 + static_cast<int>(begin / kPerJob % 5), std::chrono::seconds(30), [&](const Cluster& c) {
        for (std::uint64_t n = begin; n < std::min(begin + kPerJob, first + count); ++n) {
          if (c.rank() == 0) number = n;
          run_sequence(c, n);
        }
      });
    } catch (const Wrong& wrong) {
      return complain(transport + ", sequence " + std::to_string(number) + ": " + wrong.what);
    } catch (const Error& error) {
      return complain(transport + ", sequence " + std::to_string(number) + ": " + error.text());
    }
  }
  return 0;
}

/// Whether the error names the calls of two tasks, or a task that has left.
bool names_both(const std::string& text) {
  const std::string file = "direct_calls.cpp:";
  const auto first = text.find(file);
  const bool two = first != std::string::npos && text.find(file, first + 1) != std::string::npos;
  const auto says = [&](const char* what) { return text.find(what) != std::string::npos; };
  return two || (first != std::string::npos && (says("has left the job") || says("has finished")));
}

int run_unlikes(const std::string& transport, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t number = first; number < first + count; ++number) {
    const int tasks = 2 + static_cast<int>(number % 4);
    std::vector<std::string> said(static_cast<std::size_t>(tasks));
    try {
      on_threads(transport, tasks, std::chrono::seconds(3), [&](const Cluster& cluster) {
        try {
          run_unlike(cluster, number);
        } catch (const Error& error) {
          said[cluster.rank()] = error.text();
        }
      });
    } catch (const Wrong& wrong) {
      return complain(transport + ", unlike " + std::to_string(number) + ": " + wrong.what);
    }
    const auto named = std::ranges::count_if(said, names_both), silent = std::ranges::count(said, "");
    if (named + silent == tasks && silent <= 1) continue;
    for (const std::string& text : said) std::cout << "- " << text << std::endl;
    return complain(transport + ", unlike " + std::to_string(number) + " is not named");
  }
  return 0;
}

// ---- Processes under mpirun ----

std::int64_t resident_pages() {
  std::ifstream file("/proc/self/statm");
  std::int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident;
}

/// Calls of 1,000 sizes again and again: after the first tenth memory must not grow.
int check_memory(const Cluster& cluster, std::int64_t calls) {
  constexpr std::int64_t kMostGrowth = 2048;  // pages
  std::vector<float> values(40'000);
  std::int64_t before = 0;
  for (std::int64_t i = 0; i < calls; ++i) {
    if (i == calls / 10) before = resident_pages();
    cluster.all_reduce(std::span<float>(values).first(static_cast<std::size_t>(i * 37 % 1000 * 40)), Reduce::max);
  }
  const std::int64_t growth = resident_pages() - before;
  return growth <= kMostGrowth ? 0 : complain("memory grows by " + std::to_string(growth) + " pages");
}

int run_in_process(const std::string& what, std::uint64_t first, std::uint64_t count) {
  const Cluster cluster = Cluster::connect(ClusterOptions{.threads = 1, .transport = "mpi", .jobs = ""});
  if (what == "memory") return check_memory(cluster, static_cast<std::int64_t>(count));
  try {
    for (std::uint64_t n = first; n < first + count; ++n) run_sequence(cluster, n);
  } catch (const Wrong& wrong) {
    complain("mpi: " + wrong.what);
    std::_Exit(1);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string what = argv[1];
  const std::uint64_t first = std::strtoull(argv[2], nullptr, 10), count = std::strtoull(argv[3], nullptr, 10);
  if (what == "mpi" || what == "memory") return run_in_process(what, first, count);
  const std::string unlike = "unlike.";
  if (what.starts_with(unlike)) return run_unlikes(what.substr(unlike.size()), first, count);
  return run_sequences(what, first, count);
}
