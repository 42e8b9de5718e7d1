// Ops that read files as values, and batches of their rows. See docs/guide/data.md.
//
// Paths are relative to the session's data folder (ExecutionOptions::data_folder). IDX, CSV, npy and LibSVM files may
// be compressed by gzip or zstd. A session reads each file once, except for files that batch() streams.
//
// Errors: Error(plan) with the caller's line if shapes or dtypes do not fit, or if a path is absolute or has "..".
// Error(file) if a path has a link below the folder, or if the file's content does not have the declared dtype and
// shape. The message names the position in the file.
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

/// Reads an array of `dtype` and `shape` from an IDX file (http://yann.lecun.com/exdb/mnist). All sizes must be known.
///
///     read_idx(g, "train-images.gz", DType::uint8, {60000, 28, 28});  // uint8[60000,28,28]
Value read_idx(Graph& graph, std::string_view path, DType dtype, const Shape& shape,
               source_location at = source_location::current());

/// Reads a text file of numbers separated by commas, with one line for each row of `shape` [rows, columns]. Skips the
/// first `skip` lines. If the next line has no number, it is a header and is also skipped.
///
///     read_csv(g, "houses.csv", DType::float64, {506, 14});  // float64[506,14]
Value read_csv(Graph& graph, std::string_view path, DType dtype, const Shape& shape, std::int64_t skip = 0,
               source_location at = source_location::current());

/// Reads a numpy array file. Its array must have this dtype and shape. All sizes must be known.
///
///     read_npy(g, "points.npy", DType::float64, {1000, 3});  // float64[1000,3]
Value read_npy(Graph& graph, std::string_view path, DType dtype, const Shape& shape,
               source_location at = source_location::current());

/// Reads elements without a header, little-endian and in C order, from one file. If the path ends in '/', reads all
/// files of that folder in the order of their names. Each file has whole rows (for example, images of one size). A task
/// reads only its part.
///
///     read_raw(g, "frames/", DType::uint8, {5000, 64, 64});  // uint8[5000,64,64]
Value read_raw(Graph& graph, std::string_view path, DType dtype, const Shape& shape,
               source_location at = source_location::current());

/// Reads the tensor `tensor` of a safetensors file. A task reads only its part.
///
///     read_safetensors(g, "model.safetensors", "layer/weights", DType::bfloat16, {784, 10});  // bfloat16[784,10]
Value read_safetensors(Graph& graph, std::string_view path, std::string_view tensor, DType dtype, const Shape& shape,
                       source_location at = source_location::current());

/// The same functions with elements of float32.
///
///     read_csv(g, "houses.csv", {506, 14});  // float32[506,14]
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

/// csv_shape() returns the rows and columns of a CSV file, npy_shape() the sizes of the array in an npy file, for the
/// readers above. They read the file while the graph is built, in every process. csv_shape() reads the whole file, and
/// so does npy_shape() if the file is compressed. `file` is not relative to the data folder. Error(file), with the
/// caller's line, if the file cannot be read.
///
///     std::string data = "data";  // the data folder
///     read_csv(g, "points.csv", csv_shape(data + "/points.csv"));  // float32[3,2]
[[nodiscard]] Shape csv_shape(const std::string& file, std::int64_t skip = 0,
                              source_location at = source_location::current());
[[nodiscard]] Shape npy_shape(const std::string& file, source_location at = source_location::current());

/// Returns the shape of a file, or of the files of a folder (a path that ends in '/'), for read_raw(): [n, row…], where
/// n is the number of bytes divided by the bytes of a row. A row has `dtype` (float32 if it is left out) and the sizes
/// `row`; {} is a row of one element. Reads only the sizes of the files, while the graph is built, in every process.
/// `file` is not relative to the data folder. Error(file), with the caller's line, if a file cannot be read or does not
/// have whole rows. Error(plan) if a size of `row` is 0 or not known.
///
///     std::string data = "data";  // the data folder
///     read_raw(g, "frames.raw", DType::uint8, raw_shape(data + "/frames.raw", DType::uint8, {2, 3}));  // uint8[4,2,3]
[[nodiscard]] Shape raw_shape(const std::string& file, DType dtype, const Shape& row,
                              source_location at = source_location::current());
[[nodiscard]] inline Shape raw_shape(const std::string& file, const Shape& row,
                                     source_location at = source_location::current()) {
  return raw_shape(file, DType::float32, row, at);
}

/// Sparse rows. Element values[i, j] of row i is in column indices[i, j]. If a row has fewer than `most` entries, its
/// other entries are 0 in column 0, so that sums over entries are right.
struct SparseRows {
  Value labels;   ///< float32 [rows]
  Value values;   ///< float32 [rows, most]
  Value indices;  ///< int32 [rows, most]
};

/// Reads a LibSVM file of `rows` rows, with at most `most` entries each and indices below `features`. Each line is
/// "label index:value …", or "label:weight index:value …". If the file exceeds these limits, Error(file) names the
/// line. A task parses only its rows.
///
///     SparseRows rows = read_libsvm(g, "train.libsvm", 6513, 22, 127);
///     rows.values;   // float32[6513,22]
///     rows.indices;  // int32[6513,22]
SparseRows read_libsvm(Graph& graph, std::string_view path, std::int64_t rows, std::int64_t most, std::int64_t features,
                       source_location at = source_location::current());

