#include "executor/fused/stencils.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "base/system/cache_lines.hpp"

namespace ferry {
namespace {

using Storage = StencilArray::Storage;

/// The minimum number of elements that a thread takes at once, before rounding up to whole rows.
constexpr std::int64_t kGrain = 16384;
/// The most elements of a segment if no value is in a slot.
constexpr std::int64_t kLongestSegment = 4096;
/// Fewer elements are not worth prefetching the next ones.
constexpr std::int64_t kFewest = 64;
constexpr std::size_t kMostArrays = kTileKernels * (kTileInputs + 1);

/// A row of a band: its index along the last outer dim, and the index of that dim's rows along the others.
struct RowIndex {
  std::int64_t outer = 0, inner = 0;
};

}  // namespace

/// Runs the stencil's passes on consecutive elements, in one thread.
class StencilWork::Pieces {
 public:
  explicit Pieces(const StencilWork& work) : work_(work), parts_(work.parts_) {
    for (std::size_t a = 0; a < parts_.arrays.size(); ++a) {
      const StencilArray& array = parts_.arrays[a];
      at_[a] = array.storage == Storage::slot ? slots_ + array.slot : array.array.data;
    }
    const auto alone = [](const Pass& pass) { return pass.steps.empty(); };
    if (!work.at_once_ && std::ranges::any_of(work.passes_, alone)) set_up_kernels();
  }
  Pieces(const Pieces&) = delete;
  Pieces& operator=(const Pieces&) = delete;

  /// Sets the addresses of the segment's elements in one row.
  void go_to(const StencilBand& band, const StencilSegment& segment, const RowIndex& row) {
    const std::span<const std::uint32_t> moving = work_.bands_->moving();
    const std::int64_t* steps = segment.steps.data();
    for (std::size_t m = 0; m < moving.size(); ++m) at_[moving[m]] = segment.at[m] + row.inner * steps[m];
    std::int64_t left = row.outer;
    for (std::size_t d = band.sizes.size(); d-- > 1 && left > 0; left /= band.sizes[d - 1]) {
      steps += moving.size();
      for (std::size_t m = 0; m < moving.size(); ++m) at_[moving[m]] += left % band.sizes[d - 1] * steps[m];
    }
  }

  /// Computes n elements. Meanwhile prefetches the next elements of the streams.
  void compute(std::int64_t n) {
    if (work_.at_once_) return compute_at_once(n);
    const std::span<const Stream> streams = n < kFewest ? std::span<const Stream>() : work_.streams_;
    count_ = std::max<std::int64_t>(n, 2);  // a kernel would use the single element of an array for all elements
    std::int64_t number = 0;
    for (const Pass& pass : work_.passes_) {
      for (const Stream& stream : streams) fetch(stream, number, n);
      ++number;
      const std::uint32_t made = parts_.kernels[pass.kernel].made;
      if (pass.steps.empty())
        run(pass.kernel, n);
      else
        parts_.chain(parts_.arrays[made].array.dtype, pass.steps, at_.data(), at_[made], n);
    }
  }

 private:
  void compute_at_once(std::int64_t n) {
    std::array<const void*, kMostArrays> at;
    const std::vector<std::uint32_t>& arrays = work_.compiled_->arrays;
    for (std::size_t a = 0; a < arrays.size(); ++a) at[a] = at_[arrays[a]];
    work_.compiled_->code.run(at.data(), n);
  }

  void set_up_kernels() {
    arrays_.resize(parts_.kernels.size() * (kTileInputs + 1));
    loops_.resize(parts_.kernels.size());
    runs_.reserve(parts_.kernels.size());
    std::span<Array> next = arrays_;
    for (const StencilKernel& kernel : parts_.kernels) {
      for (std::size_t k = 0; k < kernel.inputs.size(); ++k) next[k] = view(kernel.inputs[k]);
      next[kernel.inputs.size()] = view(kernel.made);
      runs_.push_back(kernel.member.run_on(next, alone_, work_.step_, work_.iterations_));
      runs_.back().loop = &loops_[runs_.size() - 1];
      next = next.subspan(kernel.inputs.size() + 1);
    }
  }

