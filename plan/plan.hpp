// Plan: the work of each task in a step. A plan is plain data: it is made by planning, printed, saved, verified and
// executed.
//
// All tasks of a job hold the same plan. Tasks with the same work share a plan class. The differences between these
// tasks (the member index in a collective, the begin of the part of a split value) follow from their numbers.
// docs/reference/plan_format.md describes the file; `ferry plan` prints a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.hpp"
#include "graph/op/attrs.hpp"
#include "graph/types/halo.hpp"
#include "graph/types/shape.hpp"
#include "graph/types/shared_list.hpp"
#include "graph/types/string_list.hpp"
#include "plan/schedule/schedule.hpp"
#include "plan/topology/topology.hpp"
#include "plan/traffic.hpp"

#pragma GCC visibility push(default)
namespace ferry {

inline constexpr std::uint32_t kPlanVersion = 6;
inline constexpr std::uint32_t kNone = 0xffffffffU;

using BufferId = Id<struct Buffer>;  ///< index into PlanClass::buffers
using RegionId = Id<struct Region>;  ///< index into PlanClass::regions
using StrandId = Id<struct Strand>;  ///< a thread of the task; or a queue, counted from PlanClass::threads

/// Consecutive entries of a table. Iterating over a range gives their indices:
///
///     for (const std::uint32_t i : region.instructions) print(role.instructions[i]);
struct Range {
  /// An iterator over the indices of a range.
  struct Iterator {
    using value_type = std::uint32_t;
    using difference_type = std::ptrdiff_t;
    std::uint32_t index = 0;
    std::uint32_t operator*() const { return index; }
    Iterator& operator++() {
      ++index;
      return *this;
    }
    Iterator operator++(int) { return {index++}; }
    bool operator==(const Iterator&) const = default;
  };

  std::uint32_t first = 0;
  std::uint32_t count = 0;

