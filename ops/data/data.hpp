// Data: files as values, and batches of their rows. See docs/data.md.
//
// Files lie beneath the session's data folder (SessionOptions::data_folder); a path that leads out of it, or a file
// whose contents are not of the declared dtype and shape, is an Error(file) when it is read, which says where in the
// file. IDX, CSV, npy and LibSVM files may be packed by gzip or zstd. Each file is read once a session.
//
// Errors: Error(plan) with the caller's line when shapes, dtypes or paths do not fit.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/source_location.hpp"
#include "graph/graph.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

namespace ferry {

/// An array from an IDX file (http://yann.lecun.com/exdb/mnist), of `dtype` and `shape`, all sizes known.
Value read_idx(Graph& graph, std::string_view path, DType dtype, const Shape& shape,
               source_location at = source_location::current());
/// A text of numbers, a row of `shape` [rows, columns] each line, separated by commas; the first `skip` lines are left
/// out.
Value read_csv(Graph& graph, std::string_view path, DType dtype, const Shape& shape, std::int64_t skip = 0,
               source_location at = source_location::current());
/// A numpy array file.
Value read_npy(Graph& graph, std::string_view path, DType dtype, const Shape& shape,
               source_location at = source_location::current());
/// Elements without a header, little-endian, in C order, from one file, or, where the path ends in '/', from all files
/// of a folder in the order of their names, each with whole rows (images of one size, say). A task reads its part
/// alone.
Value read_raw(Graph& graph, std::string_view path, DType dtype, const Shape& shape,
               source_location at = source_location::current());
/// The tensor of that name in a safetensors file. A task reads its part alone.
Value read_safetensors(Graph& graph, std::string_view path, std::string_view tensor, DType dtype, const Shape& shape,
                       source_location at = source_location::current());

/// Rows of which most elements are 0. Entry j of row i is values[i, j] at place indices[i, j]; where the row has fewer
/// than `most`, the rest are 0 at place 0, so that sums over entries are right.
struct SparseRows {
  Value labels;   ///< float32 [rows]
  Value values;   ///< float32 [rows, most]
  Value indices;  ///< int32 [rows, most]
};
/// A LibSVM file ("label index:value …" in each line) of so many rows, with at most `most` entries each and indices
/// below `features`; a file with more is refused at the line that has it. A task parses its rows alone.
SparseRows read_libsvm(Graph& graph, std::string_view path, std::int64_t rows, std::int64_t most, std::int64_t features,
                       source_location at = source_location::current());

/// How batch() takes rows.
struct BatchOptions {
  bool shuffle = true;  ///< an order of its own in each epoch, a function of `seed`, the session's seed and the epoch
  std::int64_t seed = 0;
  /// Arrays of files of which at least so many bytes are declared are not read whole (below).
  std::int64_t stream_from = std::int64_t{256} << 20;
  std::int64_t prefetch = 4;  ///< batches that are read from such files before they are wanted
};

/// The rows of this step: `size` rows of each array, the same ones of all. Dim 0 of all arrays has the same size n. An
/// epoch has n / size whole batches, one a step; the rows that are left over are left out of it. Returns one array for
/// each.
///
/// An array that one of the functions above gives, of a file that is not named .gz or .zst, is read, on the devices
/// that it was declared on, by the rows of each step, when all that is declared of the file has `stream_from` bytes or
/// more: by threads of the data's own, `prefetch` steps ahead. So it may be larger than memory. Where a batch is split
/// over tasks, each reads the rows of its part. The rows are those that an array in memory would give, and follow from
/// the step alone: a session that is restored goes on with them. What it takes for each such array: prefetch + 1
/// batches (or parts of them), with `shuffle` 16 bytes for each row of the array, and 8 for each row of a text.
Values batch(std::span<const Value> arrays, std::int64_t size, const BatchOptions& options = {},
             source_location at = source_location::current());
inline Values batch(const Values& arrays, std::int64_t size, const BatchOptions& options = {},
                    source_location at = source_location::current()) {
  return batch(std::span<const Value>(arrays), size, options, at);
}

/// ReadIdx, ReadNpy, ReadRaw {path, dtype, shape}, ReadSafetensors {path, tensor, dtype, shape}, ReadCsv {path, dtype,
/// shape, skip}, ReadLibsvm {path, rows, most, features}, Batch {batch, shuffle, seed}, BatchFile {format,
/// path, tensor, dtype, shape, batch, shuffle, seed, prefetch, features, skip}.
[[nodiscard]] std::span<const OpDef* const> data_ops();

}  // namespace ferry
