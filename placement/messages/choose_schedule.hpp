// choose_schedule: chooses the algorithm of a collective by its size and by the hosts of its members.
#pragma once

#include <cstdint>
#include <span>

#include "plan/schedule/schedule.hpp"
#include "plan/topology/topology.hpp"

namespace ferry {

/// A collective without its schedule.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::span<const std::int32_t> hosts;  ///< for each member; hosts are numbered in the order of their first members
  std::int32_t root = 0;
  bool guest_root = false;
  std::int64_t bytes = 0;     ///< bytes of the whole vector
  bool share_memory = false;  ///< its members share memory
};

/// The algorithm that takes the least time by the topology's links; at a tie the simpler one. For up to 64 members on
/// one host it is the direct schedule. There, an all-reduce is one-shot if each member then receives at most 16 KB,
/// because sending so little costs less than a second round. For more members on one host, the link on the host also
/// gives A and B below. A job in one process and one under MPI on one host get the same algorithm, and so the same
/// bits. Members that share memory put or get (Via) the inputs of a direct or one-shot all-reduce.
///
/// A message costs its link's latency plus its bytes divided by the link's bandwidth. The members of a host share the
/// bandwidth to other hosts. The formulas are for n members on h hosts, at most k members on one host, and N bytes. a
/// and b are the latency and the seconds per byte of the link on a host; A and B the same of the link between hosts:
///
///     all_reduce    direct        2 ((k-1) a + (n-k) A + (k-1) N/n b + k (n-k) N/n B)
///                   doubling      (log2 k) (a + N b) + (log2 n/k) (A + k N B), and two rounds when n is no power of 2
///                   ring          2 (n-1) (A + N/n B)
///                   hierarchical  2 ((k-1) h a + (k-1)/k N b + (h-1) (A + N/h B)), for k members on each host, up to
///                                 5 million steps: about 1,000 members
///     broadcast     direct        (k-1) (a + N b) + (n-k) (A + N B); a reduce alike
///                   tree          (log2 n) (A + N B)
///                   hierarchical  (log2 k) (a + N b) + (log2 h) (A + N B)
///     all_gather    direct        half of an all_reduce; ring alike
///     others        direct        always
[[nodiscard]] Schedule choose_schedule(const CollectiveCall& call, const Topology& topology);

/// The algorithm of a sum (all_reduce, reduce_scatter, reduce) of up to kMostFolded members that GPUs fold, in the
/// order of the members. An all_reduce is one-shot if that takes less time than direct. A call of the GPU library takes
/// C seconds; the links have bandwidth W, and all members use them at the same time:
///
///     one-shot      C + (n-1) N/W
///     direct        2 C + 2 (n-1) N/n W
///
/// C and W are the latency and bandwidth of the topology's link between GPUs, on one host or between hosts. Both give
/// the same bits.
[[nodiscard]] Schedule choose_folded(const CollectiveCall& call, const Topology& topology);

}  // namespace ferry
