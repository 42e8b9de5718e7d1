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

#include "comm/tcp/link_count.hpp"

namespace ferry::tcp {
namespace {

constexpr std::chrono::milliseconds kLook{1};  // between checks whether the other hosts have received all data
/// The time to deliver data after a failure. It is limited because a lost task never receives its messages.
constexpr std::chrono::milliseconds kDeliverTime{200};

bool all_acknowledged(const Connection& connection) {
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
      watches_writable_(connections.size(), false),
      ends_(connections.size()),
      control_(*this, system_clock(), static_cast<int>(connections.size()), {task, 1}) {
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
  if (at_most > std::chrono::microseconds(0)) {  // epoll_wait has a resolution of milliseconds
    const auto seconds = std::chrono::floor<std::chrono::seconds>(at_most);
    const timespec time{static_cast<time_t>(seconds.count()),
                        static_cast<long>(std::chrono::nanoseconds(at_most - seconds).count())};
    pollfd waiting{events_.get(), POLLIN, 0};
    if (ppoll(&waiting, 1, &time, nullptr) <= 0) return;
  }
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) poll_peer(static_cast<int>(events[i].data.u32));
}

void Job::poll_peer(int task) {
  Connection* connection = peer(task).connection();
  if (connection == nullptr || !connection->socket().open()) return;
  connection->flush();
  read(task);
  watch_writable(task);
}

void Job::read(int task) {
  try {
    if (const std::optional<int> why = peer(task).connection()->read()) ended(task, *why);
  } catch (const Error& error) {
    const Failure damaged{task, error.code(), error.text()};
    fail(damaged);
    control_.disconnected(task, damaged);
    peer(task).connection()->close();  // the start of the next frame is not known
  }
}

/// The failure of a connection that has ended with `why`, an errno that tells nothing about the process at the other
/// end.
Failure Job::lost_connection(int task, int why) const {
  const Ends& ends = ends_[task];
  Error error = net::system_error(Code::peer_lost, ends.there.str() + " does not answer " + ends.here.str(), why);
  error.hint(
      "check the network between the two: a cable, a switch, a firewall (ip -s link, ss -ti on both sides); "
      "--interface chooses another network");
  return {.task = task, .code = error.code(), .text = error.text(), .unreached_by = task_};
}

void Job::ended(int task, int why) {
  const bool process_ended = why == 0 || why == ECONNRESET || why == EPIPE;
  control_.disconnected(task, process_ended
                                  ? Failure{task, Code::peer_lost,
                                            "the process ended before the job was done, says its connection to task " +
                                                std::to_string(task_)}
                                  : lost_connection(task, why));
  transfers_.moved();
}

void Job::drop_task(int task) {
  peer(task).forget_messages();
  peer(task).connection()->close();
  transfers_.complete_all(task);
}

void Job::handle_word(int from, Word word, std::string body) {
  transfers_.moved();
  if (word == Word::failure && control_.closed()) return;
  control_.handle_word(from, word, std::move(body));
}

void Job::watch_writable(int task) {
  Connection* connection = peer(task).connection();
  if (connection == nullptr || !connection->socket().open()) return;
  const auto at = static_cast<std::size_t>(task);
  if (connection->pending() == watches_writable_[at]) return;
  watches_writable_[at] = connection->pending();
  epoll_event event{};
  event.events = EPOLLIN | (connection->pending() ? EPOLLOUT : 0u);
  event.data.u32 = static_cast<std::uint32_t>(task);
  epoll_ctl(events_.get(), EPOLL_CTL_MOD, connection->socket().get(), &event);
}

void Job::post(std::span<const int> tasks, Word word, std::string_view body) {
  for (const int task : tasks) {
    if (!peer(task).connection()->socket().open()) continue;
    peer(task).send_control(word, std::string(body));
    watch_writable(task);
  }
}

void Job::fail(const Failure& failure) {
  if (!control_.closed()) control_.fail(failure);
}

void Job::drop_messages() {
  deliver_until_ = Deadline(system_clock(), kDeliverTime);
  transfers_.free_all_numbers();
  transfers_.moved();
  for (const auto& peer : peers_) peer->forget_messages();
}

void Job::deliver() {
  const Deadline deadline = control_.failure() ? deliver_until_ : Deadline(system_clock(), deadline_);
  for (;;) {
    bool all = true;
    for (const auto& peer : peers_) {
      Connection* connection = peer->connection();
      if (connection == nullptr || !connection->socket().open()) continue;
      connection->flush();
      all = all && !connection->pending() && all_acknowledged(*connection);
    }
    if (all || deadline.expired()) return;
    poll();
    system_clock().sleep(kLook);
  }
}

void Job::restart() {
  ++generation_;
  for (const auto& peer : peers_) peer->begin(generation_);
  control_.restart();
}

WireCount Job::sent() {
  WireCount all;
  for (const auto& peer : peers_) {
    all.messages += peer->count().messages;
    all.bytes += peer->count().bytes;
  }
  return all;
}

std::uint64_t Job::moved() const {
  std::uint64_t bytes = 0;
  for (const auto& peer : peers_)
    if (const Connection* const connection = peer->connection()) bytes += connection->moved();
  return bytes;
}

std::vector<LinkCount> Job::links() const {
  std::vector<LinkCount> all;
  for (std::size_t task = 0; task < peers_.size(); ++task) {
    if (!ends_[task].between_hosts || !peers_[task]->connection()->socket().open()) continue;
    const auto count = link_count(peers_[task]->connection()->socket(), static_cast<int>(task));
    if (!count) continue;
    all.push_back(*count);
    all.back().messages = peers_[task]->count().messages;
  }
  return all;
}

}  // namespace ferry::tcp
