#include "executor/fused/stencil_bands.hpp"

#include <algorithm>
#include <cstring>

namespace ferry {
namespace {

/// The source of all elements of a box; null if it is the fill.
const Shift* source_of(const StencilWindow& window, std::span<const std::int64_t> first,
                       std::span<const std::int64_t> last) {
  for (const Shift& shift : window.shifts.all) {
    bool inside = true;
    for (std::size_t d = 0; d < first.size(); ++d)
      inside = inside && first[d] >= shift.first[d] && last[d] <= shift.last[d];
    if (inside) return &shift;
  }
  return nullptr;
}

}  // namespace

StencilBands::StencilBands(const StencilParts& parts, std::int64_t most) : parts_(parts) {
  const Array& shape = parts.arrays[parts.kernels.back().made].array;
  sizes_.assign(shape.sizes.begin(), shape.sizes.end());
  if (shape.count() == 0) return;
  steps_.assign(sizes_.size(), 1);
  for (std::size_t d = sizes_.size(); d-- > 1;) steps_[d - 1] = steps_[d] * sizes_[d];
  for (std::uint32_t a = 0; a < parts.arrays.size(); ++a)
    if (parts.arrays[a].storage == StencilArray::Storage::whole) moving_.push_back(a);
  for (const StencilWindow& window : parts.windows) moving_.push_back(window.made);
  find_cuts(most);
  Box box{std::vector<std::int64_t>(sizes_.size(), 0), sizes_};
  each_cell(0, box, [&](Box& rows) { add_band(rows); });
}

void StencilBands::find_cuts(std::int64_t most) {
  for (std::size_t d = 0; d < sizes_.size(); ++d) {
    std::vector<std::int64_t>& cuts = cuts_.emplace_back(std::vector<std::int64_t>{0, sizes_[d]});
    for (const StencilWindow& window : parts_.windows)
      for (const Shift& shift : window.shifts.all) {
        cuts.push_back(shift.first[d]);
        cuts.push_back(shift.last[d]);
      }
    std::ranges::sort(cuts);
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  }
  std::vector<std::int64_t> shorter;
  for (std::size_t c = 0; c + 1 < cuts_.back().size(); ++c)
    for (std::int64_t at = cuts_.back()[c]; at < cuts_.back()[c + 1]; at += most) shorter.push_back(at);
  shorter.push_back(sizes_.back());
  cuts_.back() = std::move(shorter);
}

/// Calls f for each box between cuts of the outer dims from `dim` on.
template <class F>
void StencilBands::each_cell(std::size_t dim, Box& box, const F& f) const {
  if (dim + 1 == sizes_.size()) return f(box);
  for (std::size_t c = 0; c + 1 < cuts_[dim].size(); ++c) {
    box.first[dim] = cuts_[dim][c];
    box.last[dim] = cuts_[dim][c + 1];
    each_cell(dim + 1, box, f);
  }
}

void StencilBands::add_band(Box& rows) {
  StencilBand& band = bands_.emplace_back();
  band.rows = 1;
  for (std::size_t d = 0; d + 1 < sizes_.size(); ++d) {
    band.sizes.push_back(rows.last[d] - rows.first[d]);
    band.rows *= band.sizes.back();
  }
  const std::vector<std::int64_t>& cuts = cuts_.back();
  for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
    rows.first.back() = cuts[c];
    rows.last.back() = cuts[c + 1];
    band.segments.push_back(segment(rows));
  }
}

StencilSegment StencilBands::segment(const Box& box) {
  StencilSegment made;
  made.count = box.last.back() - box.first.back();
  made.at.assign(moving_.size(), nullptr);
  made.steps.assign(std::max<std::size_t>(sizes_.size() - 1, 1) * moving_.size(), 0);
  const auto before = [&](std::span<const std::int64_t> steps) {
    std::int64_t elements = 0;
    for (std::size_t d = 0; d < steps.size(); ++d) elements += box.first[d] * steps[d];
    return elements;
  };
  const std::size_t whole = moving_.size() - parts_.windows.size();
  for (std::size_t m = 0; m < whole; ++m) {
    const StencilArray& array = parts_.arrays[moving_[m]];
    place(made, m, array.array.data + before(steps_) * array.size, steps_);
  }
  for (std::size_t w = 0; w < parts_.windows.size(); ++w) {
    const StencilWindow& window = parts_.windows[w];
    const Shift* const shift = source_of(window, box.first, box.last);
    if (shift == nullptr) {
      made.at[whole + w] = fill(window, made.count);
      continue;
    }
    made.late = made.late || shift->input > 0;
    std::byte* const data = window.inputs[shift->input].data;
    const std::int64_t size = parts_.arrays[window.made].size;
    place(made, whole + w, data + (shift->from + before(shift->step)) * size, shift->step);
  }
  return made;
}

void StencilBands::place(StencilSegment& segment, std::size_t moving, std::byte* at,
                         std::span<const std::int64_t> steps) const {
  segment.at[moving] = at;
  const std::size_t outer = steps.size() - 1;
  for (std::size_t d = 0; d < outer; ++d)
    segment.steps[(outer - 1 - d) * moving_.size() + moving] = steps[d] * parts_.arrays[moving_[moving]].size;
}

/// `count` elements that are alike. Windows with the same fill share them.
std::byte* StencilBands::fill(const StencilWindow& window, std::int64_t count) {
  const auto size = static_cast<std::size_t>(parts_.arrays[window.made].size);
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  std::uint64_t word = 0;
  for (std::size_t k = 0; k < kWord; k += size)
    std::memcpy(reinterpret_cast<std::byte*>(&word) + k, window.shifts.fill.data(), size);
  const std::size_t words = (static_cast<std::size_t>(count) * size + kWord - 1) / kWord;
  const auto fits = [&](const std::vector<std::uint64_t>& known) { return known.size() >= words && known[0] == word; };
  auto found = std::ranges::find_if(fills_, fits);
  if (found == fills_.end()) found = fills_.insert(fills_.end(), std::vector<std::uint64_t>(words, word));
  return reinterpret_cast<std::byte*>(found->data());
}

}  // namespace ferry
