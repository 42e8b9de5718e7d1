#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/system/make_threads.hpp"
#include "comm/failure.hpp"
#include "comm/rendezvous.hpp"
#include "comm/tcp/join.hpp"

namespace ferry {
namespace {

using net::Address, net::Socket, tcp::AcceptedConnection, tcp::HandshakeAcceptor, tcp::Nonce, tcp::TaskFacts,
    tcp::ReplyHead;

constexpr std::chrono::seconds kReplyTime{5};  // to send a reply, which fits into the connection's buffers

/// A task that has joined.
struct JoinedTask {
  Socket socket;
  TaskFacts facts;
  Deadline deadline;
};

bool ended(const Socket& socket) {
  char byte = 0;
  const ssize_t count = recv(socket.get(), &byte, 1, MSG_PEEK);
  return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void reply(const Socket& socket, std::uint32_t code, std::string_view body) {
  const ReplyHead head{code, 0, body.size()};
  const Deadline deadline(system_clock(), kReplyTime);
  if (net::send_all(socket, std::as_bytes(std::span(&head, 1)), deadline))
    static_cast<void>(net::send_all(socket, std::as_bytes(std::span(body)), deadline));
}

Socket make_stop_event() {
  Socket event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.open()) throw net::system_error(Code::resource, "rendezvous: a descriptor", errno);
  return event;
}

/// The address of interface `name`; if there is none, of host `name`; loopback if `name` is empty. An error lists the
/// interfaces.
Address address_of(const std::string& name) {
  if (name.empty()) return net::loopback_address();
  try {
    return net::interface_address(name);
  } catch (const Error& no_interface) {
    try {
      return net::resolve(name, 0, "rendezvous").front();
    } catch (const Error&) {
      throw Error(no_interface);
    }
  }
}

Address listening_address(const RendezvousOptions& options) {
  Address address = address_of(options.address);
  address.set_port(options.port);
  tcp::require_secret(address, options.secret);
  return address;
}

}  // namespace

struct RendezvousServer::State {
  explicit State(const RendezvousOptions& options)
      : listener(net::listen_at(listening_address(options), "rendezvous")),
        address(net::local_address(listener)),
        host(address.host()),
        name(options.name),
        joined_tasks(static_cast<std::size_t>(options.tasks)),
        acceptor(listener, tcp::rendezvous_key(options.secret, options.job), tcp::Purpose::rendezvous, -1,
                 options.tasks) {}

  void serve();
  void wait() const;
  void admit(AcceptedConnection connection);
  void check_tasks();
  void fail(const Error& error);
  [[nodiscard]] Error missing_tasks_error(const std::vector<int>& absent) const;
  [[nodiscard]] std::vector<int> missing() const;
  [[nodiscard]] std::string pack_addresses() const;

  Socket listener;
  Address address;
  std::string host, name;
  Socket stop = make_stop_event();
  mutable std::mutex mutex;  // guards `joined_tasks`, which only the thread changes
  std::vector<std::optional<JoinedTask>> joined_tasks;
  HandshakeAcceptor acceptor;
  std::optional<Error> failed;
  bool complete = false;
  std::thread thread;
};

std::vector<int> RendezvousServer::State::missing() const {
  const std::scoped_lock lock(mutex);
  std::vector<int> tasks;
  for (std::size_t task = 0; task < joined_tasks.size(); ++task)
    if (!joined_tasks[task]) tasks.push_back(static_cast<int>(task));
  return tasks;
}

void RendezvousServer::State::serve() {
  try {
    for (;;) {
      wait();
      if (std::uint64_t count = 0; read(stop.get(), &count, sizeof count) > 0) return;
      for (AcceptedConnection& connection : acceptor.advance()) admit(std::move(connection));
      if (!complete && !failed) check_tasks();
    }
  } catch (const Error& error) {
    fail(error);
  }
}

void RendezvousServer::State::wait() const {
  std::vector<pollfd> waiting{{stop.get(), POLLIN, 0}};
  acceptor.add_to(waiting);
  Duration time = HandshakeAcceptor::kTime;
  for (const auto& joined_task : joined_tasks) {
    if (!joined_task || complete || failed) continue;
    waiting.push_back({joined_task->socket.get(), POLLIN, 0});
    time = std::min(time, joined_task->deadline.remaining());
  }
  poll(waiting.data(), waiting.size(), static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(time).count()));
}

