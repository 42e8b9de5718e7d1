#include "comm/tcp/job.hpp"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/blob.hpp"
#include "comm/failure.hpp"
#include "comm/tcp/link_count.hpp"

namespace ferry::tcp {
namespace {

constexpr std::chrono::milliseconds kLook{1};  // between looks at what the others' systems have
/// After a failure, a lost task never receives its messages.
constexpr std::chrono::milliseconds kTellTime{200};

bool system_has_all(const Connection& connection) {
  int bytes = 0;
  return ioctl(connection.socket().get(), SIOCOUTQ, &bytes) != 0 || bytes == 0;
}

}  // namespace

Job::Job(int task, std::vector<net::Socket> connections, int tasks_here, std::chrono::milliseconds deadline)
    : task_(task),
      tasks_here_(tasks_here),
      deadline_(deadline),
      process_(getpid()),
      events_(epoll_create1(EPOLL_CLOEXEC)),
      watches_room_(connections.size(), false),
      ends_(connections.size()),
      spared_(connections.size(), false),
      lost_(connections.size(), false) {
  if (!events_.open()) throw net::system_error(Code::resource, "tcp: a descriptor", errno);
  for (std::size_t t = 0; t < connections.size(); ++t) {
    peers_.push_back(std::make_unique<Peer>(static_cast<int>(t), std::move(connections[t]), transfers_, *this));
    if (peers_[t]->connection() == nullptr) continue;
    const net::Socket& socket = peers_[t]->connection()->socket();
    const net::Address here = net::local_address(socket);
    const net::Address there = net::peer_address(socket).value_or(here);
    ends_[t] = {here, there, here.host() != there.host()};
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = static_cast<std::uint32_t>(t);
    epoll_ctl(events_.get(), EPOLL_CTL_ADD, socket.get(), &event);
  }
}

Job::~Job() {
  if (process_ == getpid()) deliver();
}

bool Job::on_its_thread() const {
  return std::this_thread::get_id() == thread_ && getpid() == process_;
}

void Job::check_thread() const {
  if (std::this_thread::get_id() == thread_) return;
  throw Error(Code::usage, "transport tcp: used from another thread than the one that made it")
      .hint("call run() on the thread that called connect()");
}

void Job::poll(std::chrono::microseconds at_most) {
  if (at_most > std::chrono::microseconds(0)) {  // epoll_wait alone counts in milliseconds
    const auto seconds = std::chrono::floor<std::chrono::seconds>(at_most);
    const timespec time{static_cast<time_t>(seconds.count()),
                        static_cast<long>(std::chrono::nanoseconds(at_most - seconds).count())};
    pollfd waiting{events_.get(), POLLIN, 0};
    if (ppoll(&waiting, 1, &time, nullptr) <= 0) return;
  }
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) poll_peer(static_cast<int>(events[static_cast<std::size_t>(i)].data.u32));
}

void Job::poll_peer(int task) {
  Connection* connection = peer(task).connection();
  if (connection == nullptr || !connection->socket().open()) return;
  connection->flush();
  read(task);
  watch_room(task);
}

void Job::read(int task) {
  try {
    if (const std::optional<int> why = peer(task).connection()->read()) lost(task, *why);
  } catch (const Error& error) {
    fail({task, error.code(), error.text()});
    peer(task).left();
    peer(task).connection()->close();  // nobody knows where the next frame begins
  }
}

/// `why`: an errno that says nothing of the process at the other end.
Failure Job::lost_connection(int task, int why) const {
  const Ends& ends = ends_[static_cast<std::size_t>(task)];
  Error error = net::system_error(Code::peer_lost, ends.there.str() + " does not answer " + ends.here.str(), why);
  error.hint(
      "look at what lies between the two: a cable, a switch, a firewall (ip -s link, ss -ti on both sides); "
      "--interface chooses another network");
  return {.task = task, .code = error.code(), .text = error.text(), .unreached_by = task_};
}

void Job::lost(int task, int why) {
  const bool ended = why == 0 || why == ECONNRESET || why == EPIPE;
  if (!peer(task).gone() && !closed_) {
    const Failure failure =
        ended
            ? Failure{task, Code::peer_lost,
                      "the process ended before the job was done, says its connection to task " + std::to_string(task_)}
            : lost_connection(task, why);
    is_spared(task) ? lose({task, failure.text}) : fail(failure);
  }
  peer(task).left();
  transfers_.moved();
}

/// Continues without a spared task, and tells the others. A spared task leaves that to them, which may go on without
/// it.
void Job::lose(const Losses::Loss& loss) {
  if (is_lost(loss.task) || is_spared(task_)) return;
  const Failure failure{
      .task = loss.task, .code = Code::peer_lost, .text = "the job goes on without this task: " + loss.why};
  say_to(loss.task, Kind::failure, pack_failure(failure));
  forget(loss);
  say(Kind::lost, BlobWriter().add(loss.task).add(loss.why).take());
}

void Job::forget(const Losses::Loss& loss) {
  lost_[static_cast<std::size_t>(loss.task)] = true;
  Peer& it = peer(loss.task);
  it.forget_messages();
  it.left();
  it.connection()->close();
  transfers_.complete_all(loss.task);
  if (losses_ != nullptr) losses_->lost(loss);
}

void Job::heard_lost(int from, const std::string& word) {
  BlobReader reader(word);
  const auto task = static_cast<int>(reader.number());
  const std::string why(reader.text());
  if (is_spared(from) || task < 0 || task >= tasks() || task == task_ || is_lost(task)) return;
  forget({task, why});
}

void Job::heard_failure(int from, const Failure& failure) {
  if (all_spare_ && is_spared(from) && failure.code == Code::peer_lost) return;
  fail(failure);
}

