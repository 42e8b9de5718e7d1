#include "executor/state/checkpoint_saver.hpp"

#include <algorithm>
#include <cstring>

#include "base/blob.hpp"
#include "base/system/interrupt.hpp"

namespace ferry {
namespace {

/// The time in seconds between two exchanges among the tasks.
constexpr double kLookSeconds = 0.05;
constexpr std::int64_t kLongestInterval = 1 << 20;
/// Requests to save within this time count as one request, since the tasks of a job get a signal one after another.
constexpr std::chrono::seconds kOneRequest{1};
/// How long a task waits for its process's writer between two exchanges with the other tasks.
constexpr std::chrono::milliseconds kWaitForWriter{50};

double in_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// Reuses the memory of the previous copy, which has the same parts unless a variable's layout has changed.
void copy_parts(const std::vector<VariableStore::Part>& parts, TaskCopy& copy) {
  copy.parts.resize(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    TaskCopy::Part& to = copy.parts[i];
    to.name = parts[i].name;
    to.dtype = parts[i].dtype;
    to.part = *parts[i].part;
    if (to.bytes.size() != parts[i].bytes.size()) to.bytes = FileBytes(parts[i].bytes.size());
    if (!parts[i].bytes.empty()) std::memcpy(to.bytes.data(), parts[i].bytes.data(), parts[i].bytes.size());
  }
}

}  // namespace

CheckpointSaver::CheckpointSaver(CheckpointOptions options, std::string request, CheckpointWriter::Options writer,
                                 std::span<const int> tasks)
    : options_(std::move(options)),
      request_(std::move(request)),
      tasks_(tasks.begin(), tasks.end()),
      states_(tasks.size()),
      requests_before_(saves_requested()),
      saved_at_(options_.clock->now()),
      looked_at_(saved_at_),
      writer_(std::make_unique<CheckpointWriter>(std::move(writer), tasks)) {}

CheckpointSaver::~CheckpointSaver() {
  if (!writer_->end()) static_cast<void>(writer_.release());  // its thread hangs, and needs the writer
}

CheckpointSaver::TaskState& CheckpointSaver::state_of(int task) {
  return states_[std::find(tasks_.begin(), tasks_.end(), task) - tasks_.begin()];
}

void CheckpointSaver::require_request(const std::string& request) const {
  if (request == request_) return;
  throw Error(Code::usage, "these checkpoints are of another request")
      .note("they count the steps of{:.400}", request_)
      .note("this run is of{:.400}", request)
      .hint("make separate Checkpoints for each request");
}

bool CheckpointSaver::at_boundary(const Boundary& boundary) {
  TaskState& state = state_of(boundary.transport.task());
  ++state.boundaries;
  bool due = options_.every_steps > 0 && boundary.step % options_.every_steps == 0;
  bool stop = false;
  if (state.boundaries >= state.next_look) {
    const Answers answers = exchange_answers(boundary);
    due = take_save_request(answers, boundary.transport.task()) || due || answers.due;
    stop = answers.stop;
    state.next_look = state.boundaries + answers.interval;
  }
  if (due && save(boundary)) stop = true;
  if (stop) {
    save_now(boundary);
    stopped_ = boundary.step;
  }
  return stop;
}

/// Whether a save is due because some task was asked to save (SIGUSR1). The tasks of a job get the signal one after
/// another; together this makes one save.
bool CheckpointSaver::take_save_request(const Answers& answers, int task) {
  TaskState& state = state_of(task);
  state.save_requests.resize(answers.save_requests.size(), 0);
  bool more = false;
  for (std::size_t i = 0; i < answers.save_requests.size(); ++i) {  // 0 for a lost task
    more |= answers.save_requests[i] > state.save_requests[i];
    state.save_requests[i] = std::max(answers.save_requests[i], state.save_requests[i]);
  }
  if (!more || answers.requested_lately) return false;
  if (task == 0) requested_at_ = options_.clock->now();
  return true;
}

/// The number of boundaries until the next exchange, from how long steps took since the last one. It at most doubles,
/// since steps may become slower.
std::int64_t CheckpointSaver::interval(std::int64_t boundaries) {
  const TimePoint now = options_.clock->now();
  const double passed =
      in_seconds(now - looked_at_) / static_cast<double>(std::max<std::int64_t>(boundaries - looked_, 1));
  const double fits = kLookSeconds / std::max(passed, kLookSeconds / kLongestInterval);
  interval_ = std::clamp<std::int64_t>(static_cast<std::int64_t>(fits), 1, 2 * interval_);
  looked_at_ = now;
  looked_ = boundaries;
  return interval_;
}

CheckpointSaver::Answers CheckpointSaver::exchange_answers(const Boundary& boundary) {
  const bool is_first = boundary.transport.task() == 0;
  const bool busy = !writer_->idle({});  // before failure(), which is only final when nothing is being written
  const std::optional<Error> failure = writer_->failure();
  BlobWriter mine;
  mine.add(static_cast<int>(failure ? failure->code() : Code::ok)).add(failure ? failure->text() : std::string());
  mine.add(busy).add(preemption_requested()).add(saves_requested() - requests_before_);
  if (is_first) {
    mine.add(options_.every_seconds > 0 && in_seconds(options_.clock->now() - saved_at_) >= options_.every_seconds);
    mine.add(requested_at_ && options_.clock->now() - *requested_at_ < kOneRequest);
    mine.add(interval(state_of(0).boundaries));
  }
  Answers answers;
  const std::vector<std::string> all = boundary.transport.exchange(mine.take(), boundary.limit.from_now());
  answers.save_requests.resize(all.size(), 0);
  for (std::size_t task = 0; task < all.size(); ++task) {
    if (all[task].empty()) {  // the task is lost
      boundary.variables.require_parts(boundary.transport);
      writer_->set_process_lost(static_cast<int>(task));
      continue;
    }
    BlobReader reader(all[task]);
    const auto code = static_cast<Code>(reader.number());
    const std::string text(reader.text());
    if (code != Code::ok) throw Error(code, text);
    answers.busy |= reader.number() != 0;
    answers.stop |= reader.number() != 0;
    answers.save_requests[task] = reader.number();
    if (task > 0) continue;
    answers.due = reader.number() != 0;
    answers.requested_lately = reader.number() != 0;
    answers.interval = reader.number();
  }
  return answers;
}

/// Waits for the writers of all processes; returns whether the job must stop. Meanwhile the tasks exchange messages, so
/// that none of them seems stalled.
bool CheckpointSaver::await_writers(const Boundary& boundary) {
  for (;;) {
    check_interrupt();
    if (!writer_->idle(kWaitForWriter)) writer_->check_progress();
    if (const Answers answers = exchange_answers(boundary); !answers.busy) return answers.stop;
  }
}

bool CheckpointSaver::save(const Boundary& boundary) {
  const int task = boundary.transport.task();
  TaskState& state = state_of(task);
  if (state.saved == state.boundaries) return false;
  const bool stop = await_writers(boundary);
  state.saved = state.boundaries;
  if (options_.before_save) options_.before_save(task);
  if (task == 0) saved_at_ = options_.clock->now();
  copy_parts(boundary.variables.first_parts(),
             writer_->copies()[std::find(tasks_.begin(), tasks_.end(), task) - tasks_.begin()]);
  const std::lock_guard lock(mutex_);
  if (++copied_ < tasks_.size()) return stop;
  copied_ = 0;
  Manifest head = boundary.head();
  head.step = boundary.step;
  writer_->write(std::move(head));
  return stop;
}

void CheckpointSaver::save_now(const Boundary& boundary) {
  static_cast<void>(save(boundary));
  static_cast<void>(await_writers(boundary));
}

}  // namespace ferry
