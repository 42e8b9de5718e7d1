// MpiJob: the communicators of an MPI job. One of them carries the words of its control plane.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/control.hpp"

namespace ferry::mpi {

/// The header of a word on the wire.
struct WordHead {
  Word word = Word::text;
  std::uint32_t reserved = 0;
  std::uint64_t bytes = 0;
};

/// Exchanges words with each peer as a stream of frames, on a separate communicator. A word (text, failure or goodbye)
/// is cut into frames of at most kFrame bytes, which arrive in order. A receive for the next frame of each peer is
/// always posted, so no wildcard receive is needed and poll() finds a failure. Owns both communicators of the job. Not
/// thread-safe.
class MpiJob final : public ControlSender {
 public:
  /// Takes over both communicators, which span the same tasks.
  MpiJob(MPI_Comm data, MPI_Comm words);
  ~MpiJob() override;
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;

  [[nodiscard]] MPI_Comm data() const { return data_; }
  [[nodiscard]] int task() const { return control_.here().first; }
  [[nodiscard]] int tasks() const { return control_.tasks(); }
  [[nodiscard]] ControlPlane& control() { return control_; }

  /// Handles the frames that have arrived, and frees the frames with complete sends.
  void poll();

  void post(std::span<const int> tasks, Word word, std::string_view body) override;
  /// Whether all peers have said goodbye.
  [[nodiscard]] bool all_gone() const;
  /// Whether no send of a frame is under way.
  [[nodiscard]] bool all_sent() const { return outgoing_.empty(); }

  [[nodiscard]] WireCount sent() const { return sent_; }

 private:
  static constexpr std::size_t kFrame = 4000;  // bytes; with MPI's header, less than Open MPI's smallest eager limit
  struct Peer {
    std::array<std::byte, kFrame> frame;
    std::optional<WordHead> head;  ///< the head of the word that is arriving in frames
    std::string body;
  };
  struct Outgoing {
    std::string frame;
    std::vector<MPI_Request> requests;
  };

  void expect(int peer);
  void take_frame(int peer, std::size_t bytes);
  void free_sent_frames();

  MPI_Comm data_;
  MPI_Comm words_;
  ControlPlane control_;
  std::vector<Peer> peers_;
  // By task: the receive of its next frame; MPI_REQUEST_NULL for this task and tasks that have left.
  std::vector<MPI_Request> incoming_;
  std::vector<int> ready_;
  std::vector<MPI_Status> statuses_;
  std::deque<Outgoing> outgoing_;
  WireCount sent_;
};

}  // namespace ferry::mpi
