#include "executor/fused/compiled_tiles.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/format.hpp"
#include "kernels/shared/nest.hpp"
#include "plan/plan.hpp"

namespace ferry {
namespace {

/// Shorter segments are not worth a call of the compiled loop.
constexpr std::int64_t kShortestSegment = 32;
constexpr DTypeSet kSummed{DType::int32, DType::int64, DType::float32, DType::float64};

/// The bytes of an array: an address, or a slot.
using Place = std::pair<const std::byte*, std::uint64_t>;
Place place_of(const TileArray& array) {
  return array.slot == TileArray::kInMemory ? Place{array.home, TileArray::kInMemory} : Place{nullptr, array.slot};
}

}  // namespace

/// Follows the values of a tile region, kernel by kernel.
class CompiledTiles::Reader {
 public:
  Reader(std::span<const TileArray> arrays, std::int64_t elements) : arrays_(arrays), elements_(elements) {
    made_.segment_ = elements;
  }

  std::optional<CompiledTiles> read(std::span<const CompiledMember> members, std::string_view processor,
                                    std::int64_t after) {
    std::uint32_t at = 0;
    for (const CompiledMember& member : members) {
      row_ = std::max(row_, elements_ / arrays_[at + member.inputs].array.count());
      at += member.inputs + 1;
    }
    text_.rows(row_);
    at = 0;
    for (const CompiledMember& member : members) {
      if (!add(member, at)) return {};
      at += member.inputs + 1;
    }
    std::map<std::uint32_t, RegionText::Value> outputs;  // by array, so that the text does not depend on addresses
    for (const auto& [place, last] : written_)
      if (place.first != nullptr) outputs[last.array] = last.value;
    for (const auto& [array, value] : outputs)
      text_.store(value, arrays_[array].array.count() == elements_ ? add_array({.array = array}, "written")
                                                                   : add_array(of_rows(array), "row_written"));
    for (const std::int64_t segment : segments_)
      if (segment % made_.segment_ != 0) return {};
    if (made_.segment_ % row_ != 0 || made_.segment_ < std::min(kShortestSegment, elements_)) return {};
    made_.code_ = LazyRegion(text_.str(), processor, elements_ * static_cast<std::int64_t>(members.size()), after);
    return std::move(made_);
  }

 private:
  /// The last value that a member wrote to a place.
  struct Written {
    RegionText::Value value;
    std::uint32_t array;
    DType dtype;
  };
  struct Read {
    Argument argument;
    RegionText::Value value;
  };

  /// Adds the member, with arrays from number `at` on. Returns false if generated code cannot compute it.
  bool add(const CompiledMember& member, std::uint32_t at) {
    const std::uint32_t out = at + member.inputs;
    const TileArray& output = arrays_[out];
    std::vector<DType> dtypes;
    for (std::uint32_t k = at; k < out; ++k) dtypes.push_back(arrays_[k].array.dtype);
    const bool is_sum = member.op == "Sum" && kSummed.has(dtypes[0]) && arrays_[at].array.count() == elements_;
    std::string function =
        is_sum ? formatted("Sum.{}", name_of(dtypes[0])) : function_of(member.op, dtypes, output.array.dtype);
    const bool large = output.array.count() == elements_ && !is_sum;
    if (function.empty() || output.array.bounded || (!large && output.array.count() != rows())) return false;
    std::vector<RegionText::Value> inputs;
    for (std::uint32_t k = at; k < out; ++k) {
      const std::optional<RegionText::Value> input = input_of(k, is_sum ? arrays_[k].array : output.array);
      if (!input) return false;
      inputs.push_back(*input);
    }
    written_[place_of(output)] = {text_.call(std::move(function), std::move(inputs)), out, output.array.dtype};
    return true;
  }