  [[nodiscard]] Iterator begin() const { return {first}; }
  [[nodiscard]] Iterator end() const { return {first + count}; }
  [[nodiscard]] bool empty() const { return count == 0; }
  /// The k-th index, k < count.
  [[nodiscard]] std::uint32_t operator[](std::uint32_t k) const { return first + k; }
  [[nodiscard]] bool contains(std::uint32_t index) const { return index - first < count; }
  bool operator==(const Range&) const = default;
};

/// The entries of `table` with indices in the range.
template <class T>
[[nodiscard]] std::span<const T> entries(const std::vector<T>& table, Range range) {
  return std::span(table).subspan(range.first, range.count);
}

/// Disjoint groups of tasks, for example the rows of a mesh. A task's position in its group is its member index.
using Grouping = std::vector<std::vector<std::int32_t>>;

/// A dim that is split over the members of a group of tasks: member i has part_of(size, members, i).
struct SplitDim {
  std::uint32_t dim = 0;
  std::uint32_t grouping = 0;  ///< index into Plan::groupings
  bool operator==(const SplitDim&) const = default;
};

/// A split dim along which a task does not have its own part, but the rows that a part of another dim reads.
struct RowsRead {
  std::uint32_t dim = 0;  ///< the dim, which is split once
  Reads reads;
  bool operator==(const RowsRead&) const = default;
};

/// The part of a split value that a buffer has.
struct Window {
  enum class Has : std::uint8_t {
    part,
    given,  ///< rows of the task's part that other tasks read, in blocks, one block for each other task (Halo)
    got,    ///< rows of other tasks' parts that the task reads, in the same blocks
    read    ///< rows that the task reads, in order, along each dim of `rows`; its part along other dims
  };
  std::vector<std::int64_t> sizes;  ///< sizes of the whole value
  std::vector<SplitDim> splits;
  Has has = Has::part;
  std::uint32_t halo_dim = 0;       ///< for `given` and `got`: the dim of these rows, which is split once
  std::vector<Reads> reads = {};    ///< for `given` and `got`: the rows that are read
  std::vector<RowsRead> rows = {};  ///< dims along which the value has no parts, also for `given` and `got`
  bool operator==(const Window&) const = default;
};

/// Sizes of dims; buffers of the same shape share them.
using Sizes = SharedList<std::int64_t>;

/// The bytes of one value on one task.
struct Buffer {
  enum class Space : std::uint8_t {
    step,   ///< in the step's arena: other buffers reuse the bytes after the last reader is done
    state,  ///< kept from step to step: variables, values computed once
    none,   ///< no bytes: an input that a kernel uses only for its sizes, or a buffer that no instruction touches
    tile    ///< a slot: only one tile of the value exists at a time, at `offset` in the kSlotBytes of a thread
  };
  Space space = Space::step;
  DType dtype = DType::float32;
  /// The size of dim 0 is a bound. The 8 bytes before `offset`, which the arena keeps free, have the extent.
  bool bounded = false;
  std::uint32_t device = 0;  ///< index into PlanClass::devices
  /// The position in the arena of its space and device, in bytes. It is a multiple of kBufferAlign; for a view or a
  /// tile, a multiple of its dtype's size.
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;       ///< bytes of the value at its bounds, without the header of a bounded value
  Sizes sizes;                   ///< sizes of the part on this task; for a bounded dim the bound
  std::uint32_t window = kNone;  ///< index into Plan::windows, if this is a part of a split value
  /// The buffer with which this buffer shares bytes: all of them under another shape, or some of them. The parts of a
  /// buffer are consecutive and fill it.
  BufferId view_of = kNone;
  std::uint32_t name = kNone;  ///< string: the value's name in the graph
  bool operator==(const Buffer&) const = default;
};
inline constexpr std::uint64_t kBufferAlign = 64;
/// kTileBytes: maximum bytes of one tile over all values that a tile region touches, so that they fit into the
/// first-level cache. kSlotBytes: maximum bytes of the slots; each thread reserves this memory. In regions with rows
/// only kSlotBytes applies, because tiles hold whole rows.
inline constexpr std::uint64_t kTileBytes = 24576, kSlotBytes = 65536;
/// Maximum number of kernels of a tile region, and of inputs of each kernel.
inline constexpr std::uint32_t kTileKernels = 32, kTileInputs = 3;

/// The kinds of instructions.
enum class Opcode : std::uint8_t {
  kernel,        ///< runs the kernel of `op` on its inputs and outputs
  feed,          ///< copies feed() into output 0
  fetch,         ///< copies input 0 out as fetch()
  copy,          ///< output 0 = input 0; a copy that swaps() ends the use of input 0
  send,          ///< starts sending input 0 on channel(); input 0 must not be written before its send_wait
  send_wait,     ///< waits until the last send on channel() no longer needs input 0
  receive,       ///< starts receiving from channel() into output 0, which must not be touched before its receive_wait
  receive_wait,  ///< waits until the value of channel() is in output 0
  /// Starts collective() from input 0 (absent for a member that only receives) to output 0 (absent for a member that
  /// only sends). Before its collective_wait, input 0 must not be written, and output 0 and scratch must not be
  /// touched.
  collective,
  loop,             ///< repeats: runs region(), stops if input 0 (bool) is false, else runs other_region()
  branch,           ///< runs region() if input 0 (bool) is true, else other_region()
  collective_wait,  ///< waits until collective() is done: same input, output and scratch
  /// Runs region() for tile_elements() elements of all its values at a time; `op` lists its ops. A value with fewer
  /// elements has one element for each row of the larger values; tiles then have whole rows. Without tile_elements(),
  /// the first kernel of the region, which need not be elementwise, makes output 0. The other kernels change each piece
  /// of output 0 in place as soon as the first kernel has made it; `scratch` belongs to the first kernel.
  tiles,
  join,  ///< only waits, for all work of its region on queues; it is the last instruction of such a region
  /// Begins the stencil of region(): computes the output elements that depend only on the inputs of this instruction,
  /// which are the stencil's inputs without halos. Until the stencil, nothing writes the inputs or touches the outputs.
  stencil_begin,
  /// Runs region() for the elements of all its values. Its first kernels make windows of inputs, which take slots of
  /// tile_elements() elements. The other kernels work elementwise on values with the same number of elements, or with
  /// one element. After a stencil_begin, it computes only the remaining elements.
  stencil
};

[[nodiscard]] std::string_view name_of(Opcode what);

/// Waits until strand `strand` has finished `count` of its instructions in this run of the region. For a thread this is
/// a flag, for a queue an event.
struct Wait {
  StrandId strand = 0;
  std::uint32_t count = 0;
  bool operator==(const Wait&) const = default;
};

/// A queue of a device (a stream). It runs its work in order, and concurrently with the host and with other queues.
struct PlanQueue {
  enum class Role : std::uint8_t {
    compute,    ///< kernels, and copies from the device to itself
    in,         ///< copies from other devices of the task
    out,        ///< copies to the host
    collective  ///< collectives that the device's library carries out, in the same order on all devices
  };
  std::uint32_t device = 0;  ///< index into PlanClass::devices
  Role role = Role::compute;
  bool operator==(const PlanQueue&) const = default;
};

/// Permissions of later passes for an instruction: bits of Instruction::may.
enum Freedom : std::uint8_t {
  kMovable = 1,  ///< any thread may run it; place_strands gives it one
  kFusable = 2   ///< it may become part of a tile region
};

struct Instruction {
  Opcode what = Opcode::kernel;
  std::uint8_t may = 0;  ///< Freedom of later passes; 0 in a finished plan
  /// A thread of the task; or a queue, counted from PlanClass::threads. Thread 0 submits work to the queues in the
  /// order of the list. Its earlier instructions are done when the work begins; only a wait shows that the work has
  /// ended.
  std::uint16_t strand = 0;
  std::uint32_t op = kNone;      ///< string: the op's type, "MatMul"
  std::uint32_t name = kNone;    ///< string: the op's name in the graph; random numbers are keyed by it
  std::uint32_t attrs = kNone;   ///< index into Plan::attrs
  std::uint32_t line = kNone;    ///< index into Plan::lines: the user's line
  std::uint32_t target = kNone;  ///< by channel(), collective(), feed(), fetch() or region(), depending on the opcode
  std::uint32_t other = kNone;   ///< by other_region(), tile_elements() or swaps(), depending on the opcode
  Range inputs = {}, outputs = {};  ///< into PlanClass::operands, which has buffer indices
  std::uint32_t in_place = 0;       ///< mask of inputs that output 0 may overwrite, as kernel or schedule allow
  /// Buffer that only this instruction uses: a kernel's workspace, or a collective's staging.
  BufferId scratch = kNone;
  Range waits = {};  ///< into PlanClass::waits

