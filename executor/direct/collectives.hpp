// Collectives: direct calls on the caller's memory, without a graph. Cluster has them for all tasks, Group for some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/float_state.hpp"
#include "base/source_location.hpp"
#include "executor/direct/direct_call.hpp"

#pragma GCC visibility push(default)
namespace ferry {

class DirectGroup;
class DirectRun;
class Group;

/// A direct call in flight, as returned by Collectives::start_all_reduce() and the other start functions. The call
/// makes progress while this task is in wait(), test() or another direct call. Wait for it before a session runs. Until
/// then, do not change the call's input or read its output. A request may outlive its Cluster: the job lasts until the
/// call is done. Used from the thread of its Cluster. It can be moved, but not copied.
///
///     ferry::Request sum = cluster.start_all_reduce(std::span<float>(gradients));
///     prepare_next_batch();
///     sum.wait();
class Request {
 public:
  /// A call that is done.
  Request() = default;
  Request(std::shared_ptr<DirectRun> run, std::shared_ptr<DirectGroup> group)
      : group_(run ? std::move(group) : nullptr), run_(std::move(run)) {}
  /// Waits for the call, except while an exception unwinds the stack. The destructor loses errors: call wait().
  ~Request();
  Request(Request&&) noexcept = default;
  Request& operator=(Request&& other) noexcept;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  /// Returns when the call is done. Errors as Collectives.
  void wait();
  /// Makes progress; true if the call is done. Errors as Collectives.
  [[nodiscard]] bool test();

 private:
  std::shared_ptr<DirectGroup> group_;  ///< keeps the job alive
  std::shared_ptr<DirectRun> run_;      ///< null: done
};

/// Memory that the tasks of this host can read and write, from Collectives::buffer(). Direct calls use it in place,
/// without copies. Movable. The memory is valid as long as the buffer exists, also after its Cluster is gone.
///
///     LentBuffer<float> numbers = cluster.buffer<float>(1000);
///     numbers[0] = 1;
///     cluster.all_reduce(numbers.span());
template <class T>
class LentBuffer {
 public:
  LentBuffer() = default;
  LentBuffer(std::shared_ptr<std::byte> memory, std::size_t size)
      : memory_(std::move(memory)), values_(reinterpret_cast<T*>(memory_.get()), size) {}

  /// The values, as an argument of a direct call.
  [[nodiscard]] std::span<T> span() const { return values_; }
  operator std::span<T>() const { return values_; }  // NOLINT: it is one
  /// The first value.
  [[nodiscard]] T* data() const { return values_.data(); }
  /// The number of values.
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] T& operator[](std::size_t i) const { return values_[i]; }
  [[nodiscard]] auto begin() const { return values_.begin(); }
  [[nodiscard]] auto end() const { return values_.end(); }

 private:
  std::shared_ptr<std::byte> memory_;
  std::span<T> values_;
};

/// The direct calls of a group of tasks. All tasks of the group make the same calls in the same order, as in MPI, with
/// the same sizes and dtypes; only send() and receive() are calls of two tasks. A call is prepared at its first use,
/// and the preparation is kept for later calls of the same operation, dtype and size. Above 256 MB the least recently
/// used preparations are dropped.
///
/// T is an element type of graph/types/dtype.hpp. Input and output must not overlap, unless they are one argument. They
/// can be in any memory; memory of a LentBuffer is used without copies. Sums are folded in the order of tasks, so they
/// have the same bits on every task, in every run and over every transport.
///
/// Thread safety: the thread that made the Cluster makes all calls. They can be made while a session exists, also in
/// its callbacks. Errors:
/// - usage: the call is on another thread; sizes do not fit the group; or this process has several tasks of the job
///   (direct calls need one process for each task). Nothing has been sent.
/// - plan: two tasks make different calls. The error has both calls with their lines. It ends the job.
/// - peer_lost, stalled: a task has left, or does not come before the deadline. It ends the job.
/// After the job has failed, calls throw its failure until the first call of a new session has started the job again.
///
///     ferry::LentBuffer<float> sums = cluster.buffer<float>(1 << 20);
///     cluster.all_reduce(sums.span());
class Collectives {
 public:
  /// values[i] = the fold of all tasks' values[i], in task order. All spans have the same size.
  ///
  ///     cluster.all_reduce(std::span<float>(gradients), Reduce::max);
  template <class T>
  void all_reduce(std::span<T> values, Reduce reduce = Reduce::sum,
                  source_location at = source_location::current()) const {
    run(sum_of(values, reduce), at);
  }
  /// Starts all_reduce(), and returns at once. So do the other functions start_….
  ///
  ///     Request sum = cluster.start_all_reduce<float>(gradients);
  ///     prepare_next_batch();
  ///     sum.wait();
  template <class T>
  [[nodiscard]] Request start_all_reduce(std::span<T> values, Reduce reduce = Reduce::sum,
                                         source_location at = source_location::current()) const {
    return start(sum_of(values, reduce), at);
  }

