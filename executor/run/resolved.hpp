// ResolvedPlan: one task's part of a plan as flat instructions with addresses in place of numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/group.hpp"
#include "comm/transport.hpp"
#include "executor/run/arena.hpp"
#include "executor/run/epilogue.hpp"
#include "executor/run/tiles.hpp"
#include "kernels/kernel.hpp"
#include "placement/plan/plan.hpp"

namespace ferry {

/// What a bounded value has in front of its elements: how many they are along the bounded dim.
inline constexpr std::uint64_t kExtentBytes = sizeof(std::int64_t);

/// A message under way, or none: the state of a channel's end, or of a collective.
struct Link {
  int peer = 0;
  std::uint32_t channel = 0;
  Ticket ticket = 0;
  GroupCall* call = nullptr;  ///< a collective; it has no peer, channel and ticket
  GroupCount before;          ///< what the call had moved when it was started
  bool pending = false;
  const Instruction* since = nullptr;  ///< what started it
  std::byte* written = nullptr;        ///< of the next send: its bytes are there already, in the receiver's memory
};

/// A bounded operand: its extent lies in front of its bytes, where messages carry it.
struct Extent {
  std::int64_t* size = nullptr;    ///< sizes[0] that the kernel sees
  std::int64_t* header = nullptr;  ///< in front of the bytes
  std::int64_t bound = 0;
  bool output = false;
};

/// What a walk needs of an instruction that runs a kernel, or nothing at all, and has nothing to do besides: a list of
/// these stays in the caches. Of others `kernel` is null.
struct Direct {
  void (*kernel)(KernelRun&) = nullptr;
  KernelRun* run = nullptr;
};

/// One instruction, ready to run.
struct Resolved {
  /// What is to be done besides running it.
  enum Flag : std::uint8_t {
    kWaits = 1,    ///< before it: `waits`
    kPublish = 2,  ///< after it: others wait for this thread to be here
    kPoll = 4,     ///< after it: long enough that transfers should be moved on
    kTaken = 8     ///< a receive and its wait: the transport has the message without the receive
  };
  void (*kernel)(KernelRun&) = nullptr;
  KernelRun* run = nullptr;
  Do what = Do::kernel;
  std::uint8_t flags = 0;
  std::uint32_t count = 0;     ///< instructions of this thread and region up to and with this one
  std::byte* input = nullptr;  ///< of those that move bytes, and predicates
  std::byte* output = nullptr;
  std::uint64_t bytes = 0;
  std::span<const Wait> waits;
  std::span<Extent> extents;  ///< a kernel, feed or fetch with bounded operands
  std::uint32_t target = kNone, other = kNone;
  Link* link = nullptr;  ///< of a kernel: output 0 is for this one alone, and may be written where it goes
  TileWork* tiles = nullptr;
  const Epilogue* epilogue = nullptr;  ///< of `kernel`, the first one of a tile region
  std::uint32_t member = 0;            ///< of `tiles`: the one whose output `link` is for
  const Instruction* plan = nullptr;   ///< for messages
};

/// What resolving needs besides the plan.
struct ResolveContext {
  Transport& transport;
  Parallel& parallel;
  const KernelTable& kernels;
  FileSystem* files = nullptr;
  std::string_view data_folder;
  std::uint64_t seed = 0;
  bool effects = true;  ///< ExecutorOptions::effects
  /// Address of a variable's bytes by its name.
  const std::function<std::byte*(std::string_view)>& variable;
};

/// The arenas and instructions of one task. Addresses stay as they are for its life.
class ResolvedPlan {
 public:
  ResolvedPlan(const Plan& plan, int task, const ResolveContext& context);
  ResolvedPlan(const ResolvedPlan&) = delete;
  ResolvedPlan& operator=(const ResolvedPlan&) = delete;

