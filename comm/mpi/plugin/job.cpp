#include "comm/mpi/plugin/job.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "comm/mpi/plugin/mpi_call.hpp"

namespace ferry::mpi {
namespace {

constexpr int kTag = 0;

template <auto Ask>
int number_of(MPI_Comm comm) {
  int number = 0;
  Ask(comm, &number);
  return number;
}

}  // namespace

MpiJob::MpiJob(MPI_Comm data, MPI_Comm words)
    : data_(data),
      words_(words),
      control_(*this, system_clock(), number_of<MPI_Comm_size>(words), {number_of<MPI_Comm_rank>(words), 1}) {
  const auto size = static_cast<std::size_t>(tasks());
  peers_.resize(size);
  incoming_.assign(size, MPI_REQUEST_NULL);
  ready_.resize(size);
  statuses_.resize(size);
  for (int peer = 0; peer < tasks(); ++peer)
    if (peer != task()) expect(peer);
}

MpiJob::~MpiJob() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  for (MPI_Request& request : incoming_) {
    if (request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (control_.failure()) return;  // MPICH 5 aborts the process when the communicators of a failed job are freed
  MPI_Comm_free(&words_);
  MPI_Comm_free(&data_);
}

void MpiJob::expect(int peer) {
  const auto at = static_cast<std::size_t>(peer);
  check(MPI_Irecv(peers_[at].frame.data(), static_cast<int>(kFrame), MPI_BYTE, peer, kTag, words_, &incoming_[at]),
        "MPI_Irecv");
}

void MpiJob::poll() {
  free_sent_frames();
  for (;;) {
    int count = 0;
    check(MPI_Testsome(tasks(), incoming_.data(), &count, ready_.data(), statuses_.data()), "MPI_Testsome");
    if (count == MPI_UNDEFINED || count == 0) return;
    for (int i = 0; i < count; ++i) {
      const int peer = ready_[i];
      int bytes = 0;
      MPI_Get_count(&statuses_[i], MPI_BYTE, &bytes);
      take_frame(peer, static_cast<std::size_t>(bytes));
      if (!control_.has_left(peer)) expect(peer);
    }
  }
}

void MpiJob::take_frame(int at, std::size_t bytes) {
  Peer& peer = peers_[at];
  const char* data = reinterpret_cast<const char*>(peer.frame.data());
  if (!peer.head) {
    FERRY_ASSERT(bytes >= sizeof(WordHead), "a control frame without a head");
    std::memcpy(&peer.head.emplace(), data, sizeof(WordHead));
    FERRY_ASSERT(peer.head->bytes <= kLongestWord, "a control word of more than 1 GiB");
    data += sizeof(WordHead);
    bytes -= sizeof(WordHead);
  }
  peer.body.append(data, bytes);
  if (peer.body.size() < peer.head->bytes) return;
  const Word word = peer.head->word;
  peer.head.reset();
  control_.handle_word(at, word, std::exchange(peer.body, {}));
}

/// All tasks share one copy of each frame.
void MpiJob::post(std::span<const int> tasks, Word word, std::string_view body) {
  const WordHead head{word, 0, body.size()};
  std::string frame(reinterpret_cast<const char*>(&head), sizeof head);
  do {
    const std::size_t piece = std::min(body.size(), kFrame - frame.size());
    frame.append(body.substr(0, piece));
    body.remove_prefix(piece);
    Outgoing& out = outgoing_.emplace_back();
    out.frame = std::move(frame);
    frame.clear();
    for (const int peer : tasks) {
      out.requests.push_back(MPI_REQUEST_NULL);
      check(MPI_Isend(out.frame.data(), static_cast<int>(out.frame.size()), MPI_BYTE, peer, kTag, words_,
                      &out.requests.back()),
            "MPI_Isend");
      ++sent_.messages;
      sent_.bytes += static_cast<std::int64_t>(out.frame.size());
    }
  } while (!body.empty());
}

void MpiJob::free_sent_frames() {
  while (!outgoing_.empty()) {
    auto& requests = outgoing_.front().requests;
    int left = 0;
    check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &left, MPI_STATUSES_IGNORE), "MPI_Testall");
    if (left == 0) return;
    outgoing_.pop_front();
  }
}

bool MpiJob::all_gone() const {
  return static_cast<int>(control_.left_among(control_.others()).size()) == tasks() - 1;
}

}  // namespace ferry::mpi