/// Lets a task join. If no job is possible with the task, the job fails; once the job is complete, only the task is
/// rejected.
void RendezvousServer::State::admit(AcceptedConnection connection) {
  const auto refuse = [&](const Error& error) {
    reply(connection.socket, static_cast<std::uint32_t>(error.code()), error.text());
    if (!complete && !failed) fail(error);
  };
  if (failed) return refuse(*failed);
  const int task = connection.hello.from, tasks = connection.hello.tasks;
  const std::string who = std::string("(") + connection.facts.who.data() + ")";
  if (tasks != static_cast<int>(joined_tasks.size()) || task < 0 || task >= tasks)
    return refuse(Error(Code::usage, "rendezvous: a task " + who + " says that it is number " + std::to_string(task) +
                                         " of " + std::to_string(tasks) + ", in a job of " +
                                         std::to_string(joined_tasks.size()))
                      .hint("WORLD_SIZE is the same for all tasks; RANK counts from 0"));
  auto& joined_task = joined_tasks[task];
  if (joined_task && complete && who == std::string("(") + joined_task->facts.who.data() + ")")
    return refuse(Error(Code::usage, "rendezvous: task " + std::to_string(task) + " " + who +
                                         " connects again, although its job has been formed")
                      .hint("connect once in a process, and copy the Cluster where it is needed"));
  if (joined_task)
    return refuse(Error(Code::usage, "rendezvous: two tasks say that they are task {}", task)
                      .note(std::string("one is (") + joined_task->facts.who.data() + "), the other " + who)
                      .hint("give each task another RANK"));
  const Deadline deadline(system_clock(), std::chrono::milliseconds(connection.facts.deadline));
  const std::scoped_lock lock(mutex);
  joined_task.emplace(JoinedTask{std::move(connection.socket), connection.facts, deadline});
}

void RendezvousServer::State::check_tasks() {
  const std::vector<int> absent = missing();
  if (absent.empty()) {
    complete = true;
    const std::string text = pack_addresses();
    for (const auto& joined_task : joined_tasks) reply(joined_task->socket, 0, text);
    return;
  }
  for (std::size_t task = 0; task < joined_tasks.size(); ++task) {
    const auto& joined_task = joined_tasks[task];
    if (!joined_task) continue;
    if (ended(joined_task->socket))
      return fail({Code::peer_lost, "rendezvous: task " + std::to_string(task) + " (" + joined_task->facts.who.data() +
                                        ") ended before all tasks had come"});
    if (joined_task->deadline.expired()) return fail(missing_tasks_error(absent));
  }
}

/// The error if the tasks `absent` have not joined before the deadline.
Error RendezvousServer::State::missing_tasks_error(const std::vector<int>& absent) const {
  Error error(Code::stalled, "rendezvous: " + tasks_text(absent) + " of " + std::to_string(joined_tasks.size()) +
                                 " did not come before the deadline");
  if (acceptor.saw_wrong_key())
    error.note(
        "other processes connected that do not know the secret of this job: FERRY_SECRET must be the same for all");
  std::string hint =
      "see whether it was started, with RANK and the same variables as the others besides; --deadline gives it more "
      "time";
  if (!name.empty() && address.loopback()) {
    error.note("task 0 listens at " + address.str() + (name == host ? "" : ", as " + name + " is " + host + " there") +
               ": tasks on other hosts do not reach that");
    hint += "; for other hosts MASTER_ADDR is an address of its network" +
            std::string(tcp::is_loopback_name(name, address) ? ", or task 0 has --interface NAME" : "");
  }
  return error.hint(hint);
}

std::string RendezvousServer::State::pack_addresses() const {
  const Nonce job = tcp::new_nonce();
  std::string text(reinterpret_cast<const char*>(job.data()), job.size());
  for (const auto& joined_task : joined_tasks) {
    const Address& listens = joined_task->facts.listens;
    text.append(reinterpret_cast<const char*>(&listens), sizeof listens);
  }
  return text;
}

void RendezvousServer::State::fail(const Error& error) {
  failed = error;
  for (const auto& joined_task : joined_tasks)
    if (joined_task) reply(joined_task->socket, static_cast<std::uint32_t>(error.code()), error.text());
}

RendezvousServer::RendezvousServer(const RendezvousOptions& options) : state_(std::make_unique<State>(options)) {
  try {
    state_->thread = std::thread([state = state_.get()] { state->serve(); });
  } catch (const std::exception& error) {
    throw Error(Code::resource, "rendezvous: a thread: " + thread_refusal(error));
  }
}

RendezvousServer::~RendezvousServer() {
  eventfd_write(state_->stop.get(), 1);
  state_->thread.join();
}

const std::string& RendezvousServer::address() const {
  return state_->host;
}
int RendezvousServer::port() const {
  return state_->address.port();
}
std::vector<int> RendezvousServer::missing() const {
  return state_->missing();
}

}  // namespace ferry
