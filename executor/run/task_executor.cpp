#include "executor/run/task_executor.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

#include "base/files/files.hpp"
#include "base/system/interrupt.hpp"
#include "executor/observe/numerics.hpp"
#include "executor/observe/trace.hpp"
#include "executor/run/loop_watch.hpp"
#include "executor/run/messages.hpp"
#include "executor/run/resolved.hpp"
#include "kernels/kernel.hpp"

namespace ferry {
namespace {

/// How long walker 0 sleeps at most where another walker may want its help, and where only transfers can wake it: there
/// twice as long each time in vain, so that a thousand tasks that wait leave the cores to those that do not.
constexpr std::chrono::microseconds kShortIdle{50};
constexpr std::chrono::microseconds kLongIdle{2000}, kLongestIdle{50'000};

/// Who waits in vain gives a task that is in a loop so much longer, at most, to say so: its loop is the cause.
constexpr std::chrono::seconds kGrace{1};

/// Of the turns that are worth while before sleeping; and how often one pauses. Messages come between two looks, so
/// long pauses cost as much as short messages.
constexpr int kSpinShare = 4, kPauseEvery = 8;

/// Unwinds a walker whose task has failed in another one.
struct Stopped {};

/// How far a thread has come in this step, on a cache line of its own.
struct alignas(64) Progress {
  std::atomic<std::uint32_t> done{0};
};

}  // namespace

struct TaskExecutor::State {
  /// What one thread needs to walk its instructions.
  struct alignas(64) Walker {
    std::size_t thread = 0;
    const Resolved* current = nullptr;
    std::size_t loops = 0;  ///< around what it runs now
    LoopWatch watch;
    Traffic moved;
    std::vector<std::int64_t> region_runs;
  };

  State(const Plan& plan, int task, Transport& the_transport, Workers& the_workers,
        const std::function<std::byte*(std::string_view)>& variable, const ExecutorOptions& the_options)
      : kernels(the_options.kernels != nullptr ? *the_options.kernels : cpu_kernels()),
        resolved(plan, task,
                 {.transport = the_transport,
                  .parallel = the_workers,
                  .kernels = kernels,
                  .files = the_options.files != nullptr ? the_options.files : &local_files(),
                  .data_folder = the_options.data_folder,
                  .seed = the_options.seed,
                  .effects = the_options.effects,
                  .variable = variable}),
        transport(the_transport),
        workers(the_workers),
        deadline(the_options.deadline),
        trace(the_options.trace),
        plan_id(the_options.plan_id),
        checks(the_options.check_numerics),
        progress(resolved.threads()),
        walkers(resolved.threads()) {
    FERRY_ASSERT(resolved.threads() <= static_cast<std::size_t>(workers.threads()), "the plan has more threads");
    pending.reserve(resolved.links());
    for (std::size_t t = 0; t < walkers.size(); ++t) {
      walkers[t].thread = t;
      walkers[t].region_runs.resize(resolved.regions());
    }
  }

  const KernelTable& kernels;
  ResolvedPlan resolved;
  Transport& transport;
  Workers& workers;
  const Duration deadline;
  Trace* const trace;
  const std::uint64_t plan_id;
  const bool checks;  ///< of numbers

  std::int64_t step = 0;
  std::span<const Tensor> feeds;
  std::span<Tensor> fetched;
  bool set_up = false;
  std::uint32_t region = 0;  ///< that all threads walk
  std::vector<Progress> progress;
  std::vector<Walker> walkers;
  std::vector<Link*> pending;  ///< the ledger: transfers under way, oldest first; of walker 0
  bool in_collective = false;  ///< of walker 0
  std::unordered_map<const Link*, Given> given_to_collective;  ///< of walker 0, where numbers are checked
  Traffic measured;
  std::vector<std::int64_t> region_runs;
  std::atomic<bool> stopping{false};
  std::mutex failing;
  std::exception_ptr failure;
  const std::function<void(int)> on_walker = [this](int walker) {
    if (static_cast<std::size_t>(walker) < walkers.size()) run_walker(walkers[static_cast<std::size_t>(walker)]);
  };

  // ---- All threads ----

