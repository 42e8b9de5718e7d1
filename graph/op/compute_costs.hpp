// ComputeCosts: the speeds of a host, as planning assumes them.
#pragma once

#pragma GCC visibility push(default)
namespace ferry {

/// The times of computing on the CPU of a task, by the kind of work. `ferry calibrate` measures them
/// (docs/reference/cluster_format.md). Without a measurement, planning assumes the defaults on every machine. They are
/// approximately one core of 2026, with 25 GB/s of memory and 100 GFLOP/s of float32 in products. With them, the
/// planned times of the samples' kernels are within a third of the measured times. Times are in picoseconds.
struct ComputeCosts {
  double call = 50'000;          ///< of calling a kernel
  double wait = 0;               ///< of waiting for a message, besides the link's latency; 0: not measured
  double memory_byte = 40;       ///< of traffic of a kernel that touches more than `cache_bytes`
  double cache_byte = 40;        ///< of traffic of other kernels
  double cache_bytes = 1 << 20;  ///< bytes that stay in the cache of a core
  double product_flop = 10;      ///< of sums of products
  double convolution_flop = 10;  ///< of sums of products in windows
  double reduction_flop = 10;    ///< of sums, maxima and the like
  double element_flop = 10;      ///< of all other arithmetic
  /// The part of the work of a large kernel, from 0 to 1, that its threads divide among them: of the arithmetic, and of
  /// the memory traffic.
  double parallel_flops = 0, parallel_bytes = 0;

  /// The largest numbers that a file may have.
  static constexpr double kMostPicoseconds = 1e12, kMostCacheBytes = 1e15;

  bool operator==(const ComputeCosts&) const = default;
};

}  // namespace ferry
#pragma GCC visibility pop
