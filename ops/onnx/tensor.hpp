// TensorProto: reading ONNX's tensors. For ops/onnx alone.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/files/files.hpp"
#include "graph/types/tensor.hpp"
#include "ops/onnx/ferry_onnx.pb.h"

namespace ferry::onnx {

/// The files with external data of one model, each read once.
class ExternalData {
 public:
  /// `real_folder`: the folder of the model's real file, where `folder` has a link to it; links to files beneath it are
  /// followed. So the cache of huggingface_hub works, in which each file is a link to one in "blobs".
  ExternalData(std::string folder, std::string real_folder, FileSystem& files)
      : folder_(std::move(folder)), real_folder_(std::move(real_folder)), files_(files) {}
  /// The tensor's bytes, which the result keeps alive. Error(file) for a path that leads out of the folder, and for
  /// offsets and lengths outside the file.
  [[nodiscard]] Tensor tensor(const onnx_file::TensorProto& from, DType dtype, std::vector<std::int64_t> sizes);

 private:
  [[nodiscard]] std::shared_ptr<const FileBytes> file(const std::string& location);
  [[nodiscard]] FileBytes read(const std::string& location) const;

  std::string folder_, real_folder_;
  FileSystem& files_;
  std::map<std::string, std::shared_ptr<const FileBytes>> read_;
};

/// The name of ONNX's dtype of that number: "float16", "string"; "number 99" if there is none.
[[nodiscard]] std::string dtype_name(std::int64_t number);

/// Reads a tensor; absent when ferry does not have its dtype. Error(file) when its bytes do not fit its dims.
[[nodiscard]] std::optional<Tensor> tensor_of(const onnx_file::TensorProto& from, ExternalData& external);
/// The same for a sparse tensor; the result is dense, with the zeros.
[[nodiscard]] std::optional<Tensor> tensor_of(const onnx_file::SparseTensorProto& from, ExternalData& external);

}  // namespace ferry::onnx
