#include "executor/fused/stencils.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "base/system/cache_lines.hpp"

namespace ferry {
namespace {

using Storage = StencilArray::Storage;
using Ints = std::vector<std::int64_t>;

/// The minimum number of elements that a thread takes at once, before rounding up to whole rows.
constexpr std::int64_t kGrain = 16384;

Ints steps_of(std::span<const std::int64_t> sizes) {
  Ints steps(sizes.size(), 1);
  for (std::size_t d = sizes.size(); d-- > 1;) steps[d - 1] = steps[d] * sizes[d];
  return steps;
}

/// Copies a box of an array of elements T to consecutive elements `packed`; back if not `kOut`. The box begins at `at`.
template <class T, bool kOut>
void copy_box(T* at, const Ints& sizes, const Ints& steps, T* packed, std::size_t d) {
  if (d + 1 == sizes.size()) {
    if constexpr (kOut)
      std::copy_n(at, sizes[d], packed);
    else
      std::copy_n(packed, sizes[d], at);
    return;
  }
  std::int64_t inner = 1;
  for (std::size_t e = d + 1; e < sizes.size(); ++e) inner *= sizes[e];
  if (d + 2 == sizes.size() && inner == 1) {
    for (std::int64_t k = 0; k < sizes[d]; ++k)
      if constexpr (kOut)
        packed[k] = at[k * steps[d]];
      else
        at[k * steps[d]] = packed[k];
    return;
  }
  for (std::int64_t k = 0; k < sizes[d]; ++k)
    copy_box<T, kOut>(at + k * steps[d], sizes, steps, packed + k * inner, d + 1);
}

template <bool kOut>
void copy_box(std::byte* data, std::int64_t from, std::int64_t size, const Ints& sizes, const Ints& steps,
              std::byte* packed) {
  const auto copy = [&]<class T>(T) {
    copy_box<T, kOut>(reinterpret_cast<T*>(data) + from, sizes, steps, reinterpret_cast<T*>(packed), 0);
  };
  switch (size) {
    case 1:
      return copy(std::uint8_t());
    case 2:
      return copy(std::uint16_t());
    case 4:
      return copy(std::uint32_t());
    default:
      return copy(std::uint64_t());
  }
}

}  // namespace

/// Runs the stencil's kernels on consecutive elements, in one thread.
class StencilWork::Pieces {
 public:
  Pieces(const StencilParts& parts, const std::int64_t& step, std::span<const std::int64_t> iterations)
      : at(parts.arrays.size()),
        parts_(parts),
        arrays_(parts.kernels.size() * (kTileInputs + 1)),
        loops_(parts.kernels.size()) {
    runs_.reserve(parts.kernels.size());
    std::span<Array> next = arrays_;
    for (std::size_t m = 0; m < parts.kernels.size(); ++m) {
      const StencilKernel& kernel = parts.kernels[m];
      for (std::size_t k = 0; k < kernel.inputs.size(); ++k) next[k] = view(kernel.inputs[k]);
      next[kernel.inputs.size()] = view(kernel.made);
      runs_.push_back(kernel.member.run_on(next, alone_, step, iterations));
      runs_[m].loop = &loops_[m];
      next = next.subspan(kernel.inputs.size() + 1);
    }
  }
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  /// By array: the address of its first element.
  std::vector<std::byte*> at;

  /// Computes n elements. Meanwhile prefetches the next elements of the arrays `streams`.
  void compute(std::int64_t n, std::span<const Stream> streams = {}) {
    count_ = std::max<std::int64_t>(n, 2);  // a kernel would use the single element of an array for all elements
    for (std::size_t m = 0; m < parts_.kernels.size(); ++m) {
      const StencilKernel& kernel = parts_.kernels[m];
      for (const Stream& stream : streams) fetch(stream, m, n);
      if (loops_[m].compute == nullptr) {
        KernelRun& run = runs_[m];
        Array* const arrays = run.outputs.data() - kernel.inputs.size();
        for (std::size_t k = 0; k < kernel.inputs.size(); ++k) arrays[k].data = at[kernel.inputs[k]];
        run.outputs[0].data = at[kernel.made];
        run.piece = {0, n};
        kernel.member.compute(run);
      }
      if (loops_[m].compute == nullptr) continue;
      std::array<const std::byte*, ElementLoop::kMostInputs> in;
      for (std::size_t k = 0; k < kernel.inputs.size(); ++k) in[k] = at[kernel.inputs[k]];
      loops_[m].compute(at[kernel.made], n, loops_[m].moves, in.data());
    }
  }