  /// The value of an input, which is broadcast to `output`. Nothing if generated code cannot read it.
  std::optional<RegionText::Value> input_of(std::uint32_t index, const Array& output) {
    const TileArray& input = arrays_[index];
    if (const auto known = written_.find(place_of(input)); known != written_.end()) {
      const Written& from = known->second;
      if (arrays_[from.array].array.count() != input.array.count() || from.dtype != input.array.dtype) return {};
      return from.value;
    }
    if (input.slot != TileArray::kInMemory || input.array.bounded) return {};
    if (input.array.count() == elements_) return read({.array = index}, "each");
    if (input.array.count() == 1) return read({.array = index, .moves = false}, "one");
    if (output.count() != elements_)  // a member that works on one element for each row
      return input.array.count() == rows() ? std::optional(read(of_rows(index), "row")) : std::nullopt;
    const Nest<1> nest = make_nest<1>(std::array{input.array}, output);
    const auto dims = static_cast<std::size_t>(nest.dims);
    const Argument argument{.array = index,
                            .sizes = {nest.sizes.begin(), nest.sizes.begin() + nest.dims},
                            .steps = {nest.steps[0].begin(), nest.steps[0].begin() + nest.dims}};
    const std::int64_t last = nest.sizes[dims - 1], step = nest.steps[0][dims - 1], outer = nest.steps[0][dims - 2];
    const bool is_row = last == row_ && outer != step && outer <= 1;  // along the dim before, it moves as rows do
    add_segment(is_row ? row_ * nest.sizes[dims - 2] : last);
    if (is_row) return read(argument, step == 0 ? "row" : "columns");
    return read(argument, step == 0 ? "one" : "each");
  }

  [[nodiscard]] std::int64_t rows() const { return elements_ / row_; }
  /// An array with one element for each row.
  Argument of_rows(std::uint32_t index) {
    add_segment(elements_);
    return {.array = index, .sizes = {rows(), row_}, .steps = {1, 0}};
  }
  void add_segment(std::int64_t elements) {
    segments_.push_back(elements);
    made_.segment_ = std::min(made_.segment_, elements);
  }

  /// Reads an array, unless the region reads it in the same way already.
  RegionText::Value read(const Argument& argument, std::string_view access) {
    const auto same = [&](const Read& other) {
      return arrays_[other.argument.array].home == arrays_[argument.array].home &&
             arrays_[other.argument.array].array.dtype == arrays_[argument.array].array.dtype &&
             other.argument.moves == argument.moves && other.argument.sizes == argument.sizes &&
             other.argument.steps == argument.steps;
    };
    if (const auto found = std::ranges::find_if(reads_, same); found != reads_.end()) return found->value;
    reads_.push_back({argument, add_array(argument, access)});
    return reads_.back().value;
  }

  RegionText::Value add_array(const Argument& argument, std::string_view access) {
    made_.arguments_.push_back(argument);
    return text_.array(arrays_[argument.array].array.dtype, access);
  }

  const std::span<const TileArray> arrays_;
  const std::int64_t elements_;
  std::int64_t row_ = 1;                // elements of a row; 1: no rows
  std::vector<std::int64_t> segments_;  // elements along which an input that is broadcast moves evenly
  CompiledTiles made_;
  RegionText text_;
  std::vector<Read> reads_;
  std::map<Place, Written> written_;
};

std::optional<CompiledTiles> CompiledTiles::of(std::span<const CompiledMember> members,
                                               std::span<const TileArray> arrays, std::int64_t elements,
                                               std::string_view processor, std::int64_t after) {
  return Reader(arrays, elements).read(members, processor, after);
}

void CompiledTiles::run(std::span<const TileArray> arrays, std::int64_t begin, std::int64_t end) const {
  std::array<const void*, kTileKernels*(kTileInputs + 1)> at;
  while (begin < end) {
    const std::int64_t n = std::min(segment_ - begin % segment_, end - begin);
    for (std::size_t a = 0; a < arguments_.size(); ++a) {
      const Argument& argument = arguments_[a];
      const Array& array = arrays[argument.array].array;
      std::int64_t element = argument.moves ? begin : 0;
      if (!argument.sizes.empty()) {
        element = 0;
        std::int64_t left = begin;
        for (std::size_t d = argument.sizes.size(); d-- > 0; left /= argument.sizes[d])
          element += (d == 0 ? left : left % argument.sizes[d]) * argument.steps[d];
      }
      at[a] = array.data + element * static_cast<std::int64_t>(size_of(array.dtype));
    }
    code_.run(at.data(), n);
    begin += n;
  }
}

}  // namespace ferry
