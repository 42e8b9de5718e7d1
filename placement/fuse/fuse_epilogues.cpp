#include "placement/fuse/fuse_epilogues.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "placement/fuse/fuse_elements.hpp"
#include "placement/fuse/touched.hpp"

namespace ferry {
namespace {

/// The fewest elements of an output for which an epilogue pays. It is lower than for tile regions (fuse_from), because
/// a head does far more work on a piece than a kernel does on a tile.
constexpr std::int64_t kPays = 1024;

class EpilogueFuser {
 public:
  explicit EpilogueFuser(ClassPlan& plan) : form_(plan), plan_(plan.role), heads_(plan.facts.heads) {}

  void run() {
    const std::uint32_t regions = form_.regions();
    for (std::uint32_t r = 0; r < regions; ++r) {
      const auto& list = form_.list(r);
      if (std::none_of(list.begin(), list.end(), [&](const Instruction& i) { return is_head(i); })) continue;
      if (touches_.empty()) touches_ = count_touches(form_);
      join(r);
    }
  }

 private:
  /// A head and the kernels that follow it.
  struct Chain : Touched {
    std::vector<std::uint32_t> members;  ///< places in the list, ascending
    std::uint32_t made = kNone;          ///< the output buffer of the last member
  };

  using Chains = std::unordered_map<std::uint32_t, Chain>;  // by the place in the list where the whole chain will be

  // ---- What can be joined ----

  /// The fewest elements of an output for which kernels are joined. On a device, saving a launch pays for any number.
  [[nodiscard]] std::int64_t from_of(const Instruction& i) const {
    return plan_.on_queue(i) ? 1 : std::min(form_.facts.fuse_from, kPays);
  }

  [[nodiscard]] bool is_head(const Instruction& i) const {
    if (i.what != Opcode::kernel || (i.may & kFusable) == 0 || !heads_.contains(i.op) || i.outputs.count != 1)
      return false;
    bool bounded = false;
    for (const Range range : {i.inputs, i.outputs})
      for (const std::uint32_t b : plan_.operands_of(range)) bounded = bounded || plan_.buffers[b].bounded;
    const Buffer& out = plan_.buffers[output(i)];
    return !bounded && elements_of(out) >= from_of(i);
  }

  /// Whether the kernel can be the chain's next member: it reads the chain's output, may write over it, and does not
  /// use the bytes of its own output in any other way.
  [[nodiscard]] bool follows(const Chain& chain, const Instruction& i) const {
    if (!is_fusable(form_, i, from_of(i))) return false;
    const Buffer &from = plan_.buffers[chain.made], &to = plan_.buffers[output(i)];
    const bool whole =
        to.view_of == kNone || plan_.buffers[to.view_of].bytes != to.bytes;  // not another shape of a whole buffer
    if (!whole || from.dtype != to.dtype || from.sizes != to.sizes || from.window != to.window ||
        from.device != to.device)
      return false;
    bool reads_made = false, fits = true;
    const std::uint32_t taken = storage_of(plan_, output(i));
    for (std::uint32_t k = 0; k < i.inputs.count; ++k) {
      const std::uint32_t b = plan_.inputs(i)[k];
      reads_made = reads_made || b == chain.made;
      fits = fits && (b == chain.made ? may_overwrite(i, k) : storage_of(plan_, b) != taken);
    }
    return reads_made && fits && !has(chain.reads, taken) && !has(chain.writes, taken);
  }

  /// Whether only its maker and one other instruction touch the buffer, and the buffer has its own bytes.
  [[nodiscard]] bool is_passed_on(std::uint32_t b) const {
    const Buffer& buffer = plan_.buffers[b];
    return touches_[b] == 2 && buffer.space == Buffer::Space::step && buffer.view_of == kNone;
  }

  // ---- Chains ----

  void join(RegionId region) {
    const std::vector<Instruction> list = std::move(form_.list(region));
    Chains starting;
    std::vector<bool> taken(list.size(), false);
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      if (taken[i] || !is_head(list[i])) continue;
      Chain chain;
      extend(chain, list, i);
      taken[i] = true;
      std::uint32_t place = i;
      while (const auto next = next_of(chain, list, place, taken, starting)) {
        extend(chain, list, next->member);
        taken[next->member] = true;
        place = next->place;
      }
      if (chain.members.size() > 1 && keeps_groups(list, chain, taken)) {
        starting[place] = std::move(chain);
      } else {
        for (const std::uint32_t m : chain.members) taken[m] = false;
      }
    }
    std::vector<Instruction> joined;
    joined.reserve(list.size());
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      if (const auto chain = starting.find(i); chain != starting.end())
        joined.push_back(make(list, chain->second));
      else if (!taken[i])
        joined.push_back(list[i]);
    }
    form_.list(region) = std::move(joined);
  }

  struct Next {
    std::uint32_t member, place;  ///< the next kernel, and the chain's place with it
  };

