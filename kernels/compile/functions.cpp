#include "kernels/compile/functions.hpp"

#include <algorithm>
#include <iterator>

#include "kernels/compiled_region.hpp"

namespace ferry {
namespace {

#define FERRY_NAME(Functor) #Functor,
constexpr std::string_view kOfFloat[] = {FERRY_FUNCTORS_F_F(FERRY_NAME)};
constexpr std::string_view kOfFloats[] = {FERRY_FUNCTORS_FF_F(FERRY_NAME)};
constexpr std::string_view kOfNumber[] = {FERRY_FUNCTORS_N_N(FERRY_NAME)};
constexpr std::string_view kOfNumbers[] = {FERRY_FUNCTORS_NN_N(FERRY_NAME)};
constexpr std::string_view kCompare[] = {FERRY_FUNCTORS_NN_B(FERRY_NAME)};
constexpr std::string_view kOfBool[] = {FERRY_FUNCTORS_B_B(FERRY_NAME)};
constexpr std::string_view kOfBools[] = {FERRY_FUNCTORS_BB_B(FERRY_NAME)};
constexpr std::string_view kSelect[] = {FERRY_FUNCTORS_BNN_N(FERRY_NAME)};
#undef FERRY_NAME

constexpr DTypeSet kFloat{DType::float32, DType::float64};
constexpr DTypeSet kNumber{DType::int32, DType::int64, DType::float32, DType::float64};
constexpr DTypeSet kBool{DType::boolean};
constexpr DTypeSet kConverted{DType::boolean, DType::int32, DType::int64, DType::float32, DType::float64};

/// The functors with one signature.
struct Signature {
  std::span<const std::string_view> ops;
  std::size_t inputs;
  DTypeSet of;               ///< the dtype of the last input
  bool makes_bool = false;   ///< else the output has the dtype of the last input
  bool begins_bool = false;  ///< else all inputs have the same dtype
};
constexpr Signature kSignatures[] = {
    {kOfFloat, 1, kFloat},        {kOfFloats, 2, kFloat}, {kOfNumber, 1, kNumber}, {kOfNumbers, 2, kNumber},
    {kCompare, 2, kNumber, true}, {kOfBool, 1, kBool},    {kOfBools, 2, kBool},    {kSelect, 3, kNumber, false, true}};

bool fits(const Signature& signature, std::span<const DType> inputs, DType output) {
  if (inputs.size() != signature.inputs || !signature.of.has(inputs.back())) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] != (i == 0 && signature.begins_bool ? DType::boolean : inputs.back())) return false;
  return output == (signature.makes_bool ? DType::boolean : inputs.back());
}

}  // namespace

std::string function_of(std::string_view op, std::span<const DType> inputs, DType output) {
  if (inputs.empty()) return "";
  const std::string of = std::string(op).append(".").append(name_of(inputs.back()));
  if (op == "Cast")
    return kConverted.has(inputs[0]) && kConverted.has(output) ? of + "." + std::string(name_of(output)) : "";
  for (const Signature& signature : kSignatures)
    if (std::ranges::find(signature.ops, op) != signature.ops.end()) return fits(signature, inputs, output) ? of : "";
  return "";
}

}  // namespace ferry
