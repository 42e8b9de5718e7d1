// Tile regions: a loop over tiles may replace kernels that run one after another only under one condition. Each element
// of a result must depend only on the elements at its own place (or in its own row if tiles have whole rows), and on
// values that the region does not write. The executor checks that the kernels really work by elements or rows.
#include <algorithm>
#include <set>

#include "plan/verify/class_view.hpp"

namespace ferry::verifier {
namespace {

class Tiles : ClassView {
 public:
  Tiles(const Plan& plan, const PlanClass& plan_class)
      : ClassView(plan, plan_class), slot_of_(plan_class.buffers.size(), kNone) {}

  std::size_t check() {
    std::size_t found = 0;
    for (const Instruction& i : class_.instructions) {
      if (i.what == Opcode::stencil) owned_.insert(i.region());  // check_stencils() checks it
      if (i.what != Opcode::tiles) continue;
      check_region(i);
      ++found;
    }
    for (std::size_t r = 0; r < class_.regions.size(); ++r)
      if (class_.regions[r].kind == Region::Kind::tile && !owned_.contains(r))
        reject("malformed plan: region " + std::to_string(r) + " is a tile region and not run as one");
    for (std::uint32_t r = 0; r < class_.regions.size(); ++r)
      each_instruction(r, [&](const Instruction& i) { check_slots(i, r); });
    for (const Buffer& b : class_.buffers)
      if (b.view_of != kNone && in_slot(b.view_of)) reject(named(b.view_of) + " is in a slot and has a view");
    return found;
  }

 private:
  /// The buffer that `b` shows whole, in another shape; else `b` itself.
  [[nodiscard]] std::uint32_t whole(std::uint32_t b) const {
    const std::uint32_t of = class_.buffers[b].view_of;
    return of != kNone && class_.buffers[of].bytes == class_.buffers[b].bytes ? of : b;
  }

  // ---- A region ----

  void check_region(const Instruction& tiles) {
    const Region& region = class_.regions[tiles.region()];
    if (region.kind != Region::Kind::tile || region.instructions.count == 0 || region.instructions.count > kTileKernels)
      reject(describe(plan_, tiles) + ": region " + std::to_string(tiles.region()) + " is no tile region");
    owned_.insert(tiles.region());
    measure(tiles);
    if (class_.on_queue(tiles)) check_device(tiles);
    const Instruction* const head =
        tiles.tile_elements() == 0 ? &class_.instructions[region.instructions.first] : nullptr;
    std::set<std::uint32_t> read, written;
    each_instruction(tiles.region(), [&](const Instruction& i) {
      if (&i == head)
        check_head(i, tiles);
      else
        check_member(i, tiles);
      if (head != nullptr && operand(i.outputs, 0) != operand(tiles.outputs, 0))
        reject(describe(plan_, i) + " makes another value than " + describe(plan_, tiles));
      each(i.inputs, [&](std::uint32_t b) {
        if (!in_slot(b) && class_.buffers[b].space != Buffer::Space::none && !written.contains(whole(b)))
          read.insert(b);
      });
      each(i.outputs, [&](std::uint32_t b) {
        if (!in_slot(b)) written.insert(whole(b));
      });
    });
    each_instruction(tiles.region(), [&](const Instruction& i) {
      if (&i != head) check_rows(i, written);
    });
    if (listed(tiles.inputs) != read) reject(describe(plan_, tiles) + ": its inputs differ from its kernels' inputs");
    if (listed(tiles.outputs) != written)
      reject(describe(plan_, tiles) + ": its outputs differ from its kernels' outputs");
    for (std::uint32_t w : written) {
      for (std::uint32_t other : written) check_overlap(tiles, w, other);
      for (std::uint32_t other : read) check_overlap(tiles, w, other);
    }
    if (head != nullptr) check_pieces(tiles, read);
  }

  void measure(const Instruction& tiles) {
    extent_ = {count(operand(tiles.outputs, 0)), count(operand(tiles.outputs, 0))};
    if (tiles.tile_elements() == 0) return;
    extent_ = tile_extent(class_, tiles);
    if (extent_.rows == 0 || extent_.elements == 0 || extent_.elements % extent_.rows != 0 ||
        tiles.tile_elements() % (extent_.elements / extent_.rows) != 0)
      reject(describe(plan_, tiles) + ": tiles of " + std::to_string(tiles.tile_elements()) +
             " elements cut the rows of " + std::to_string(extent_.rows) + " in " + std::to_string(extent_.elements));
  }

