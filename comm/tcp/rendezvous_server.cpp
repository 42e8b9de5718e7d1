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

using net::Address, net::Socket, tcp::Guest, tcp::Guests, tcp::Nonce, tcp::Particulars, tcp::ReplyHead;

constexpr std::chrono::seconds kReplyTime{5};  // to send a reply, which fits into the connection's buffers

/// A task that has joined.
struct Place {
  Socket socket;
  Particulars particulars;
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
  if (net::sent_all(socket, std::as_bytes(std::span(&head, 1)), deadline))
    static_cast<void>(net::sent_all(socket, std::as_bytes(std::span(body)), deadline));
}

Socket wake_up() {
  Socket event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.open()) throw net::system_error(Code::resource, "rendezvous: a descriptor", errno);
  return event;
}

/// The address of interface `name`; if there is none, of host `name`; loopback if `name` is empty.
Address address_of(const std::string& name) {
  try {
    return name.empty() ? net::loopback_address() : net::interface_address(name);
  } catch (const Error&) {
    return net::resolved(name, 0, "rendezvous").front();
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
      : listener(net::listening(listening_address(options), "rendezvous")),
        address(net::local_address(listener)),
        host(address.host()),
        name(options.name),
        places(static_cast<std::size_t>(options.tasks)),
        guests(listener, tcp::rendezvous_key(options.secret, options.job), tcp::Purpose::rendezvous, -1,
               options.tasks) {}

  void serve();
  void wait() const;
  void admit(Guest guest);
  void look_after_tasks();
  void fail(const Error& error);
  [[nodiscard]] Error missed(const std::vector<int>& absent) const;
  [[nodiscard]] std::vector<int> missing() const;
  [[nodiscard]] std::string table() const;

  Socket listener;
  Address address;
  std::string host, name;
  Socket stop = wake_up();
  mutable std::mutex mutex;  // guards `places`, which only the thread changes
  std::vector<std::optional<Place>> places;
  Guests guests;
  std::optional<Error> failed;
  bool complete = false;
  std::thread thread;
};

std::vector<int> RendezvousServer::State::missing() const {
  const std::scoped_lock lock(mutex);
  std::vector<int> tasks;
  for (std::size_t task = 0; task < places.size(); ++task)
    if (!places[task]) tasks.push_back(static_cast<int>(task));
  return tasks;
}

void RendezvousServer::State::serve() {
  try {
    for (;;) {
      wait();
      if (std::uint64_t count = 0; read(stop.get(), &count, sizeof count) > 0) return;
      for (Guest& guest : guests.advance()) admit(std::move(guest));
      if (!complete && !failed) look_after_tasks();
    }
  } catch (const Error& error) {
    fail(error);
  }
}

void RendezvousServer::State::wait() const {
  std::vector<pollfd> waiting{{stop.get(), POLLIN, 0}};
  guests.add_to(waiting);
  Duration time = Guests::kTime;
  for (const auto& place : places) {
    if (!place || complete || failed) continue;
    waiting.push_back({place->socket.get(), POLLIN, 0});
    time = std::min(time, place->deadline.remaining());
  }
  poll(waiting.data(), waiting.size(), static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(time).count()));
}

/// Lets a task join. If no job is possible with the task, the job fails; once the job is complete, only the task is
/// rejected.
void RendezvousServer::State::admit(Guest guest) {
  const auto refuse = [&](const Error& error) {
    reply(guest.socket, static_cast<std::uint32_t>(error.code()), error.text());
    if (!complete && !failed) fail(error);
  };
  if (failed) return refuse(*failed);
  const int task = guest.hello.from, tasks = guest.hello.tasks;
  const std::string who = std::string("(") + guest.particulars.who.data() + ")";
  if (tasks != static_cast<int>(places.size()) || task < 0 || task >= tasks)
    return refuse(Error(Code::usage, "rendezvous: a task " + who + " says that it is number " + std::to_string(task) +
                                         " of " + std::to_string(tasks) + ", in a job of " +
                                         std::to_string(places.size()))
                      .hint("WORLD_SIZE is the same for all tasks; RANK counts from 0"));
  auto& place = places[static_cast<std::size_t>(task)];
  if (place && complete && who == std::string("(") + place->particulars.who.data() + ")")
    return refuse(Error(Code::usage, "rendezvous: task " + std::to_string(task) + " " + who +
                                         " connects again, although its job has been formed")
                      .hint("connect once in a process, and copy the Cluster where it is needed"));
  if (place)
    return refuse(Error(Code::usage, "rendezvous: two tasks say that they are task {}", task)
                      .note(std::string("one is (") + place->particulars.who.data() + "), the other " + who)
                      .hint("give each task another RANK"));
  const Deadline deadline(system_clock(), std::chrono::milliseconds(guest.particulars.deadline));
  const std::scoped_lock lock(mutex);
  place.emplace(Place{std::move(guest.socket), guest.particulars, deadline});
}

void RendezvousServer::State::look_after_tasks() {
  const std::vector<int> absent = missing();
  if (absent.empty()) {
    complete = true;
    const std::string text = table();
    for (const auto& place : places) reply(place->socket, 0, text);
    return;
  }
  for (std::size_t task = 0; task < places.size(); ++task) {
    const auto& place = places[task];
    if (!place) continue;
    if (ended(place->socket))
      return fail({Code::peer_lost, "rendezvous: task " + std::to_string(task) + " (" + place->particulars.who.data() +
                                        ") ended before all tasks had come"});
    if (place->deadline.expired()) return fail(missed(absent));
  }
}

/// The error if the tasks `absent` have not joined before the deadline.
Error RendezvousServer::State::missed(const std::vector<int>& absent) const {
  Error error(Code::stalled, "rendezvous: " + tasks_text(absent) + " of " + std::to_string(places.size()) +
                                 " did not come before the deadline");
  if (guests.met_strangers())
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

std::string RendezvousServer::State::table() const {
  const Nonce job = tcp::new_nonce();
  std::string text(reinterpret_cast<const char*>(job.data()), job.size());
  for (const auto& place : places) {
    const Address& listens = place->particulars.listens;
    text.append(reinterpret_cast<const char*>(&listens), sizeof listens);
  }
  return text;
}

void RendezvousServer::State::fail(const Error& error) {
  failed = error;
  for (const auto& place : places)
    if (place) reply(place->socket, static_cast<std::uint32_t>(error.code()), error.text());
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