bool Job::begin_sparing(std::span<const int> tasks, Losses& losses) {
  losses_ = &losses;
  if (std::ranges::equal(tasks, to_spare_)) return false;
  to_spare_.assign(tasks.begin(), tasks.end());
  for (const int task : tasks) spared_[static_cast<std::size_t>(task)] = true;
  all_spare_ = all_spare_ || task_ != 0;  // if some do not come, task 0 fails and says so
  return by_first_ = true;
}

void Job::end_sparing() {
  spared_.assign(spared_.size(), false);
  for (const int task : to_spare_) spared_[static_cast<std::size_t>(task)] = true;
  all_spare_ = !to_spare_.empty();
}

void Job::spare_none() {
  to_spare_.clear();
  end_sparing();
  losses_ = nullptr;
}

void Job::look_for_losses() {
  if (!all_spare_ || is_spared(task_)) return;
  for (const Losses::Loss& loss : losses_->found_lost())
    if (is_spared(loss.task)) lose(loss);
}

void Job::watch_room(int task) {
  Connection* connection = peer(task).connection();
  if (connection == nullptr || !connection->socket().open()) return;
  const auto at = static_cast<std::size_t>(task);
  if (connection->pending() == watches_room_[at]) return;
  watches_room_[at] = connection->pending();
  epoll_event event{};
  event.events = EPOLLIN | (connection->pending() ? EPOLLOUT : 0u);
  event.data.u32 = static_cast<std::uint32_t>(task);
  epoll_ctl(events_.get(), EPOLL_CTL_MOD, connection->socket().get(), &event);
}

void Job::say(Kind kind, const std::string& body) {
  for (int task = 0; task < tasks(); ++task) say_to(task, kind, body);
}

void Job::say_to(int task, Kind kind, const std::string& body) {
  if (task == task_ || !peer(task).connection()->socket().open()) return;
  peer(task).say(kind, body);
  watch_room(task);
}

void Job::send_text(std::string_view text) {
  if (text.size() > kLongestText) throw Error(Code::usage, "exchange: a text of more than 1 GiB");
  if (follows()) return say_to(0, Kind::text, std::string(text));
  if (!by_first_) say(Kind::text, std::string(text));
}

std::optional<std::vector<std::string>> Job::take_texts(std::string_view mine) {
  if (!missing(false).empty()) return std::nullopt;
  const auto next = [this](int task) {
    std::deque<std::string>& texts = peer(task).texts;
    if (texts.empty()) return std::string();  // of a lost task
    std::string text = std::move(texts.front());
    texts.pop_front();
    return text;
  };
  std::vector<std::string> all;
  if (follows()) {
    const std::string said = next(0);
    for (BlobReader reader(said); !reader.empty();) all.emplace_back(reader.text());
    return all;
  }
  for (int task = 0; task < tasks(); ++task) all.push_back(task == task_ ? std::string(mine) : next(task));
  if (!by_first_) return all;
  BlobWriter said;
  for (const std::string& text : all) said.add(text);
  say(Kind::text, said.take());
  return all;
}

std::vector<int> Job::missing(bool closed_only) {
  std::vector<int> absent;
  for (int task = 0; task < (follows() ? 1 : tasks()); ++task)
    if (task != task_ && !is_lost(task) && peer(task).texts.empty() && (!closed_only || peer(task).gone()))
      absent.push_back(task);
  return absent;
}

/// Every task that learns of a failure tells all others before it leaves, so that none takes its end for the failure.
void Job::fail(const Failure& failure) {
  if (failure_ || closed_) return;
  failure_ = failure;
  spare_none();
  tell_until_ = Deadline(system_clock(), kTellTime);
  transfers_.forget_all();
  transfers_.moved();
  for (const auto& peer : peers_) peer->forget_messages();
  say(Kind::failure, pack_failure(failure));
}

void Job::say_goodbye() {
  if (std::exchange(closed_, true)) return;
  spare_none();
  say(Kind::goodbye, {});
}

void Job::deliver() {
  const Deadline deadline = failure_ ? tell_until_ : Deadline(system_clock(), deadline_);
  for (;;) {
    bool all = true;
    for (const auto& peer : peers_) {
      Connection* connection = peer->connection();
      if (connection == nullptr || !connection->socket().open()) continue;
      connection->flush();
      all = all && !connection->pending() && system_has_all(*connection);
    }
    if (all || deadline.expired()) return;
    poll();
    system_clock().sleep(kLook);
  }
}

void Job::begin_anew() {
  const std::string why = pack_failure(*failure_);
  failure_.reset();
  closed_ = by_first_ = false;
  ++generation_;
  for (const auto& peer : peers_) peer->begin(generation_);
  say(Kind::renewed, why);
}

std::vector<int> Job::not_renewed(bool gone_only) {
  std::vector<int> tasks_left;
  for (int task = 0; task < tasks(); ++task)
    if (peer(task).generation() != generation_ && (!gone_only || peer(task).gone())) tasks_left.push_back(task);
  return tasks_left;
}

WireCount Job::sent() {
  WireCount all;
  for (const auto& peer : peers_) {
    all.messages += peer->count().messages;
    all.bytes += peer->count().bytes;
  }
  return all;
}

std::vector<LinkCount> Job::links() const {
  std::vector<LinkCount> all;
  for (std::size_t task = 0; task < peers_.size(); ++task) {
    if (!ends_[task].leave_host || !peers_[task]->connection()->socket().open()) continue;
    const auto count = link_count(peers_[task]->connection()->socket(), static_cast<int>(task));
    if (!count) continue;
    all.push_back(*count);
    all.back().messages = peers_[task]->count().messages;
  }
  return all;
}

}  // namespace ferry::tcp
