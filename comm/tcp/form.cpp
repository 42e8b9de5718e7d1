// Forms a job: each task connects to all tasks with a lower number, and accepts connections from the others.
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "base/hash.hpp"
#include "base/system/interrupt.hpp"
#include "comm/failure.hpp"
#include "comm/rendezvous.hpp"
#include "comm/tcp/job.hpp"
#include "comm/tcp/join.hpp"
#include "comm/tcp/pmi.hpp"

namespace ferry::tcp {
namespace {

constexpr std::chrono::milliseconds kConnectPause{20};  // between attempts to connect
constexpr std::chrono::milliseconds kSignalled{100};    // a signal to a job reaches all tasks within this time
constexpr rlim_t kOtherDescriptors = 64;                // descriptors of this process besides its connections

/// Raises the limit of descriptors if connections to all tasks need it.
void make_room_for(int tasks) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t needed = static_cast<rlim_t>(tasks) + HandshakeAcceptor::capacity_for(tasks) + kOtherDescriptors;
  if (limit.rlim_cur >= needed) return;
  limit.rlim_cur = std::min(needed, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= needed) return;
  throw Error(Code::resource, "tcp: a job of {} tasks needs {} descriptors in each process, which may have {}", tasks,
              needed, limit.rlim_cur)
      .hint("ulimit -n {}", needed);
}

/// The key of this job's connections. No other job has this key, so nobody can replay messages that were recorded in
/// another job.
std::string job_key(const std::string& secret, const Nonce& job) {
  const Sha256 key =
      hmac_sha256(secret, "ferry job " + std::string(reinterpret_cast<const char*>(job.data()), job.size()));
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

Error lost_while_forming(int task, const std::string& why) {
  return {Code::peer_lost, "tcp: task " + std::to_string(task) + " ended while the job was being formed: " + why};
}

Socket connect_to_peer(int peer, const Address& address, const std::string& key, const TcpOptions& options,
                       const Deadline& deadline) {
  Hello hello;
  hello.purpose = Purpose::peer;
  hello.from = options.task;
  hello.to = peer;
  hello.tasks = options.tasks;
  for (;;) {
    Socket socket;
    const int error = net::connect_to(address, deadline, socket);
    if (error == ETIMEDOUT || deadline.expired())
      throw Error(Code::stalled, "tcp: task " + std::to_string(peer) + " at " + address.str() +
                                     " cannot be reached before the deadline")
          .hint("see whether a firewall is between the hosts; --interface chooses another network");
    if (error != 0) throw net::system_error(Code::peer_lost, lost_while_forming(peer, address.str()).text(), error);
    hello.nonce = new_nonce();
    const Greeting greeting = greet(socket, key, hello, {}, deadline);
    if (greeting == Greeting::well) return socket;
    if (greeting == Greeting::other_key || greeting == Greeting::other_program)
      throw lost_while_forming(peer, "another program answers at " + address.str());
    system_clock().sleep(kConnectPause);  // many unknown connections can take all places
  }
}

/// Throws Error(peer_lost) if a connection has ended. Does not read data that peers send already.
void check_connections(const std::vector<Socket>& connections, std::vector<pollfd>& waiting, std::size_t first) {
  std::size_t at = first;
  for (std::size_t task = 0; task < connections.size(); ++task) {
    if (!connections[task].open()) continue;
    if ((waiting[at++].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0)
      throw lost_while_forming(static_cast<int>(task), "its connection was closed");
  }
}

void accept_others(const Socket& listener, const std::string& key, std::vector<Socket>& connections,
                   const TcpOptions& options, const Deadline& deadline) {
  HandshakeAcceptor acceptor(listener, key, Purpose::peer, options.task, options.tasks);
  for (;;) {
    std::vector<int> absent;
    for (int task = options.task + 1; task < options.tasks; ++task)
      if (!connections[task].open()) absent.push_back(task);
    if (absent.empty()) return;
    check_interrupt();
    if (deadline.expired())
      throw Error(Code::stalled, "tcp: " + tasks_text(absent) + " of " + std::to_string(options.tasks) +
                                     " did not connect to task " + std::to_string(options.task) +
                                     " before the deadline");
    std::vector<pollfd> waiting;
    acceptor.add_to(waiting);
    const std::size_t first = waiting.size();
    for (const Socket& socket : connections)
      if (socket.open()) waiting.push_back({socket.get(), POLLRDHUP, 0});
    const auto time = std::chrono::ceil<std::chrono::milliseconds>(
        std::min<Duration>(deadline.remaining(), HandshakeAcceptor::kTime));
    poll(waiting.data(), waiting.size(), static_cast<int>(time.count()));
    check_connections(connections, waiting, first);
    for (AcceptedConnection& connection : acceptor.advance()) {
      const int task = connection.hello.from;
      if (task <= options.task || task >= options.tasks || connection.hello.tasks != options.tasks) continue;
      Socket& place = connections[task];
      if (!place.open()) place = std::move(connection.socket);
    }
  }
}

/// The address at which task 0 listens: MASTER_ADDR. If MASTER_ADDR is a host name that is loopback on its own host,
/// and --interface is given: the address of that interface, which other hosts can reach.
Address meeting_address(const TcpOptions& options, const Deadline& deadline) {
  const std::vector<Address> all = known_addresses(options, deadline);
  const auto own = std::ranges::find_if(all, net::is_own);
  const Address address = own != all.end() ? *own : all.front();
  if (options.interface.empty() || !is_loopback_name(options.address, address)) return address;
  return net::interface_address(options.interface);
}

/// Waits a moment for a signal to stop. A job's tasks get such a signal one after another, so a task that has ended may
/// only have got it first. Then this task should report the interrupt, not the lost task.
void await_interrupt() {
  for (const Deadline soon(system_clock(), kSignalled); interrupt_requested() == 0 && !soon.expired();)
    system_clock().sleep(kConnectPause);
}

/// Joins a job with a rendezvous at an address that all tasks know. Task 0 runs its server.
Joined join_by_address(const TcpOptions& options, const Deadline& deadline) {
  if (options.task != 0 || options.served) return join(options, "", deadline);
  const RendezvousServer server({.address = meeting_address(options, deadline).host(),
                                 .port = options.port,
                                 .tasks = options.tasks,
                                 .secret = options.secret,
                                 .name = options.address});
  TcpOptions here = options;
  here.address = server.address();
  return join(here, "", deadline);
}

/// Returns `options`. For a job that meets by PMI, adds a secret that task 0 makes. The launcher passes it only to this
/// job.
TcpOptions with_secret(TcpOptions options, const Deadline& deadline) {
  if (options.rendezvous != kPmiPlace) return options;
  require_one_way({options.task, options.tasks, ""}, true, options.reason, options.deadline);
  const std::string made = broadcast_from_task_0(options.task, hex_digest(new_nonce()), deadline);
  if (options.secret.empty()) options.secret = made;
  return options;
}

/// Joins a job by the notice of task 0. When it returns, all tasks have come, so that nobody needs the notice any more.
Joined join_or_announce(const TcpOptions& options, const Deadline& deadline) {
  const auto notice = notice_at(options.rendezvous, options.task);
  if (options.task != 0 || options.served) return join_by_notice(options, *notice, deadline);
  const Announcement announcement(options, *notice, deadline, [&](const MeetingPoint& point) {
    require_no_other_task_0(point, options, deadline);
  });
  TcpOptions here = options;
  here.address = announcement.point().address.host();
  here.port = announcement.point().address.port();
  return join(here, announcement.point().job, deadline);
}

}  // namespace

std::shared_ptr<Job> form_job(const TcpOptions& given) try {
  FERRY_ASSERT(given.task >= 0 && given.task < given.tasks, "task out of range");
  const Deadline deadline(system_clock(), given.deadline);
  const TcpOptions options = with_secret(given, deadline);
  std::vector<Socket> connections(static_cast<std::size_t>(options.tasks));
  int tasks_here = 1;
  if (options.tasks > 1) {
    make_room_for(options.tasks);
    const Joined joined =
        options.rendezvous.empty() ? join_by_address(options, deadline) : join_or_announce(options, deadline);
    const std::string here = joined.addresses[options.task].host();
    tasks_here = static_cast<int>(std::ranges::count(joined.addresses, here, &Address::host));
    const std::string key = job_key(options.secret, joined.job);
    for (int peer = 0; peer < options.task; ++peer) {
      const auto at = static_cast<std::size_t>(peer);
      connections[at] = connect_to_peer(peer, joined.addresses[at], key, options, deadline);
    }
    accept_others(joined.listener, key, connections, options, deadline);
    for (const Socket& socket : connections)
      if (socket.open()) net::watch_link(socket, options.deadline);
  }
  return std::make_shared<Job>(options.task, std::move(connections), tasks_here, options.deadline);
} catch (const Error& error) {
  if (error.code() == Code::peer_lost) await_interrupt();
  check_interrupt();
  throw;
}

}  // namespace ferry::tcp
