// ComputeCosts: the speeds of a host, as planning assumes them.
#pragma once

#pragma GCC visibility push(default)
namespace ferry {

/// The times of computing on the CPU of a task, by the kind of work. `ferry calibrate` measures them
/// (docs/reference/cluster_format.md). The defaults hold for all machines: approximately one core of 2026, with 25 GB/s
/// of memory and 100 GFLOP/s of float32 in products. The kernels of the samples are planned within a third of their
/// measured time. Times are in picoseconds.
struct ComputeCosts {
  double call = 50'000;          ///< of a kernel
  double wait = 0;               ///< of a message whose receiver waits, besides the latency of the link
  double memory_byte = 40;       ///< of traffic of a kernel that touches more than `cache_bytes`
  double cache_byte = 40;        ///< of traffic of other kernels
  double cache_bytes = 1 << 20;  ///< bytes that stay in the cache of a core
  double product_flop = 10;      ///< of sums of products
  double convolution_flop = 10;  ///< of sums of products in windows
  double reduction_flop = 10;    ///< of sums, maxima and the like
  double element_flop = 10;      ///< of all other arithmetic
  /// The shares of the time of a large kernel that several threads divide among them, from 0 to 1: where arithmetic is
  /// slower than memory, and where memory is.
  double parallel_flops = 0, parallel_bytes = 0;

  /// The most that files may give.
  static constexpr double kMostPicoseconds = 1e12, kMostCacheBytes = 1e15;

  bool operator==(const ComputeCosts&) const = default;
};

}  // namespace ferry
#pragma GCC visibility pop
