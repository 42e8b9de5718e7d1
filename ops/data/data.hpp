// Data: files as values, and batches of their rows. See docs/guide/data.md.
//
// Files lie beneath the session's data folder (ExecutionOptions::data_folder). IDX, CSV, npy and LibSVM files may be
// compressed by gzip or zstd. Each file is read once in a session, except where batch() reads rows as they are needed.
//
// Errors: Error(plan) with the caller's line when shapes or dtypes do not fit, or when a path is absolute or has "..".
// Error(file) if a path has a link below the folder, or if the file's content does not have the declared dtype and
// shape. The message names the place in the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/source_location.hpp"
#include "graph/graph.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// An array from an IDX file (http://yann.lecun.com/exdb/mnist) of `dtype` and `shape`. All sizes must be known.
Value read_idx(Graph& graph, std::string_view path, DType dtype, const Shape& shape,
               source_location at = source_location::current());
/// A text file of numbers separated by commas, with a line for each row of `shape` [rows, columns]; the first `skip`
/// lines are skipped. After them, a line without a number is a header, and is skipped, too.
Value read_csv(Graph& graph, std::string_view path, DType dtype, const Shape& shape, std::int64_t skip = 0,
               source_location at = source_location::current());
/// A numpy array file.
Value read_npy(Graph& graph, std::string_view path, DType dtype, const Shape& shape,
               source_location at = source_location::current());
/// Elements without a header, little-endian, in C order, from one file. If the path ends in '/', they come from all
/// files of that folder in the order of their names. Each file has whole rows (for example images of one size). A task
/// reads only its part.
Value read_raw(Graph& graph, std::string_view path, DType dtype, const Shape& shape,
               source_location at = source_location::current());
/// The tensor of that name in a safetensors file. A task reads only its part.
Value read_safetensors(Graph& graph, std::string_view path, std::string_view tensor, DType dtype, const Shape& shape,
                       source_location at = source_location::current());

/// The same with elements of float32.
inline Value read_csv(Graph& graph, std::string_view path, const Shape& shape, std::int64_t skip = 0,
                      source_location at = source_location::current()) {
  return read_csv(graph, path, DType::float32, shape, skip, at);
}
inline Value read_npy(Graph& graph, std::string_view path, const Shape& shape,
                      source_location at = source_location::current()) {
  return read_npy(graph, path, DType::float32, shape, at);
}
inline Value read_raw(Graph& graph, std::string_view path, const Shape& shape,
                      source_location at = source_location::current()) {
  return read_raw(graph, path, DType::float32, shape, at);
}
inline Value read_safetensors(Graph& graph, std::string_view path, std::string_view tensor, const Shape& shape,
                              source_location at = source_location::current()) {
  return read_safetensors(graph, path, tensor, DType::float32, shape, at);
}

/// The rows and columns of a CSV file, and the sizes of an array in an npy file, for the readers above. They read the
/// file while the graph is built, in every process: csv_shape() and packed files the whole of it. `file` is a path of
/// its own, not one below the data folder. Error(file), with the caller's line, if the file cannot be read.
///
///     run_main(argc, argv, {}, [](Graph& g, const std::string& data) {
///       Value table = read_csv(g, "points.csv", csv_shape(data + "/points.csv"));
[[nodiscard]] Shape csv_shape(const std::string& file, std::int64_t skip = 0,
                              source_location at = source_location::current());
[[nodiscard]] Shape npy_shape(const std::string& file, source_location at = source_location::current());

/// Sparse rows. Entry j of row i is the element values[i, j] of column indices[i, j]. Where a row has fewer than `most`
/// entries, the rest are 0 in column 0, so that sums over entries are right.
struct SparseRows {
  Value labels;   ///< float32 [rows]
  Value values;   ///< float32 [rows, most]
  Value indices;  ///< int32 [rows, most]
};
/// A LibSVM file of `rows` rows, with at most `most` entries each and indices below `features`. Each line is "label
/// index:value …", or "label:weight index:value …". A file that exceeds this is refused with the number of the line. A
/// task parses only its rows.
SparseRows read_libsvm(Graph& graph, std::string_view path, std::int64_t rows, std::int64_t most, std::int64_t features,
                       source_location at = source_location::current());
/// The weights of the labels in such a file, float32 [rows]; 1 where a label has none.
Value read_libsvm_weights(Graph& graph, std::string_view path, std::int64_t rows, std::int64_t most,
                          std::int64_t features, source_location at = source_location::current());

