#include "executor/watch/flight_record.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/blob.hpp"

namespace ferry {

/// Writes each different text once, because a task does the same in each step.
std::string packed(const FlightRecord& record) {
  std::unordered_map<std::string_view, std::int64_t> numbers;
  std::vector<std::int64_t> events;
  BlobWriter texts;
  for (const FlightEvent& event : record) {
    const auto [at, added] = numbers.emplace(event.text, static_cast<std::int64_t>(numbers.size()));
    if (added) texts.add(event.text);
    events.insert(events.end(), {event.age.count(), event.thread, at->second});
  }
  return BlobWriter().add(numbers.size()).take() + texts.take() + BlobWriter().add(events).take();
}

FlightRecord unpacked_record(std::string_view bytes) {
  BlobReader reader(bytes);
  std::vector<std::string> texts;
  for (std::int64_t count = reader.number(); count > 0; --count) texts.emplace_back(reader.text());
  const std::vector<std::int64_t> events = reader.numbers();
  FlightRecord record;
  for (std::size_t i = 0; i + 2 < events.size(); i += 3) {
    const auto text = static_cast<std::size_t>(events[i + 2]);
    if (text < texts.size()) record.push_back({Duration(events[i]), static_cast<int>(events[i + 1]), texts[text]});
  }
  return record;
}

FlightGather::FlightGather(std::span<const int> tasks) {
  for (const int task : tasks) tasks_.push_back({.task = task});
}

std::vector<FlightGather::Piece> FlightGather::questions(TimePoint now) {
  std::vector<Piece> questions;
  for (PendingRecord& task : tasks_) {
    if (task.complete() || (task.asked != TimePoint() && now - task.asked < kRepeatAfter)) continue;
    task.asked = now;
    questions.push_back({task.task, task.next});
  }
  return questions;
}

void FlightGather::take(const Piece& piece, std::int64_t pieces, std::string_view bytes) {
  const auto task = std::ranges::find(tasks_, piece.task, &PendingRecord::task);
  if (task == tasks_.end() || task->complete() || piece.number != task->next) return;
  task->pieces = pieces;
  task->bytes += bytes;
  ++task->next;
  task->asked = TimePoint();
}

bool FlightGather::complete() const {
  return std::ranges::all_of(tasks_, &PendingRecord::complete);
}

const std::string* FlightGather::record(int task) const {
  const auto at = std::ranges::find(tasks_, task, &PendingRecord::task);
  return at != tasks_.end() && at->complete() ? &at->bytes : nullptr;
}

std::string_view piece_of(std::string_view record, std::int64_t number) {
  const auto begin = std::min(record.size(), static_cast<std::size_t>(number) * FlightGather::kPieceBytes);
  return record.substr(begin, FlightGather::kPieceBytes);
}

std::int64_t pieces_of(std::string_view record) {
  return static_cast<std::int64_t>((record.size() + FlightGather::kPieceBytes - 1) / FlightGather::kPieceBytes);
}

}  // namespace ferry