/// Reads the weights of the labels in a LibSVM file, float32 [rows]. The weight is 1 if a label has none.
///
///     read_libsvm_weights(g, "train.libsvm", 6513, 22, 127);  // float32[6513]
Value read_libsvm_weights(Graph& graph, std::string_view path, std::int64_t rows, std::int64_t most,
                          std::int64_t features, source_location at = source_location::current());

/// How read_images() makes images of one size.
struct ImageOptions {
  /// For training: takes a random part of each image, scales it to the size, and mirrors it with probability 1/2. The
  /// part has 8 to 100 % of the area, and its width is 3/4 to 4/3 of its height. It changes in each epoch, as a
  /// function of the batch's seed, the session's seed, the epoch and the row. Only batch() accepts such images, and
  /// streams them whatever their size.
  bool augment = false;
  /// Without `augment`: scales the shorter side of each image to this size and then takes the middle of the image. It
  /// is at least height and width. 0: takes the largest middle part with the aspect ratio of `shape`.
  std::int64_t resize = 0;
};
struct ImageRows {
  Value images;  ///< uint8 [n, height, width, 3], red, green and blue
  Value labels;  ///< int32 [n], the number of each image's class
};

/// Reads the JPEG and PNG images of a folder that has one folder for each class: path/CLASS/*.jpg, .jpeg and .png (in
/// upper or lower case; other files are ignored). There are n images of `classes` classes, and `shape` is [n, height,
/// width, 3]. Classes are numbered in the order of their names. Rows are in the order of classes, and within a class in
/// the order of file names. Images with one channel, a palette, CMYK or 16 bits become RGB of 8 bits. The alpha channel
/// and the EXIF orientation are ignored. Scaling down averages pixels.
///
/// A task reads only its rows; batch() decodes them with as many threads as the task has. Error(file) names a file that
/// is damaged, truncated or not such an image, a class without images, or a wrong number of classes or images.
///
///     ImageRows rows = read_images(g, "photos", {5000, 224, 224, 3}, 10, {.augment = true});
///     rows.images;  // uint8[5000,224,224,3]
///     rows.labels;  // int32[5000]
ImageRows read_images(Graph& graph, std::string_view path, const Shape& shape, std::int64_t classes,
                      const ImageOptions& options = {}, source_location at = source_location::current());

/// What happens to the rows that are left at the end of an epoch and do not fill a whole batch.
enum class Rest : std::uint8_t {
  keep,  ///< they are the last, smaller batch of the epoch
  drop   ///< they are left out of that epoch
};

/// How batch() selects and reads rows.
struct BatchOptions {
  bool shuffle = true;     ///< each epoch has a different order, a function of `seed`, the session's seed and the epoch
  std::int64_t seed = 0;   ///< number that selects the orders of `shuffle`
  Rest rest = Rest::keep;  ///< use of the rows that do not fill a batch
  /// Files with at least this many declared bytes are streamed instead of read whole: see batch().
  std::int64_t stream_from = std::int64_t{256} << 20;
  std::int64_t prefetch = 4;  ///< number of batches to read ahead from streamed files
};

/// Returns the batch of this step: `size` rows of each array, with the same row numbers in all arrays. Dim 0 of all
/// arrays has the same size n. An epoch has n / size whole batches, one for each step. The n % size rows that remain
/// are the last batch of the epoch, unless `rest` is Rest::drop. With such a last batch, dim 0 of the results is the
/// symbolic dim "SIZE_of_N", because the step decides its size. A session has one plan for each of the two sizes. So
/// means over the batch divide by the actual number of rows, and nothing is padded. All ops accept this dim, except if
/// they need its size as a number: then write -1, or use Rest::drop. Returns one value for each array.
///
/// An array from one of the functions above is streamed if `stream_from` bytes or more are declared for its file and
/// the file is not named .gz or .zst. Then its file is not read whole: on the devices of the array, separate threads
/// read the rows of each step, `prefetch` steps ahead, so that the file may be larger than memory. If a batch is split
/// over tasks, each task reads the rows of its part. The rows are the same as for an array in memory. They depend only
/// on the step, so a restored session continues with the right rows. Memory for each streamed array: prefetch + 1
/// batches (or parts of batches); for images, at least one batch for each thread plus one batch. `shuffle` adds 16
/// bytes for each row of the array. Text files and images add 8 bytes for each row, and images also their file names.
///
///     Values rows = batch({images, labels}, 4);  // of images [8,3,32,32] and labels [8]
///     rows[0];  // float32[4,3,32,32]
///     rows[1];  // int32[4]
Values batch(std::span<const Value> arrays, std::int64_t size, const BatchOptions& options = {},
             source_location at = source_location::current());
inline Values batch(const Values& arrays, std::int64_t size, const BatchOptions& options = {},
                    source_location at = source_location::current()) {
  return batch(std::span<const Value>(arrays), size, options, at);
}

/// The ops, with their attributes in braces: ReadIdx, ReadNpy, ReadRaw {path, dtype, shape}, ReadSafetensors {path,
/// tensor, dtype, shape}, ReadCsv {path, dtype, shape, skip}, ReadLibsvm and ReadLibsvmWeights {path, rows, most,
/// features}, ReadImages {path, shape, classes, augment, resize}, Batch {batch, rest, rows, shuffle, seed}, BatchFile
/// {format, path, tensor, dtype, shape, batch, rest, rows, shuffle, seed, prefetch, augment, classes, features, resize,
/// skip}. `rest` is "keep" or absent; `rows` is absent in graphs (OpDef::batches).
[[nodiscard]] std::span<const OpDef* const> data_ops();

}  // namespace ferry
#pragma GCC visibility pop