  void run(std::uint32_t which) {
    region = which;
    for (Walker& walker : walkers) {
      walker.moved = {};
      walker.loops = 0;
      std::fill(walker.region_runs.begin(), walker.region_runs.end(), 0);
    }
    if (resolved.links() > 0) workers.on_chunk([this] { poll_quietly(); });
    if (resolved.single()) {
      workers.run_alone([this] { run_walker(walkers[0]); });
    } else {
      for (Progress& p : progress) p.done.store(0, std::memory_order_relaxed);
      workers.run(on_walker);
    }
    if (resolved.links() > 0) workers.on_chunk({});
    if (failure) std::rethrow_exception(failure);
    measured = {};
    region_runs = walkers[0].region_runs;
    for (const Walker& walker : walkers) {
      measured += walker.moved;
      for (std::size_t r = 2; r < region_runs.size() && walker.thread > 0; ++r) region_runs[r] += walker.region_runs[r];
    }
  }

  void run_walker(Walker& walker) {
    try {
      check_asked();
      walk(walker, region);
    } catch (const Stopped&) {
    } catch (const FailedMember& failed) {
      fail(failed.thrown, *failed.member);
    } catch (const Error& error) {
      const Code code = error.code();
      const bool told =
          code == Code::peer_lost || code == Code::stalled || code == Code::bug || code == Code::interrupted;
      told ? fail(error) : fail(std::current_exception(), *walker.current->plan);
    } catch (...) {
      fail(std::current_exception(), *walker.current->plan);
    }
  }

  /// What a kernel threw.
  void fail(const std::exception_ptr& thrown, const Instruction& instruction) {
    const Plan& plan = resolved.plan();
    const int task = resolved.task();
    fail(located(error_of_kernel(thrown, plan, instruction, task, kernels), plan, instruction, task));
  }

  /// Throws when the run is to end.
  void check_asked() const {
    check_interrupt();
    if (workers.cancelled()) throw Error(Code::interrupted, "the session was destroyed during a run");
  }

  /// The first failure of the task counts; the other walkers stop at their next wait.
  void fail(const Error& error) {
    const std::lock_guard lock(failing);
    if (failure) return;
    failure = std::make_exception_ptr(error);
    stopping.store(true);
    workers.notify();
  }

  // ---- One thread ----

  void walk(Walker& walker, std::uint32_t which) {
    ++walker.region_runs[which];
    if (trace != nullptr || checks) [[unlikely]]
      return walk_watched(walker, which);
    Resolved* r = resolved.list(which, walker.thread).data();
    for (const Direct& direct : resolved.direct(which, walker.thread)) {
      walker.current = r;
      if (direct.kernel != nullptr) [[likely]]
        direct.kernel(*direct.run);
      else
        execute(walker, *r);
      ++r;
    }
  }

  void walk_watched(Walker& walker, std::uint32_t which) {
    for (Resolved& r : resolved.list(which, walker.thread)) {
      walker.current = &r;
      if (checks && (r.flags & Resolved::kWaits) != 0) await(walker, r);
      const Given given = checks ? given_to(r) : Given();
      const TimePoint begin = trace != nullptr ? system_clock().now() : TimePoint();
      execute(walker, r);
      if (trace != nullptr) trace->add(walker.thread, resolved.plan(), plan_id, *r.plan, begin, system_clock().now());
      walker.current = &r;
      if (checks) check_result(r, given);
    }
  }

  /// What comes from another task was looked at there; of a sum over tasks what this one gave.
  Given given_to(const Resolved& r) {
    Given given;
    for (const Extent& extent : r.extents)
      if (!extent.output) *extent.size = checked(extent, r);
    if (r.what == Opcode::kernel)
      for (const Array& input : r.run->inputs) given.add(not_finite(input.dtype, bytes_of(input)));
    if (r.what == Opcode::collective)
      given_to_collective[r.link].add(not_finite(dtype_of_collective(r), first_of(r.plan->inputs, r.input)));
    if (r.what == Opcode::collective_wait) given = std::exchange(given_to_collective[r.link], {});
    // An infinity that is fed, or that an op without inputs gives, is meant.
    given.infinite = given.infinite || r.what == Opcode::feed || (r.what == Opcode::kernel && r.run->inputs.empty());
    return given;
  }

  void check_result(const Resolved& r, const Given& given) const {
    if (r.what == Opcode::kernel)
      for (const Array& output : r.run->outputs) require_finite(given, not_finite(output.dtype, bytes_of(output)));
    if (r.what == Opcode::collective_wait)
      require_finite(given, not_finite(dtype_of_collective(r), first_of(r.plan->outputs, r.output)));
    if (r.what == Opcode::feed)
      require_finite(given, not_finite(resolved.plan().feeds[r.target].dtype, {r.output, r.bytes}));
  }

