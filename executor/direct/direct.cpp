#include "executor/direct/direct.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <new>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "comm/failure.hpp"
#include "executor/job/job_state.hpp"
#include "kernels/kernel.hpp"

namespace ferry {
namespace {

using DirectOp = DirectCall::Op;

// The channels of a group: the first four have fixed uses, the others belong to prepared calls.
constexpr std::uint32_t kChannels = 1024, kCompareChannel = 0, kFirstPreparedChannel = 4;
constexpr std::int64_t kKeptAtLeast = 16 << 10;  // bytes counted for a prepared call besides its buffers
constexpr std::size_t kNamedTasks = 8;
constexpr std::int64_t kCarried = 48;  // bytes that a message carries itself, so that a small output needs no `bounce`

/// SplitMix64's finalizer (Steele, Lea, Flood 2014).
constexpr std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

std::string_view name_of(DirectOp op) {
  constexpr std::array<std::string_view, 8> kNames = {"all_reduce", "reduce_scatter", "all_gather", "all_to_all",
                                                      "broadcast",  "barrier",        "all_gather", "split"};
  return kNames[static_cast<std::size_t>(op)];
}

CollectiveKind kind_of(DirectOp op) {
  switch (op) {
    case DirectOp::all_reduce:
    case DirectOp::barrier:
      return CollectiveKind::all_reduce;
    case DirectOp::reduce_scatter:
      return CollectiveKind::reduce_scatter;
    case DirectOp::all_to_all:
      return CollectiveKind::all_to_all;
    case DirectOp::broadcast:
      return CollectiveKind::broadcast;
    case DirectOp::all_gather:
    case DirectOp::sizes:
    case DirectOp::split:
      return CollectiveKind::all_gather;
  }
  return CollectiveKind::all_reduce;
}

bool folds(DirectOp op) {
  return op == DirectOp::all_reduce || op == DirectOp::reduce_scatter;
}

Error wrong(const DirectCall& call, const std::string& what) {
  return Error(Code::usage, std::string(name_of(call.op)) + ": " + what);
}

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::less<> before;
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

std::vector<std::int64_t> even_parts(std::int64_t elements, std::int64_t members) {
  std::vector<std::int64_t> parts;
  for (std::int64_t i = 0; i < members; ++i) parts.push_back(part_of(elements, members, i).size);
  return parts;
}

std::string text_of(const DirectKey& key, const DirectGroup& group, std::uint64_t number) {
  std::string text(name_of(key.op));
  if (key.op != DirectOp::barrier && key.op != DirectOp::split)
    text += " of " + std::string(name_of(key.dtype)) + "[" + std::to_string(key.elements) + "]";
  if (key.op == DirectOp::sizes) text = "all_gather of any number of values";
  if (key.op == DirectOp::all_reduce && key.sizes != 0)
    text += " in spans; their number and sizes are the same on all tasks";
  if (folds(key.op)) text += " (" + std::string(name_of(key.reduce)) + ")";
  if (key.op == DirectOp::broadcast) text += " from task " + std::to_string(key.root);
  if (group.id() != 0 && group.tasks().size() <= kNamedTasks) text += " of " + tasks_text(group.tasks());
  return text + ", call " + std::to_string(number + 1);
}

/// A collective call.
class CollectiveRun final : public DirectRun {
 public:
  CollectiveRun(const DirectGroup& group, const source_location& at, PreparedCall& call, const DirectKey& key,
                std::uint64_t number)
      : DirectRun(group, at),
        group_(group),
        call_(call),
        key_(key),
        number_(number),
        stamp_(mixed(call.hash ^ group.call_key(number))) {}

  /// Sets the caller's memory.
  void use(const std::byte* input, std::byte* output) {
    input_ = input;
    output_ = output;
  }
  /// Sets spans of the caller instead. The run copies their values to `memory`, one span after another, and back.
  void use(std::vector<std::span<std::byte>> pieces, std::shared_ptr<std::byte> memory) {
    use(memory.get(), memory.get());
    pieces_ = std::move(pieces);
    memory_ = std::move(memory);
  }
  /// Keeps the prepared call for a run that may last longer than the group keeps the call.
  void keep(std::shared_ptr<PreparedCall> call) { kept_ = std::move(call); }

  bool progress() override {
    if (!begun_ && !begin()) return false;
    if (!call_.call->progress()) return false;
    finish();
    return true;
  }