  /// For a send, a receive and their waits: index into Plan::channels.
  [[nodiscard]] std::uint32_t channel() const { return target; }
  /// For a collective and its wait: index into Plan::collectives.
  [[nodiscard]] std::uint32_t collective() const { return target; }
  [[nodiscard]] std::uint32_t feed() const { return target; }   ///< index into Plan::feeds
  [[nodiscard]] std::uint32_t fetch() const { return target; }  ///< index into Plan::fetches
  /// Index into PlanClass::regions: the condition of a loop, the side of a branch for a true condition, or the kernels
  /// of tiles and stencils.
  [[nodiscard]] RegionId region() const { return target; }
  [[nodiscard]] RegionId other_region() const { return other; }  ///< the body of a loop, the false side of a branch
  /// For tiles and stencils. 0: the kernels after the first kernel run on each piece that the first kernel has made.
  [[nodiscard]] std::uint32_t tile_elements() const { return other; }
  /// Whether a copy at the end of a loop's body may exchange the addresses of its two buffers, instead of copying
  /// bytes. Afterwards the bytes of input 0 may be anything. While the loop runs, no other buffer has bytes of the two
  /// buffers.
  [[nodiscard]] bool swaps() const { return what == Opcode::copy && other == kSwap; }
  static constexpr std::uint32_t kSwap = 1;
  bool operator==(const Instruction&) const = default;
};

/// A list of instructions that runs as a unit: the setup, the step, a body of control flow, or fused kernels.
struct Region {
  /// tile: kernels that run tile by tile, or a kernel and its epilogue (Opcode::tiles).
  enum class Kind : std::uint8_t { setup, step, condition, body, branch, tile };
  Kind kind = Kind::step;
  Range instructions;  ///< into PlanClass::instructions
  bool operator==(const Region&) const = default;
};

[[nodiscard]] std::string_view name_of(Region::Kind kind);

/// A variable of a task, or the task's part of a variable.
struct PlanVariable {
  std::uint32_t name = kNone;  ///< string
  BufferId buffer = kNone;
  bool operator==(const PlanVariable&) const = default;
};

/// The turns of a task that serves workers, which are tasks that may be ahead of one another. In a give turn it sends
/// values to a worker; in a take turn it receives values from the worker. The list of instructions has one give and one
/// take for each worker, in the workers' order; the verifier checks the plan in this order. The server runs turns in
/// the order in which workers are ready; a worker's gives and takes alternate.
struct Serving {
  struct Turns {
    std::int32_t worker = 0;  ///< the worker's task
    Range give, take;         ///< of the step's instructions, relative to its first; takes begin with receive_waits
    bool operator==(const Turns&) const = default;
  };
  std::int64_t staleness = 0;  ///< number of steps that a worker may be ahead of another
  std::vector<Turns> turns;    ///< all gives, then all takes, are consecutive; empty: the task serves no workers
  bool operator==(const Serving&) const = default;
};

[[nodiscard]] std::string_view name_of(PlanQueue::Role role);

/// A device of a task and the bytes that its arenas need.
struct PlanDevice {
  DeviceKind kind = DeviceKind::cpu;
  std::uint32_t index = 0;
  std::uint64_t step_bytes = 0;
  std::uint64_t state_bytes = 0;
  bool operator==(const PlanDevice&) const = default;
};

/// The work of the tasks of one role.
struct PlanClass {
  std::vector<PlanDevice> devices;
  std::vector<PlanQueue> queues;  ///< queues of devices that are not the host
  std::vector<Buffer> buffers;
  std::vector<BufferId> operands;
  std::vector<Wait> waits;
  std::vector<Instruction> instructions;
  std::vector<Region> regions;  ///< region 0 is the setup, which runs once a session; region 1 is the step
  std::vector<PlanVariable> variables;
  std::uint32_t threads = 1;
  Serving serving;
  /// Work that a device may get as one unit (a CUDA graph): consecutive instructions of one compute queue in one
  /// region. Only the first instruction waits for others, and others wait only for the last. Stretches are disjoint, in
  /// the order of `instructions`.
  std::vector<Range> stretches;