  void require_finite(const Given& given, const NotFinite& result) const {
    if (const std::string made = made_of(given, result); !made.empty())
      throw Error(Code::numeric, made + ", in step " + std::to_string(step) + " (counted from 0)");
  }

  /// None of an input of which only the sizes are used.
  static std::span<const std::byte> bytes_of(const Array& array) {
    if (array.data == nullptr) return {};
    return {array.data, static_cast<std::size_t>(array.count()) * size_of(array.dtype)};
  }
  /// The first operand, of those that are here.
  std::span<const std::byte> first_of(Range range, const std::byte* data) const {
    if (range.count == 0 || data == nullptr) return {};
    const PlanClass& role = resolved.plan().class_for(resolved.task());
    return {data, role.buffers[role.operands[range.begin]].bytes};
  }
  DType dtype_of_collective(const Resolved& r) const { return resolved.plan().collectives[r.plan->target].dtype; }

  void execute(Walker& walker, Resolved& r) {
    constexpr std::uint8_t kBesides = Resolved::kWaits | Resolved::kPoll | Resolved::kPublish;
    if ((r.flags & kBesides) == 0) [[likely]]
      return perform(walker, r);
    if ((r.flags & Resolved::kWaits) != 0) {
      // What it waits for is another line than what it reads: both come at once.
      if (r.run != nullptr)
        for (const Array& input : r.run->inputs) __builtin_prefetch(input.data);
      await(walker, r);
    }
    perform(walker, r);
    if ((r.flags & Resolved::kPoll) != 0 && !pending.empty()) static_cast<void>(poll());
    if ((r.flags & Resolved::kPublish) != 0) {
      progress[walker.thread].done.store(r.count, std::memory_order_release);
      workers.notify();
    }
  }

  void perform(Walker& walker, Resolved& r) {
    switch (r.what) {
      case Opcode::kernel:
        return run_kernel(r);
      case Opcode::tiles:
        if (r.epilogue != nullptr) return run_epilogue(r);
        if (r.link != nullptr) place_output(r);
        return r.tiles->run();
      case Opcode::copy:
        ++walker.moved.copies;
        if (r.input != r.output && r.bytes > 0) std::memcpy(r.output, r.input, r.bytes);
        return;
      case Opcode::send:
        return send(walker, r);
      case Opcode::receive:
        return receive(r);
      case Opcode::send_wait:
        if (r.link->pending) wait_for(r, [&] { return arrived(*r.link); });
        return;
      case Opcode::receive_wait:
        if ((r.flags & Resolved::kTaken) != 0)
          wait_for(r, [&] { return transport.take(r.link->peer, r.link->channel, {r.output, r.bytes}); });
        else
          wait_for(r, [&] { return arrived(*r.link); });
        ++walker.moved.received_messages;
        walker.moved.received_bytes += static_cast<std::int64_t>(r.bytes);
        return;
      case Opcode::collective:
        return start_collective(r);
      case Opcode::collective_wait:
        wait_for(r, [&] { return arrived(*r.link); });
        return count_collective(walker, *r.link);
      case Opcode::feed:
        return feed(r);
      case Opcode::fetch:
        return fetch(r);
      case Opcode::loop:
        return loop(walker, r);
      case Opcode::branch:
        return walk(walker, truth(r) ? r.target : r.other);
    }
  }

  /// Lets a kernel write its output where the send after it would copy it, if the receiver is ready.
  void place_output(const Resolved& r) {
    const std::uint64_t bytes = resolved.plan().channels[r.link->channel].bytes;
    r.link->written = transport.window(r.link->peer, r.link->channel, bytes);
    const bool stream = r.link->written != nullptr && bytes >= transport.stream_from(r.link->peer);
    if (r.tiles != nullptr) return r.tiles->place(r.member, r.link->written, stream);
    r.run->stream = stream;
    r.run->outputs[0].data = r.link->written != nullptr ? r.link->written : r.output;
  }

  void run_kernel(Resolved& r) {
    if (r.link != nullptr) place_output(r);
    for (const Extent& extent : r.extents) *extent.size = extent.output ? extent.bound : checked(extent, r);
    r.kernel(*r.run);
    for (const Extent& extent : r.extents)
      if (extent.output) *extent.header = *extent.size;
  }

  static void run_epilogue(const Resolved& r) {
    try {
      r.kernel(*r.run);
    } catch (const FailedMember&) {
      throw;
    } catch (...) {
      throw FailedMember{std::current_exception(), &r.epilogue->head()};
    }
  }

