// ResolvedPlan: one task's part of a plan as flat instructions, with addresses in place of buffer numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/group.hpp"
#include "comm/transport.hpp"
#include "executor/execution_options.hpp"
#include "executor/fused/device_regions.hpp"
#include "executor/fused/epilogue.hpp"
#include "executor/fused/stencils.hpp"
#include "executor/fused/tiles.hpp"
#include "executor/run/arena.hpp"
#include "kernels/device.hpp"
#include "kernels/kernel.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// Size of the header in front of a bounded value's elements, which holds its extent.
inline constexpr std::uint64_t kExtentBytes = sizeof(std::int64_t);

/// This task's end of a channel, or its part in a collective, and the transfers in flight there.
struct Link {
  int peer = 0;
  std::uint32_t channel = 0;
  Ticket ticket = 0;
  GroupCall* call = nullptr;  ///< set for a collective, which uses it instead of peer, channel and ticket
  Traffic before;             ///< the call's counters when it was last started
  bool pending = false;
  const Instruction* since = nullptr;  ///< the instruction that started the pending transfer
  std::byte* written = nullptr;  ///< where in the receiver's memory the next send's bytes already are; null: nowhere
};

/// A bounded operand: its extent is in front of its elements, so that messages carry both.
struct Extent {
  std::int64_t* size = nullptr;    ///< sizes[0] as the kernel sees it
  std::int64_t* header = nullptr;  ///< the extent in front of the elements
  std::int64_t bound = 0;
  bool output = false;
};

/// The short form of an instruction that only runs a kernel: 16 bytes, so that long lists stay in the caches. `kernel`
/// is null for an instruction that needs its Resolved.
struct ShortForm {
  void (*kernel)(KernelRun&) = nullptr;
  KernelRun* run = nullptr;
};

/// The instructions of a loop that swaps buffers, for every second iteration: each buffer then has the address of the
/// other (Instruction::swaps).
struct LoopSwaps {
  /// A carried value, which is at `carried` when the loop begins and ends, and the buffer of its next value.
  struct Pair {
    std::byte* carried = nullptr;
    const std::byte* next = nullptr;
    std::uint64_t bytes = 0;
  };
  std::uint32_t condition = kNone, body = kNone;  ///< numbers of lists
  std::vector<Pair> pairs;
};

/// One instruction, ready to run.
struct Resolved {
  /// What a walker does besides running the instruction.
  enum Flag : std::uint8_t {
    kWaits = 1,    ///< first waits for other threads (`waits`)
    kPublish = 2,  ///< then publishes this thread's progress, since another thread waits for it
    kPoll = 4,     ///< then lets messages in flight make progress, since the instruction takes long
    kTaken = 8     ///< on a receive and its wait: the wait takes the message, nothing is posted (Transport::takes)
  };
  void (*kernel)(KernelRun&) = nullptr;
  KernelRun* run = nullptr;
  Opcode what = Opcode::kernel;
  std::uint8_t flags = 0;
  std::uint32_t count = 0;     ///< number of instructions of this thread and region up to and including this one
  std::byte* input = nullptr;  ///< bytes to move; the condition of a loop or branch
  std::byte* output = nullptr;
  std::uint64_t bytes = 0;
  std::span<const Wait> waits;
  std::span<Extent> extents;                      ///< the bounded operands of a kernel, feed or fetch
  RegionId region = kNone, other_region = kNone;  ///< of a loop or branch
  const LoopSwaps* swaps = nullptr;               ///< of a loop; null: its body swaps nothing
  /// The channel or collective that the instruction starts or waits for. For a kernel or tile region: the channel into
  /// which its output is put.
  Link* link = nullptr;
  TileWork* tiles = nullptr;
  StencilWork* stencil = nullptr;
  const Epilogue* epilogue = nullptr;  ///< applied to each piece of the output of `kernel`
  std::uint32_t member = 0;            ///< index in `tiles` of the kernel with the output that `link` sends
  const Instruction* plan = nullptr;   ///< for traces and error messages
};

/// The inputs of resolving, besides the plan.
struct ResolveContext {
  Transport& transport;
  Parallel& parallel;
  const KernelTable& kernels;
  const KernelTable* device_kernels = nullptr;  ///< kernels of devices besides the host; null: there are none
  const Devices* devices = nullptr;
  FileSystem* files = nullptr;
  const ExecutionOptions& run;  ///< seed and data_folder
  bool effects = true;          ///< ExecutorOptions::effects
  /// Address of a variable's bytes by its name.
  const std::function<std::byte*(std::string_view)>& variable;
};

