#include "placement/fuse/fuse_stencils.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <vector>

#include "placement/fuse/fuse_elements.hpp"
#include "placement/fuse/touched.hpp"

namespace ferry {
namespace {

/// The fewest elements of a row of a part, unless KernelFacts::fuse_from is lower, so that kernels compute long runs.
constexpr std::int64_t kShortestRow = 32;
constexpr std::int64_t kLongestPiece = 4096, kPieceLine = 64;

class StencilFuser {
 public:
  explicit StencilFuser(ClassPlan& plan) : form_(plan), plan_(plan.role), touches_(count_touches(plan)) {}

  void run() {
    const std::uint32_t regions = form_.regions();
    for (std::uint32_t r = 0; r < regions; ++r) {
      const auto& list = form_.list(r);
      if (std::ranges::any_of(list, [&](const Instruction& i) { return is_window(i); })) fuse(r);
    }
  }

 private:
  /// Instructions of the list, by their places, that may become one stencil.
  struct StencilGroup {
    std::vector<std::uint32_t> members;  ///< ascending
    std::int64_t elements = 0;
    Touched touched;
    std::size_t first = 0;  ///< the place of the first member
  };

  // ---- Which ----

  [[nodiscard]] std::uint32_t out_of(const Instruction& i) const { return plan_.outputs(i)[0]; }
  [[nodiscard]] std::int64_t elements(std::uint32_t b) const { return elements_of(plan_.buffers[b]); }

  /// Whether the value is on a host, has known sizes, and is large and wide enough.
  [[nodiscard]] bool is_large_enough(std::uint32_t b) const {
    const Buffer& buffer = plan_.buffers[b];
    return !buffer.bounded && buffer.space != Buffer::Space::none && !buffer.sizes.empty() &&
           buffer.sizes[buffer.sizes.size() - 1] >= std::min(kShortestRow, form_.facts.fuse_from) &&
           elements_of(buffer) >= form_.facts.fuse_from && plan_.devices[buffer.device].kind == DeviceKind::cpu;
  }

  [[nodiscard]] bool is_window(const Instruction& i) const {
    return i.what == Opcode::kernel && form_.facts.shifts.contains(i.op) && (i.may & kFusable) != 0 &&
           is_large_enough(out_of(i)) && plan_.buffers[out_of(i)].view_of == kNone;
  }

  /// Whether the instruction is elementwise, and each input has as many elements as the output, or a single one.
  [[nodiscard]] bool is_elementwise(const Instruction& i) const {
    if (!is_fusable(form_, i, form_.facts.fuse_from) || !is_large_enough(out_of(i))) return false;
    bool fits = true;
    for (const std::uint32_t b : plan_.inputs(i))
      fits = fits && (elements(b) == elements(out_of(i)) || elements(b) == 1);
    return fits;
  }

  // ---- Groups ----

  void fuse(RegionId region) {
    list_ = std::move(form_.list(region));
    group_of_.assign(list_.size(), kNone);
    groups_.clear();
    makers_.clear();
    reads_.clear();
    for (const Instruction& i : list_)
      if (is_elementwise(i))
        for (const std::uint32_t b : plan_.inputs(i)) ++reads_[b];
    for (std::uint32_t i = 0; i < list_.size(); ++i) {
      const bool kernel = is_elementwise(list_[i]);
      if (kernel || (is_window(list_[i]) && is_for_kernels(out_of(list_[i])))) makers_[out_of(list_[i])] = i;
      if (kernel) grow(i);
    }
    std::erase_if(groups_, [&](StencilGroup& group) { return !remove_shared_windows(group); });
    form_.list(region) = replace_groups(groups_);
  }

  /// Whether only elementwise kernels of this list read the window.
  [[nodiscard]] bool is_for_kernels(std::uint32_t window) const {
    const auto reads = reads_.find(window);
    return reads != reads_.end() && reads->second + 1 == touches_[window];
  }

  /// Joins the groups with results that the instruction reads, and adds the instruction to the joined group; or starts
  /// a new group with it. Also adds the windows that it reads and the earlier kernels that make its inputs, where
  /// possible.
  void grow(std::uint32_t i) {
    const std::vector<std::uint32_t> read = groups_read(i);
    for (const bool joins : {true, false})
      for (const bool kernels : {true, false}) {
        if (joins && read.empty()) continue;
        StencilGroup group{{}, elements(out_of(list_[i])), {}, i};
        if (joins)
          for (const std::uint32_t g : read) merge_group(group, groups_[g]);
        add_with_makers(group, i, kernels);
        if (!has_window(group) || !may_be_stencil(group)) continue;
        if (joins)
          for (const std::uint32_t g : read) groups_[g].members.clear();
        for (const std::uint32_t m : group.members) group_of_[m] = static_cast<std::uint32_t>(groups_.size());
        groups_.push_back(std::move(group));
        return;
      }
  }