  std::int64_t checked(const Extent& extent, const Resolved& r) const {
    if (*extent.header >= 0 && *extent.header <= extent.bound) return *extent.header;
    throw Error(Code::bug, "the extent " + std::to_string(*extent.header) + " of an input of '" +
                               std::string(resolved.plan().string(r.plan->name)) + "' is out of its bound " +
                               std::to_string(extent.bound));
  }

  [[gnu::noinline]] void loop(Walker& walker, const Resolved& r) {
    std::int64_t& iteration = resolved.iterations(walker.thread)[walker.loops++];
    iteration = 0;
    if (walker.loops == 1) walker.watch.begin();
    for (;;) {
      walk(walker, r.target);
      if (!truth(r)) break;
      walk(walker, r.other);
      ++iteration;
      if (walker.watch.due() || interrupt_requested() != 0) [[unlikely]]
        look_up(walker, r, iteration);
    }
    --walker.loops;
  }

  /// A loop need not wait for anything, so it looks by itself whether it is to go on.
  [[gnu::noinline]] void look_up(Walker& walker, const Resolved& r, std::int64_t iteration) {
    const bool around = walker.watch.look();
    if (stopping.load()) throw Stopped();
    try {
      check_asked();
      if (around && !poll()) transport.idle(std::chrono::microseconds(0));
    } catch (Error& error) {
      throw error.note("in " + iteration_text(resolved.plan(), *r.plan, resolved.task(), iteration));
    }
    if (const Duration since = walker.watch.since(); since >= deadline)
      throw endless_error(resolved.plan(), *r.plan, resolved.task(), iteration, since);
  }

  static bool truth(const Resolved& r) { return *reinterpret_cast<const bool*>(r.input); }

  [[gnu::noinline]] void feed(const Resolved& r) {
    const std::span<const std::byte> bytes = feeds[r.target].bytes();
    FERRY_ASSERT(bytes.size() == r.bytes, "a feed has other bytes than its buffer");
    if (!bytes.empty()) std::memcpy(r.output, bytes.data(), bytes.size());
  }

  /// Into the tensor of the step before, unless somebody has kept that.
  [[gnu::noinline]] void fetch(const Resolved& r) {
    const PlanPort& port = resolved.plan().fetches[r.target];
    Tensor& out = fetched[r.target];
    const bool bounded = !r.extents.empty();
    const bool fits = out.owners() == 1 && out.dtype() == port.dtype &&
                      (bounded ? std::equal(out.sizes().begin() + 1, out.sizes().end(), port.sizes.begin() + 1) &&
                                     out.sizes()[0] == checked(r.extents[0], r)
                               : out.sizes() == port.sizes);
    if (!fits) {
      std::vector<std::int64_t> sizes = port.sizes;
      if (bounded) sizes[0] = checked(r.extents[0], r);
      out = Tensor(port.dtype, std::move(sizes));
    }
    const std::span<std::byte> bytes = out.mutable_bytes();
    if (!bytes.empty()) std::memcpy(bytes.data(), bounded ? r.input + kExtentBytes : r.input, bytes.size());
  }

  // ---- Messages: walker 0 ----

  void send(Walker& walker, const Resolved& r) {
    const std::byte* bytes = r.link->written != nullptr ? std::exchange(r.link->written, nullptr) : r.input;
    start(r, transport.send(r.link->peer, r.link->channel, {bytes, r.bytes}));
    ++walker.moved.sent_messages;
    walker.moved.sent_bytes += static_cast<std::int64_t>(r.bytes);
  }

  void receive(const Resolved& r) {
    if ((r.flags & Resolved::kTaken) != 0) return;
    start(r, transport.receive(r.link->peer, r.link->channel, {r.output, r.bytes}));
  }

  void start(const Resolved& r, Ticket ticket) {
    FERRY_ASSERT(!r.link->pending, "a channel is used again before its wait");
    if (ticket == kComplete) return;
    r.link->ticket = ticket;
    expect(r);
  }

  void start_collective(const Resolved& r) {
    FERRY_ASSERT(!r.link->pending, "a collective is started again before its wait");
    r.link->before = r.link->call->moved();
    r.link->call->start();
    if (!move_on(*r.link->call)) expect(r);
  }

  /// Its folds are split into chunks, between which nothing is polled: that would begin them again.
  bool move_on(GroupCall& call) {
    const struct Folding {
      explicit Folding(bool& now) : now(now) { now = true; }
      ~Folding() { now = false; }
      bool& now;
    } folding(in_collective);
    return call.progress();
  }