  /// The buffers that the instruction reads, and the buffers that it writes; the instructions of a region, or of a part
  /// of a region.
  [[nodiscard]] std::span<const BufferId> inputs(const Instruction& instruction) const {
    return entries(operands, instruction.inputs);
  }
  [[nodiscard]] std::span<const BufferId> outputs(const Instruction& instruction) const {
    return entries(operands, instruction.outputs);
  }
  [[nodiscard]] std::span<const BufferId> operands_of(Range range) const { return entries(operands, range); }
  [[nodiscard]] std::span<const Wait> waits_of(const Instruction& instruction) const {
    return entries(waits, instruction.waits);
  }
  [[nodiscard]] std::span<const Instruction> instructions_of(const Region& region) const {
    return entries(instructions, region.instructions);
  }
  [[nodiscard]] std::span<const Instruction> instructions_of(Range part) const { return entries(instructions, part); }

  [[nodiscard]] std::uint32_t strands() const { return threads + static_cast<std::uint32_t>(queues.size()); }
  [[nodiscard]] bool on_queue(const Instruction& instruction) const { return instruction.strand >= threads; }
  bool operator==(const PlanClass&) const = default;
};

/// The number of elements of a value at its bounds.
[[nodiscard]] inline std::int64_t elements_of(const Buffer& buffer) {
  return static_cast<std::int64_t>(buffer.bytes / size_of(buffer.dtype));
}

/// The number of elements that the kernels of a tile region process, which is the number of elements of the largest
/// value that they touch.
[[nodiscard]] std::int64_t tiled_elements(const PlanClass& plan, const Instruction& tiles);

/// Whether output 0 of the kernel or collective may overwrite input k.
[[nodiscard]] inline bool may_overwrite(const Instruction& instruction, std::uint32_t k) {
  return k < 32 && (instruction.in_place >> k & 1U) != 0;
}

/// The buffer that holds the bytes of `buffer`: itself, or the buffer that it shows, or is a part of. No view is a
/// view of a view.
[[nodiscard]] inline BufferId storage_of(const PlanClass& plan, BufferId buffer) {
  const BufferId viewed = plan.buffers[buffer].view_of;
  return viewed == kNone ? buffer : viewed;
}

/// A matching send and receive. It is made once and used in every step.
struct Channel {
  std::int32_t from = 0, to = 0;  ///< tasks
  DType dtype = DType::float32;
  std::uint64_t bytes = 0;     ///< bytes of a message at the bound, with the 8-byte extent of a bounded value
  std::uint32_t slots = 1;     ///< number of steps that the sender may be ahead
  std::uint32_t name = kNone;  ///< string: the name of the value
  std::uint32_t line = kNone;
  /// The tasks share memory, a kernel makes the value, and only the send reads the value. If the receive has started,
  /// the kernel may write the value directly into the receiver's buffer instead of the sender's.
  bool put = false;
  bool operator==(const Channel&) const = default;
};

/// A collective over each of several groups of tasks.
struct Collective {
  std::uint32_t schedule = 0;  ///< index into Plan::schedules
  std::uint32_t grouping = 0;  ///< index into Plan::groupings: each group does one collective
  Reduce reduce = Reduce::none;
  DType dtype = DType::float32;
  std::vector<std::int64_t> parts;  ///< sizes of the parts in elements, as Schedule defines them for its kind
  std::uint32_t name = kNone;       ///< string: the name of the value
  std::uint32_t line = kNone;
  /// If the library of GPUs carries it out: the index of each member's GPU on its task; else kNone.
  std::uint32_t gpu = kNone;
  bool operator==(const Collective&) const = default;
};

/// A value that the caller gives or gets: whole on one task, or by parts, where each task of a mesh has its part.
struct PlanPort {
  static constexpr std::int32_t kEachTask = -1;

