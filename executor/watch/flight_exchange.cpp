#include "executor/watch/flight_exchange.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace ferry {
namespace {

/// The kinds of datagrams: the question for a piece of a task's record, the answer with the piece, and the message that
/// all records are gathered. The numbers are the ASCII texts "frquest1", "frpiece1", "frended1".
constexpr std::int64_t kQuestion = 0x3174736575717266, kPiece = 0x3165636569707266, kEnded = 0x316465646e657266;
/// The last message is sent this many times, since UDP may lose it.
constexpr int kEndMessages = 3;

}  // namespace

void FlightExchange::set_source(int task, const FlightSource& source) {
  const auto lock = monitor_.lock();
  sources_[task] = &source;
}

void FlightExchange::remove_source(const FlightSource& source) {
  const auto lock = monitor_.lock();
  std::ranges::replace(sources_, &source, nullptr);
}

std::vector<FlightRecord> FlightExchange::gather(std::span<const int> others, Duration at_most) {
  std::vector<FlightRecord> records(processes_.size());
  auto lock = monitor_.lock();
  gather_.emplace(others);
  wake_();
  static_cast<void>(monitor_.wait_for(lock, at_most, [this] { return gather_->complete(); }));
  for (const int task : others)
    if (const std::string* const record = gather_->record(task)) records[task] = unpacked_record(*record);
  gather_.reset();
  return records;
}

void FlightExchange::end() {
  const auto lock = monitor_.lock();
  ends_ = true;
  wake_();
}

bool FlightExchange::await_end(Duration at_most) const {
  auto lock = monitor_.lock();
  return monitor_.wait_for(lock, at_most, [this] { return ended_; });
}

void FlightExchange::restart() {
  const auto lock = monitor_.lock();
  ended_ = false;
}

bool FlightExchange::take(std::int64_t kind, BlobReader& reader, const Send& send) {
  if (kind == kQuestion) {
    answer(reader, send);
  } else if (kind == kPiece) {
    const FlightGather::Piece piece{.task = static_cast<int>(reader.number()), .number = reader.number()};
    const std::int64_t pieces = reader.number();
    const auto lock = monitor_.lock();
    if (gather_) gather_->take(piece, pieces, reader.text());
    if (gather_ && gather_->complete()) monitor_.notify();
  } else if (kind == kEnded) {
    monitor_.change([this] { ended_ = true; });
  } else {
    return false;
  }
  return true;
}

void FlightExchange::answer(BlobReader& reader, const Send& send) {
  const std::int64_t process = reader.number(), task = reader.number(), number = reader.number();
  const auto at = static_cast<std::size_t>(task);
  if (at >= processes_.size() || processes_[at] != self_ || number < 0) return;
  auto lock = monitor_.lock();
  std::string& record = packed_[at];
  if (number == 0)
    record = packed(sources_[at] == nullptr ? FlightRecord() : sources_[at]->record(system_clock().now()));
  BlobWriter writer;
  writer.add(kPiece).add(task).add(number).add(pieces_of(record)).add(piece_of(record, number));
  lock.unlock();
  send(static_cast<int>(process), writer.take());
}

bool FlightExchange::send_due(TimePoint now, const Send& send) {
  auto lock = monitor_.lock();
  const bool asks = gather_.has_value(), ends = std::exchange(ends_, false);
  const auto questions = asks ? gather_->questions(now) : std::vector<FlightGather::Piece>();
  lock.unlock();
  for (const auto& [task, number] : questions)
    send(processes_[task], BlobWriter().add(kQuestion).add(self_).add(task).add(number).take());
  if (!ends) return asks;
  for (const int process : std::set(processes_.begin(), processes_.end()))
    for (int i = 0; i < kEndMessages && process != self_; ++i) send(process, BlobWriter().add(kEnded).take());
  return asks;
}

}  // namespace ferry