  Awaited awaited() const override {
    const auto& tasks = group_.tasks();
    Awaited awaited{.text = text_of(key_, group_, number_) + ", at " + line(),
                    .collective_key = stamp_,
                    .tasks = {},
                    .call_key = group_.call_key(number_)};
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const auto member = static_cast<int>(i);
      const bool needed = key_.op != DirectOp::broadcast || group_.member() == key_.root || member == key_.root;
      if (member != group_.member() && needed) awaited.tasks.push_back(tasks[i]);
    }
    return awaited;
  }

  Queue queue() const override { return {.number = call_.channel}; }

 private:
  [[nodiscard]] bool begin() {
    if (!call_.agreed && !check_agreement()) return false;
    std::byte* at = memory_.get();
    for (const std::span<std::byte>& piece : pieces_) {
      if (!piece.empty()) std::memcpy(at, piece.data(), piece.size());
      at += piece.size();
    }
    GroupRun run{.input = input_, .output = output_, .stamp = stamp_};
    if (!call_.bounce.empty() && call_.output > 0 && !transport().shared_memory()->lend({output_, call_.output})) {
      run.output = call_.bounce.data();
      if (call_.schedule.in_place) {
        std::memcpy(run.output, input_, call_.input);
        run.input = run.output;
      }
      bounces_ = true;
    }
    call_.call->start(run);
    return begun_ = true;
  }

  /// Whether all tasks have prepared the same call.
  [[nodiscard]] bool check_agreement() {
    if (!call_.tickets.done(transport())) return false;
    return call_.agreed =
               std::ranges::all_of(call_.other_hashes, [this](std::uint64_t hash) { return hash == call_.hash; });
  }

  void finish() {
    if (bounces_) std::memcpy(output_, call_.bounce.data(), call_.output);
    const std::byte* at = memory_.get();
    for (const std::span<std::byte>& piece : pieces_) {
      if (!piece.empty()) std::memcpy(piece.data(), at, piece.size());
      at += piece.size();
    }
  }

  [[nodiscard]] Transport& transport() const { return group_.job().transport(); }

  const DirectGroup& group_;
  PreparedCall& call_;
  std::shared_ptr<PreparedCall> kept_;
  const DirectKey key_;
  const std::uint64_t number_;  // of the call, among the group's calls
  const std::uint64_t stamp_;
  const std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
  std::vector<std::span<std::byte>> pieces_;
  std::shared_ptr<std::byte> memory_;
  bool begun_ = false, bounces_ = false;
};

}  // namespace

std::uint64_t DirectKey::hash() const {
  const auto small = static_cast<std::uint64_t>(op) | static_cast<std::uint64_t>(dtype) << 8U |
                     static_cast<std::uint64_t>(reduce) << 16U | static_cast<std::uint64_t>(root) << 24U;
  return mixed(mixed(small + 1) ^ static_cast<std::uint64_t>(elements) ^ sizes);
}

std::shared_ptr<std::byte> CopyMemory::take(std::size_t bytes, Transport& transport) {
  constexpr std::size_t kBlocks = 16;
  const auto found = std::ranges::find_if(*free_, [&](const Block& block) { return block.bytes == bytes; });
  Block block;
  if (found != free_->end()) {
    block = std::move(*found);
    free_->erase(found);
  } else {
    block = {bytes, transport.memory(bytes, "a direct call")};
    if (!block.memory)
      block.memory = std::shared_ptr<std::byte>(new std::byte[bytes], std::default_delete<std::byte[]>());
  }
  std::byte* const at = block.memory.get();
  return {at, [free = free_, block = std::move(block)](std::byte*) {
            if (free->size() >= kBlocks) free->erase(free->begin());
            free->push_back(block);
          }};
}

DirectGroup::DirectGroup(DirectJob& job, int id, std::vector<std::int32_t> tasks, int member)
    : CallGroup(id), job_(job), tasks_(std::move(tasks)), member_(member) {}

/// In a child of fork(), leaks the prepared calls, because the parent process still uses their memory.
DirectGroup::~DirectGroup() {
  if (job_.state().in_own_process()) return;
  for (auto& [key, call] : prepared_) static_cast<void>(new std::shared_ptr<PreparedCall>(std::move(call)));
}

std::uint32_t DirectGroup::channel(std::uint32_t number) const {
  return kFirstDirectChannel + static_cast<std::uint32_t>(id()) * kChannels + number;
}

std::uint64_t DirectGroup::call_key(std::uint64_t call) const {
  return mixed((static_cast<std::uint64_t>(id()) << 32U) + static_cast<std::uint64_t>(tasks_[0]) + 1) +
         call * 0x9e3779b97f4a7c15U;
}

