#include "ops/onnx/dtypes.hpp"

#include <array>
#include <string_view>

#include "ops/onnx/ferry_onnx.pb.h"

namespace ferry::onnx {
namespace {

using onnx_file::TensorProto;

/// The numbers of ONNX's dtypes, with numpy's names.
struct NumberedDType {
  std::int64_t number;
  std::string_view name;
};
constexpr std::array<NumberedDType, 28> kNumbered{{{TensorProto::FLOAT, "float32"},
                                                   {TensorProto::UINT8, "uint8"},
                                                   {TensorProto::INT8, "int8"},
                                                   {TensorProto::UINT16, "uint16"},
                                                   {TensorProto::INT16, "int16"},
                                                   {TensorProto::INT32, "int32"},
                                                   {TensorProto::INT64, "int64"},
                                                   {TensorProto::STRING, "string"},
                                                   {TensorProto::BOOL, "bool"},
                                                   {TensorProto::FLOAT16, "float16"},
                                                   {TensorProto::DOUBLE, "float64"},
                                                   {TensorProto::UINT32, "uint32"},
                                                   {TensorProto::UINT64, "uint64"},
                                                   {TensorProto::COMPLEX64, "complex64"},
                                                   {TensorProto::COMPLEX128, "complex128"},
                                                   {TensorProto::BFLOAT16, "bfloat16"},
                                                   {TensorProto::FLOAT8E4M3FN, "float8e4m3fn"},
                                                   {TensorProto::FLOAT8E4M3FNUZ, "float8e4m3fnuz"},
                                                   {TensorProto::FLOAT8E5M2, "float8e5m2"},
                                                   {TensorProto::FLOAT8E5M2FNUZ, "float8e5m2fnuz"},
                                                   {TensorProto::UINT4, "uint4"},
                                                   {TensorProto::INT4, "int4"},
                                                   {TensorProto::FLOAT4E2M1, "float4e2m1"},
                                                   {TensorProto::FLOAT8E8M0, "float8e8m0"},
                                                   {TensorProto::UINT2, "uint2"},
                                                   {TensorProto::INT2, "int2"},
                                                   {TensorProto::FLOAT6E2M3, "float6e2m3"},
                                                   {TensorProto::FLOAT6E3M2, "float6e3m2"}}};

}  // namespace

std::string dtype_name(std::int64_t number) {
  for (const NumberedDType& one : kNumbered)
    if (one.number == number) return std::string(one.name);
  return "number " + std::to_string(number);
}

std::optional<DType> dtype_of_number(std::int64_t number) {
  const std::string name = dtype_name(number);
  for (const DType dtype : kDTypes)
    if (name_of(dtype) == name) return dtype;
  return std::nullopt;
}

}  // namespace ferry::onnx
