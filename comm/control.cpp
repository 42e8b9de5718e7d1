#include "comm/control.hpp"

#include <algorithm>
#include <utility>

#include "base/blob.hpp"
#include "comm/failure.hpp"

namespace ferry {
namespace {

constexpr std::chrono::seconds kReportTime{1};  // time for task 0 to report which task missed an exchange
/// The distance between the first rounds of successive jobs of the same tasks. No job has as many exchanges.
constexpr std::uint64_t kJobRounds = std::uint64_t{1} << 32;

}  // namespace

ControlPlane::ControlPlane(ControlSender& sender, Clock& clock, int tasks, TaskRange here)
    : sender_(sender), clock_(clock), tasks_(tasks), here_(here), next_round_(static_cast<std::size_t>(tasks)) {}

ControlPlane::TextExchange ControlPlane::start_exchange(int task, std::string_view mine, const Deadline& deadline) {
  if (mine.size() > kLongestWord) throw Error(Code::usage, "exchange: a text of more than 1 GiB");
  const std::uint64_t round = next_round_[task];
  add(task, std::string(mine));
  rounds_[round].deadline = deadline;
  constexpr int kFirst = 0;
  if (follows())
    sender_.post({&kFirst, 1}, Word::text, mine);
  else if (!task_0_forwards_)
    post(Word::text, mine);
  return {round, deadline};
}

/// Adds the next text of a task. Drops a text that arrives after this process has left its round.
void ControlPlane::add(int task, std::string text) {
  const auto at = static_cast<std::size_t>(task);
  const std::uint64_t number = next_round_[at]++;
  const bool late = !here_.contains(task) && has_come(here_.first, number);
  if (late && !rounds_.contains(number)) return;
  auto& texts = rounds_[number].texts;
  if (texts == nullptr) texts = std::make_shared<std::vector<std::string>>(next_round_.size());
  (*texts)[at] = std::move(text);
}

/// The tasks for whose texts this process still waits in a round.
std::vector<int> ControlPlane::missing(std::uint64_t round) const {
  std::vector<int> absent;
  for (int task = 0; task < (follows() ? 1 : tasks_); ++task)
    if (!has_come(task, round) && !is_lost(task)) absent.push_back(task);
  return absent;
}

std::shared_ptr<std::vector<std::string>> ControlPlane::take_texts(TextRound& round) {
  auto all = round.texts;
  if (follows()) {
    const std::string said = std::move(all->front());
    all->clear();
    for (BlobReader reader(said); !reader.empty();) all->emplace_back(reader.text());
  } else if (task_0_forwards_) {
    BlobWriter said;
    for (const std::string& text : *all) said.add(text);
    post(Word::text, said.take());
  }
  return all;
}

std::shared_ptr<std::vector<std::string>> ControlPlane::finish_exchange(TextExchange& exchange) try {
  look_for_losses();
  std::vector<int> absent = missing(exchange.round);
  if (!absent.empty()) {
    check_absent(exchange, std::move(absent));
    return nullptr;
  }
  auto texts = take_texts(rounds_.at(exchange.round));
  finish_round(exchange.round);
  return texts;
} catch (const Error&) {
  finish_round(exchange.round);
  throw;
}

/// Throws if the texts of `absent` can no longer arrive, or have not arrived in time.
void ControlPlane::check_absent(TextExchange& exchange, std::vector<int> absent) {
  if (failure_) throw error_of(*failure_);
  const TextRound& round = rounds_.at(exchange.round);
  if (!round.absent.empty()) throw missing_error(round.absent, tasks_);
  if (const auto gone = left_among(absent); !gone.empty()) throw closed_error(gone);
  if (!exchange.deadline.expired()) return;
  if (!exchange.late) exchange.late.emplace(clock_, follows() ? kReportTime : Duration::zero());
  std::erase_if(absent, [this](int task) { return !sender_.detects_absence(task); });
  if (exchange.late->expired() && !absent.empty()) throw missing_error(absent, tasks_);
}

void ControlPlane::finish_round(std::uint64_t round) {
  const auto found = rounds_.find(round);
  if (found != rounds_.end() && ++found->second.finished == here_.count) rounds_.erase(found);
}

std::span<const std::string> ControlPlane::texts_here(std::uint64_t round) const {
  const auto found = rounds_.find(round);
  if (found == rounds_.end()) return {};
  for (int task = here_.first; task < here_.first + here_.count; ++task)
    if (!has_come(task, round)) return {};
  return std::span(*found->second.texts)
      .subspan(static_cast<std::size_t>(here_.first), static_cast<std::size_t>(here_.count));
}

void ControlPlane::set_absent(std::span<const int> tasks) {
  const auto found = rounds_.find(next_round_[tasks.front()]);
  if (found != rounds_.end()) found->second.absent.assign(tasks.begin(), tasks.end());
}

std::vector<int> ControlPlane::others() const {
  std::vector<int> tasks;
  const auto add = [&](int first, int end) {
    for (int task = first; task < end; ++task)
      if (!is_lost(task)) tasks.push_back(task);
  };
  add(0, here_.first);  // leaves out the tasks of this process: all of them post words, and may be 65,536
  add(here_.first + here_.count, tasks_);
  return tasks;
}

std::vector<int> ControlPlane::left_among(std::vector<int> tasks) const {
  std::erase_if(tasks, [this](int task) { return !has_left(task); });
  return tasks;
}

void ControlPlane::handle_word(int from, Word word, std::string body) {
  switch (word) {
    case Word::text:
      return add(from, std::move(body));
    case Word::failure:
      if (const auto failure = unpack_failure(body)) handle_failure(from, *failure);
      return;
    case Word::goodbye:
      left_.insert(from);
      return;
    case Word::renewed: {
      std::uint64_t& next = next_round_[from];
      next = (next / kJobRounds + 1) * kJobRounds;
      return;
    }
    case Word::lost:
      return handle_lost_task(from, body);
  }
}

/// A spared task may be lost itself, so its reports about other tasks do not count.
void ControlPlane::handle_failure(int from, const Failure& failure) {
  if (sparing_agreed_ && is_spared(from) && failure.code == Code::peer_lost) return;
  fail(failure, sender_.forwards_failures());
}

void ControlPlane::disconnected(int task, const Failure& failure) {
  if (!has_left(task) && !closed()) is_spared(task) ? continue_without({task, failure.text}) : fail(failure);
  left_.insert(task);
}

void ControlPlane::fail(const Failure& failure, bool inform_others) {
  if (failure_) return;
  failure_ = failure;
  spare_none();
  sender_.drop_messages();
  if (inform_others && !closed()) post(Word::failure, pack_failure(failure));
}

void ControlPlane::close(int task) {
  if (!left_.insert(task).second) return;
  spare_none();
  post(Word::goodbye, {});
}

bool ControlPlane::closed() const {
  for (int task = here_.first; task < here_.first + here_.count; ++task)
    if (!has_left(task)) return false;
  return true;
}

void ControlPlane::restart() {
  const std::string why = pack_failure(*failure_);
  failure_.reset();
  task_0_forwards_ = false;
  left_.erase(here_.first);
  handle_word(here_.first, Word::renewed, {});
  rounds_.erase(rounds_.begin(), rounds_.lower_bound(next_round_[here_.first]));
  post(Word::renewed, why);
}

std::vector<int> ControlPlane::not_renewed() const {
  const std::uint64_t mine = next_round_[here_.first] / kJobRounds;
  std::vector<int> tasks;
  for (int task = 0; task < tasks_; ++task)
    if (next_round_[task] / kJobRounds != mine) tasks.push_back(task);
  return tasks;
}

/// Continues without a spared task, and informs the others. If this task is spared itself, it does nothing: the other
/// tasks decide, and they may continue without this task.
void ControlPlane::continue_without(const Losses::Loss& loss) {
  if (is_lost(loss.task) || is_spared(here_.first)) return;
  const Failure failure{
      .task = loss.task, .code = Code::peer_lost, .text = "the job continues without this task: " + loss.why};
  sender_.post({&loss.task, 1}, Word::failure, pack_failure(failure));
  record_loss(loss);
  post(Word::lost, BlobWriter().add(loss.task).add(loss.why).take());
}

void ControlPlane::record_loss(const Losses::Loss& loss) {
  lost_.insert(loss.task);
  left_.insert(loss.task);
  sender_.drop_task(loss.task);
  if (losses_ != nullptr) losses_->lost(loss);
}

void ControlPlane::handle_lost_task(int from, std::string_view body) {
  BlobReader reader(body);
  const auto task = static_cast<int>(reader.number());
  const std::string why(reader.text());
  if (is_spared(from) || task < 0 || task >= tasks_ || here_.contains(task) || is_lost(task)) return;
  record_loss({task, why});
}

bool ControlPlane::begin_sparing(std::span<const int> tasks, Losses& losses) {
  losses_ = &losses;
  if (std::ranges::equal(tasks, to_spare_)) return false;
  to_spare_.assign(tasks.begin(), tasks.end());
  spared_.insert(tasks.begin(), tasks.end());
  sparing_agreed_ = sparing_agreed_ || here_.first != 0;  // if a task does not come, task 0 fails and names it
  return task_0_forwards_ = true;
}

void ControlPlane::end_sparing() {
  spared_ = {to_spare_.begin(), to_spare_.end()};
  sparing_agreed_ = !to_spare_.empty();
}

void ControlPlane::spare_none() {
  to_spare_.clear();
  end_sparing();
  losses_ = nullptr;
}

void ControlPlane::look_for_losses() {
  if (!sparing_agreed_ || is_spared(here_.first)) return;
  for (const Losses::Loss& loss : losses_->found_lost())
    if (is_spared(loss.task)) continue_without(loss);
}

}  // namespace ferry