  /// values[i] = the mean of all tasks' values[i]: their sum by all_reduce(), divided by the number of tasks. T: float,
  /// double, Float16 or BFloat16; the sum of 16-bit values is rounded to 16 bits, too.
  ///
  ///     cluster.all_reduce_mean(std::span<float>(gradients));
  template <class T>
  void all_reduce_mean(std::span<T> values, source_location at = source_location::current()) const {
    static_assert(is_float(dtype_of<T>()), "a mean is of floating-point numbers");
    all_reduce(values, Reduce::sum, at);
    using Wide = std::conditional_t<sizeof(T) == 8, double, float>;
    const DefaultFloats floats;  // the same bits on all tasks
    for (T& value : values) value = static_cast<T>(static_cast<Wide>(value) / static_cast<Wide>(members()));
  }

  /// all_reduce() of several spans as one call. All tasks pass the same number of spans, of the same sizes. The results
  /// have the same bits as one call for each span.
  ///
  ///     std::vector<std::span<float>> both = {gradients, sums};
  ///     cluster.all_reduce_each<float>(both);
  template <class T>
  void all_reduce_each(std::span<const std::span<T>> spans, Reduce reduce = Reduce::sum,
                       source_location at = source_location::current()) const {
    start_all_reduce_each(spans, reduce, at).wait();
  }
  template <class T>
  [[nodiscard]] Request start_all_reduce_each(std::span<const std::span<T>> spans, Reduce reduce = Reduce::sum,
                                              source_location at = source_location::current()) const {
    std::vector<std::span<std::byte>> pieces;
    pieces.reserve(spans.size());
    for (const std::span<T>& span : spans) pieces.push_back(std::as_writable_bytes(span));
    return start_each(dtype_of<T>(), reduce, std::move(pieces), at);
  }

  /// part = this task's part of the fold of all tasks' `values`. All `values` have the same size n. The part of task i
  /// of t has n / t elements, rounded down, and one more where i < n % t (part_of() in graph/types/layout.hpp).
  ///
  ///     std::vector<float> part(static_cast<std::size_t>(part_of(1000, cluster.size(), cluster.rank()).size));
  ///     cluster.reduce_scatter<float>(gradients, part);  // gradients has 1000 numbers
  template <class T>
  void reduce_scatter(std::span<const T> values, std::span<T> part, Reduce reduce = Reduce::sum,
                      source_location at = source_location::current()) const {
    run(parts_of(values, part, reduce), at);
  }
  template <class T>
  [[nodiscard]] Request start_reduce_scatter(std::span<const T> values, std::span<T> part, Reduce reduce = Reduce::sum,
                                             source_location at = source_location::current()) const {
    return start(parts_of(values, part, reduce), at);
  }