  /// The groups that make inputs of the instruction and have as many elements as its output.
  [[nodiscard]] std::vector<std::uint32_t> groups_read(std::uint32_t i) const {
    std::vector<std::uint32_t> read;
    for (const std::uint32_t b : plan_.inputs(list_[i])) {
      const auto made = makers_.find(b);
      const std::uint32_t g = made == makers_.end() ? kNone : group_of_[made->second];
      if (g == kNone || groups_[g].elements != elements(out_of(list_[i]))) continue;
      if (std::ranges::find(read, g) == read.end()) read.push_back(g);
    }
    return read;
  }
  static void merge_group(StencilGroup& group, const StencilGroup& other) {
    std::vector<std::uint32_t> both;
    std::ranges::set_union(group.members, other.members, std::back_inserter(both));
    group.members = std::move(both);
    group.touched.touch(other.touched);
    group.first = std::min(group.first, other.first);
  }
  [[nodiscard]] bool has_window(const StencilGroup& group) const {
    return std::ranges::any_of(group.members, [&](std::uint32_t m) { return is_window(list_[m]); });
  }

  /// Adds the instruction to the group, and the ungrouped instructions that make its inputs: windows and, if `kernels`
  /// is true, elementwise kernels.
  void add_with_makers(StencilGroup& group, std::uint32_t i, bool kernels) const {
    const auto at = std::ranges::lower_bound(group.members, i);
    if (at != group.members.end() && *at == i) return;
    group.members.insert(at, i);
    group.touched.touch(plan_, list_[i]);
    group.first = std::min<std::size_t>(group.first, i);
    if (is_window(list_[i])) return;
    for (const std::uint32_t b : plan_.inputs(list_[i])) {
      const auto made = makers_.find(b);
      if (made == makers_.end() || made->second >= i || elements(b) != group.elements) continue;
      if (group_of_[made->second] == kNone && (kernels || is_window(list_[made->second])))
        add_with_makers(group, made->second, kernels);
    }
  }

  /// True if the members can be moved down to the last member: no instruction between conflicts with an earlier member,
  /// and no member writes a value that is read through a window.
  [[nodiscard]] bool may_be_stencil(const StencilGroup& group) const {
    if (group.members.size() > kTileKernels || group.members.back() - group.first > kFuseReach) return false;
    for (const std::uint32_t m : group.members) {
      if (!is_window(list_[m])) continue;
      bool written = false;
      for (const std::uint32_t b : plan_.inputs(list_[m]))
        written = written || has(group.touched.writes, storage_of(plan_, b));
      if (written) return false;
    }
    Touched moved;
    for (std::uint32_t i = static_cast<std::uint32_t>(group.first); i <= group.members.back(); ++i) {
      Touched here;
      here.touch(plan_, list_[i]);
      if (std::ranges::binary_search(group.members, i))
        moved.touch(here);
      else if (here.conflicts(moved) || list_[i].what == Opcode::loop || list_[i].what == Opcode::branch)
        return false;
    }
    return true;
  }

  /// Removes windows that instructions outside the group read. Returns whether the group still has a window.
  bool remove_shared_windows(StencilGroup& group) const {
    std::erase_if(group.members, [&](std::uint32_t m) {
      if (!is_window(list_[m])) return false;
      std::uint32_t here = 1;  // the window itself touches its output
      for (const std::uint32_t other : group.members)
        for (const std::uint32_t b : plan_.inputs(list_[other])) here += b == out_of(list_[m]) ? 1U : 0U;
      return here != touches_[out_of(list_[m])];
    });
    return !group.members.empty() && has_window(group);
  }

  // ---- Instructions ----

  std::vector<Instruction> replace_groups(const std::vector<StencilGroup>& groups) {
    std::vector<const StencilGroup*> ends(list_.size(), nullptr);
    std::vector<bool> gone(list_.size(), false);
    for (const StencilGroup& group : groups) {
      ends[group.members.back()] = &group;
      for (const std::uint32_t m : group.members) gone[m] = true;
    }
    std::vector<Instruction> made;
    for (std::uint32_t i = 0; i < list_.size(); ++i) {
      if (ends[i] != nullptr)
        push_stencil(made, *ends[i]);
      else if (!gone[i])
        made.push_back(list_[i]);
    }
    return made;
  }

