// DirectGroup: the tasks that make direct calls together (Collectives), and their prepared calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "comm/group.hpp"
#include "executor/direct/direct_call.hpp"
#include "executor/direct/direct_run.hpp"
#include "plan/schedule/schedule.hpp"

namespace ferry {

/// The description of a call. It is the same on all tasks of the group.
struct DirectKey {
  DirectCall::Op op = DirectCall::Op::barrier;
  DType dtype = DType::uint8;
  Reduce reduce = Reduce::none;
  std::int32_t root = 0;
  std::int64_t elements = 0;  ///< number of elements of the input; of an uneven all_gather, of the output
  std::uint64_t sizes = 0;    ///< hash of the sizes of uneven inputs, or of several spans; else 0

  [[nodiscard]] std::uint64_t hash() const;
  bool operator==(const DirectKey&) const = default;
};

/// A prepared call. Lives as long as its group keeps it or a run uses it.
struct PreparedCall {
  std::uint64_t hash = 0;  ///< of the key
  std::uint32_t channel = 0;
  std::int64_t bytes = 0;  ///< counted against DirectGroup::kMostPreparedBytes, the same on all tasks
  Schedule schedule;
  std::vector<std::int64_t> parts;
  std::vector<std::byte> own;
  std::shared_ptr<std::byte> shared;  ///< staging, and after it `bounce`, in memory that other tasks can write
  std::span<std::byte> bounce;        ///< receives the output if other tasks cannot write to the caller's; may be empty
  std::size_t input = 0, output = 0;  ///< bytes on this member
  std::unique_ptr<GroupCall> call;
  // After preparing a call, the tasks compare their hashes of it: `other_hashes` are the hashes of the other tasks.
  std::vector<std::uint64_t> other_hashes;
  Tickets tickets;
  bool agreed = false;
  std::list<DirectKey>::iterator used;  ///< in DirectGroup::order_
};

/// Memory for copies. It keeps free blocks for copies of the same size.
class CopyMemory {
 public:
  /// Returns a block of `bytes` bytes, in memory that the transport can lend if it has such memory. The block becomes
  /// free when its last owner is gone.
  [[nodiscard]] std::shared_ptr<std::byte> take(std::size_t bytes, Transport& transport);
  void clear() { free_->clear(); }

 private:
  struct Block {
    std::size_t bytes = 0;
    std::shared_ptr<std::byte> memory;
  };
  std::shared_ptr<std::vector<Block>> free_ = std::make_shared<std::vector<Block>>();  // newest last
};

/// Counts of the messages to and from another task. `started_sends`, `started_receives`: messages that send() and
/// receive() have started here. `moved_sends`, `moved_receives`: messages with values that have begun to move.
struct PairCounts {
  std::uint64_t started_sends = 0, started_receives = 0, moved_sends = 0, moved_receives = 0;
};

/// One per group and process. Used from the thread that made the Cluster.
class DirectGroup final : public CallGroup {
 public:
  /// The memory limit of prepared calls in bytes, and the most groups of a task.
  static constexpr std::int64_t kMostPreparedBytes = 256 << 20;
  static constexpr int kMostGroups = 1024;

  /// `id` distinguishes the group's channels from the channels of other groups that share two of its tasks.
  DirectGroup(DirectJob& job, int id, std::vector<std::int32_t> tasks, int member);
  ~DirectGroup() override;

  void run(const DirectCall& call, const source_location& at);
  [[nodiscard]] std::shared_ptr<DirectRun> start(const DirectCall& call, const source_location& at);
  [[nodiscard]] std::shared_ptr<DirectRun> start_each(DType dtype, Reduce reduce,
                                                      std::vector<std::span<std::byte>> pieces,
                                                      const source_location& at);
  void gather_uneven(DType dtype, std::span<const std::byte> mine,
                     const std::function<std::span<std::byte>(std::size_t)>& room, const source_location& at);
  [[nodiscard]] std::shared_ptr<std::byte> memory(std::size_t bytes);
  /// Returns the new group of this task; the job owns the group.
  [[nodiscard]] DirectGroup& split(int color, int key, const source_location& at);

  [[nodiscard]] DirectJob& job() const { return job_; }
  [[nodiscard]] int member() const { return member_; }
  [[nodiscard]] const std::vector<std::int32_t>& tasks() const { return tasks_; }
  [[nodiscard]] CopyMemory& copies() { return copies_; }
  [[nodiscard]] PairCounts& pair(int member) { return pairs_[member]; }
  /// Called before each call. Error(usage) as Collectives. Drops calls that were prepared for a failed job.
  void begin();
  /// The transport's channel for the group's channel `number`, which is below kChannels.
  [[nodiscard]] std::uint32_t channel(std::uint32_t number) const;
  /// An identifier of the group's call number `call`, equal on all tasks of the group.
  [[nodiscard]] std::uint64_t call_key(std::uint64_t call) const;

 private:
  struct Hash {
    std::size_t operator()(const DirectKey& key) const { return key.hash(); }
  };
  [[nodiscard]] DirectKey key_of(const DirectCall& call) const;
  [[nodiscard]] const std::shared_ptr<PreparedCall>& prepared(const DirectKey& key, const DirectCall& call,
                                                              std::span<const std::int64_t> sizes);
  [[nodiscard]] std::shared_ptr<PreparedCall> prepare(const DirectKey& key, const DirectCall& call,
                                                      std::span<const std::int64_t> sizes);
  [[nodiscard]] std::span<std::byte> memory_of(PreparedCall& made, DType dtype) const;
  void evict_call(std::list<DirectKey>::iterator oldest);
  void compare(PreparedCall& made) const;
  void run(const DirectKey& key, const DirectCall& call, std::span<const std::int64_t> sizes,
           const source_location& at);

  DirectJob& job_;
  const std::vector<std::int32_t> tasks_;
  const int member_;
  std::int64_t generation_ = 0;
  std::uint64_t calls_ = 0;  // number of calls of this group in this generation
  std::unordered_map<DirectKey, std::shared_ptr<PreparedCall>, Hash> prepared_;
  std::list<DirectKey> order_;                // keys in order of use, oldest first
  std::int64_t kept_ = 0;                     // bytes
  std::vector<std::uint32_t> free_channels_;  // of dropped calls; the last one is used first
  std::uint32_t channels_ = 0;                // number of channels used so far
  CopyMemory copies_;
  std::vector<PairCounts> pairs_;  // by member
};

}  // namespace ferry
