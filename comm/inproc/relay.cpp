// Relay: carries messages, exchanges and failures between tasks of this process and tasks of other processes, over one
// transport between the processes.
#include <deque>
#include <thread>
#include <utility>

#include "base/blob.hpp"
#include "comm/backends.hpp"
#include "comm/failure.hpp"
#include "comm/inproc/hub.hpp"

namespace ferry {
namespace {

using inproc::Hub;
using inproc::Transfer;
using std::chrono::microseconds;

// Longest sleep while transfers are under way, which may delay new transfers.
constexpr microseconds kWhileActive{50};
// Longest sleep otherwise, between two checks for failures of other processes.
constexpr microseconds kLookBetween{2000};

class Relay final : public HostRelay {
 public:
  Relay(std::unique_ptr<Transport> between, std::shared_ptr<Hub> hub)
      : between_(std::move(between)), hub_(std::move(hub)) {}
  ~Relay() override;

  void check_thread() const override;
  void serve(const std::function<bool()>& until) override;
  void wake() noexcept override { hub_->outbox().events().notify(); }
  [[nodiscard]] std::vector<std::string> exchange(std::string_view mine, const Deadline& deadline) override;

 private:
  struct Active {
    Transfer* transfer = nullptr;
    Ticket ticket = 0;
  };

  [[nodiscard]] int processes() const { return between_->tasks(); }
  [[nodiscard]] int tasks() const { return hub_->tasks(); }
  [[nodiscard]] int process_of(int task) const { return process_of_task(task, tasks(), processes()); }
  [[nodiscard]] int first_of(int process) const { return first_task_of(process, tasks(), processes()); }

  [[nodiscard]] bool pump();
  void idle();
  bool start();
  [[nodiscard]] Ticket start_transfer(const Transfer& transfer);
  [[nodiscard]] std::uint32_t channel_of(const Transfer& transfer) const;
  bool finish();
  void release_buffer(Transfer& transfer, bool complete);
  bool exchange_texts();
  void check_for_failure();
  void fail(const Error& error);
  void withdraw();