 private:
  /// Prefetches part m of the next elements, which are cut into one part for each kernel.
  void fetch(const Stream& stream, std::size_t m, std::int64_t n) const {
    const std::int64_t bytes = n * parts_.arrays[stream.array].size, kernels = static_cast<std::int64_t>(runs_.size());
    const std::int64_t part = (bytes / kernels + kCacheLine - 1) / kCacheLine * kCacheLine;
    const auto first = reinterpret_cast<std::uintptr_t>(at[stream.array]) +
                       static_cast<std::uintptr_t>(bytes + static_cast<std::int64_t>(m) * part);
    for (std::uintptr_t line = first; line < first + static_cast<std::uintptr_t>(part); line += kCacheLine) {
      if (stream.written)
        fetch_to_write(reinterpret_cast<const void*>(line));
      else
        fetch_to_read(reinterpret_cast<const void*>(line));
    }
  }

  Array view(std::uint32_t index) {
    const StencilArray& from = parts_.arrays[index];
    Array array{.data = nullptr, .dtype = from.array.dtype, .sizes = {}, .whole = {}, .begin = {}};
    if (from.storage == Storage::one) return array;
    array.sizes = {&count_, 1};
    array.whole = array.sizes;
    array.begin = {&kZero, 1};
    return array;
  }

  static constexpr std::int64_t kZero = 0;
  const StencilParts& parts_;
  ThisThread alone_;
  std::int64_t count_ = 0;  // elements in each array, except Storage::one
  std::vector<Array> arrays_;
  std::vector<KernelRun> runs_;
  std::vector<ElementLoop> loops_;
};

std::int64_t StencilWork::Box::count() const {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < first.size(); ++d) count *= std::max<std::int64_t>(0, last[d] - first[d]);
  return count;
}

StencilWork::StencilWork(StencilParts parts, Parallel& parallel, const std::int64_t& step,
                         std::span<const std::int64_t> iterations)
    : parts_(std::move(parts)),
      parallel_(parallel),
      step_(step),
      iterations_(iterations),
      read_(parts_.arrays.size()),
      written_(parts_.arrays.size()) {
  for (const StencilKernel& kernel : parts_.kernels) {
    for (const std::uint32_t k : kernel.inputs) read_[k] = read_[k] || !written_[k];
    written_[kernel.made] = true;
  }
  find_streams();
  const std::span<const std::int64_t> sizes = shape().sizes;
  Box rest{Ints(sizes.size(), 0), {sizes.begin(), sizes.end()}};
  inside_ = rest;
  for (const StencilWindow& window : parts_.windows)
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      inside_.first[d] = std::max(inside_.first[d], window.shift.first[d]);
      inside_.last[d] = std::min(inside_.last[d], window.shift.last[d]);
    }
  const std::int64_t most = find_edge_offsets();
  if (inside_.count() == 0) inside_.first = inside_.last = rest.first;  // then the last edge box contains all elements
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    for (const bool low : {true, false}) {
      Box edge = rest;
      (low ? edge.last : edge.first)[d] = (low ? inside_.first : inside_.last)[d];
      add_edges(edge, most);
    }
    rest.first[d] = inside_.first[d];
    rest.last[d] = inside_.last[d];
  }
}

/// If several windows read an array, the window furthest ahead reads each element first, so only this window is
/// prefetched.
void StencilWork::find_streams() {
  std::map<const std::byte*, const StencilWindow*> last;
  for (const StencilWindow& window : parts_.windows) {
    const StencilWindow*& known = last[window.inputs[0].data];
    if (known == nullptr || known->shift.from < window.shift.from) known = &window;
  }
  for (const auto& [data, window] : last) streams_.push_back({window->made, false});
  for (std::uint32_t a = 0; a < parts_.arrays.size(); ++a)
    if (parts_.arrays[a].storage == Storage::whole && !last.contains(parts_.arrays[a].array.data))
      streams_.push_back({a, written_[a]});
}

std::int64_t StencilWork::find_edge_offsets() {
  std::int64_t bytes = 0, end = 0;
  for (const StencilArray& array : parts_.arrays) bytes += array.storage == Storage::one ? 0 : array.size;
  const std::int64_t most = std::max<std::int64_t>(8, static_cast<std::int64_t>(kSlotBytes) / bytes / 8 * 8);
  for (const StencilArray& array : parts_.arrays) {
    edge_offsets_.push_back(end);
    if (array.storage != Storage::one) end += most * array.size;
  }
  return most;
}

/// Cuts the box into pieces of at most `most` elements.
void StencilWork::add_edges(Box box, std::int64_t most) {
  const std::int64_t count = box.count();
  if (count == 0) return;
  if (count <= most) return edges_.push_back(std::move(box));
  std::size_t d = 0;
  while (box.last[d] - box.first[d] == 1) ++d;
  const std::int64_t each = std::max<std::int64_t>(1, most / (count / (box.last[d] - box.first[d])));
  for (std::int64_t first = box.first[d]; first < box.last[d]; first += each) {
    Box piece = box;
    piece.first[d] = first;
    piece.last[d] = std::min(first + each, box.last[d]);
    add_edges(std::move(piece), most);
  }
}

void StencilWork::run_inside() const {
  if (inside_.count() == 0) return;
  const std::int64_t length = inside_.last.back() - inside_.first.back();
  const auto chunk = [this](std::int64_t begin, std::int64_t end) { run_rows(begin, end); };
  parallel_.for_each(inside_.count() / length, std::max<std::int64_t>(1, kGrain / length), std::cref(chunk));
}