  std::uint32_t name = kNone;  ///< string
  std::int32_t task = 0;       ///< task where the caller gives or gets it; kEachTask: by parts
  DType dtype = DType::float32;
  std::vector<std::int64_t> sizes;  ///< sizes of the whole value
  bool bounded = false;
  /// For a value by parts: index into Plan::windows; kNone: each task has the whole value.
  std::uint32_t window = kNone;

  [[nodiscard]] bool by_parts() const { return task == kEachTask; }
  bool operator==(const PlanPort&) const = default;
};

/// "task 1", or "each task".
[[nodiscard]] std::string task_text(const PlanPort& port);

/// A line of the user's program.
struct PlanLine {
  std::uint32_t file = kNone;  ///< string
  std::int32_t line = 0;
  bool operator==(const PlanLine&) const = default;
};

struct Plan {
  std::uint32_t version = kPlanVersion;
  Topology topology;
  StringList strings;
  std::vector<PlanLine> lines;
  std::vector<Attrs> attrs;
  std::vector<Grouping> groupings;
  std::vector<Window> windows;
  std::vector<PlanPort> feeds, fetches;
  std::vector<Channel> channels;
  std::vector<Schedule> schedules;
  std::vector<Collective> collectives;
  std::vector<PlanClass> classes;
  std::vector<std::uint32_t> class_of;  ///< for each task
  /// PlanOptions::bucket_bytes, if it was measured (`--tune`) or given. None: chosen from the links.
  std::optional<std::int64_t> bucket_bytes;

  [[nodiscard]] std::string_view string(std::uint32_t id) const {
    return id == kNone ? std::string_view() : strings[id];
  }
  [[nodiscard]] SourceLine line(std::uint32_t id) const {
    return id == kNone ? SourceLine() : SourceLine(string(lines[id].file), lines[id].line);
  }
  [[nodiscard]] const PlanClass& class_for(int task) const { return classes[class_of[task]]; }
  // Deleted because attrs hold tensors: compare files (plan_file.hpp).
  bool operator==(const Plan& other) const = delete;
};

/// The traffic of one run of a region of the task's class, without the regions nested in it.
[[nodiscard]] Traffic traffic_of(const Plan& plan, int task, RegionId region);

/// The position of a task in a grouping; `group` is null if the task is in none of the groups.
struct Membership {
  const std::vector<std::int32_t>* group = nullptr;
  int member = -1;
};
[[nodiscard]] Membership membership(const Grouping& grouping, int task);

/// The first element of the task's part in each dim of the whole value. Splits of one dim nest: the second split cuts
/// the part that the first split has made.
[[nodiscard]] std::vector<std::int64_t> begin_of(const Plan& plan, const Window& window, int task);

/// A hash of the plan, which tasks compare before the first step. Plans with equal files have equal hashes. Different
/// plans have different hashes, with probability 1 - 2^-64. Throws Error(resource) if the plan is too large for a file.
/// Thread-safe.
[[nodiscard]] std::uint64_t fingerprint(const Plan& plan);

}  // namespace ferry
#pragma GCC visibility pop
