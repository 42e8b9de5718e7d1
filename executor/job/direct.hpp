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
#include "executor/job/collectives.hpp"
#include "executor/job/direct_run.hpp"
#include "plan/schedule/schedule.hpp"

namespace ferry {

/// What a call is, the same on all tasks of its group.
struct DirectKey {
  DirectCall::Op op = DirectCall::Op::barrier;
  DType dtype = DType::uint8;
  Reduce reduce = Reduce::none;
  std::int32_t root = 0;
  std::int64_t elements = 0;  ///< of the input, or of the output where inputs differ; of uneven ones, of all
  std::uint64_t sizes = 0;    ///< of uneven inputs, or of several spans: a hash

  [[nodiscard]] std::uint64_t hash() const;
  bool operator==(const DirectKey&) const = default;
};

/// A call that is prepared. Lives as long as its group keeps it or a run uses it.
struct PreparedCall {
  std::uint64_t hash = 0;  ///< of the key
  std::uint32_t channel = 0;
  std::int64_t bytes = 0;  ///< that it counts for in the budget, the same on all tasks
  Schedule schedule;
  std::vector<std::int64_t> parts;
  std::vector<std::byte> own;
  std::shared_ptr<std::byte> shared;  ///< staging, and after it `bounce`, in memory that others can write
  std::span<std::byte> bounce;        ///< stands for an output that others cannot write; may be empty
  std::size_t input = 0, output = 0;  ///< bytes of this member
  std::unique_ptr<GroupCall> call;
  // The first time that the tasks prepare a call they compare its description.
  std::vector<std::uint64_t> theirs;
  Tickets tickets;
  bool met = false;
  std::list<DirectKey>::iterator used;  ///< in the order of use
};

/// Memory for copies, kept for the next of its size.
class CopyMemory {
 public:
  /// Of at least `bytes`; lent where the transport has such memory. Returns to here when its last owner is gone.
  [[nodiscard]] std::shared_ptr<std::byte> take(std::size_t bytes, Transport& transport);
  void clear() { free_->clear(); }

 private:
  struct Block {
    std::size_t bytes = 0;
    std::shared_ptr<std::byte> memory;
  };
  std::shared_ptr<std::vector<Block>> free_ = std::make_shared<std::vector<Block>>();  // newest last
};

/// How many messages of send() and receive() this task has started with another one, and for how many of them the
/// values are under way.
struct DirectPair {
  std::uint64_t sends = 0, receives = 0, sent = 0, received = 0;
};

/// One per group and process. Used from the thread that made the Cluster.
class DirectGroup {
 public:
  /// The bytes that prepared calls are kept within, and the number of groups that a task is in at most.
  static constexpr std::int64_t kKept = 256 << 20;
  static constexpr int kMostGroups = 1024;

  /// `id` distinguishes its channels from the channels of other groups that share two of its tasks.
  DirectGroup(DirectJob& job, int id, std::vector<std::int32_t> tasks, int member);
  ~DirectGroup();
  DirectGroup(const DirectGroup&) = delete;
  DirectGroup& operator=(const DirectGroup&) = delete;

  void run(const DirectCall& call, const source_location& at);
  [[nodiscard]] std::shared_ptr<DirectRun> start(const DirectCall& call, const source_location& at);
  [[nodiscard]] std::shared_ptr<DirectRun> start_each(DType dtype, Reduce reduce,
                                                      std::vector<std::span<std::byte>> pieces,
                                                      const source_location& at);
  void gather_uneven(DType dtype, std::span<const std::byte> mine,
                     const std::function<std::span<std::byte>(std::size_t)>& room, const source_location& at);
  [[nodiscard]] std::shared_ptr<std::byte> memory(std::size_t bytes);
  /// The new group of this task, which the job owns.
  [[nodiscard]] DirectGroup& split(int color, int key, const source_location& at);

  [[nodiscard]] DirectJob& job() const { return job_; }
  [[nodiscard]] int id() const { return id_; }
  [[nodiscard]] int member() const { return member_; }
  [[nodiscard]] const std::vector<std::int32_t>& tasks() const { return tasks_; }
  [[nodiscard]] CopyMemory& copies() { return copies_; }
  [[nodiscard]] DirectPair& pair(int member) { return pairs_[static_cast<std::size_t>(member)]; }
  /// Before each call: Error(usage) as Collectives; forgets what was prepared for a job that has failed.
  void begin();
  /// The channel of the group with that number, below kChannels.
  [[nodiscard]] std::uint32_t channel(std::uint32_t number) const;
  /// Equal on tasks at the same call.
  [[nodiscard]] std::uint64_t place(std::uint64_t call) const;

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
  void give_up(std::list<DirectKey>::iterator oldest);
  void compare(PreparedCall& made) const;
  void run(const DirectKey& key, const DirectCall& call, std::span<const std::int64_t> sizes,
           const source_location& at);

  DirectJob& job_;
  const int id_;
  const std::vector<std::int32_t> tasks_;
  const int member_;
  std::int64_t generation_ = 0;
  std::uint64_t calls_ = 0;  // made by this group in this generation
  std::unordered_map<DirectKey, std::shared_ptr<PreparedCall>, Hash> prepared_;
  std::list<DirectKey> order_;                // of use, oldest first
  std::int64_t kept_ = 0;                     // bytes
  std::vector<std::uint32_t> free_channels_;  // of calls that were given up; the last one is taken first
  std::uint32_t channels_ = 0;                // that have been used
  CopyMemory copies_;
  std::vector<DirectPair> pairs_;  // by member
};

}  // namespace ferry
