#include "executor/observe/turn_record.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/format.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

constexpr std::string_view kHead = "ferry turns 1";
constexpr std::string_view kMarks = "+-!";  // the mark of each TurnRecord::Turn::Kind
constexpr std::size_t kBlock = 1 << 16;     // bytes to collect before they are written
constexpr std::uint64_t kMost = std::uint64_t{1} << 30;

template <class T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string serves(int task, std::span<const std::int32_t> workers) {
  std::string text = "task " + std::to_string(task) + " serves";
  for (const std::int32_t worker : workers) text += " " + std::to_string(worker);
  return text;
}

}  // namespace

TurnRecord::TurnRecord(FileSystem& files, std::string_view record, std::string_view replay, int task)
    : files_(files),
      path_(std::string(replay.empty() ? record : replay) + "." + std::to_string(task)),
      replays_(!replay.empty()),
      task_(task) {}

TurnRecord::~TurnRecord() {
  try {
    flush();
  } catch (const Error& error) {
    log_warn(error.text());
  }
}

void TurnRecord::begin_step(std::int64_t step, std::span<const std::int32_t> workers) {
  step_ = step;
  if (!replays_) {
    if (!std::exchange(begun_, true)) files_.write(path_, std::string(kHead) + "\n" + serves(task_, workers) + "\n");
    text_ += "step " + std::to_string(step) + ":";
    return;
  }
  read(workers);
  while (!steps_.empty() && steps_.front().first < step) steps_.pop_front();
  if (steps_.empty() || steps_.front().first != step)
    throw Error(Code::usage, "{:?} has no turns of step {}", path_, step)
        .hint("repeat no more steps than were recorded");
}

std::map<std::int32_t, std::int64_t> TurnRecord::last_steps(std::span<const std::int32_t> workers) {
  read(workers);
  return last_steps_;
}

std::optional<TurnRecord::Turn> TurnRecord::next() {
  std::deque<Turn>& turns = steps_.front().second;
  if (turns.empty()) return std::nullopt;
  const Turn turn = turns.front();
  turns.pop_front();
  return turn;
}

void TurnRecord::refuse(const std::string& why) const {
  throw OtherRun{Error(Code::usage, "{:?} is of another run: in step {} {}", path_, step_, as_is(why))
                     .hint("repeat a run with the same graph, tasks, staleness and options, and as many steps")};
}

void TurnRecord::add(const Turn& turn) {
  text_.append(" ").append(1, kMarks[static_cast<std::size_t>(turn.kind)]).append(std::to_string(turn.worker));
}

void TurnRecord::end_step() {
  if (replays_) return;
  text_ += "\n";
  if (text_.size() >= kBlock) flush();
}

void TurnRecord::flush() {
  if (text_.empty()) return;
  const std::string text = std::exchange(text_, {});
  files_.append(path_, text);
}

void TurnRecord::malformed(std::size_t line, const std::string& what) const {
  throw Error(Code::file, "{:?}, line {}: {}", path_, line, as_is(what))
      .hint("give a file that --record-turns wrote, without the task's number at its end");
}

/// Reads the file, once.
void TurnRecord::read(std::span<const std::int32_t> workers) {
  if (std::exchange(begun_, true)) return;
  const FileBytes bytes = files_.read(path_, kMost);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::size_t number = 0;
  std::map<std::int32_t, std::int64_t> taken;  // number of takes from each worker
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (number == 1 && line != kHead) malformed(number, "this is no record of turns");
    if (number == 2 && line != serves(task_, workers))
      malformed(number, formatted("it is of other workers: {:.200}, not: {}", line, as_is(serves(task_, workers))));
    if (number < 3 || line.empty()) continue;
    const std::size_t colon = line.find(':');
    const auto step = line.starts_with("step ") && colon != std::string_view::npos
                          ? number_in<std::int64_t>(line.substr(5, colon - 5))
                          : std::nullopt;
    if (!step || (!steps_.empty() && *step <= steps_.back().first)) malformed(number, "this is no later step");
    std::deque<Turn>& turns = steps_.emplace_back(*step, std::deque<Turn>()).second;
    for (const std::string_view word : split(line.substr(colon + 1), ' ')) {
      if (word.empty()) continue;
      const auto worker = number_in<std::int32_t>(word.substr(1));
      const std::size_t kind = kMarks.find(word[0]);
      if (kind == std::string_view::npos || !worker || std::ranges::find(workers, *worker) == workers.end())
        malformed(number, formatted("there is no turn {:?}", word));
      turns.push_back({*worker, static_cast<Turn::Kind>(kind)});
      if (turns.back().kind == Turn::Kind::take) ++taken[*worker];
      if (turns.back().kind == Turn::Kind::lost) last_steps_[*worker] = steps_.front().first + taken[*worker];
    }
  }
  if (number < 2) malformed(number, "it is cut short");
}

}  // namespace ferry
