#include "executor/run/walker.hpp"

#include <algorithm>
#include <cstring>

#include "base/system/interrupt.hpp"
#include "executor/observe/flight_recorder.hpp"
#include "executor/observe/trace.hpp"
#include "executor/observe/work_timer.hpp"
#include "executor/run/messages.hpp"

namespace ferry {
namespace {

bool truth(const Resolved& r) {
  return *reinterpret_cast<const bool*>(r.input);
}

}  // namespace

void Walker::begin() {
  moved_ = {};
  loops_ = 0;
  std::fill(region_runs_.begin(), region_runs_.end(), 0);
}

void Walker::run(RegionId region) {
  run_reported([&] { walk(region); });
}

void Walker::run_packing(std::uint32_t count) {
  const auto setup = static_cast<std::uint32_t>(resolved_.list(0, thread_).size());
  run_reported([&] { walk_part(0, {setup - count, count}); });
}

/// Calls `instructions`, which runs instructions, and reports failures to the Cancellation.
template <class F>
void Walker::run_reported(const F& instructions) {
  try {
    shared_.cancellation.check_must_end();
    instructions();
  } catch (const Stopped&) {
  } catch (const OtherRun& other) {
    shared_.cancellation.fail(other.error);
  } catch (const FailedMember& failed) {
    fail(failed.thrown, *failed.member);
  } catch (const FailedWork& failed) {
    fail(failed);
  } catch (const Error& error) {
    const Code code = error.code();
    const bool told =
        code == Code::peer_lost || code == Code::stalled || code == Code::bug || code == Code::interrupted;
    told ? shared_.cancellation.fail(error) : fail(std::current_exception(), *current().plan);
  } catch (...) {
    fail(std::current_exception(), *current().plan);
  }
  at(nullptr);
}

/// Reports work that failed on a device. The work's tag is its instruction, which need not be the current one.
void Walker::fail(const FailedWork& failed) {
  const Instruction& instruction =
      failed.tag() != nullptr ? *static_cast<const Instruction*>(failed.tag()) : *current().plan;
  fail(failed.input() >= 0 ? std::make_exception_ptr(BadValue(static_cast<std::size_t>(failed.input()), failed.text()))
                           : std::current_exception(),
       instruction);
}

/// Reports an exception of a kernel.
void Walker::fail(const std::exception_ptr& thrown, const Instruction& instruction) {
  const Plan& plan = resolved_.plan();
  const int task = resolved_.task();
  const Error error = error_of_kernel(thrown, plan, instruction, task, shared_.kernels);
  shared_.cancellation.fail(located(error, plan, instruction, task));
}

void Walker::walk(RegionId region, std::uint32_t list) {
  ++region_runs_[region];
  if (shared_.queues != nullptr) return walk_queues(region);
  if (region == 1 && shared_.turns != nullptr) [[unlikely]]
    return serve();
  walk_part(list, {0, static_cast<std::uint32_t>(resolved_.list(list, thread_).size())});
}

void Walker::walk_part(std::uint32_t list, Range part) {
  const bool timed = shared_.timer != nullptr && shared_.timer->reads(thread_);
  if (timed || shared_.trace != nullptr || shared_.checks != nullptr || shared_.recorder != nullptr) [[unlikely]]
    return walk_watched(list, part);
  Resolved* r = resolved_.list(list, thread_).data() + part.first;
  for (const ShortForm& short_form : resolved_.short_form(list, thread_).subspan(part.first, part.count)) {
    at(r);
    if (short_form.kernel != nullptr) [[likely]]
      short_form.kernel(*short_form.run);
    else
      execute(*r);
    ++r;
  }
}

/// Waits until the next turn can be run. Returns nothing if nothing is left to do, because the workers that were behind
/// are lost.
std::optional<TurnOrder::Turn> Walker::await(TurnOrder& order) {
  std::optional<TurnOrder::Turn> turn = order.next();
  if (turn || order.complete()) return turn;
  WorkTimer* const timer = shared_.timer != nullptr && shared_.timer->reads(thread_) ? shared_.timer : nullptr;
  const WorkTimer::Reading before = timer != nullptr ? WorkTimer::Reading::now() : WorkTimer::Reading();
  const Resolved& awaited = order.awaited();
  at(&awaited);
  shared_.waiting.until([&] { return (turn = order.next()).has_value() || order.complete(); }, awaited);
  if (timer != nullptr) timer->add(thread_, *awaited.plan, before);
  return turn;
}

/// Runs a step of a task that serves workers: the turns run in the order in which workers are ready.
[[gnu::noinline]] void Walker::serve() {
  TurnOrder& order = *shared_.turns;
  const auto& turns = resolved_.plan().class_for(resolved_.task()).serving.turns;
  const std::uint32_t first = turns.front().give.first, end = turns.back().take.first + turns.back().take.count;
  at(resolved_.list(1, thread_).data());
  walk_part(1, {0, first});
  while (!order.end_step()) {
    const std::optional<TurnOrder::Turn> turn = await(order);
    if (!turn) continue;
    for (const Resolved& r : order.received(*turn)) {
      ++moved_.received_messages;
      moved_.received_bytes += static_cast<std::int64_t>(r.bytes);
    }
    walk_part(1, order.instructions(*turn));
    order.done(*turn);
  }
  walk_part(1, {end, static_cast<std::uint32_t>(resolved_.list(1, thread_).size()) - end});
}

void Walker::walk_watched(std::uint32_t list, Range part) {
  NumberChecks* const checks = shared_.checks;
  Trace* const trace = shared_.trace;
  WorkTimer* const timer = shared_.timer != nullptr && shared_.timer->reads(thread_) ? shared_.timer : nullptr;
  for (Resolved& r : resolved_.list(list, thread_).subspan(part.first, part.count)) {
    at(&r);
    if (shared_.recorder != nullptr) shared_.recorder->begins(thread_, *r.plan);
    const bool waits = (r.flags & Resolved::kWaits) != 0;
    const TimePoint due = trace != nullptr ? system_clock().now() : TimePoint();
    if ((checks != nullptr || timer != nullptr || trace != nullptr) && waits) await(r);
    const NonFiniteInputs given = checks != nullptr ? checks->check_inputs(r) : NonFiniteInputs();
    const TimePoint begin = trace != nullptr && (waits || checks != nullptr) ? system_clock().now() : due;
    const WorkTimer::Reading before = timer != nullptr ? WorkTimer::Reading::now() : WorkTimer::Reading();
    execute(r);
    if (timer != nullptr) timer->add(thread_, *r.plan, before);
    if (trace != nullptr)
      trace->add(thread_, resolved_.plan(), shared_.plan_id, *r.plan, due, begin, system_clock().now());
    at(&r);
    if (checks != nullptr) checks->check_result(r, given);
  }
}

/// The walk for a task that uses queues of devices. It only submits their instructions; Queues adds them to a trace
/// when they are done. Work that is checked or traced is submitted one by one.
[[gnu::noinline]] void Walker::walk_queues(RegionId region) {
  NumberChecks* const checks = shared_.checks;
  Trace* const trace = shared_.trace;
  const PlanClass& role = resolved_.plan().class_for(resolved_.task());
  const std::span<Resolved> list = resolved_.list(region, thread_);
  if (list.empty()) return;
  at(list.data());
  if (region < 2) shared_.queues->begins(list.front(), shared_.waiting);
  const std::size_t untraced = shared_.queues->untraced();
  for (std::size_t next = 0; next < list.size(); ++next) {
    Resolved& r = list[next];
    at(&r);
    if (shared_.recorder != nullptr) shared_.recorder->begins(thread_, *r.plan);
    if (checks == nullptr && trace == nullptr)
      if (const std::size_t given = shared_.queues->give_captured(list.subspan(next), moved_); given > 0) {
        next += given - 1;
        continue;
      }
    const bool queued = role.on_queue(*r.plan);
    const TimePoint due = trace != nullptr ? system_clock().now() : TimePoint();
    if (!queued) shared_.queues->before(r, shared_.waiting);
    const NonFiniteInputs given = checks != nullptr && !queued ? checks->check_inputs(r) : NonFiniteInputs();
    const TimePoint begin = trace != nullptr ? system_clock().now() : TimePoint();
    if (!queued)
      execute(r);
    else if (checks != nullptr)
      shared_.queues->give_checked(r, moved_, shared_.waiting, *checks);
    else
      shared_.queues->give(r, moved_, shared_.waiting);
    if (trace != nullptr && queued)
      trace->add_launch(resolved_.plan(), shared_.plan_id, *r.plan, begin, system_clock().now());
    else if (trace != nullptr)
      trace->add(thread_, resolved_.plan(), shared_.plan_id, *r.plan, due, begin, system_clock().now());
    at(&r);
    if (checks != nullptr && !queued) checks->check_result(r, given);
  }
  shared_.queues->add_to_trace(untraced, list.back(), shared_.plan_id, shared_.waiting);
}

void Walker::execute(Resolved& r) {
  constexpr std::uint8_t kBesides = Resolved::kWaits | Resolved::kPoll | Resolved::kPublish;
  if ((r.flags & kBesides) == 0) [[likely]]
    return perform(r);
  if ((r.flags & Resolved::kWaits) != 0) {
    // The flag that `r` waits for and the inputs of `r` are on different cache lines: fetch them at the same time.
    if (r.run != nullptr)
      for (const Array& input : r.run->inputs) __builtin_prefetch(input.data);
    await(r);
  }
  perform(r);
  if ((r.flags & Resolved::kPoll) != 0 && !shared_.ledger.empty()) static_cast<void>(shared_.ledger.poll());
  if ((r.flags & Resolved::kPublish) != 0) {
    shared_.progress[thread_].done.store(r.count, std::memory_order_release);
    shared_.workers.notify();
  }
}

void Walker::perform(Resolved& r) {
  switch (r.what) {
    case Opcode::kernel:
      return run_kernel(r);
    case Opcode::tiles:
      if (r.epilogue != nullptr) return run_epilogue(r);
      if (r.link != nullptr) place_output(r);
      return r.tiles->run();
    case Opcode::stencil_begin:
      return r.stencil->run_inside();
    case Opcode::stencil:
      return r.stencil->run();
    case Opcode::copy:
      if (r.plan->swaps()) return;
      ++moved_.copies;
      if (r.input != r.output && r.bytes > 0) std::memcpy(r.output, r.input, r.bytes);
      return;
    case Opcode::send:
      return shared_.ledger.send(r, moved_);
    case Opcode::receive:
      return shared_.ledger.receive(r);
    case Opcode::send_wait:
      if (r.link->pending) shared_.waiting.until([&] { return shared_.ledger.arrived(*r.link); }, r);
      return;
    case Opcode::receive_wait:
      if ((r.flags & Resolved::kTaken) != 0)
        shared_.waiting.until([&] { return shared_.ledger.try_take(r); }, r);
      else
        shared_.waiting.until([&] { return shared_.ledger.arrived(*r.link); }, r);
      ++moved_.received_messages;
      moved_.received_bytes += static_cast<std::int64_t>(r.bytes);
      return;
    case Opcode::collective:
      return shared_.ledger.start_collective(r);
    case Opcode::collective_wait:
      shared_.waiting.until([&] { return shared_.ledger.arrived(*r.link); }, r);
      return Ledger::count_collective(*r.link, moved_);
    case Opcode::feed:
      return feed(r);
    case Opcode::fetch:
      return fetch(r);
    case Opcode::loop:
      return loop(r);
    case Opcode::branch:
      return walk(truth(r) ? r.region : r.other_region);
    case Opcode::join:
      return;
  }
}

/// Lets a kernel write its output directly into the receiver's memory, if the receiver is ready, so that the send after
/// it need not copy.
void Walker::place_output(const Resolved& r) {
  const std::uint64_t bytes = resolved_.plan().channels[r.link->channel].bytes;
  SharedMemory* const memory = shared_.transport.shared_memory();
  r.link->written = memory != nullptr ? memory->window(r.link->peer, r.link->channel, bytes) : nullptr;
  const bool stream = r.link->written != nullptr && bytes >= memory->stream_from(r.link->peer);
  if (r.tiles != nullptr) return r.tiles->place(r.member, r.link->written, stream);
  r.run->stream = stream;
  r.run->outputs[0].data = r.link->written != nullptr ? r.link->written : r.output;
}

void Walker::run_kernel(Resolved& r) {
  if (r.link != nullptr) place_output(r);
  for (const Extent& extent : r.extents) *extent.size = extent.output ? extent.bound : resolved_.extent_of(extent, r);
  r.kernel(*r.run);
  for (const Extent& extent : r.extents)
    if (extent.output) *extent.header = *extent.size;
}

void Walker::run_epilogue(const Resolved& r) {
  try {
    r.kernel(*r.run);
  } catch (const FailedMember&) {
    throw;
  } catch (...) {
    throw FailedMember{std::current_exception(), &r.epilogue->head()};
  }
}

[[gnu::noinline]] void Walker::loop(const Resolved& r) {
  std::int64_t& iteration = resolved_.iterations()[loops_++];
  if (shared_.queues != nullptr) shared_.queues->before_number_write(iteration);
  iteration = 0;
  if (loops_ == 1) watch_.begin();
  bool swapped = false;
  for (;;) {
    walk(r.region, swapped ? r.swaps->condition : r.region.number());
    if (shared_.queues != nullptr) shared_.queues->reads(r);
    if (!truth(r)) break;
    walk(r.other_region, swapped ? r.swaps->body : r.other_region.number());
    swapped = r.swaps != nullptr && !swapped;
    if (shared_.queues != nullptr) shared_.queues->before_number_write(iteration);
    ++iteration;
    if (watch_.due() || interrupt_requested() != 0) [[unlikely]]
      check_loop(r, iteration);
  }
  if (swapped)
    for (const LoopSwaps::Pair& pair : r.swaps->pairs) std::memcpy(pair.carried, pair.next, pair.bytes);
  --loops_;
}

/// Checks whether the loop must end early (another walker's failure, an interrupt, a lost task, the deadline).
/// Elsewhere waits check these, but a loop may never reach a wait.
[[gnu::noinline]] void Walker::check_loop(const Resolved& r, std::int64_t iteration) {
  const bool checks_job = watch_.check();
  shared_.cancellation.check_stopping();
  try {
    shared_.cancellation.check_must_end();
    if (checks_job && !shared_.ledger.poll()) shared_.transport.idle(std::chrono::microseconds(0));
  } catch (Error& error) {
    throw error.note("in " + iteration_text(resolved_.plan(), *r.plan, resolved_.task(), iteration));
  }
  if (const Duration since = watch_.since(); since >= shared_.waiting.deadline())
    throw endless_error(resolved_.plan(), *r.plan, resolved_.task(), iteration, since);
}

[[gnu::noinline]] void Walker::feed(const Resolved& r) {
  const Tensor& given = shared_.feeds[r.plan->feed()];
  const std::span<const std::byte> bytes = given.bytes();
  const bool bounded = !r.extents.empty();
  FERRY_ASSERT(bounded ? bytes.size() + kExtentBytes <= r.bytes : bytes.size() == r.bytes,
               "a feed has other bytes than its buffer");
  if (bounded) *r.extents[0].header = given.sizes()[0];
  if (!bytes.empty()) std::memcpy(bounded ? r.output + kExtentBytes : r.output, bytes.data(), bytes.size());
}

/// The sizes of a fetched value on this task.
const std::vector<std::int64_t>& Walker::sizes_here(const PlanPort& port, const Resolved& r) const {
  if (!port.by_parts()) return port.sizes;
  const PlanClass& role = resolved_.plan().class_for(resolved_.task());
  return role.buffers[role.operands[r.plan->inputs[0]]].sizes.vector();
}

/// Reuses the tensor of the previous step unless somebody else still holds it or it has another type.
[[gnu::noinline]] void Walker::fetch(const Resolved& r) {
  const PlanPort& port = resolved_.plan().fetches[r.plan->fetch()];
  const std::vector<std::int64_t>& here = sizes_here(port, r);
  Tensor& out = shared_.fetched[r.plan->fetch()];
  const bool bounded = !r.extents.empty();
  const bool fits = out.owners() == 1 && out.dtype() == port.dtype &&
                    (bounded ? std::equal(out.sizes().begin() + 1, out.sizes().end(), here.begin() + 1) &&
                                   out.sizes()[0] == resolved_.extent_of(r.extents[0], r)
                             : out.sizes() == here);
  if (!fits) {
    std::vector<std::int64_t> sizes = here;
    if (bounded) sizes[0] = resolved_.extent_of(r.extents[0], r);
    out = Tensor(port.dtype, std::move(sizes));
  }
  const std::span<std::byte> bytes = out.mutable_bytes();
  if (!bytes.empty()) std::memcpy(bytes.data(), bounded ? r.input + kExtentBytes : r.input, bytes.size());
}

/// Waits until other threads of this task have come as far as `r` needs.
void Walker::await(const Resolved& r) {
  const auto reached = [&] {
    return shared_.cancellation.stopping() || std::all_of(r.waits.begin(), r.waits.end(), [&](const Wait& wait) {
             return shared_.progress[wait.strand].done.load(std::memory_order_acquire) >= wait.count;
           });
  };
  if (thread_ == 0) {
    shared_.waiting.until(reached, r);
  } else if (!reached()) {
    awaits_.store(true, std::memory_order_relaxed);
    shared_.workers.wait(reached);
    awaits_.store(false, std::memory_order_relaxed);
  }
  shared_.cancellation.check_stopping();
}

}  // namespace ferry