  /// all = the values of all tasks, in task order. All `mine` have the same size; the size of `all` is the number of
  /// tasks times as large.
  ///
  ///     std::vector<float> all(gradients.size() * static_cast<std::size_t>(cluster.size()));
  ///     cluster.all_gather<float>(gradients, all);
  template <class T>
  void all_gather(std::span<const T> mine, std::span<T> all, source_location at = source_location::current()) const {
    run(moved(DirectCall::Op::all_gather, mine, all), at);
  }
  template <class T>
  [[nodiscard]] Request start_all_gather(std::span<const T> mine, std::span<T> all,
                                         source_location at = source_location::current()) const {
    return start(moved(DirectCall::Op::all_gather, mine, all), at);
  }

  /// Returns the values of all tasks, in task order. Tasks may pass different numbers of values.
  ///
  ///     std::vector<float> all = cluster.all_gather<float>(gradients);
  template <class T>
  [[nodiscard]] std::vector<T> all_gather(std::span<const T> mine,
                                          source_location at = source_location::current()) const {
    std::vector<T> all;
    gather_uneven(
        dtype_of<T>(), std::as_bytes(mine),
        [&](std::size_t bytes) {
          all.resize(bytes / sizeof(T));
          return std::as_writable_bytes(std::span<T>(all));
        },
        at);
    return all;
  }

  /// Block i of `mine` goes to task i, and block i of `theirs` comes from task i. Both have the same size on all tasks,
  /// a multiple of the number of tasks.
  ///
  ///     std::vector<float> theirs(gradients.size());
  ///     cluster.all_to_all<float>(gradients, theirs);
  template <class T>
  void all_to_all(std::span<const T> mine, std::span<T> theirs, source_location at = source_location::current()) const {
    run(moved(DirectCall::Op::all_to_all, mine, theirs), at);
  }
  template <class T>
  [[nodiscard]] Request start_all_to_all(std::span<const T> mine, std::span<T> theirs,
                                         source_location at = source_location::current()) const {
    return start(moved(DirectCall::Op::all_to_all, mine, theirs), at);
  }

  /// Sets `values` to the values of task `root`. All spans have the same size.
  ///
  ///     cluster.broadcast<float>(gradients, 0);
  template <class T>
  void broadcast(std::span<T> values, int root = 0, source_location at = source_location::current()) const {
    run(of_root(values, root), at);
  }
  template <class T>
  [[nodiscard]] Request start_broadcast(std::span<T> values, int root = 0,
                                        source_location at = source_location::current()) const {
    return start(of_root(values, root), at);
  }

  /// Sends to task `to`, which receives the same number of values of the same type. The k-th send to a task matches
  /// that task's k-th receive from this one. Returns once the receive has begun there: two tasks that send to each
  /// other first wait for ever, and ferry reports a stall. Use start_send() in one of them.
  ///
  ///     if (cluster.rank() == 0) cluster.send<float>(gradients, 1);
  ///     if (cluster.rank() == 1) cluster.receive<float>(gradients, 0);
  template <class T>
  void send(std::span<const T> values, int to, source_location at = source_location::current()) const {
    start_send(values, to, at).wait();
  }
  template <class T>
  [[nodiscard]] Request start_send(std::span<const T> values, int to,
                                   source_location at = source_location::current()) const {
    return start_sending(dtype_of<T>(), std::as_bytes(values), to, at);
  }

  /// Receives the values that task `from` sends by send() or start_send(). Returns when they are here.
  ///
  ///     Request coming = cluster.start_receive<float>(sums, (cluster.rank() + 1) % cluster.size());
  ///     cluster.send<float>(gradients, (cluster.rank() + cluster.size() - 1) % cluster.size());
  ///     coming.wait();
  template <class T>
  void receive(std::span<T> values, int from, source_location at = source_location::current()) const {
    start_receive(values, from, at).wait();
  }
  template <class T>
  [[nodiscard]] Request start_receive(std::span<T> values, int from,
                                      source_location at = source_location::current()) const {
    return start_receiving(dtype_of<T>(), std::as_writable_bytes(values), from, at);
  }

