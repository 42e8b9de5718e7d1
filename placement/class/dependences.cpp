#include "placement/class/dependences.hpp"

#include <map>
#include <utility>

namespace ferry {

Dependences::Dependences(const PlanClass& plan, Range list)
    : plan_(plan), writer_(plan.buffers.size(), kNone), reader_(plan.buffers.size(), kNone) {
  find_parts();
  first_.reserve(list.count + 1);
  for (std::uint32_t i = 0; i < list.count; ++i) {
    first_.push_back(static_cast<std::uint32_t>(needs_.size()));
    add(i, plan.instructions[list[i]]);
  }
  first_.push_back(static_cast<std::uint32_t>(needs_.size()));
}

void Dependences::find_parts() {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> first;
  representative_.reserve(plan_.buffers.size());
  for (std::uint32_t b = 0; b < plan_.buffers.size(); ++b) {
    const std::uint32_t whole = storage_of(plan_, b);
    representative_.push_back(whole);
    const Buffer& buffer = plan_.buffers[b];
    if (buffer.bytes == plan_.buffers[whole].bytes) continue;
    const auto [at, fresh] = first.try_emplace({whole, buffer.offset}, b);
    representative_.back() = at->second;
    if (fresh) parts_[whole].push_back(b);
  }
}

void Dependences::add(std::uint32_t i, const Instruction& instruction) {
  for (std::uint32_t k = 0; k < instruction.inputs.count; ++k)
    each(operand(instruction.inputs, k), [&](BufferId buffer) { read(i, buffer); });
  for (std::uint32_t k = 0; k < instruction.outputs.count; ++k) {
    const std::uint32_t out = operand(instruction.outputs, k);
    if (const std::uint32_t whole = storage_of(plan_, out); whole != out) depend_on_first_write(i, whole);
    each(out, [&](BufferId buffer) { write(i, buffer); });
  }
  if (instruction.what != Opcode::loop && instruction.what != Opcode::branch) return;
  for (const RegionId region : {instruction.region(), instruction.other_region()}) {
    const Range nested = plan_.regions[region].instructions;
    for (const std::uint32_t n : nested) add(i, plan_.instructions[n]);
  }
}

/// Called if instruction i writes a part of `whole`: makes i depend on the first write to any part.
void Dependences::depend_on_first_write(std::uint32_t i, std::uint32_t whole) {
  add_dependence(i, writer_[whole]);
  if (writer_[whole] == kNone) writer_[whole] = i;
}

void Dependences::add_dependence(std::uint32_t i, std::uint32_t earlier) {
  if (earlier != kNone && earlier != i) needs_.push_back(earlier);
}

void Dependences::read(std::uint32_t i, BufferId buffer) {
  add_dependence(i, writer_[buffer]);
  if (reader_[buffer] != kNone && readers_[reader_[buffer]].instruction == i) return;
  readers_.push_back({i, reader_[buffer]});
  reader_[buffer] = static_cast<std::uint32_t>(readers_.size() - 1);
}

void Dependences::write(std::uint32_t i, BufferId buffer) {
  add_dependence(i, writer_[buffer]);
  for (std::uint32_t r = reader_[buffer]; r != kNone; r = readers_[r].next) add_dependence(i, readers_[r].instruction);
  writer_[buffer] = i;
  reader_[buffer] = kNone;
}

}  // namespace ferry
