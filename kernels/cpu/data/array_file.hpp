// Reads rows of an array on demand, from a file or from the files of a folder. Text files: text_file.hpp. Images:
// image_folder.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/array_place.hpp"
#include "base/files/files.hpp"
#include "graph/op/attrs.hpp"
#include "graph/types/shape.hpp"
#include "kernels/kernel.hpp"

namespace ferry::cpu {

/// Throws Error(usage) if there is no data folder.
void require_folder(const KernelSetup& setup, const std::string& path);
/// Copies this task's part of a value to `output`; `rows` are the whole value's rows from `first_row` on.
void copy_part(const KernelRun& run, const Array& output, const std::byte* rows, std::int64_t first_row = 0);

/// An array in a file, as the graph declares it.
struct DeclaredArray {
  std::string format;  ///< "idx", "npy", "raw", "safetensors"; texts: "csv", "libsvm"; "images"
  std::string path;    ///< below the data folder; for "raw", a path that ends in '/' is a folder
  std::string tensor;  ///< its name in a safetensors file; for "libsvm": "labels", "values" or "indices"; for "images":
                       ///< "images" or "labels"
  Type type;           ///< of the whole array
  std::int64_t skip = 0;      ///< for "csv": the number of lines before the rows
  std::int64_t features = 0;  ///< for "libsvm": every index is below this
  std::int64_t classes = 0;   ///< for "images": the number of folders of images
  std::int64_t resize =
      0;  ///< for "images": the length of the shorter side after scaling; the middle of the result is then cut out
  bool augment = false;   ///< for "images": whether to cut random parts and to mirror some images
  std::uint64_t key = 0;  ///< the key of the random numbers for `augment`

  /// Throws Error(file), because the files have the content `found`.
  [[noreturn]] void throw_mismatch(const std::string& found) const;
};

/// The rows of a declared array. Any thread may read.
class RowFile {
 public:
  explicit RowFile(DeclaredArray declared);
  virtual ~RowFile() = default;

  [[nodiscard]] std::int64_t rows() const { return declared_.type.shape[0].size(); }
  [[nodiscard]] std::uint64_t row_bytes() const { return row_bytes_; }
  /// Reads rows [first, first + count) of an epoch. Augmented images differ between epochs. Throws Error(file), with
  /// the place in the file, if rows are missing or damaged.
  virtual void read(std::int64_t first, std::int64_t count, std::byte* target, std::int64_t epoch) const = 0;
  /// The number of threads that read, at least 1. The task has `threads` threads and reads `ahead` batches ahead. A
  /// disk is faster with several requests at once.
  [[nodiscard]] virtual int readers(int /*threads*/, int ahead) const { return std::min(2, ahead); }

 protected:
  DeclaredArray declared_;
  std::uint64_t row_bytes_ = 0;
};

/// Rows of an uncompressed binary file; a bool that is neither 0 nor 1 is an error. The constructor opens the file and
/// compares it with the declaration, without reading elements.
class ArrayFile final : public RowFile {
 public:
  /// Error(file) names the file, its content, and the declared content.
  ArrayFile(FileSystem& files, std::string_view folder, DeclaredArray declared);
  void read(std::int64_t first, std::int64_t count, std::byte* target, std::int64_t epoch) const override;

 private:
  /// Consecutive rows in one file.
  struct Piece {
    std::string path;
    std::int64_t first = 0, rows = 0;
    std::uint64_t begin = 0;                // offset of their bytes
    std::unique_ptr<FileReader> kept = {};  // open; null for a file of a folder, which is opened for each read
  };
  void open_one(FileSystem& files);
  void open_folder(FileSystem& files);
  [[nodiscard]] ArrayPlace place_in(const FileReader& file) const;
  void add_raw(const std::string& path, std::uint64_t size);
  void read_piece(const Piece& piece, std::int64_t first, std::span<std::byte> target) const;

  FileSystem& files_;
  std::string folder_;
  int reversed_ = 1;
  std::vector<Piece> pieces_;  // in the order of their rows
};

}  // namespace ferry::cpu
