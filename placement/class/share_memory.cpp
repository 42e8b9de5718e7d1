#include "placement/class/share_memory.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "placement/class/lifetimes.hpp"

namespace ferry {
namespace {

constexpr std::uint64_t kWorthwhile = 4096;

class Sharing {
 public:
  explicit Sharing(ClassPlan& plan) : class_(plan), plan_(plan.tables().plan()), role_(plan.role) {}

  void run() {
    const auto& all = role_.instructions;
    if (std::ranges::any_of(all, [this](const Instruction& i) { return may_put(i); })) put();
    if (std::ranges::any_of(all, [this](const Instruction& i) { return is_get_collective(i); })) add_scratch_for_gets();
  }

 private:
  /// Whether channel and buffer allow a put; the kernel must allow it, too.
  [[nodiscard]] bool may_put(const Instruction& i) const {
    if (i.what != Opcode::send) return false;
    const Channel& channel = plan_.channels[i.channel()];
    if (channel.bytes < kWorthwhile || !plan_.topology.share_memory(std::array{channel.from, channel.to})) return false;
    const std::uint32_t b = role_.inputs(i)[0];
    const Buffer& buffer = role_.buffers[b];
    return buffer.space == Buffer::Space::step && !buffer.bounded && buffer.view_of == kNone;
  }

  /// The instruction that makes a buffer, and the number of touches of the buffer if only this instruction, the send
  /// and the send_wait touch it.
  struct Maker {
    const Instruction* owner = nullptr;
    std::uint32_t touches = 0;
  };
  using Makers = std::unordered_map<std::uint32_t, Maker>;

  void put() {
    const std::vector<std::uint32_t> touches = count_touches(class_);
    std::unordered_set<const Instruction*> putting;  // instructions with a put; each may put one value only
    for (const Region& region : role_.regions) {
      if (region.kind == Region::Kind::tile) continue;
      Makers makers;
      for (const Instruction& i : role_.instructions_of(region)) {
        if (i.strand != 0) continue;
        constexpr std::uint32_t kAlone = 3, kInTiles = 4;  // in tiles it is an output of the region, too
        if (i.what == Opcode::kernel) record_maker(i, {&i, kAlone}, makers);
        if (i.what == Opcode::tiles && i.tile_elements() != 0)
          for (const Instruction& member : role_.instructions_of(role_.regions[i.region()]))
            record_maker(member, {&i, kInTiles}, makers);
        if (!may_put(i)) continue;
        const std::uint32_t b = role_.inputs(i)[0];
        const auto maker = makers.find(b);
        plan_.channels[i.channel()].put =
            maker != makers.end() && touches[b] == maker->second.touches && putting.insert(maker->second.owner).second;
      }
    }
  }

  void record_maker(const Instruction& kernel, const Maker& maker, Makers& makers) const {
    if (kernel.outputs.count == 1 && class_.facts.streams.contains(kernel.op)) makers[role_.outputs(kernel)[0]] = maker;
  }

  [[nodiscard]] bool is_get_collective(const Instruction& i) const {
    return (i.what == Opcode::collective || i.what == Opcode::collective_wait) && i.inputs.count > 0 &&
           plan_.schedules[plan_.collectives[i.collective()].schedule].via == Via::get;
  }

  void add_scratch_for_gets() {
    const Lifetimes lifetimes(role_);
    std::unordered_map<std::uint32_t, std::uint32_t> scratch_buffers;  // by collective
    for (Instruction& i : role_.instructions) {
      if (!is_get_collective(i)) continue;
      const std::uint32_t input = role_.inputs(i)[0];
      if (!lifetimes.kept(storage_of(role_, input))) continue;
      const auto [at, fresh] =
          scratch_buffers.try_emplace(i.collective(), static_cast<std::uint32_t>(role_.buffers.size()));
      if (fresh) add_scratch(role_.buffers[input].bytes, role_.buffers[input].device);
      i.scratch = at->second;
    }
  }

  void add_scratch(std::uint64_t bytes, std::uint32_t device) {
    Buffer scratch;
    scratch.dtype = DType::uint8;
    scratch.sizes = {static_cast<std::int64_t>(bytes)};
    scratch.bytes = bytes;
    scratch.device = device;
    role_.buffers.push_back(std::move(scratch));
  }

  ClassPlan& class_;
  Plan& plan_;
  PlanClass& role_;
};

}  // namespace

void share_memory(ClassPlan& plan) {
  Sharing(plan).run();
}

}  // namespace ferry
