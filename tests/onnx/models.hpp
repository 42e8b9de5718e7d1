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

/// The file of a ModelProto in protobuf's text form.
[[nodiscard]] std::string model_file(const std::string& text);

/// "x = Add(a, b)" as a NodeProto; `rest` holds its attributes.
[[nodiscard]] std::string node(const std::string& outputs, const std::string& op, const std::string& inputs,
                               const std::string& rest = "");
/// An attribute: attribute("axis", "i: 1", "INT").
[[nodiscard]] std::string attribute(const std::string& name, const std::string& value, const std::string& kind);
/// "x float32[batch,3]" as a ValueInfoProto: float32, int64 or bool.
[[nodiscard]] std::string value(const std::string& what, const std::string& name, const std::string& dtype,
                                const std::vector<std::string>& dims);
/// An initializer of int64 or float32 numbers.
[[nodiscard]] std::string initializer(const std::string& name, const std::vector<std::int64_t>& dims,
                                      const std::vector<std::int64_t>& numbers);
/// A model of operator set 18 whose GraphProto has this text.
[[nodiscard]] std::string model_of(const std::string& graph, const std::string& rest = "");

[[nodiscard]] onnx::Model decode(const std::string& file, const std::string& folder = ".");
/// Options with the evaluator of tests.
[[nodiscard]] onnx::ImportOptions options();
/// What the model gives when it is imported for these feeds and run.
[[nodiscard]] std::vector<Tensor> run_model(const std::string& file, const std::map<std::string, Tensor>& feeds,
                                            onnx::ImportOptions with = options());
[[nodiscard]] std::vector<Tensor> run_model(const onnx::Model& model, const std::map<std::string, Tensor>& feeds,
                                            onnx::ImportOptions with = options());

/// The model imported, without what is fed to it unless `with` has it.
[[nodiscard]] std::unique_ptr<Graph> import(const std::string& file, const onnx::ImportOptions& with = options());
/// What a model gives that is imported so: good for all values of its inputs.
[[nodiscard]] std::vector<Tensor> run_for_all(const std::string& file, const Evaluator::Feeds& feeds,
                                              const onnx::ImportOptions& with = options());
/// The op that makes the first output.
[[nodiscard]] Op last(const Graph& graph);

/// The input x float32[batch,6] and the output y of most models here.
inline const std::string kX = value("input", "x", "float32", {"batch", "6"});
inline const std::string kY = value("output", "y", "float32", {});
/// 0, 1, 2 … as float32.
[[nodiscard]] Tensor counting(std::vector<std::int64_t> sizes);

}  // namespace ferry::test