/// How read_images() makes images of one size.
struct ImageOptions {
  /// For training: a random part of each image, scaled to the size and mirrored with probability 1/2. The part has 8 to
  /// 100 % of the area, and its width is 3/4 to 4/3 of its height. It is another one in each epoch, a function of the
  /// batch's seed, the session's seed, the epoch and the row. Such images are taken by batch(), which streams them
  /// whatever their size.
  bool augment = false;
  /// Otherwise: the shorter side to which each image is scaled before its middle is taken, at least height and width;
  /// 0: as much of the image as has the wanted shape.
  std::int64_t resize = 0;
};
struct ImageRows {
  Value images;  ///< uint8 [n, height, width, 3], red, green and blue
  Value labels;  ///< int32 [n], the number of the image's class
};
/// The JPEG and PNG images of a folder that has a folder for each class: path/CLASS/*.jpg, .jpeg and .png (in any case;
/// other files are ignored). There are n images of `classes` classes, and `shape` is [n, height, width, 3]. Classes are
/// numbered by their names' order; the rows are in that order, too, and by files' names within a class. Images of one
/// channel, with a palette, of CMYK or of 16 bits become RGB of 8 bits, alpha is left out, and so is what EXIF says of
/// turning. Scaling averages the pixels that become one. A task reads only its rows; batch() decodes them by as many
/// threads as the task has. Error(file) names a file that is damaged, cut short or no such image, a class without
/// images, and other numbers of classes or images than these.
ImageRows read_images(Graph& graph, std::string_view path, const Shape& shape, std::int64_t classes,
                      const ImageOptions& options = {}, source_location at = source_location::current());

/// What becomes of the rows that are left at the end of an epoch and fill no whole batch.
enum class Rest : std::uint8_t {
  keep,  ///< they are the last batch of the epoch, which is smaller
  drop   ///< they are left out of that epoch
};

/// How batch() takes rows.
struct BatchOptions {
  bool shuffle = true;  ///< each epoch has another order, a function of `seed`, the session's seed and the epoch
  std::int64_t seed = 0;
  Rest rest = Rest::keep;
  /// Files with at least this many declared bytes are not read whole: see batch().
  std::int64_t stream_from = std::int64_t{256} << 20;
  std::int64_t prefetch = 4;  ///< batches that are read ahead from such files
};

/// The rows of this step: `size` rows of each array, with the same row numbers in all. Dim 0 of all arrays has the same
/// size n. An epoch has n / size whole batches, one for each step; n % size rows may remain, and are the last batch of
/// the epoch unless `rest` says otherwise. Dim 0 of the results is then the symbolic dim "SIZE_of_N", since the step
/// decides it: a session has a plan for each of the two sizes. So all ops take it, means over the batch divide by the
/// actual number of rows, and nothing is padded. Ops between that want the size as a number are refused: write -1, or
/// Rest::drop. Returns one value for each array.
///
/// An array from one of the functions above is streamed if `stream_from` bytes or more are declared for its file and
/// the file is not named .gz or .zst. Its file is not read whole: on the devices of the array, separate threads read
/// the rows of each step, `prefetch` steps ahead, so that the file may be larger than memory. Where a batch is split
/// over tasks, each reads the rows of its part. The rows are the same as for an array in memory. They depend only on
/// the step, so a restored session continues with the right rows. Memory for each such array: prefetch + 1 batches (or
/// parts of them); for images at least one batch for each thread and one more. `shuffle` adds 16 bytes for each row of
/// the array. Text files and images add 8 bytes for each row, images also their names.
Values batch(std::span<const Value> arrays, std::int64_t size, const BatchOptions& options = {},
             source_location at = source_location::current());
inline Values batch(const Values& arrays, std::int64_t size, const BatchOptions& options = {},
                    source_location at = source_location::current()) {
  return batch(std::span<const Value>(arrays), size, options, at);
}

/// ReadIdx, ReadNpy, ReadRaw {path, dtype, shape}, ReadSafetensors {path, tensor, dtype, shape}, ReadCsv {path, dtype,
/// shape, skip}, ReadLibsvm and ReadLibsvmWeights {path, rows, most, features}, ReadImages {path, shape, classes,
/// augment, resize}, Batch {batch, rest, rows, shuffle, seed}, BatchFile {format, path, tensor, dtype, shape, batch,
/// rest, rows, shuffle, seed, prefetch, augment, classes, features, resize, skip}. `rest` is "keep" or left out; `rows`
/// is left out in graphs (OpDef::batches).
[[nodiscard]] std::span<const OpDef* const> data_ops();

}  // namespace ferry
#pragma GCC visibility pop