void DirectGroup::begin() {
  job_.require_usable();
  if (generation_ == job_.generation()) return;
  generation_ = job_.generation();
  calls_ = 0;
  prepared_.clear();
  order_.clear();
  kept_ = 0;
  free_channels_.clear();
  channels_ = kFirstPreparedChannel;
  copies_.clear();
  pairs_.assign(tasks_.size(), {});
}

DirectKey DirectGroup::key_of(const DirectCall& call) const {
  const auto size = static_cast<std::int64_t>(size_of(call.dtype));
  const auto members = static_cast<std::int64_t>(tasks_.size());
  DirectKey key{.op = call.op, .dtype = call.dtype, .reduce = call.reduce, .root = call.root};
  key.elements = static_cast<std::int64_t>(call.input.size()) / size;
  const auto outputs = static_cast<std::int64_t>(call.output.size()) / size;
  const auto require_outputs = [&](std::int64_t wanted) {
    if (outputs != wanted)
      throw wrong(call, "the output has " + std::to_string(outputs) + " elements, where " + std::to_string(wanted) +
                            " fit " + std::to_string(key.elements) + " elements of input on " +
                            std::to_string(members) + " tasks");
    if (overlap(call.input, call.output)) throw wrong(call, "the output overlaps the input");
  };
  if (folds(call.op) && call.reduce == Reduce::none)
    throw wrong(call, "Reduce::none folds nothing").hint("Reduce::sum, max or min");
  if (call.op == DirectOp::reduce_scatter) require_outputs(part_of(key.elements, members, member_).size);
  if (kind_of(call.op) == CollectiveKind::all_gather && call.op != DirectOp::all_gather) return key;
  if (call.op == DirectOp::all_gather) require_outputs(key.elements * members);
  if (call.op == DirectOp::all_to_all) {
    require_outputs(key.elements);
    if (key.elements % members != 0)
      throw wrong(call, std::to_string(key.elements) + " elements are no equal blocks for " + std::to_string(members) +
                            " tasks");
  }
  if (call.op == DirectOp::broadcast && (call.root < 0 || call.root >= members))
    throw wrong(call, "root " + std::to_string(call.root) + " is not one of the " + std::to_string(members) + " tasks");
  return key;
}

/// Makes the schedule of a call, its parts and its memory, and starts to compare the call with the other tasks.
std::shared_ptr<PreparedCall> DirectGroup::prepare(const DirectKey& key, const DirectCall& call,
                                                   std::span<const std::int64_t> sizes) {
  const auto members = static_cast<int>(tasks_.size());
  const auto size = static_cast<std::int64_t>(size_of(key.dtype));
  auto made = std::make_shared<PreparedCall>();
  const CollectiveKind kind = kind_of(key.op);
  std::int64_t total = key.elements * size;
  if (kind == CollectiveKind::all_reduce) {
    made->schedule = ordered_all_reduce(members, total, job_.state().topology.share_memory(tasks_));
    made->parts = made->schedule.whole ? std::vector{key.elements} : even_parts(key.elements, members);
  } else {
    made->schedule = direct_schedule(kind, members, key.root, kind == CollectiveKind::broadcast);
    if (kind == CollectiveKind::reduce_scatter) made->parts = even_parts(key.elements, members);
    if (kind == CollectiveKind::broadcast) made->parts = {key.elements};
    if (kind == CollectiveKind::all_to_all)
      made->parts.assign(static_cast<std::size_t>(members) * tasks_.size(), key.elements / members);
    if (kind == CollectiveKind::all_gather) {
      made->parts.assign(sizes.begin(), sizes.end());
      if (sizes.empty()) made->parts.assign(tasks_.size(), key.elements);
      total = std::accumulate(made->parts.begin(), made->parts.end(), std::int64_t{0}) * size;
    }
  }
  made->bytes = 2 * total + kKeptAtLeast;
  while (!order_.empty() &&
         (kept_ + made->bytes > kMostPreparedBytes || (free_channels_.empty() && channels_ == kChannels)))
    evict_call(order_.begin());
  kept_ += made->bytes;
  if (free_channels_.empty()) free_channels_.push_back(channels_++);
  made->channel = channel(free_channels_.back());
  free_channels_.pop_back();
  made->hash = mixed(key.hash() + made->channel);
  made->input = call.input.size();
  made->output = call.output.size();
  made->call = prepare_call(job_.transport(),
                            {.schedule = made->schedule,
                             .parts = made->parts,
                             .tasks = tasks_,
                             .member = member_,
                             .channel = made->channel,
                             .dtype = key.dtype,
                             .input = call.input.data(),
                             .output = call.output.data(),
                             .staging = memory_of(*made, key.dtype),
                             .fold = [fold = cpu_kernels().fold(), reduce = key.reduce, dtype = key.dtype](
                                         std::byte* output, const std::byte* left, const std::byte* right,
                                         std::int64_t count) { fold(reduce, dtype, output, left, right, count); },
                             .stamped = true});
  compare(*made);
  return made;
}