  /// The instructions of one thread in one region.
  [[nodiscard]] std::span<Resolved> list(std::uint32_t region, std::size_t thread) {
    return lists_[region * threads_ + thread];
  }
  /// The same, in a short form.
  [[nodiscard]] std::span<const Direct> direct(std::uint32_t region, std::size_t thread) const {
    return direct_[region * threads_ + thread];
  }
  /// Sets the number of the step that kernels see.
  void begin_step(std::int64_t step) { step_ = step; }
  [[nodiscard]] std::size_t threads() const { return threads_; }
  [[nodiscard]] std::size_t regions() const { return regions_; }
  /// Only thread 0 has instructions.
  [[nodiscard]] bool single() const { return single_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] int task() const { return task_; }
  [[nodiscard]] std::size_t links() const { return links_.size(); }
  /// The iteration in each loop around the instruction that a thread runs; outermost first.
  [[nodiscard]] std::int64_t* iterations(std::size_t thread) { return iterations_[thread].data(); }
  /// Bytes of the arenas, variables included.
  [[nodiscard]] std::uint64_t arena_bytes() const { return arena_bytes_; }

 private:
  void place_buffers(const std::function<std::byte*(std::string_view)>& variable, Transport& transport);
  [[nodiscard]] Arena step_arena(std::uint64_t bytes, const std::string& what, Transport& transport) const;
  void describe_buffers();
  void nest(std::uint32_t region, std::uint32_t depth);
  void resolve_region(std::uint32_t region, const ResolveContext& context);
  void mark_waits();
  void find_windows(const KernelTable& kernels);
  void resolve(Resolved& resolved, const Instruction& instruction, const ResolveContext& context, std::uint32_t depth);
  /// Of the tasks that run this op, the one with the lowest number.
  [[nodiscard]] bool runs_first(const Instruction& instruction) const;
  void resolve_kernel(Resolved& resolved, const Instruction& instruction, const ResolveContext& context,
                      std::uint32_t depth);
  void resolve_tiles(Resolved& resolved, const Instruction& instruction, const ResolveContext& context,
                     std::uint32_t depth);
  void resolve_epilogue(Resolved& resolved, const Instruction& instruction, const ResolveContext& context,
                        std::uint32_t depth);
  /// A kernel of a tile region by so many elements, 0: by pieces.
  [[nodiscard]] TileMember tile_member(const Instruction& member, const ResolveContext& context, std::uint32_t tile);
  void resolve_collective(Resolved& resolved, const Instruction& instruction, const ResolveContext& context);
  void find_extents(Resolved& resolved, const Instruction& instruction);
  [[nodiscard]] const Kernel& kernel_of(const Instruction& instruction, const KernelTable& kernels) const;
  [[nodiscard]] const Attrs& attrs_of(const Instruction& instruction) const;
  /// A bound kernel whose state is kept here.
  struct Bound {
    void (*run)(KernelRun&);
    KernelState* state;
  };
  [[nodiscard]] Bound bound(const Kernel& kernel, const KernelSetup& setup, const Instruction& instruction,
                            const ResolveContext& context);
  [[nodiscard]] Array array(std::uint32_t buffer);
  [[nodiscard]] Type type(std::uint32_t buffer) const;
  [[nodiscard]] std::uint32_t operand(Range range, std::uint32_t i) const { return role_.operands[range.begin + i]; }

  const Plan& plan_;
  const PlanClass& role_;
  const int task_;
  std::size_t threads_ = 1, regions_ = 0;
  bool single_ = true;
  std::vector<Arena> step_arenas_, state_arenas_;
  std::uint64_t arena_bytes_ = 0;
  std::vector<std::byte*> addresses_;                             // of buffers
  std::vector<std::vector<std::int64_t>> sizes_, whole_, begin_;  // of buffers
  std::vector<std::uint32_t> depth_;                              // of regions: loops around them
  std::vector<std::vector<Resolved>> lists_;
  std::vector<std::vector<Direct>> direct_;  // of each list
  std::int64_t step_ = 0;
  KernelRun nothing_;  // for what is a kernel that does nothing
  std::vector<Array> arrays_;
  std::vector<KernelRun> runs_;
  std::deque<TileWork> tiles_;
  std::deque<Epilogue> epilogues_;
  std::vector<Extent> extents_;
  std::vector<std::unique_ptr<KernelState>> states_;
  std::vector<Link> links_;                        // of channels, then of collectives, by number
  std::vector<std::unique_ptr<GroupCall>> calls_;  // of collectives, by number
  std::vector<std::vector<std::int64_t>> iterations_;
};

}  // namespace ferry
