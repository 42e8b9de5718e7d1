// ONNX models written as text, for tests.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/onnx/import.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry::test {

/// The binary file of a ModelProto that is given in protobuf's text form.
[[nodiscard]] std::string model_file(const std::string& text);

/// A NodeProto as text: node("x", "Add", "a, b") is x = Add(a, b). `rest` has its attributes and other fields.
[[nodiscard]] std::string node(const std::string& outputs, const std::string& op, const std::string& inputs,
                               const std::string& rest = "");
/// An AttributeProto as text: attribute("axis", "i: 1", "INT").
[[nodiscard]] std::string attribute(const std::string& name, const std::string& value, const std::string& kind);
/// A ValueInfoProto as text: value("input", "x", "float32", {"batch", "3"}) is the input x float32[batch,3]. `dtype` is
/// float32, int64, bool, or ONNX's number of a dtype.
[[nodiscard]] std::string value(const std::string& what, const std::string& name, const std::string& dtype,
                                const std::vector<std::string>& dims);
/// An initializer of int64 numbers, as text.
[[nodiscard]] std::string initializer(const std::string& name, const std::vector<std::int64_t>& dims,
                                      const std::vector<std::int64_t>& numbers);
/// The file of a model of operator set 18 whose GraphProto has this text; `rest` has other fields of the model.
[[nodiscard]] std::string model_of(const std::string& graph, const std::string& rest = "");

[[nodiscard]] onnx::Model decode(const std::string& file, const std::string& folder = ".");
/// Options with the evaluator of tests.
[[nodiscard]] onnx::ImportOptions options();
/// What the model gives when it is imported for the sizes and values of these feeds, and run with them.
[[nodiscard]] std::vector<Tensor> run_model(const std::string& file, const std::map<std::string, Tensor>& feeds,
                                            onnx::ImportOptions with = options());
[[nodiscard]] std::vector<Tensor> run_model(const onnx::Model& model, const std::map<std::string, Tensor>& feeds,
                                            onnx::ImportOptions with = options());

/// The graph of the model, imported without knowing its feeds except what `with` has of them.
[[nodiscard]] std::unique_ptr<Graph> import(const std::string& file, const onnx::ImportOptions& with = options());
/// What the model gives when it is imported by import(), and so for all values of its inputs, and run with `feeds`.
[[nodiscard]] std::vector<Tensor> run_for_all(const std::string& file, const Evaluator::Feeds& feeds,
                                              const onnx::ImportOptions& with = options());
/// The op that makes the first output.
[[nodiscard]] Op last(const Graph& graph);

/// The input x float32[batch,6] and the output y, of any type, of most models here.
inline const std::string kX = value("input", "x", "float32", {"batch", "6"});
inline const std::string kY = "output { name: 'y' } ";
/// 0, 1, 2 … as float32.
[[nodiscard]] Tensor counting(std::vector<std::int64_t> sizes);

}  // namespace ferry::test
