#include "comm/mpi/control.hpp"

#include <algorithm>
#include <cstring>

#include "comm/failure.hpp"
#include "comm/mpi/mpi_call.hpp"

namespace ferry::mpi {
namespace {

constexpr int kTag = 0;
constexpr std::uint64_t kLongestWord = std::uint64_t{1} << 30;

}  // namespace

Control::Control(MPI_Comm data, MPI_Comm control) : data_(data), control_(control) {
  MPI_Comm_rank(control_, &task_);
  MPI_Comm_size(control_, &tasks_);
  const auto size = static_cast<std::size_t>(tasks_);
  peers_.resize(size);
  incoming_.assign(size, MPI_REQUEST_NULL);
  ready_.resize(size);
  statuses_.resize(size);
  for (int peer = 0; peer < tasks_; ++peer) {
    if (peer != task_) expect(peer);
  }
}

Control::~Control() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  for (MPI_Request& request : incoming_) {
    if (request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (failure_) return;  // MPICH 5 aborts the process when the communicators of a failed job are freed
  MPI_Comm_free(&control_);
  MPI_Comm_free(&data_);
}

void Control::expect(int peer) {
  const auto at = static_cast<std::size_t>(peer);
  check(MPI_Irecv(peers_[at].frame.data(), static_cast<int>(kFrame), MPI_BYTE, peer, kTag, control_, &incoming_[at]),
        "MPI_Irecv");
}

void Control::poll() {
  let_go();
  for (;;) {
    int count = 0;
    check(MPI_Testsome(tasks_, incoming_.data(), &count, ready_.data(), statuses_.data()), "MPI_Testsome");
    if (count == MPI_UNDEFINED || count == 0) return;
    for (int i = 0; i < count; ++i) {
      const int peer = ready_[static_cast<std::size_t>(i)];
      int bytes = 0;
      MPI_Get_count(&statuses_[static_cast<std::size_t>(i)], MPI_BYTE, &bytes);
      take_frame(peer, static_cast<std::size_t>(bytes));
      if (!peers_[static_cast<std::size_t>(peer)].gone) expect(peer);
    }
  }
}

void Control::take_frame(int at, std::size_t bytes) {
  Peer& peer = peers_[static_cast<std::size_t>(at)];
  const char* data = reinterpret_cast<const char*>(peer.frame.data());
  if (!peer.head) {
    FERRY_ASSERT(bytes >= sizeof(WordHead), "a control frame without a head");
    std::memcpy(&peer.head.emplace(), data, sizeof(WordHead));
    FERRY_ASSERT(peer.head->bytes <= kLongestWord, "a control word of more than 1 GiB");
    peer.word.clear();
    data += sizeof(WordHead);
    bytes -= sizeof(WordHead);
  }
  peer.word.append(data, bytes);
  if (peer.word.size() == peer.head->bytes) take_word(at);
}

void Control::take_word(int at) {
  Peer& peer = peers_[static_cast<std::size_t>(at)];
  switch (peer.head->word) {
    case Word::text:
      peer.texts.push_back(std::move(peer.word));
      break;
    case Word::failure:
      if (!failure_) failure_ = unpack_failure(peer.word);
      break;
    case Word::goodbye:
      peer.gone = true;
      break;
  }
  peer.head.reset();
  peer.word.clear();
}

void Control::say(Word word, std::string_view body) {
  if (body.size() > kLongestWord) throw Error(Code::usage, "exchange: a text of more than 1 GiB");
  const WordHead head{word, 0, body.size()};
  std::string frame(reinterpret_cast<const char*>(&head), sizeof head);
  do {
    const std::size_t piece = std::min(body.size(), kFrame - frame.size());
    frame.append(body.substr(0, piece));
    body.remove_prefix(piece);
    Outgoing& out = outgoing_.emplace_back();
    out.frame = std::move(frame);
    frame.clear();
    for (int peer = 0; peer < tasks_; ++peer) {
      if (peer == task_) continue;
      out.requests.push_back(MPI_REQUEST_NULL);
      check(MPI_Isend(out.frame.data(), static_cast<int>(out.frame.size()), MPI_BYTE, peer, kTag, control_,
                      &out.requests.back()),
            "MPI_Isend");
      ++sent_.messages;
      sent_.bytes += static_cast<std::int64_t>(out.frame.size());
    }
  } while (!body.empty());
}

void Control::let_go() {
  while (!outgoing_.empty()) {
    auto& requests = outgoing_.front().requests;
    int left = 0;
    check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &left, MPI_STATUSES_IGNORE), "MPI_Testall");
    if (left == 0) return;
    outgoing_.pop_front();
  }
}

void Control::send_text(std::string_view text) {
  say(Word::text, text);
}

std::optional<std::vector<std::string>> Control::take_texts(std::string_view mine) {
  if (!missing(false).empty()) return std::nullopt;
  std::vector<std::string> all;
  for (int task = 0; task < tasks_; ++task) {
    auto& texts = peers_[static_cast<std::size_t>(task)].texts;
    if (task == task_) {
      all.emplace_back(mine);
    } else {
      all.push_back(std::move(texts.front()));
      texts.pop_front();
    }
  }
  return all;
}

std::vector<int> Control::missing(bool closed_only) const {
  std::vector<int> tasks;
  for (int task = 0; task < tasks_; ++task) {
    const Peer& peer = peers_[static_cast<std::size_t>(task)];
    if (task != task_ && peer.texts.empty() && (!closed_only || peer.gone)) tasks.push_back(task);
  }
  return tasks;
}

void Control::fail(const Failure& failure) {
  if (failure_) return;
  failure_ = failure;
  if (!closed_) say(Word::failure, pack_failure(failure));
}

void Control::say_goodbye() {
  if (closed_) return;
  say(Word::goodbye, {});
  closed_ = true;
}

std::vector<int> Control::gone() const {
  std::vector<int> tasks;
  for (int task = 0; task < tasks_; ++task)
    if (peers_[static_cast<std::size_t>(task)].gone) tasks.push_back(task);
  return tasks;
}

bool Control::all_gone() const {
  return static_cast<int>(gone().size()) == tasks_ - 1;
}

}  // namespace ferry::mpi
