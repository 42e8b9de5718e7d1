// Data: files as values, and batches of their rows.
//
// Files lie beneath the session's data folder (SessionOptions::data_folder); a path that leads out of it, or a file
// whose contents are not of the declared dtype and shape, is an Error(file) when it is read. Files that end in .gz or
// .zst are decompressed. Each file is read once a session.
//
// Errors: Error(plan) with the caller's line when shapes, dtypes or paths do not fit.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/source_location.hpp"
#include "graph/graph.hpp"
#include "graph/op_def.hpp"
#include "graph/value.hpp"

namespace ferry {

/// An IDX file (http://yann.lecun.com/exdb/mnist): of type `dtype` and `shape`, all sizes known.
Value read_idx(Graph& graph, std::string_view path, DType dtype, const Shape& shape,
               source_location at = source_location::current());
/// A text of numbers, a row of `shape` [rows, columns] each line, separated by commas; the first `skip` lines are left
/// out.
Value read_csv(Graph& graph, std::string_view path, DType dtype, const Shape& shape, std::int64_t skip = 0,
               source_location at = source_location::current());
/// A numpy array file.
Value read_npy(Graph& graph, std::string_view path, DType dtype, const Shape& shape,
               source_location at = source_location::current());

/// The rows of this step: of each array, whose dims 0 are equal (n), `size` rows. An epoch has n / size whole batches,
/// one a step; the rows that are left over are left out of it. With `shuffle` each epoch has an order of its own, a
/// function of `seed`, the session's seed and the epoch, the same for all arrays. Gives an array for each.
Values batch(std::span<const Value> arrays, std::int64_t size, bool shuffle = true, std::int64_t seed = 0,
             source_location at = source_location::current());
inline Values batch(const Values& arrays, std::int64_t size, bool shuffle = true, std::int64_t seed = 0,
                    source_location at = source_location::current()) {
  return batch(std::span<const Value>(arrays), size, shuffle, seed, at);
}

/// ReadIdx, ReadNpy {path, dtype, shape}, ReadCsv {path, dtype, shape, skip}, Batch {batch, shuffle, seed}.
[[nodiscard]] std::span<const OpDef* const> data_ops();

}  // namespace ferry