/// Allocates the memory of a prepared call; returns its staging.
std::span<std::byte> DirectGroup::memory_of(PreparedCall& made, DType dtype) const {
  const Schedule& schedule = made.schedule;
  const bool one_shot = schedule.whole, gets = schedule.via == Via::get;
  const std::int64_t staging = one_shot ? 0
                               : gets   ? static_cast<std::int64_t>(made.input)
                                        : staging_bytes(schedule, made.parts, dtype, member_);
  const bool receives = !one_shot && !gets && schedule.kind != CollectiveKind::reduce_scatter;
  const std::int64_t output =
      receives ? schedule.output_elements(made.parts, member_) * static_cast<std::int64_t>(size_of(dtype)) : 0;
  const auto whole_lines = (static_cast<std::size_t>(staging) + kSlotAlign - 1) / kSlotAlign * kSlotAlign;
  const std::size_t bounce = output > kCarried ? static_cast<std::size_t>(output) : 0;
  if (whole_lines + bounce > 0) made.shared = job_.transport().memory(whole_lines + bounce, "a direct call");
  if (made.shared) {
    made.bounce = {made.shared.get() + whole_lines, bounce};
    return {made.shared.get(), static_cast<std::size_t>(staging)};
  }
  made.own.resize(static_cast<std::size_t>(staging));
  return made.own;
}

void DirectGroup::evict_call(std::list<DirectKey>::iterator oldest) {
  const auto found = prepared_.find(*oldest);
  kept_ -= found->second->bytes;
  free_channels_.push_back(found->second->channel - channel(0));
  prepared_.erase(found);
  order_.erase(oldest);
}

/// Starts to exchange the call's hash with the other tasks. All tasks prepare the same calls in the same order, so
/// these messages match messages of the same call.
void DirectGroup::compare(PreparedCall& made) const {
  made.other_hashes.resize(tasks_.size() - 1);
  auto* other_hashes = made.other_hashes.data();
  for (const std::int32_t task : tasks_) {
    if (task == tasks_[member_]) continue;
    made.tickets.add(
        job_.transport().receive(task, channel(kCompareChannel), std::as_writable_bytes(std::span(other_hashes++, 1))));
    made.tickets.add(job_.transport().send(task, channel(kCompareChannel), std::as_bytes(std::span(&made.hash, 1))));
  }
}

const std::shared_ptr<PreparedCall>& DirectGroup::prepared(const DirectKey& key, const DirectCall& call,
                                                           std::span<const std::int64_t> sizes) {
  if (const auto found = prepared_.find(key); found != prepared_.end()) {
    order_.splice(order_.end(), order_, found->second->used);
    return found->second;
  }
  auto made = prepare(key, call, sizes);
  made->used = order_.insert(order_.end(), key);
  return prepared_[key] = std::move(made);
}

void DirectGroup::run(const DirectKey& key, const DirectCall& call, std::span<const std::int64_t> sizes,
                      const source_location& at) {
  job_.guarded([&] {
    const std::shared_ptr<PreparedCall>& known = prepared(key, call, sizes);
    if (!job_.idle()) {
      const auto run = std::make_shared<CollectiveRun>(*this, at, *known, key, calls_++);
      run->use(call.input.data(), call.output.data());
      run->keep(known);
      job_.add(run);
      return job_.wait(*run);
    }
    CollectiveRun run(*this, at, *known, key, calls_++);
    run.use(call.input.data(), call.output.data());
    job_.wait_alone(run);
  });
}

void DirectGroup::run(const DirectCall& call, const source_location& at) {
  begin();
  const DirectKey key = key_of(call);
  if (tasks_.size() > 1) return run(key, call, {}, at);
  if (!call.input.empty() && call.input.data() != call.output.data())
    std::memcpy(call.output.data(), call.input.data(), call.input.size());
}

std::shared_ptr<DirectRun> DirectGroup::start(const DirectCall& call, const source_location& at) {
  begin();
  const DirectKey key = key_of(call);
  if (tasks_.size() == 1) {
    run(call, at);
    return nullptr;
  }
  return job_.guarded([&] {
    const std::shared_ptr<PreparedCall>& known = prepared(key, call, {});
    auto run = std::make_shared<CollectiveRun>(*this, at, *known, key, calls_++);
    run->use(call.input.data(), call.output.data());
    run->keep(known);
    job_.add(run);
    job_.progress();
    return run;
  });
}