  /// The kernel that continues the chain at `place`, if any can.
  std::optional<Next> next_of(const Chain& chain, const std::vector<Instruction>& list, std::uint32_t place,
                              const std::vector<bool>& taken, const Chains& starting) const {
    if (!is_passed_on(chain.made) || chain.members.size() == kTileKernels) return std::nullopt;
    const std::size_t end = std::min(list.size(), std::size_t{place} + kFuseReach);
    for (std::uint32_t at = place + 1; at < end; ++at) {
      if (list[at].what != Opcode::kernel && list[at].what != Opcode::copy) return std::nullopt;
      if (taken[at] || !reads(list[at], chain.made)) continue;
      if (!follows(chain, list[at])) return std::nullopt;
      Chain member;
      extend(member, list, at);
      const auto free = [&](const Chain& moved) {
        for (std::uint32_t between = place + 1; between < at; ++between) {
          const auto chain = starting.find(between);
          if (chain != starting.end() && chain->second.conflicts(moved)) return false;
          if (taken[between]) continue;
          Touched alone;
          alone.touch(plan_, list[between]);
          if (alone.conflicts(moved)) return false;
        }
        return true;
      };
      if (free(member)) return Next{at, place};
      if (free(chain)) return Next{at, at};
      return std::nullopt;
    }
    return std::nullopt;
  }

  void extend(Chain& chain, const std::vector<Instruction>& list, std::uint32_t i) const {
    chain.members.push_back(i);
    chain.touch(plan_, list[i]);
    if (list[i].outputs.count == 1) chain.made = output(list[i]);
  }

  [[nodiscard]] bool reads(const Instruction& i, std::uint32_t b) const {
    bool found = false;
    for (const std::uint32_t input : plan_.inputs(i)) found = found || input == b;
    return found;
  }

  // ---- Groups of a device ----

  /// Whether fuse_elements would join no other kernel with a kernel of the chain. On a device, the values of such a
  /// group are in registers, so a chain with only a part of the group would add a pass over memory.
  [[nodiscard]] bool keeps_groups(const std::vector<Instruction>& list, const Chain& chain,
                                  const std::vector<bool>& taken) const {
    if (!plan_.on_queue(list[chain.members.front()])) return true;
    const std::int64_t elements = elements_of(plan_.buffers[chain.made]);
    for (std::size_t k = 1; k < chain.members.size(); ++k) {
      const std::uint32_t member = chain.members[k];
      const std::size_t first = member < kFuseReach ? 0 : member - kFuseReach;
      const std::size_t end = std::min(list.size(), member + kFuseReach);
      for (std::size_t i = first; i < end; ++i) {
        if (taken[i] || !is_fusable(form_, list[i], 1) || list[i].strand != list[member].strand ||
            elements_of(plan_.buffers[output(list[i])]) != elements)
          continue;
        if (i < member ? may_meet(list, chain, i, member) : may_meet(list, chain, member, i)) return false;
      }
    }
    return true;
  }

  /// Whether the later instruction reads an output of the earlier one, and one of the two can move to the other.
  /// Members of the chain do not prevent this.
  [[nodiscard]] bool may_meet(const std::vector<Instruction>& list, const Chain& chain, std::size_t earlier,
                              std::size_t later) const {
    Touched first, last;
    first.touch(plan_, list[earlier]);
    last.touch(plan_, list[later]);
    if (!meet(first.writes, last.reads)) return false;
    bool down = true, up = true;
    for (std::size_t i = earlier + 1; i < later; ++i) {
      if (list[i].what != Opcode::kernel && list[i].what != Opcode::copy) return false;
      if (std::find(chain.members.begin() + 1, chain.members.end(), i) != chain.members.end()) continue;
      Touched between;
      between.touch(plan_, list[i]);
      down = down && !between.conflicts(first);
      up = up && !between.conflicts(last);
    }
    return down || up;
  }

  // ---- The region ----

  Instruction make(const std::vector<Instruction>& list, const Chain& chain) {
    const RegionId region = form_.add(Region::Kind::tile);
    std::vector<Instruction>& body = form_.list(region);
    Storages in, between;
    std::string ops;
    for (std::uint32_t m : chain.members) {
      body.push_back(list[m]);
      body.back().may = 0;
      ops.append(ops.empty() ? "" : "+").append(form_.tables().text(list[m].op));
      for (const std::uint32_t b : plan_.inputs(list[m]))
        if (plan_.buffers[b].space != Buffer::Space::none && !has(between, b)) add(in, b);
      between.push_back(output(list[m]));
    }
    for (const Instruction& member : body)
      for (const Range range : {member.inputs, member.outputs})
        for (const std::uint32_t k : range)
          if (has(between, plan_.operands[k])) plan_.operands[k] = chain.made;
    Instruction tiles = list[chain.members.back()];
    tiles.what = Opcode::tiles;
    tiles.attrs = kNone;
    tiles.in_place = 0;
    tiles.op = form_.tables().string(ops);
    tiles.target = region;
    tiles.other = 0;
    tiles.scratch = body.front().scratch;
    form_.add_operands(tiles, in, {chain.made});
    return tiles;
  }

  // ---- Buffers ----

  [[nodiscard]] std::uint32_t output(const Instruction& i) const { return plan_.outputs(i)[0]; }

  ClassPlan& form_;
  PlanClass& plan_;
  const std::unordered_set<std::uint32_t>& heads_;
  std::vector<std::uint32_t> touches_;  // of each buffer
};

}  // namespace

void fuse_epilogues(ClassPlan& plan) {
  if (plan.facts.fuse_from > 0 && !plan.facts.heads.empty()) EpilogueFuser(plan).run();
}

}  // namespace ferry