  /// Checks a region or an epilogue on a GPU. ferry generates one kernel for it, and this kernel works by elements, not
  /// by rows.
  void check_device(const Instruction& tiles) const {
    const auto fuses = [](const TaskInfo& task) { return task.gpus == 0 || task.gpu_regions; };
    if (!std::ranges::all_of(plan_.topology.tasks, fuses))
      reject(describe(plan_, tiles) + " is a region of a GPU, and GPUs of this job run kernels one by one");
    if (extent_.rows != extent_.elements || extent_.elements == 0)
      reject(describe(plan_, tiles) + " is a region of a GPU, and not of elements alone");
    if (tiles.tile_elements() == 0 && class_.regions[tiles.region()].instructions.count < 2)
      reject(describe(plan_, tiles) + " is an epilogue of a GPU, and nothing follows its first kernel");
  }

  /// Checks that the kernel reads only its own row of values that the region writes.
  void check_rows(const Instruction& i, const std::set<std::uint32_t>& written) const {
    const std::uint32_t out = operand(i.outputs, 0);
    each(i.inputs, [&](std::uint32_t b) {
      if (!in_slot(b) && !written.contains(whole(b))) return;
      const bool follows = count(b) == count(out) || count(b) == extent_.elements ||
                           (count(b) == extent_.rows && one_a_row(class_.buffers[b].sizes, class_.buffers[out].sizes));
      if (!follows) reject(describe(plan_, i) + " needs other rows of " + named(b));
    });
  }

  /// Whether `from` is broadcast along the last dims of `to`, and has the sizes of `to` in all dims before these.
  static bool one_a_row(const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& to) {
    const auto size = [&](std::size_t d) { return d > from.size() ? 1 : from[from.size() - d]; };
    std::size_t d = 1;
    while (d <= to.size() && size(d) == 1) ++d;
    for (; d <= to.size(); ++d)
      if (size(d) != to[to.size() - d]) return false;
    return true;
  }

  /// The strand that a region's kernels must name: the device's queue; on the host 0, on whichever thread the region
  /// runs.
  [[nodiscard]] std::uint16_t strand_in(const Instruction& tiles) const {
    return class_.on_queue(tiles) ? tiles.strand : 0;
  }

  /// Checks the first kernel of an epilogue. The other kernels change the pieces of its output.
  void check_head(const Instruction& i, const Instruction& tiles) {
    if (i.what != Opcode::kernel || i.strand != strand_in(tiles) || i.waits.count > 0 || i.scratch != tiles.scratch ||
        i.outputs.count != 1)
      reject(describe(plan_, i) + " cannot yield the pieces of " + describe(plan_, tiles));
  }

  /// In an epilogue the first kernel still reads its inputs and uses its scratch while the other kernels write. So the
  /// value that they all write must share no byte with any value that is read.
  void check_pieces(const Instruction& tiles, const std::set<std::uint32_t>& read) const {
    const std::uint32_t made = operand(tiles.outputs, 0);
    if (in_slot(made)) reject(describe(plan_, tiles) + " makes " + named(made) + ", which is in a slot");
    for (std::uint32_t b : read) {
      if (in_slot(b) || overlap(b, made))
        reject(describe(plan_, tiles) + " writes " + named(made) + " while it reads " + named(b));
      if (tiles.scratch != kNone && overlap(b, tiles.scratch))
        reject(describe(plan_, tiles) + ": its scratch buffer overlaps " + named(b));
    }
  }

  [[nodiscard]] std::set<std::uint32_t> listed(Range range) const {
    std::set<std::uint32_t> all;
    each(range, [&](std::uint32_t b) { all.insert(b); });
    return all.size() == range.count ? all : std::set<std::uint32_t>{kNone};
  }

  void check_member(const Instruction& i, const Instruction& tiles) {
    if (i.what != Opcode::kernel || i.strand != strand_in(tiles) || i.waits.count > 0 || i.scratch != kNone ||
        i.outputs.count != 1 || i.inputs.count > kTileInputs)
      reject(describe(plan_, i) + " cannot be run tile by tile");
    const std::uint32_t out = operand(i.outputs, 0);
    if ((count(out) != extent_.elements && count(out) != extent_.rows) || count(out) == 0 || !plain(out))
      reject(describe(plan_, i) + " makes " + named(out) + ", which has not the " + std::to_string(extent_.elements) +
             " elements of its tile region");
    const std::uint64_t size = size_of(class_.buffers[out].dtype);
    if (in_slot(out) &&
        class_.buffers[out].offset + extent_.in_tile(count(out), tiles.tile_elements()) * size > kSlotBytes)
      reject(describe(plan_, i) + ": " + named(out) + " ends behind the slots of its thread");
    for (std::uint32_t k = 0; k < i.inputs.count; ++k) check_input(i, k);
  }

