#include "kernels/cuda/region/source.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "kernels/cuda/elements/scalars.hpp"
#include "kernels/shared/nest.hpp"

namespace ferry::cuda {
namespace {

std::string type_name(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return "bool";
    case DType::float16:
      return "Float16";
    case DType::bfloat16:
      return "BFloat16";
    case DType::float32:
      return "float";
    case DType::float64:
      return "double";
    default:
      return "std::" + std::string(name_of(dtype)) + "_t";
  }
}

class RegionWriter {
 public:
  explicit RegionWriter(const FusedKernels& kernels) : kernels_(kernels) {
    std::size_t largest = 1;
    for (const Type& type : kernels.values) {
      largest = std::max(largest, size_of(type.dtype));
      sizes_.push_back(type.shape.sizes());
    }
    made_.group = static_cast<int>(kGroupBytes / largest);
    made_.elements = count(kernels.members.front().output);
    made_.aligned.assign(kernels.inputs + kernels.outputs, 1);
  }

  RegionSource write() {
    for (const FusedKernels::Member& member : kernels_.members) add(member);
    for (std::uint32_t v = kernels_.inputs; v < kernels_.inputs + kernels_.outputs; ++v) {
      const std::string type = type_name(kernels_.values[v].dtype);
      groups_ += "    Group<" + type + ", kGroup> " + group(v) + ";\n";
      computes_ += "      " + group(v) + ".all[k] = " + single(v) + ";\n";
      writes_ += "    write_each<kGroup, " + type + ">(a.array[" + std::to_string(v) + "], at, " + group(v) + ");\n";
      made_.aligned[v] = group_bytes(v);
    }
    const std::string arrays = std::to_string(made_.aligned.size()), numbers = std::to_string(2 + made_.walks.size());
    made_.text =
        "#include \"kernels/cuda/region/loop.hpp\"\n\n"
        "using namespace ferry;\n"
        "using namespace ferry::cuda;\n\n"
        "struct Region {\n"
        "  static constexpr int kGroup = " +
        std::to_string(made_.group) + ";\n  using Arguments = ferry::cuda::Arguments<" + arrays + ", " + numbers +
        ">;\n\n  FERRY_HD static void compute(const Arguments& a, const GroupPlace& at) {\n" + reads_ + groups_ +
        "    for (int k = 0; k < kGroup; ++k) {\n" + computes_ + "    }\n" + writes_ +
        "  }\n};\nFERRY_REGION(Region)\n";
    FERRY_ASSERT((2 + made_.aligned.size() + made_.walks.size()) * sizeof(std::int64_t) <= kArgumentBytes,
                 "a tile region has more values than a kernel can have arguments");
    return made_;
  }

 private:
  static std::string group(std::uint32_t value) { return "g" + std::to_string(value); }
  static std::string single(std::uint32_t value) { return "v" + std::to_string(value); }
  [[nodiscard]] std::int64_t count(std::uint32_t value) const {
    std::int64_t count = 1;
    for (const std::int64_t size : sizes_[value]) count *= size;
    return count;
  }
  [[nodiscard]] std::size_t group_bytes(std::uint32_t value) const {
    return size_of(kernels_.values[value].dtype) * static_cast<std::size_t>(made_.group);
  }

  void add(const FusedKernels::Member& member) {
    std::string operands;
    for (const std::uint32_t input : member.inputs)
      operands += ", " + (input < kernels_.inputs ? read(input, member.output) + ".all[k]" : single(input));
    const std::string type = type_name(kernels_.values[member.output].dtype);
    computes_ += "      const " + type + " " + single(member.output) + " = element<" + type + ">(" +
                 std::string(member.kernel->scalar.function) + "()" + operands + ");\n";
  }

  /// The name of the group of the input's elements, broadcast to `output`. Adds the code that reads it, if it is new.
  std::string read(std::uint32_t input, std::uint32_t output) {
    const std::vector<std::int64_t> from = count(input) == count(output) ? Sizes() : sizes_[input];
    const auto [known, fresh] = names_.try_emplace({input, from, from.empty() ? from : sizes_[output]});
    if (!fresh) return known->second;
    known->second = "r" + std::to_string(names_.size() - 1);
    reads_ += "    const auto " + known->second + " = " + call(input, output) + ";\n";
    return known->second;
  }

  std::string call(std::uint32_t input, std::uint32_t output) {
    const std::string type = type_name(kernels_.values[input].dtype);
    const std::string array = "(a.array[" + std::to_string(input) + "]";
    if (count(input) == count(output)) {
      made_.aligned[input] = group_bytes(input);
      return "read_each<kGroup, " + type + ">" + array + ", at)";
    }
    if (count(input) == 1) return "read_one<kGroup, " + type + ">" + array + ")";
    const Nest<1> nest = nest_of(input, output);
    const auto dims = static_cast<std::size_t>(nest.dims);
    const bool in_row = nest.sizes[dims - 1] % made_.group == 0;
    const bool along = in_row && nest.steps[0][dims - 1] == 1;
    if (along) made_.aligned[input] = group_bytes(input);
    const std::string walk = "a.number + " + std::to_string(2 + made_.walks.size());
    made_.walks.insert(made_.walks.end(), nest.sizes.begin(), nest.sizes.begin() + nest.dims);
    made_.walks.insert(made_.walks.end(), nest.steps[0].begin(), nest.steps[0].begin() + nest.dims);
    return std::string(along    ? "read_along"
                       : in_row ? "read_held"
                                : "read_scattered") +
           "<kGroup, " + type + (made_.elements < INT32_MAX ? ", std::uint32_t, " : ", std::uint64_t, ") +
           std::to_string(dims) + ">" + array + ", " + walk + ", at)";
  }

  Nest<1> nest_of(std::uint32_t input, std::uint32_t output) {
    const auto array = [&](std::uint32_t v) {
      return Array{.dtype = kernels_.values[v].dtype, .sizes = sizes_[v], .whole = sizes_[v], .begin = {}};
    };
    return make_nest<1>(std::array{array(input)}, array(output));
  }

  using Sizes = std::vector<std::int64_t>;
  struct Reading {
    std::uint32_t input;
    Sizes from, to;  ///< both empty if the input is not broadcast
    auto operator<=>(const Reading&) const = default;
  };

  const FusedKernels& kernels_;
  std::vector<Sizes> sizes_;  // of values
  std::map<Reading, std::string> names_;
  std::string reads_, groups_, computes_, writes_;
  RegionSource made_;
};

}  // namespace

RegionSource source_of(const FusedKernels& kernels) {
  return RegionWriter(kernels).write();
}

}  // namespace ferry::cuda
