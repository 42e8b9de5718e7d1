// Reads ONNX's tensors (TensorProto). Only ops/onnx uses it.
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

/// Reads the files with external data of one model, each of them once.
class ExternalData {
 public:
  /// `real_folder`: the folder of the model's real file if `folder` has a link to that file. Links to files below
  /// `real_folder` are followed. This supports the cache of huggingface_hub, in which each file is a link to a file in
  /// "blobs".
  ExternalData(std::string folder, std::string real_folder, FileSystem& files)
      : folder_(std::move(folder)), real_folder_(std::move(real_folder)), files_(files) {}
  /// The tensor, with its bytes from the external file; it keeps the file's content alive. Throws Error(file) for a
  /// path outside the folder, and for offsets and lengths outside the file.
  [[nodiscard]] Tensor tensor(const onnx_file::TensorProto& from, DType dtype, std::vector<std::int64_t> sizes);

 private:
  [[nodiscard]] std::shared_ptr<const FileBytes> file(const std::string& location);
  [[nodiscard]] FileBytes read(const std::string& location) const;

  std::string folder_, real_folder_;
  FileSystem& files_;
  std::map<std::string, std::shared_ptr<const FileBytes>> read_;
};

/// Reads a tensor. Returns nothing if ferry does not support its dtype. Throws Error(file) if its bytes do not fit its
/// dims.
[[nodiscard]] std::optional<Tensor> tensor_of(const onnx_file::TensorProto& from, ExternalData& external);
/// The same for a sparse tensor. The result is dense: it includes the zeros.
[[nodiscard]] std::optional<Tensor> tensor_of(const onnx_file::SparseTensorProto& from, ExternalData& external);

}  // namespace ferry::onnx