  /// Checks that the input is broadcast to the result. Exception: a kernel that makes one element for each row reads
  /// its first input, and only the sizes of its other inputs.
  void check_input(const Instruction& i, std::uint32_t k) const {
    const std::uint32_t b = operand(i.inputs, k), out = operand(i.outputs, 0);
    const bool joins = count(out) != extent_.elements && count(operand(i.inputs, 0)) == extent_.elements;
    if (joins && k > 0 && class_.buffers[b].space == Buffer::Space::none) return;
    const bool fits = joins ? k == 0 : broadcasts(class_.buffers[b].sizes, class_.buffers[out].sizes);
    if (!plain(b) || !fits || (in_slot(b) && count(b) != extent_.elements && count(b) != extent_.rows))
      reject(describe(plan_, i) + " reads " + named(b) + ", which is not broadcast to its result");
  }

  [[nodiscard]] bool plain(std::uint32_t b) const {
    return !class_.buffers[b].bounded && class_.buffers[b].space != Buffer::Space::none;
  }

  static bool broadcasts(const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& to) {
    for (std::size_t d = 1; d <= from.size(); ++d) {
      const std::int64_t size = from[from.size() - d];
      if (size != 1 && (d > to.size() || size != to[to.size() - d])) return false;
    }
    return true;
  }

  /// Checks that a written buffer shares no bytes with another buffer, unless all their elements coincide. If they
  /// coincide, the order of the kernels, which check_memory() checks, also holds within each tile.
  void check_overlap(const Instruction& tiles, std::uint32_t written, std::uint32_t other) const {
    const Buffer& a = class_.buffers[written];
    const Buffer& b = class_.buffers[other];
    if (written == other || a.space != b.space || a.device != b.device) return;
    if (a.offset >= b.offset + b.bytes || b.offset >= a.offset + a.bytes) return;
    if (a.offset != b.offset || size_of(a.dtype) != size_of(b.dtype) || count(written) != extent_.elements ||
        count(other) != extent_.elements)
      reject(describe(plan_, tiles) + " writes " + named(written) + " over other elements of " + named(other));
  }

  /// Checks that a buffer in a slot is used in one tile region only.
  void check_slots(const Instruction& i, RegionId region) {
    for (const Range range : {i.inputs, i.outputs})
      each(range, [&](std::uint32_t b) {
        if (!in_slot(b)) return;
        if (slot_of_[b] == kNone) slot_of_[b] = region;
        if (class_.regions[region].kind != Region::Kind::tile || slot_of_[b] != region)
          reject(describe(plan_, i) + " uses " + named(b) + ", which is in a slot of a tile region");
      });
    if (i.scratch != kNone && in_slot(i.scratch)) reject(describe(plan_, i) + ": its scratch buffer is in a slot");
  }

  std::vector<std::uint32_t> slot_of_;  // of each buffer: the tile region that uses it
  std::set<std::size_t> owned_;         // tile regions that an instruction runs
  TileExtent extent_;                   // of the region that is being checked
};

}  // namespace

TileExtent tile_extent(const PlanClass& plan_class, const Instruction& tiles) {
  const auto count = [&](Range range, std::uint32_t k) {
    const Buffer& b = plan_class.buffers[plan_class.operands[range[k]]];
    return b.space == Buffer::Space::none ? 0 : b.bytes / size_of(b.dtype);
  };
  TileExtent extent{0, UINT64_MAX};
  const Range members = plan_class.regions[tiles.region()].instructions;
  for (const std::uint32_t m : members) {
    const Instruction& member = plan_class.instructions[m];
    for (std::uint32_t k = 0; k < member.inputs.count; ++k)
      extent.elements = std::max(extent.elements, count(member.inputs, k));
    for (std::uint32_t k = 0; k < member.outputs.count; ++k) {
      extent.elements = std::max(extent.elements, count(member.outputs, k));
      extent.rows = std::min(extent.rows, count(member.outputs, k));
    }
  }
  return extent;
}

std::size_t check_tiles(const Plan& plan) {
  std::size_t found = 0;
  for (const PlanClass& plan_class : plan.classes) found += Tiles(plan, plan_class).check();
  return found;
}

}  // namespace ferry::verifier