  /// Zeroed memory for `size` values, which direct calls use in place. Error(resource) when there is not enough.
  ///
  ///     LentBuffer<float> numbers = cluster.buffer<float>(1000);
  template <class T>
  [[nodiscard]] LentBuffer<T> buffer(std::size_t size) const {
    return {memory(size, sizeof(T)), size};
  }

  /// Makes the group of the tasks that pass the same `color`. It numbers them by `key`, then by their number in this
  /// group. All tasks of this group call it. Error(resource) if a task is already in 1,024 groups.
  ///
  ///     const Group row = cluster.split(cluster.rank() / 4);  // groups of four tasks
  [[nodiscard]] Group split(int color, int key = 0, source_location at = source_location::current()) const;

 protected:
  explicit Collectives(std::shared_ptr<DirectGroup> group) : group_(std::move(group)) {}
  void wait_for_all(source_location at) const { run({.op = DirectCall::Op::barrier}, at); }
  [[nodiscard]] int members() const;
  [[nodiscard]] const DirectGroup& group() const { return *group_; }

 private:
  using Room = std::function<std::span<std::byte>(std::size_t bytes)>;

  template <class T>
  [[nodiscard]] static DirectCall sum_of(std::span<T> values, Reduce reduce) {
    const std::span<std::byte> bytes = std::as_writable_bytes(values);
    return {
        .op = DirectCall::Op::all_reduce, .dtype = dtype_of<T>(), .reduce = reduce, .input = bytes, .output = bytes};
  }
  template <class T>
  [[nodiscard]] static DirectCall parts_of(std::span<const T> values, std::span<T> part, Reduce reduce) {
    DirectCall call = moved(DirectCall::Op::reduce_scatter, values, part);
    call.reduce = reduce;
    return call;
  }
  template <class T>
  [[nodiscard]] static DirectCall moved(DirectCall::Op op, std::span<const T> input, std::span<T> output) {
    return {.op = op, .dtype = dtype_of<T>(), .input = std::as_bytes(input), .output = std::as_writable_bytes(output)};
  }
  template <class T>
  [[nodiscard]] static DirectCall of_root(std::span<T> values, int root) {
    const std::span<std::byte> bytes = std::as_writable_bytes(values);
    return {.op = DirectCall::Op::broadcast, .dtype = dtype_of<T>(), .root = root, .input = bytes, .output = bytes};
  }
  void run(const DirectCall& call, const source_location& at) const;
  [[nodiscard]] Request start(const DirectCall& call, const source_location& at) const;
  [[nodiscard]] Request start_each(DType dtype, Reduce reduce, std::vector<std::span<std::byte>> pieces,
                                   const source_location& at) const;
  void gather_uneven(DType dtype, std::span<const std::byte> mine, const Room& room, const source_location& at) const;
  [[nodiscard]] Request start_sending(DType dtype, std::span<const std::byte> values, int to,
                                      const source_location& at) const;
  [[nodiscard]] Request start_receiving(DType dtype, std::span<std::byte> values, int from,
                                        const source_location& at) const;
  [[nodiscard]] std::shared_ptr<std::byte> memory(std::size_t count, std::size_t size) const;

  std::shared_ptr<DirectGroup> group_;
};

/// Some tasks of a job, as returned by Collectives::split(). Roots, sends and receives number the tasks as rank() does.
/// A Group is a handle: copies refer to the same group.
///
///     const ferry::Group column = cluster.split(cluster.rank() % 4);
///     column.all_reduce(std::span<float>(sums));
class Group : public Collectives {
 public:
  explicit Group(std::shared_ptr<DirectGroup> group) : Collectives(std::move(group)) {}
  /// The number of this task in the group.
  [[nodiscard]] int rank() const;
  /// The number of tasks of the group.
  [[nodiscard]] int size() const { return members(); }
  /// The tasks' numbers in the job, in the order of rank().
  [[nodiscard]] std::span<const int> tasks() const;
  /// Returns when all tasks of the group have called it.
  void barrier(source_location at = source_location::current()) const { wait_for_all(at); }
};

}  // namespace ferry
#pragma GCC visibility pop