/// The arenas and instructions of one task. Addresses do not change during its life.
class ResolvedPlan {
 public:
  ResolvedPlan(const Plan& plan, int task, const ResolveContext& context);
  ResolvedPlan(const ResolvedPlan&) = delete;
  ResolvedPlan& operator=(const ResolvedPlan&) = delete;

  /// The instructions of one thread in one list. A list has the number of its region, or is in LoopSwaps.
  [[nodiscard]] std::span<Resolved> list(std::uint32_t number, std::size_t thread) {
    return lists_[number * threads_ + thread];
  }
  /// The same instructions in their short form.
  [[nodiscard]] std::span<const ShortForm> short_form(std::uint32_t number, std::size_t thread) const {
    return short_forms_[number * threads_ + thread];
  }
  /// Sets the number of the step that kernels see.
  void begin_step(std::int64_t step) { numbers_[0] = step; }
  [[nodiscard]] const std::int64_t& step() const { return numbers_[0]; }
  [[nodiscard]] std::size_t threads() const { return threads_; }
  [[nodiscard]] std::size_t regions() const { return regions_; }
  /// Whether some instructions run on queues of devices.
  [[nodiscard]] bool queued() const { return !role_.queues.empty(); }
  /// The host memory that devices access: arenas, variables, and the numbers of the step and of iterations.
  [[nodiscard]] std::vector<std::span<const std::byte>> host_memory() const;
  /// A buffer's bytes, including the extent in front of them; empty if the buffer has no memory (a slot of a tile
  /// region).
  [[nodiscard]] std::span<const std::byte> bytes_of(BufferId buffer) const;
  /// The numbers that kernels read besides their operands: the numbers of the step and of iterations.
  [[nodiscard]] std::span<const std::byte> numbers() const { return std::as_bytes(std::span(numbers_)); }
  /// Whether only thread 0 has instructions.
  [[nodiscard]] bool is_single_threaded() const { return single_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] int task() const { return task_; }
  [[nodiscard]] std::size_t links() const { return links_.size(); }
  /// The number of the current iteration of each enclosing loop, outermost first. Loops run on thread 0 alone.
  [[nodiscard]] std::int64_t* iterations() { return numbers_.data() + 1; }
  /// The extent in front of an operand of `r`. Error(bug) when it is out of its bound.
  [[nodiscard]] std::int64_t extent_of(const Extent& extent, const Resolved& r) const {
    if (*extent.header >= 0 && *extent.header <= extent.bound) [[likely]]
      return *extent.header;
    throw_bad_extent(extent, r);
  }
  /// Bytes of the arenas and the variables, by index into PlanClass::devices.
  [[nodiscard]] std::span<const std::uint64_t> arena_bytes() const { return arena_bytes_; }

