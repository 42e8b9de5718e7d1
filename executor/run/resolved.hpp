// ResolvedPlan: one task's part of a plan as flat instructions, with addresses in place of buffer numbers.
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

/// The bytes of the header in front of a bounded value's elements, which holds its extent.
inline constexpr std::uint64_t kExtentBytes = sizeof(std::int64_t);

/// This task's end of a channel, or its part in a collective, and what is in flight there.
struct Link {
  int peer = 0;
  std::uint32_t channel = 0;
  Ticket ticket = 0;
  GroupCall* call = nullptr;  ///< for a collective, which uses it in place of peer, channel and ticket
  GroupCount before;          ///< the call's counters when it was last started
  bool pending = false;
  const Instruction* since = nullptr;  ///< what started it
  std::byte* written = nullptr;  ///< receiver's memory into which the next send's bytes were put already; null: none
};

/// A bounded operand: its extent lies in front of its elements, so that messages carry both.
struct Extent {
  std::int64_t* size = nullptr;    ///< sizes[0] as the kernel sees it
  std::int64_t* header = nullptr;  ///< the extent in front of the elements
  std::int64_t bound = 0;
  bool output = false;
};

/// The short form of an instruction that does nothing but run a kernel: 16 bytes, so that long lists stay in the
/// caches. `kernel` is null for an instruction that needs its Resolved.
struct Direct {
  void (*kernel)(KernelRun&) = nullptr;
  KernelRun* run = nullptr;
};

/// One instruction, ready to run.
struct Resolved {
  /// What a walker does besides running the instruction.
  enum Flag : std::uint8_t {
    kWaits = 1,    ///< before it: waits for other threads (`waits`)
    kPublish = 2,  ///< after it: says how far this thread has come, since another one waits for that
    kPoll = 4,     ///< after it: makes progress on transfers, since the instruction takes long
    kTaken = 8     ///< of a receive and its wait: the message comes without a receive (Transport::takes)
  };
  void (*kernel)(KernelRun&) = nullptr;
  KernelRun* run = nullptr;
  Opcode what = Opcode::kernel;
  std::uint8_t flags = 0;
  std::uint32_t count = 0;     ///< instructions of this thread and region up to this one, included
  std::byte* input = nullptr;  ///< input 0, and below output 0: of a bounded value the extent in front of it
  std::byte* output = nullptr;
  std::uint64_t bytes = 0;
  std::span<const Wait> waits;
  std::span<Extent> extents;  ///< a kernel, feed or fetch with bounded operands
  std::uint32_t target = kNone, other = kNone;
  /// The transfer that the instruction starts or waits for. For a kernel or tile region: the put of its output, if any.
  Link* link = nullptr;
  TileWork* tiles = nullptr;
  const Epilogue* epilogue = nullptr;  ///< runs on each piece of the output of `kernel`
  std::uint32_t member = 0;            ///< the member of `tiles` whose output `link` puts
  const Instruction* plan = nullptr;   ///< for traces and error messages
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

/// The arenas and instructions of one task. Addresses do not change while it exists.
class ResolvedPlan {
 public:
  ResolvedPlan(const Plan& plan, int task, const ResolveContext& context);
  ResolvedPlan(const ResolvedPlan&) = delete;
  ResolvedPlan& operator=(const ResolvedPlan&) = delete;

  /// The instructions of one thread in one region.
  [[nodiscard]] std::span<Resolved> list(std::uint32_t region, std::size_t thread) {
    return lists_[region * threads_ + thread];
  }
  /// The same, each in its short form.
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
  /// The number of the current iteration in each loop around a thread's instruction; outermost first.
  [[nodiscard]] std::int64_t* iterations(std::size_t thread) { return iterations_[thread].data(); }
  /// The extent in front of an operand of `r`. Error(bug) when it is out of its bound.
  [[nodiscard]] std::int64_t extent_of(const Extent& extent, const Resolved& r) const {
    if (*extent.header >= 0 && *extent.header <= extent.bound) [[likely]]
      return *extent.header;
    refuse(extent, r);
  }
  /// Bytes of the arenas, variables included.
  [[nodiscard]] std::uint64_t arena_bytes() const { return arena_bytes_; }

 private:
  [[noreturn]] void refuse(const Extent& extent, const Resolved& r) const;
  void place_buffers(const std::function<std::byte*(std::string_view)>& variable, Transport& transport);
  [[nodiscard]] Arena step_arena(std::uint64_t bytes, const std::string& what, Transport& transport) const;
  void describe_buffers();
  void nest(std::uint32_t region, std::uint32_t depth);
  void resolve_region(std::uint32_t region, const ResolveContext& context);
  void mark_waits();
  void link_puts();
  void resolve(Resolved& resolved, const Instruction& instruction, const ResolveContext& context, std::uint32_t depth);
  /// Whether no task with a lower number runs this op, too.
  [[nodiscard]] bool runs_first(const Instruction& instruction) const;
  void resolve_kernel(Resolved& resolved, const Instruction& instruction, const ResolveContext& context,
                      std::uint32_t depth);
  void resolve_tiles(Resolved& resolved, const Instruction& instruction, const ResolveContext& context,
                     std::uint32_t depth);
  void resolve_epilogue(Resolved& resolved, const Instruction& instruction, const ResolveContext& context,
                        std::uint32_t depth);
  /// A kernel of a tile region with tiles of `tile` elements; if `tile` is 0, of an epilogue, which works on pieces.
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
  std::vector<std::uint32_t> depth_;                              // of regions: the number of loops around them
  std::vector<std::vector<Resolved>> lists_;
  std::vector<std::vector<Direct>> direct_;  // of each list
  std::int64_t step_ = 0;
  KernelRun nothing_;  // given to instructions that do nothing
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
