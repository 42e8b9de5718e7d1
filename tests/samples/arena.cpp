// Prints how much larger the arenas of a plan are than the values alive in them at once:
//
//     arena FILE.plan…
//
// For each plan the worst of its classes is printed: bytes of the arena, the most bytes alive at one time, their ratio.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/files/files.hpp"
#include "plan/file/plan_file.hpp"

using namespace ferry;

namespace {

/// The first and last position at which a buffer is alive. An instruction has two positions, its begin and its end; the
/// positions of nested instructions are between them.
struct Life {
  std::uint32_t first = kNone, last = 0;
};

/// The lives of the buffers of a class, found from the instructions alone.
class Lives {
 public:
  explicit Lives(const PlanClass& plan) : plan_(plan), all_(plan.buffers.size()) {
    for (const std::uint32_t region : {0U, 1U}) walk(region);
  }

  /// Bytes of the arena that the buffers alive at a position take.
  [[nodiscard]] std::uint64_t bytes_at(std::uint32_t position) const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
    for (std::uint32_t b = 0; b < all_.size(); ++b) {
      const Buffer& buffer = plan_.buffers[b];
      if (buffer.space != Buffer::Space::step || all_[b].first > position || all_[b].last < position) continue;
      const std::uint64_t header = buffer.bounded ? kBufferAlign : 0;
      const std::uint64_t bytes = std::max<std::uint64_t>(1, (buffer.bytes + kBufferAlign - 1) / kBufferAlign);
      taken.emplace_back(buffer.offset - header, buffer.offset + bytes * kBufferAlign);
    }
    std::sort(taken.begin(), taken.end());
    std::uint64_t sum = 0, end = 0;
    for (const auto& [from, to] : taken) {
      sum += to > std::max(from, end) ? to - std::max(from, end) : 0;
      end = std::max(end, to);
    }
    return sum;
  }
  [[nodiscard]] std::uint32_t positions() const { return now_; }

 private:
  /// A buffer that is touched before a loop or branch and in it lives to its end.
  void walk(std::uint32_t region) {
    const Range range = plan_.regions[region].instructions;
    for (const std::uint32_t i : range) {
      const Instruction& instruction = plan_.instructions[i];
      const std::uint32_t begin = now_++;
      if (instruction.what == Opcode::loop || instruction.what == Opcode::branch) {
        const std::vector<Life> before = all_;
        walk(instruction.target);
        walk(instruction.other);
        for (std::uint32_t b = 0; b < all_.size(); ++b)
          if (before[b].first != kNone && all_[b].last > begin) all_[b].last = now_;
        if (instruction.what == Opcode::loop) touch_swapped(instruction.other_region(), begin);
      }
      const std::uint32_t end = now_++;
      for (const Range operands : {instruction.inputs, instruction.outputs})
        for (const std::uint32_t b : plan_.operands_of(operands)) touch(b, begin, end);
      if (instruction.scratch != kNone) touch(instruction.scratch, begin, end);
    }
  }

  /// A loop swaps the addresses of a carried value and of this buffer: the buffer lives as long as the loop.
  void touch_swapped(std::uint32_t body, std::uint32_t begin) {
    for (const std::uint32_t i : plan_.regions[body].instructions) {
      const Instruction& instruction = plan_.instructions[i];
      if (instruction.swaps()) touch(plan_.inputs(instruction)[0], begin, now_);
    }
  }

  void touch(std::uint32_t buffer, std::uint32_t begin, std::uint32_t end) {
    Life& life = all_[storage_of(plan_, buffer)];
    life.first = std::min(life.first, begin);
    life.last = std::max(life.last, end);
  }

  const PlanClass& plan_;
  std::vector<Life> all_;
  std::uint32_t now_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const Plan plan = decode_plan(local_files().read(argv[i]).span(), argv[i]);
    std::uint64_t arena = 0, live = 0;
    double worst = 0;
    for (const PlanClass& role : plan.classes) {
      const Lives lives(role);
      std::uint64_t most = 0, bytes = 0;
      for (std::uint32_t at = 0; at < lives.positions(); ++at) most = std::max(most, lives.bytes_at(at));
      for (const PlanDevice& device : role.devices) bytes += device.step_bytes;
      const double ratio =
          bytes == 0 ? 1 : static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(most, 1));
      if (ratio < worst) continue;
      worst = ratio, arena = bytes, live = most;
    }
    std::printf("%s %llu %llu %.4f\n", argv[i], static_cast<unsigned long long>(arena),
                static_cast<unsigned long long>(live), worst);
  }
  return 0;
}