std::shared_ptr<DirectRun> DirectGroup::start_each(DType dtype, Reduce reduce, std::vector<std::span<std::byte>> pieces,
                                                   const source_location& at) {
  begin();
  std::size_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.size();
  DirectCall call{.op = DirectOp::all_reduce, .dtype = dtype, .reduce = reduce};
  if (tasks_.size() == 1) return nullptr;
  return job_.guarded([&] {
    auto memory = copies_.take(bytes, job_.transport());
    call.output = {memory.get(), bytes};
    call.input = call.output;
    DirectKey key = key_of(call);
    Hasher cuts;
    for (const auto& piece : pieces) cuts.add(piece.size());
    key.sizes = cuts.digest() | 1;  // never 0, which means one span
    const std::shared_ptr<PreparedCall>& known = prepared(key, call, {});
    auto run = std::make_shared<CollectiveRun>(*this, at, *known, key, calls_++);
    run->use(std::move(pieces), std::move(memory));
    run->keep(known);
    job_.add(run);
    job_.progress();
    return run;
  });
}

/// Gathers the sizes first, and then the values.
void DirectGroup::gather_uneven(DType dtype, std::span<const std::byte> mine,
                                const std::function<std::span<std::byte>(std::size_t)>& room,
                                const source_location& at) {
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t elements = static_cast<std::int64_t>(mine.size()) / size;
  std::vector<std::int64_t> sizes(tasks_.size(), elements);
  run({.op = DirectOp::sizes,
       .dtype = DType::int64,
       .input = std::as_bytes(std::span(&elements, 1)),
       .output = std::as_writable_bytes(std::span(sizes))},
      at);
  DirectKey key{.op = DirectOp::all_gather, .dtype = dtype};
  key.elements = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  key.sizes = hash64(std::as_bytes(std::span(sizes))) | 1;  // never 0, which means equal sizes
  const std::span<std::byte> all = room(static_cast<std::size_t>(key.elements * size));
  if (tasks_.size() > 1)
    return run(key, {.op = DirectOp::all_gather, .dtype = dtype, .input = mine, .output = all}, sizes, at);
  if (!mine.empty()) std::memcpy(all.data(), mine.data(), mine.size());
}

std::shared_ptr<std::byte> DirectGroup::memory(std::size_t bytes) {
  begin();
  std::shared_ptr<std::byte> made = job_.transport().memory(bytes, "a buffer of a direct call");
  if (made) return made;
  constexpr std::align_val_t kAligned{4096};
  auto* const plain = static_cast<std::byte*>(::operator new[](bytes, kAligned));
  std::memset(plain, 0, bytes);
  return {plain, [](std::byte* at) { ::operator delete[](at, std::align_val_t{4096}); }};
}

DirectGroup& DirectGroup::split(int color, int key, const source_location& at) {
  struct Card {
    std::int64_t color = 0, key = 0;
    std::array<std::uint64_t, kMostGroups / 64> used{};  // bit set of the ids of the task's groups
  };
  Card mine{.color = color, .key = key};
  mine.used[0] = 1;  // id 0: the group of all tasks
  for (const auto& group : job_.groups) {
    const auto other = static_cast<std::size_t>(group->id());
    mine.used[other / 64] |= std::uint64_t{1} << (other % 64);
  }
  std::vector<Card> cards(tasks_.size());
  run({.op = DirectOp::split,
       .input = std::as_bytes(std::span(&mine, 1)),
       .output = std::as_writable_bytes(std::span(cards))},
      at);
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    if (cards[i].color == color) members.push_back(i);
    for (std::size_t word = 0; word < mine.used.size(); ++word) mine.used[word] |= cards[i].used[word];
  }
  std::ranges::stable_sort(members, {}, [&](std::size_t i) { return cards[i].key; });
  int id = 1;
  while (id < kMostGroups && (mine.used[static_cast<std::size_t>(id) / 64] >> (id % 64) & 1) != 0) ++id;
  if (id == kMostGroups)
    throw Error(Code::resource, "split: a task is in {} groups already", kMostGroups)
        .hint("let go of groups that are not needed");
  std::vector<std::int32_t> tasks;
  int member = 0;
  for (const std::size_t i : members) {
    if (static_cast<int>(i) == member_) member = static_cast<int>(tasks.size());
    tasks.push_back(tasks_[i]);
  }
  auto made = std::make_unique<DirectGroup>(job_, id, std::move(tasks), member);
  DirectGroup& group = *made;
  job_.groups.push_back(std::move(made));
  return group;
}

}  // namespace ferry