 private:
  [[noreturn]] void throw_bad_extent(const Extent& extent, const Resolved& r) const;
  void place_buffers(const ResolveContext& context);
  [[nodiscard]] Arena step_arena(std::uint64_t bytes, const std::string& what, Transport& transport) const;
  void describe_buffers();
  void set_depths(RegionId region, std::uint32_t depth);
  void resolve_region(RegionId region, std::uint32_t list, const ResolveContext& context);
  /// Makes the lists for the iterations with swapped addresses.
  void resolve_swaps(const ResolveContext& context);
  void swap_addresses(const Instruction& swap);
  void mark_waits();
  void link_puts();
  void resolve(Resolved& resolved, const Instruction& instruction, const ResolveContext& context, std::uint32_t depth);
  /// Whether this task has the lowest number of all tasks that run this op.
  [[nodiscard]] bool runs_first(const Instruction& instruction) const;
  void resolve_kernel(Resolved& resolved, const Instruction& instruction, const ResolveContext& context,
                      std::uint32_t depth);
  void resolve_tiles(Resolved& resolved, const Instruction& instruction, const ResolveContext& context,
                     std::uint32_t depth);
  /// Makes the kernels that are generated for tile regions and epilogues of devices.
  void fuse_on_devices(const ResolveContext& context);
  void resolve_device_region(Resolved& resolved, const Instruction& instruction, const ResolveContext& context,
                             std::uint32_t depth);
  /// A stencil's two instructions share its work.
  void resolve_stencil(Resolved& resolved, const Instruction& instruction, const ResolveContext& context,
                       std::uint32_t depth);
  [[nodiscard]] StencilParts parts_of_stencil(const Instruction& instruction, const ResolveContext& context,
                                              std::uint32_t depth);
  [[nodiscard]] TileMember window_member(const Instruction& member, const ResolveContext& context);
  void resolve_epilogue(Resolved& resolved, const Instruction& instruction, const ResolveContext& context,
                        std::uint32_t depth);
  [[nodiscard]] DeviceEpilogue& device_epilogue(const Instruction& instruction);
  /// Resolves a kernel of a tile region with tiles of `tile` elements; 0: of an epilogue, which works on pieces.
  [[nodiscard]] TileMember tile_member(const Instruction& member, const ResolveContext& context, std::uint32_t tile);
  /// Resolves a kernel that runs with others; Error(plan) unless `runs` says that it can. `how`: for that message.
  [[nodiscard]] TileMember fused_member(const Instruction& member, const ResolveContext& context, std::string_view how,
                                        const std::function<bool(const Kernel&, const KernelSetup&)>& runs);
  void resolve_collective(Resolved& resolved, const Instruction& instruction, const ResolveContext& context);
  void find_extents(Resolved& resolved, const Instruction& instruction);
  /// The kernels for the device that runs the instruction.
  [[nodiscard]] const KernelTable& table_for(const Instruction& instruction, const ResolveContext& context) const;
  [[nodiscard]] const Kernel& kernel_of(const Instruction& instruction, const ResolveContext& context) const;
  [[nodiscard]] const Attrs& attrs_of(const Instruction& instruction) const;
  /// A bound kernel; its state is kept here.
  struct Bound {
    void (*run)(KernelRun&);
    KernelState* state;
  };
  /// KernelSetup::parts of a kernel.
  [[nodiscard]] std::vector<PlacedPart> parts_of(const Instruction& instruction) const;
  [[nodiscard]] Bound bound(const Kernel& kernel, const KernelSetup& setup, const Instruction& instruction,
                            const ResolveContext& context);
  [[nodiscard]] Array array(BufferId buffer);
  [[nodiscard]] Type type(BufferId buffer) const;

  const Plan& plan_;
  const PlanClass& role_;
  const int task_;
  std::size_t threads_ = 1, regions_ = 0;
  bool single_ = true;
  std::vector<Arena> step_arenas_, state_arenas_;
  std::vector<std::uint64_t> arena_bytes_;
  std::vector<std::byte*> addresses_;                                            // by buffer
  std::vector<std::vector<std::int64_t>> sizes_, whole_, begin_, part_indices_;  // by buffer
  std::vector<std::uint32_t> depth_;                                             // by region: number of loops around it
  std::vector<std::vector<Resolved>> lists_;                                     // first by region, then LoopSwaps
  std::deque<LoopSwaps> swaps_;
  bool has_swaps_ = false;
  bool swapped_ = false;                             // whether resolve_swaps() resolves
  std::map<const Instruction*, Bound> bound_;        // if there are swaps: the bound kernels
  std::vector<std::vector<ShortForm>> short_forms_;  // the short forms of lists_
  std::vector<std::int64_t> numbers_;                // the step's, then iterations': one block, which devices may read
  std::vector<std::span<const std::byte>> host_variables_;
  KernelRun nothing_;  // target of the short form of an instruction that does nothing
  std::vector<Array> arrays_;
  std::vector<KernelRun> runs_;
  std::deque<TileWork> tiles_;
  std::map<std::uint32_t, BoundKernel> device_regions_;                              // by region
  std::map<std::uint32_t, DeviceEpilogue> device_epilogues_;                         // by region
  std::map<std::pair<std::uint32_t, bool>, std::unique_ptr<StencilWork>> stencils_;  // by region and swapped_
  std::deque<Epilogue> epilogues_;
  std::vector<Extent> extents_;
  std::vector<std::unique_ptr<KernelState>> states_;
  std::vector<Link> links_;                        // first by channel number, then by collective number
  std::vector<std::unique_ptr<GroupCall>> calls_;  // by collective number
};

}  // namespace ferry
