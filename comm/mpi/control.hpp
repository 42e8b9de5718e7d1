// Control: what the tasks of an MPI job tell one another beside their data: texts to exchange, failures, goodbyes.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/transport.hpp"

namespace ferry::mpi {

enum class Word : std::uint32_t { text = 1, failure, goodbye };

/// The header of a word on the wire.
struct WordHead {
  Word word = Word::text;
  std::uint32_t reserved = 0;
  std::uint64_t bytes = 0;
};

/// A stream of frames to and from each peer, on a communicator of its own. A word (text, failure or goodbye) is cut
/// into frames of at most kFrame bytes, which arrive in order. A receive for the next frame of each peer is always
/// posted, so no wildcard receive is needed and poll() finds a failure. Owns both communicators of the job. Not
/// thread-safe.
class Control {
 public:
  /// Takes over both communicators, which span the same tasks.
  Control(MPI_Comm data, MPI_Comm control);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  [[nodiscard]] MPI_Comm data() const { return data_; }
  [[nodiscard]] int task() const { return task_; }
  [[nodiscard]] int tasks() const { return tasks_; }

  /// Handles the frames that have arrived, and frees the frames with complete sends.
  void poll();

  void send_text(std::string_view text);
  /// The next text of every task, in task order (this task's is `mine`); nothing while some are missing.
  [[nodiscard]] std::optional<std::vector<std::string>> take_texts(std::string_view mine);
  /// Tasks with a missing next text; with `closed_only`, only the tasks among them that have said goodbye.
  [[nodiscard]] std::vector<int> missing(bool closed_only) const;

  /// Records a failure and tells the others, unless a failure is known already.
  void fail(const Failure& failure);
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }

  /// Tells the others that this task sends no more.
  void say_goodbye();
  [[nodiscard]] bool closed() const { return closed_; }
  /// The peers that have said goodbye.
  [[nodiscard]] std::vector<int> gone() const;
  /// Whether all peers have said goodbye.
  [[nodiscard]] bool all_gone() const;
  /// Whether no send of a frame is under way.
  [[nodiscard]] bool drained() const { return outgoing_.empty(); }

  [[nodiscard]] WireCount sent() const { return sent_; }

 private:
  static constexpr std::size_t kFrame = 4000;  // with MPI's header below Open MPI's smallest eager limit
  struct Peer {
    std::array<std::byte, kFrame> frame;
    std::optional<WordHead> head;  ///< of the word that is arriving in frames
    std::string word;
    std::deque<std::string> texts;
    bool gone = false;
  };
  struct Outgoing {
    std::string frame;
    std::vector<MPI_Request> requests;
  };

  void expect(int peer);
  void take_frame(int peer, std::size_t bytes);
  void take_word(int peer);
  void say(Word word, std::string_view body);
  void let_go();

  MPI_Comm data_;
  MPI_Comm control_;
  int task_ = 0;
  int tasks_ = 1;
  std::vector<Peer> peers_;
  std::vector<MPI_Request> incoming_;  // receive from each task; MPI_REQUEST_NULL for this one and those that are gone
  std::vector<int> ready_;
  std::vector<MPI_Status> statuses_;
  std::deque<Outgoing> outgoing_;
  std::optional<Failure> failure_;
  bool closed_ = false;
  WireCount sent_;
};

}  // namespace ferry::mpi