  void run(std::uint32_t m, std::int64_t n) {
    const StencilKernel& kernel = parts_.kernels[m];
    ElementLoop& loop = loops_[m];
    if (loop.compute == nullptr) {
      KernelRun& run = runs_[m];
      Array* const arrays = run.outputs.data() - kernel.inputs.size();
      for (std::size_t k = 0; k < kernel.inputs.size(); ++k) arrays[k].data = at_[kernel.inputs[k]];
      run.outputs[0].data = at_[kernel.made];
      run.piece = {0, n};
      kernel.member.compute(run);
    }
    if (loop.compute == nullptr) return;
    std::array<const std::byte*, ElementLoop::kMostInputs> in;
    for (std::size_t k = 0; k < kernel.inputs.size(); ++k) in[k] = at_[kernel.inputs[k]];
    loop.compute(at_[kernel.made], n, loop.moves, in.data());
  }

  /// Prefetches a part of the next elements, which are cut into one part for each pass.
  void fetch(const Stream& stream, std::int64_t number, std::int64_t n) const {
    const std::int64_t bytes = n * parts_.arrays[stream.array].size;
    const auto passes = static_cast<std::int64_t>(work_.passes_.size());
    const std::int64_t part = (bytes / passes + kCacheLine - 1) / kCacheLine * kCacheLine;
    const auto first =
        reinterpret_cast<std::uintptr_t>(at_[stream.array]) + static_cast<std::uintptr_t>(bytes + number * part);
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
  const StencilWork& work_;
  const StencilParts& parts_;
  std::array<std::byte*, kMostArrays> at_;  // by array: the address of its first element
  ThisThread alone_;
  std::int64_t count_ = 0;  // elements in each array, except Storage::one
  std::vector<Array> arrays_;
  std::vector<KernelRun> runs_;
  std::vector<ElementLoop> loops_;
  alignas(kBufferAlign) std::byte slots_[kSlotBytes];
};

StencilWork::StencilWork(StencilParts parts, Parallel& parallel, const std::int64_t& step,
                         std::span<const std::int64_t> iterations)
    : parts_(std::move(parts)), parallel_(parallel), step_(step), iterations_(iterations) {
  find_passes();
  find_compiled();
  if (passes_.size() > 1) find_streams();
  bands_.emplace(parts_, uses_slots() ? parts_.tile : kLongestSegment);
  for (Part* const part : {&inside_, &edges_}) add_bands(*part);
}

void StencilWork::find_passes() {
  for (std::uint32_t m = 0; m < parts_.kernels.size(); ++m) {
    const StencilKernel& kernel = parts_.kernels[m];
    const bool chained = parts_.chain != nullptr && kernel.chained.has_value();
    const auto step = [&](ChainStep::Op op, std::uint32_t array) {
      return ChainStep{op, parts_.arrays[array].storage != Storage::one, array};
    };
    if (chained && !passes_.empty() && extends(passes_.back(), kernel)) {
      Pass& pass = passes_.back();
      const bool first = kernel.inputs[0] == parts_.kernels[pass.kernel].made;
      const bool reversed = !first && kernel.chained == ChainStep::Op::sub;
      pass.steps.push_back(step(reversed ? ChainStep::Op::sub_from : *kernel.chained, kernel.inputs[first ? 1 : 0]));
      pass.kernel = m;
      continue;
    }
    Pass& pass = passes_.emplace_back(Pass{.kernel = m, .steps = {}});
    if (!chained) continue;
    pass.steps = {step(ChainStep::Op::load, kernel.inputs[0]), step(*kernel.chained, kernel.inputs[1])};
  }
}

void StencilWork::find_compiled() {
  if (parts_.compile_after < 0) return;
  RegionText text;
  Compiled made;
  std::map<std::uint32_t, RegionText::Value> values;  // by array
  const auto add_array = [&](std::uint32_t array, std::string_view access) {
    made.arrays.push_back(array);
    return text.array(parts_.arrays[array].array.dtype, access);
  };
  for (const StencilKernel& kernel : parts_.kernels) {
    std::vector<RegionText::Value> inputs;
    std::vector<DType> dtypes;
    for (const std::uint32_t input : kernel.inputs) {
      if (!values.contains(input))
        values[input] = add_array(input, parts_.arrays[input].storage == Storage::one ? "one" : "each");
      inputs.push_back(values[input]);
      dtypes.push_back(parts_.arrays[input].array.dtype);
    }
    std::string function = function_of(kernel.op, dtypes, parts_.arrays[kernel.made].array.dtype);
    if (function.empty()) return;
    values[kernel.made] = text.call(std::move(function), std::move(inputs));
  }
  for (const auto& [array, value] : values)
    if (value.is_call && parts_.arrays[array].storage == Storage::whole) text.store(value, add_array(array, "written"));
  const std::int64_t elements = parts_.arrays[parts_.kernels.back().made].array.count();
  made.code = LazyRegion(text.str(), parts_.processor, elements * static_cast<std::int64_t>(parts_.kernels.size()),
                         parts_.compile_after);
  compiled_ = std::move(made);
}

/// Whether the kernel is the only one that reads the result of the chain, and reads it once.
bool StencilWork::extends(const Pass& pass, const StencilKernel& kernel) const {
  const std::uint32_t made = parts_.kernels[pass.kernel].made;
  if (pass.steps.empty() || parts_.arrays[made].storage != Storage::slot) return false;
  std::ptrdiff_t reads = 0;
  for (const StencilKernel& other : parts_.kernels) reads += std::ranges::count(other.inputs, made);
  return reads == 1 && std::ranges::count(kernel.inputs, made) == 1;
}

/// If several windows read an array, the window furthest ahead reads each element first, so only this window is
/// prefetched.
void StencilWork::find_streams() {
  struct Ahead {
    std::uint32_t made;
    std::int64_t from;
  };
  std::map<const std::byte*, Ahead> last;
  for (const StencilWindow& window : parts_.windows) {
    if (window.shifts.all.empty()) continue;
    const std::int64_t from = window.shifts.all[0].from;
    Ahead& known = last.try_emplace(window.inputs[0].data, Ahead{window.made, from}).first->second;
    if (known.from < from) known = {window.made, from};
  }
  for (const auto& [data, ahead] : last) streams_.push_back({ahead.made, false});
  for (std::uint32_t a = 0; a < parts_.arrays.size(); ++a) {
    if (parts_.arrays[a].storage != Storage::whole || last.contains(parts_.arrays[a].array.data)) continue;
    const auto makes = [&](const StencilKernel& kernel) { return kernel.made == a; };
    streams_.push_back({a, std::ranges::any_of(parts_.kernels, makes)});
  }
}

/// Whether a pass makes a value in a slot.
bool StencilWork::uses_slots() const {
  return std::ranges::any_of(passes_, [&](const Pass& pass) {
    return parts_.arrays[parts_.kernels[pass.kernel].made].storage == Storage::slot;
  });
}

void StencilWork::add_bands(Part& part) const {
  for (std::uint32_t b = 0; b < bands_->all().size(); ++b) {
    const StencilBand& band = bands_->all()[b];
    const auto is_in = [&](const StencilSegment& segment) { return segment.late == part.late; };
    if (std::ranges::none_of(band.segments, is_in)) continue;
    part.bands.push_back({b, part.rows});
    part.rows += band.rows;
  }
}

void StencilWork::run_inside() {
  at_once_ = compiled_ && compiled_->code.ready();
  run_part(inside_);
}

void StencilWork::run() {
  if (!begun_) run_inside();
  run_part(edges_);
}

void StencilWork::run_part(const Part& part) const {
  if (part.rows == 0) return;
  const std::int64_t length = parts_.arrays[parts_.kernels.back().made].array.sizes.back();
  const auto chunk = [&](std::int64_t begin, std::int64_t end) { run_rows(part, begin, end); };
  parallel_.for_each(part.rows, std::max<std::int64_t>(1, kGrain / length), std::cref(chunk));
}

void StencilWork::run_rows(const Part& part, std::int64_t begin, std::int64_t end) const {
  Pieces pieces(*this);
  for (const Part::Rows& rows : part.bands) {
    const StencilBand& band = bands_->all()[rows.band];
    const std::int64_t from = std::max<std::int64_t>(begin - rows.first, 0), to = std::min(end - rows.first, band.rows);
    if (from < to) run_band(band, from, to, part.late, pieces);
  }
}

void StencilWork::run_band(const StencilBand& band, std::int64_t begin, std::int64_t end, bool late,
                           Pieces& pieces) const {
  const std::int64_t inner = band.sizes.empty() ? 1 : band.sizes.back();
  RowIndex at{begin / inner, begin % inner};
  for (; begin < end; ++begin) {
    for (const StencilSegment& segment : band.segments) {
      if (segment.late != late) continue;
      pieces.go_to(band, segment, at);
      pieces.compute(segment.count);
    }
    if (++at.inner < inner) continue;
    at.inner = 0;
    ++at.outer;
  }
}

}  // namespace ferry