void StencilWork::run_rows(std::int64_t begin, std::int64_t end) const {
  alignas(kBufferAlign) std::byte slots[kSlotBytes];
  Pieces pieces(parts_, step_, iterations_);
  const std::size_t last = inside_.first.size() - 1;
  const Ints steps = steps_of(shape().sizes);
  for (std::size_t a = 0; a < parts_.arrays.size(); ++a)
    pieces.at[a] =
        parts_.arrays[a].storage == Storage::slot ? slots + parts_.arrays[a].slot : parts_.arrays[a].array.data;
  Ints row;
  for (; begin < end; ++begin) {
    row = inside_.first;
    for (std::int64_t d = static_cast<std::int64_t>(last) - 1, left = begin; d >= 0; --d) {
      const auto dim = static_cast<std::size_t>(d);
      const std::int64_t size = inside_.last[dim] - inside_.first[dim];
      row[dim] += left % size;
      left /= size;
    }
    const auto from = [&](const Ints& by) {
      std::int64_t at = 0;
      for (std::size_t d = 0; d <= last; ++d) at += row[d] * by[d];
      return at;
    };
    const std::int64_t here = from(steps);
    for (std::int64_t at = inside_.first[last]; at < inside_.last[last]; at += parts_.tile) {
      const std::int64_t past = at - inside_.first[last];
      for (std::size_t a = 0; a < parts_.arrays.size(); ++a)
        if (parts_.arrays[a].storage == Storage::whole)
          pieces.at[a] = parts_.arrays[a].array.data + (here + past) * parts_.arrays[a].size;
      for (const StencilWindow& window : parts_.windows)
        pieces.at[window.made] = window.inputs[0].data +
                                 (window.shift.from + from(window.shift.step) + past) * parts_.arrays[window.made].size;
      pieces.compute(std::min(parts_.tile, inside_.last[last] - at), streams_);
    }
  }
}

void StencilWork::run() const {
  if (!begun_) run_inside();
  const auto chunk = [this](std::int64_t begin, std::int64_t end) { run_edges(begin, end); };
  parallel_.for_each(static_cast<std::int64_t>(edges_.size()), 8, std::cref(chunk));
}

void StencilWork::run_edges(std::int64_t begin, std::int64_t end) const {
  alignas(kBufferAlign) std::byte slots[kSlotBytes];
  Pieces pieces(parts_, step_, iterations_);
  for (std::size_t a = 0; a < parts_.arrays.size(); ++a)
    pieces.at[a] = parts_.arrays[a].storage == Storage::one ? parts_.arrays[a].array.data : slots + edge_offsets_[a];
  for (; begin < end; ++begin) run_edge(edges_[static_cast<std::size_t>(begin)], pieces);
}

void StencilWork::run_edge(const Box& box, Pieces& pieces) const {
  const Array& shape = this->shape();
  const Ints steps = steps_of(shape.sizes);
  Ints sizes, begin;
  std::int64_t from = 0;
  for (std::size_t d = 0; d < steps.size(); ++d) {
    sizes.push_back(box.last[d] - box.first[d]);
    begin.push_back(shape.begin[d] + box.first[d]);
    from += box.first[d] * steps[d];
  }
  for (std::size_t a = 0; a < parts_.arrays.size(); ++a)
    if (parts_.arrays[a].storage == Storage::whole && read_[a])
      copy_box<true>(parts_.arrays[a].array.data, from, parts_.arrays[a].size, sizes, steps, pieces.at[a]);
  ThisThread alone;
  for (const StencilWindow& window : parts_.windows) {
    const Shift& shift = window.shift;
    bool inside = true;
    std::int64_t shifted = shift.from;
    for (std::size_t d = 0; d < steps.size(); ++d) {
      inside = inside && box.first[d] >= shift.first[d] && box.last[d] <= shift.last[d];
      shifted += box.first[d] * shift.step[d];
    }
    if (inside) {
      copy_box<true>(window.inputs[0].data, shifted, parts_.arrays[window.made].size, sizes, shift.step,
                     pieces.at[window.made]);
      continue;
    }
    Array part = parts_.arrays[window.made].array;
    part.data = pieces.at[window.made];
    part.sizes = sizes;
    part.begin = begin;
    KernelRun run{.inputs = window.inputs,
                  .outputs = {&part, 1},
                  .state = window.member.state,
                  .scratch = {},
                  .parallel = alone,
                  .step = step_,
                  .iterations = iterations_};
    window.member.compute(run);
  }
  pieces.compute(box.count());
  for (std::size_t a = 0; a < parts_.arrays.size(); ++a)
    if (parts_.arrays[a].storage == Storage::whole && written_[a])
      copy_box<false>(parts_.arrays[a].array.data, from, parts_.arrays[a].size, sizes, steps, pieces.at[a]);
}

}  // namespace ferry