  std::unique_ptr<Transport> between_;
  std::shared_ptr<Hub> hub_;
  const std::thread::id owner_ = std::this_thread::get_id();
  std::deque<Transfer*> waiting_;
  std::vector<Active> active_;
  // Number of exchanges of this process's tasks that were sent to the other processes.
  std::uint64_t exchanges_ = 0;
  /// The transfer that is being started or tested; an error concerns this transfer.
  const Transfer* current_ = nullptr;
  bool informed_ = false;  ///< the other processes have been informed of the failure
};

Relay::~Relay() {
  if (!hub_->failed() &&
      (!hub_->with_control([](ControlPlane& control) { return control.closed(); }) || !active_.empty()))
    hub_->fail({hub_->here().first, Code::peer_lost, "the task ended before the job was done (without close)"});
  if (hub_->failed()) {
    withdraw();
    return;
  }
  try {
    between_->close();
  } catch (const std::exception&) {  // the destruction of the transport informs the other processes
  }
}

void Relay::check_thread() const {
  if (std::this_thread::get_id() != owner_ && !between_->any_thread())
    throw Error(Code::usage,
                "transport " + std::string(between_->name()) + ": used from another thread than the one that made it")
        .hint("call run() on the thread that called connect()");
}

void Relay::serve(const std::function<bool()>& until) {
  for (;;) {
    const std::uint32_t seen = hub_->outbox().events().now();
    if (until()) return;
    if (pump()) continue;
    if (active_.empty()) {
      hub_->outbox().events().wait(seen, kLookBetween);
    } else {
      idle();
    }
  }
}

/// Makes all progress that is possible now. Returns whether there was any.
bool Relay::pump() {
  if (hub_->failed()) {
    withdraw();
    return false;
  }
  try {
    bool any = start();
    any = finish() || any;
    any = exchange_texts() || any;
    check_for_failure();
    return any;
  } catch (const Error& error) {
    fail(error);
    return true;
  }
}

void Relay::idle() {
  try {
    between_->idle(kWhileActive);
  } catch (const Error& error) {
    fail(error);
  }
}

bool Relay::start() {
  for (Transfer* transfer : hub_->outbox().take()) waiting_.push_back(transfer);
  const bool any = !waiting_.empty();
  for (; !waiting_.empty(); waiting_.pop_front()) {
    current_ = waiting_.front();
    active_.push_back({waiting_.front(), start_transfer(*waiting_.front())});
  }
  current_ = nullptr;
  return any;
}

Ticket Relay::start_transfer(const Transfer& transfer) {
  const inproc::Lane& lane = *transfer.lane;
  const std::uint32_t channel = channel_of(transfer);
  return hub_->is_here(lane.from())
             ? between_->send(process_of(lane.to()), channel, {transfer.source, transfer.bytes})
             : between_->receive(process_of(lane.from()), channel, {transfer.target, transfer.bytes});
}

/// The channel between the processes. Each pair of a task of another process and a task of this process has its own
/// channels.
std::uint32_t Relay::channel_of(const Transfer& transfer) const {
  const int from = transfer.lane->from(), to = transfer.lane->to();
  const auto most = static_cast<std::uint64_t>((tasks() + processes() - 1) / processes());
  const auto pair = static_cast<std::uint64_t>(from - first_of(process_of(from))) * most +
                    static_cast<std::uint64_t>(to - first_of(process_of(to)));
  const std::uint64_t channel = transfer.channel * most * most + pair;
  if (channel > UINT32_MAX)
    throw Error(Code::plan, "channel {} is too large for {} tasks in a process", transfer.channel, most)
        .hint("start more processes");
  return static_cast<std::uint32_t>(channel);
}

bool Relay::finish() {
  bool any = false;
  for (std::size_t i = 0; i < active_.size();) {
    current_ = active_[i].transfer;
    if (!between_->done(active_[i].ticket)) {
      ++i;
      continue;
    }
    Transfer& transfer = *active_[i].transfer;
    active_[i] = active_.back();
    active_.pop_back();
    release_buffer(transfer, true);
    any = true;
  }
  current_ = nullptr;
  return any;
}

/// Reports that no other thread touches the transfer's buffer any more. If `complete`, the task may reuse the transfer
/// at once, so the function reads its lane first.
void Relay::release_buffer(Transfer& transfer, bool complete) {
  const int task = hub_->is_here(transfer.lane->from()) ? transfer.lane->from() : transfer.lane->to();
  if (complete) transfer.complete.store(true, std::memory_order_release);
  hub_->copies(task).fetch_sub(1, std::memory_order_release);
  hub_->events(task).notify();
}

/// When all tasks of this process have come to an exchange, exchanges their texts with the other processes. Returns
/// whether it did.
bool Relay::exchange_texts() {
  BlobWriter mine;
  const auto deadline = hub_->with_control([&](ControlPlane& control) -> std::optional<Deadline> {
    const auto texts = control.texts_here(exchanges_);
    if (texts.empty()) return std::nullopt;
    for (const std::string& text : texts) mine.add(text);
    return control.deadline_here(exchanges_++);
  });
  if (!deadline) return false;
  try {
    std::vector<std::string> texts;
    for (const std::string& process : exchange(mine.take(), *deadline))
      for (BlobReader reader(process); !reader.empty();) texts.emplace_back(reader.text());
    FERRY_ASSERT(static_cast<int>(texts.size()) == tasks(), "the processes have other numbers of tasks");
    hub_->with_control([&](ControlPlane& control) {
      for (const int task : control.others()) control.handle_word(task, Word::text, texts[task]);
    });
  } catch (const AbsentError& error) {
    hub_->with_control([&](ControlPlane& control) {
      if (error.code() == Code::stalled) return control.set_absent(error.tasks());
      for (const int task : error.tasks()) control.handle_word(task, Word::goodbye, {});
    });
  }
  hub_->wake_all();
  return true;
}

/// Calls the exchange of the transport between the processes. Its errors name tasks instead of processes.
std::vector<std::string> Relay::exchange(std::string_view mine, const Deadline& deadline) {
  try {
    return between_->exchange(mine, deadline);
  } catch (const AbsentError& error) {
    std::vector<int> absent;
    for (const int process : error.tasks())
      for (int task = first_of(process); task < first_of(process + 1); ++task) absent.push_back(task);
    throw error.code() == Code::stalled ? missing_error(absent, tasks()) : closed_error(absent);
  }
}

/// Looks for failures of other processes. A failure of task t is sent with the number `processes() + t`, so that it
/// differs from a failure of a whole process, which the transport itself reports.
void Relay::check_for_failure() {
  const auto failure = between_->failure();
  if (!failure) return;
  const auto task_of = [this](int number) {
    return number < 0 ? -1 : number >= processes() ? number - processes() : first_of(number);
  };
  hub_->fail({task_of(failure->task), failure->code, failure->text, false, task_of(failure->unreached_by)});
}

void Relay::fail(const Error& error) {
  try {
    check_for_failure();
  } catch (const Error&) {  // no more is known than `error`
  }
  std::string text = error.text();
  int task = hub_->here().first;
  if (current_ != nullptr) {
    const int from = current_->lane->from(), to = current_->lane->to();
    text = "between task " + std::to_string(from) + " and task " + std::to_string(to) + ": " + text;
    task = hub_->is_here(from) ? from : to;
  }
  hub_->fail({task, error.code(), text});
}

/// Informs the other processes of the failure, and gives up all transfers.
void Relay::withdraw() {
  if (!std::exchange(informed_, true)) {
    Failure failure = *hub_->failure();
    failure.task += processes();
    if (failure.unreached_by >= 0) failure.unreached_by += processes();
    between_->abort(failure);
  }
  if (!active_.empty()) {
    try {
      between_->idle(microseconds(0));
    } catch (const Error&) {  // expected: the job has failed, so the transport withdraws its transfers and throws
    }
  }
  for (const Active& active : active_) release_buffer(*active.transfer, false);
  active_.clear();
  for (Transfer* transfer : hub_->outbox().take()) waiting_.push_back(transfer);
  for (Transfer* transfer : waiting_) release_buffer(*transfer, false);
  waiting_.clear();
}

}  // namespace

int process_of_task(int task, int tasks, int processes) {
  return static_cast<int>(std::int64_t{task} * processes / tasks);
}

int first_task_of(int process, int tasks, int processes) {
  return static_cast<int>((std::int64_t{process} * tasks + processes - 1) / processes);
}

HostedTasks host_tasks(std::unique_ptr<Transport> between, int tasks) {
  const int processes = between->tasks();
  FERRY_ASSERT(tasks >= processes, "a process without a task");
  const int first = first_task_of(between->task(), tasks, processes);
  const int end = first_task_of(between->task() + 1, tasks, processes);
  auto hub = std::make_shared<Hub>(tasks, TaskRange{first, end - first});
  HostedTasks hosted;
  for (int task = first; task < end; ++task) hosted.ends.push_back(Hub::end(hub, task));
  hosted.relay = std::make_unique<Relay>(std::move(between), std::move(hub));
  return hosted;
}

}  // namespace ferry