  /// Enters what was started into the ledger.
  void expect(const Resolved& r) {
    r.link->pending = true;
    r.link->since = r.plan;
    pending.push_back(r.link);
  }

  bool arrived(Link& link) {
    if (!link.pending) return true;
    if (!(link.call != nullptr ? move_on(*link.call) : transport.done(link.ticket))) return false;
    link.pending = false;
    pending.erase(std::find(pending.begin(), pending.end(), &link));
    return true;
  }

  /// Moves all transfers on; true when one has arrived.
  bool poll() {
    const std::size_t before = pending.size();
    for (std::size_t i = 0; i < pending.size();)
      if (!arrived(*pending[i])) ++i;
    return pending.size() != before;
  }

  /// Between chunks of a kernel, which is not to be disturbed: an error shows again at the next wait.
  void poll_quietly() noexcept {
    if (in_collective) return;
    try {
      static_cast<void>(poll());
    } catch (const std::exception&) {
    }
  }

  static void count_collective(Walker& walker, const Link& link) {
    const GroupCount& before = link.before;
    const GroupCount& after = link.call->moved();
    walker.moved.sent_messages += after.sent_messages - before.sent_messages;
    walker.moved.sent_bytes += after.sent_bytes - before.sent_bytes;
    walker.moved.received_messages += after.received_messages - before.received_messages;
    walker.moved.received_bytes += after.received_bytes - before.received_bytes;
  }

  // ---- Waiting ----

  /// Until other threads of this task have come far enough.
  void await(const Walker& walker, const Resolved& r) {
    const auto reached = [&] {
      return stopping.load() || std::all_of(r.waits.begin(), r.waits.end(), [&](const Wait& wait) {
               return progress[wait.thread].done.load(std::memory_order_acquire) >= wait.count;
             });
    };
    if (walker.thread == 0) {
      wait_for(r, reached);
    } else {
      workers.wait(reached);
    }
    if (stopping.load()) throw Stopped();
  }

  /// Spins a little, helping other walkers, then sleeps as the transport can. Error(stalled) when nothing has arrived
  /// for the deadline.
  template <class Ready>
  void wait_for(const Resolved& r, const Ready& ready) {
    if (!ready()) wait_longer(r, ready);
  }

  template <class Ready>
  [[gnu::noinline]] void wait_longer(const Resolved& r, const Ready& ready) {
    const auto spin = [&] { return workers.spin(ready, workers.spins() / kSpinShare, kPauseEvery); };
    if (spin()) return;
    const Duration patience = deadline + std::min<Duration>(deadline / 8, kGrace);
    TimePoint last = system_clock().now();
    std::chrono::microseconds nap = resolved.single() ? kLongIdle : kShortIdle;
    const std::chrono::microseconds longest = resolved.single() ? kLongestIdle : kShortIdle;
    while (!ready()) {
      if (stopping.load()) throw Stopped();
      const bool helped = workers.help();
      if (helped && spin()) return;
      if (helped || poll()) {
        last = system_clock().now();
        continue;
      }
      check_asked();
      if (system_clock().now() - last >= patience) throw verdict(r, system_clock().now() - last);
      transport.idle(nap);
      nap = std::min(2 * nap, longest);
    }
  }

  Error verdict(const Resolved& r, Duration waited) const {
    std::vector<std::string> others;
    for (const Link* link : pending)
      if (link != r.link) others.push_back(pending_text(resolved.plan(), *link->since, resolved.task()));
    return stalled_error(resolved.plan(), *r.plan, resolved.task(), waited, others);
  }
};

TaskExecutor::TaskExecutor(const Plan& plan, int task, Transport& transport, Workers& workers,
                           const std::function<std::byte*(std::string_view)>& variable, const ExecutorOptions& options)
    : state_(std::make_unique<State>(plan, task, transport, workers, variable, options)) {}

TaskExecutor::~TaskExecutor() = default;

void TaskExecutor::step(std::int64_t step, std::span<const Tensor> feeds, std::span<Tensor> fetched) {
  state_->resolved.begin_step(step);
  state_->step = step;
  state_->feeds = feeds;
  state_->fetched = fetched;
  if (!std::exchange(state_->set_up, true)) state_->run(0);
  state_->run(1);
}

const Traffic& TaskExecutor::measured() const {
  return state_->measured;
}

std::span<const std::int64_t> TaskExecutor::region_runs() const {
  return state_->region_runs;
}

std::uint64_t TaskExecutor::arena_bytes() const {
  return state_->resolved.arena_bytes();
}

}  // namespace ferry