  void push_stencil(std::vector<Instruction>& made, const StencilGroup& group) {
    std::vector<Instruction> body;
    for (const bool window : {true, false})
      for (const std::uint32_t m : group.members)
        if (is_window(list_[m]) == window) body.push_back(list_[m]);
    for (Instruction& member : body) member.may = 0;
    Instruction stencil = body.back();
    stencil.what = Opcode::stencil;
    stencil.attrs = kNone;
    stencil.in_place = 0;
    stencil.op = form_.tables().string("Stencil");
    Storages in, out, halos;
    place_slots(body, stencil);
    for (const Instruction& member : body) {
      std::uint32_t k = 0;
      for (const std::uint32_t b : plan_.inputs(member)) {
        const bool halo = k++ == 1 && form_.facts.shifts.contains(member.op);
        if (plan_.buffers[b].space == Buffer::Space::tile || has(out, b)) continue;
        add(halo ? halos : in, b);
      }
      for (const std::uint32_t b : plan_.outputs(member))
        if (plan_.buffers[b].space != Buffer::Space::tile) add(out, b);
    }
    Instruction begin = stencil;
    begin.what = Opcode::stencil_begin;
    form_.add_operands(begin, in, out);
    Storages all = in;
    add(all, halos);
    form_.add_operands(stencil, all, out);
    stencil.target = begin.target = form_.add(Region::Kind::tile);
    form_.list(stencil.target) = std::move(body);
    begin_early(made, begin, halos);
    made.push_back(stencil);
  }

  /// Moves the waits for the halos to the end of the list, and adds `begin` before them, if there are any.
  void begin_early(std::vector<Instruction>& made, const Instruction& begin, const Storages& halos) const {
    std::vector<Instruction> waits;
    Touched after;  // the instructions after place i that stay
    for (std::size_t i = made.size(); i-- > 0 && made.size() - i <= kFuseReach;) {
      Touched here;
      here.touch(plan_, made[i]);
      const bool brings = made[i].what == Opcode::collective_wait && made[i].outputs.count == 1 &&
                          has(halos, plan_.outputs(made[i])[0]);
      if (brings && !here.conflicts(after)) {
        waits.insert(waits.begin(), made[i]);
        made.erase(made.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        after.touch(here);
      }
      if (waits.size() == halos.size()) break;
    }
    if (!waits.empty()) made.push_back(begin);
    made.insert(made.end(), waits.begin(), waits.end());
  }

  /// Gives slots to the values that only members touch, such as windows.
  void place_slots(const std::vector<Instruction>& body, Instruction& stencil) {
    std::vector<std::uint32_t> inside;
    std::uint64_t bytes = 0;
    for (const Instruction& member : body) {
      const std::uint32_t out = out_of(member);
      std::uint32_t here = 0;
      for (const Instruction& other : body)
        for (const Range range : {other.inputs, other.outputs})
          for (const std::uint32_t b : plan_.operands_of(range)) here += b == out ? 1U : 0U;
      const Buffer& buffer = plan_.buffers[out];
      if (buffer.space != Buffer::Space::step || buffer.view_of != kNone || here != touches_[out] || here < 2) continue;
      inside.push_back(out);
      bytes += size_of(buffer.dtype);
    }
    const auto room = static_cast<std::int64_t>(kTileBytes / std::max<std::uint64_t>(bytes, 1));
    const std::int64_t tile = std::clamp(room / kPieceLine * kPieceLine, kPieceLine, kLongestPiece);
    stencil.other = static_cast<std::uint32_t>(tile);
    std::uint64_t at = 0;
    for (const std::uint32_t b : inside) {
      Buffer& buffer = plan_.buffers[b];
      buffer.space = Buffer::Space::tile;
      buffer.offset = at;
      at += (size_of(buffer.dtype) * static_cast<std::uint64_t>(tile) + kBufferAlign - 1) / kBufferAlign * kBufferAlign;
    }
  }

  ClassPlan& form_;
  PlanClass& plan_;
  std::vector<std::uint32_t> touches_;                       // of each buffer
  std::vector<Instruction> list_;                            // of the region
  std::unordered_map<std::uint32_t, std::uint32_t> makers_;  // by buffer: places of windows and elementwise kernels
  std::unordered_map<std::uint32_t, std::uint32_t> reads_;   // by buffer: how often elementwise kernels read it
  std::vector<StencilGroup> groups_;
  std::vector<std::uint32_t> group_of_;  // of places
};

}  // namespace

void fuse_stencils(ClassPlan& plan) {
  if (plan.facts.fuse_from > 0 && !plan.facts.shifts.empty()) StencilFuser(plan).run();
}

}  // namespace ferry
