#include "comm/tcp/join.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/system/interrupt.hpp"
#include "base/system/log.hpp"
#include "base/system/machine.hpp"
#include "comm/rendezvous.hpp"

namespace ferry::tcp {
namespace {

constexpr std::chrono::milliseconds kAgain{20};  // between attempts to connect
constexpr std::chrono::seconds kGrace{5};        // additional time for the server to report who is missing
constexpr std::uint64_t kLongestRefusal = 1 << 16;
constexpr std::chrono::milliseconds kLookAgain{100};    // between two reads of a notice
constexpr std::chrono::milliseconds kLookUpAgain{500};  // between two attempts to resolve a host's name
constexpr std::chrono::seconds kAttemptTime{2};         // time for an address that may be outdated
constexpr const char* kNewSecret =
    "export FERRY_SECRET=$(od -An -tx8 -N16 /dev/urandom | tr -d ' '), once, and give it to all tasks";

std::string where(const TcpOptions& options) {
  return "rendezvous at " + options.address + ":" + std::to_string(options.port);
}

bool lacks_secret(const Address& address, std::string_view secret) {
  return secret.empty() && !address.loopback();
}

/// The addresses at which task 0 may listen. If MASTER_ADDR is a name that is loopback on this host, task 0 may also
/// listen at an address that other hosts can reach (meeting_address).
std::vector<Address> meeting_addresses(const TcpOptions& options, const Deadline& deadline) {
  std::vector<Address> all = known_addresses(options, deadline);
  for (const Address& address : all) require_secret(address, options.secret);
  if (options.served || !is_loopback_name(options.address, all.front())) return all;
  for (net::HostAddress& other : net::host_addresses()) {
    other.address.set_port(options.port);
    if (!lacks_secret(other.address, options.secret)) all.push_back(other.address);
  }
  return all;
}

/// Adds to the error, for the user, the address of MASTER_ADDR on this host, and a probable cause.
Error explain_unreached(Error error, const TcpOptions& options, const Address& address, int why) {
  const std::string host = address.host();
  if (options.served) return error.hint("see whether ferry launch still runs");
  if (!options.rendezvous.empty()) return error.hint("see whether task 0 runs");
  if (address.loopback())
    error.note(options.address + (options.address == host ? "" : " is " + host + " here, which") +
               " reaches this host alone");
  else if (options.address != host)
    error.note(options.address + " is " + host + " here");
  std::string hint = "see whether task 0 runs, and whether MASTER_ADDR and MASTER_PORT are the same for all tasks";
  if (address.loopback())
    hint += "; where task 0 is on another host, MASTER_ADDR is its address in the network between the hosts";
  else if (why == ECONNREFUSED && options.address != host)
    hint += "; where " + options.address + " is loopback on its own host (/etc/hosts), task 0 takes --interface NAME";
  return error.hint(hint);
}

/// Connects to the rendezvous. Tries again until somebody listens, because task 0 may start later than others.
Socket connect_to_rendezvous(const TcpOptions& options, const Deadline& deadline) {
  for (;;) {
    const std::vector<Address> addresses = meeting_addresses(options, deadline);
    int first_error = 0;
    for (const Address& address : addresses) {
      Socket socket;
      // The name may have moved to another host; then nobody answers at the old address.
      const Deadline soon(system_clock(), std::min<Duration>(deadline.remaining(), kAttemptTime));
      const int error = net::connect_to(address, soon, socket);
      if (error == 0) return socket;
      if (first_error == 0) first_error = error;
    }
    if (deadline.expired())
      throw explain_unreached(net::system_error(Code::stalled, where(options) + ": nobody listens there", first_error),
                              options, addresses.front(), first_error);
    check_interrupt();
    system_clock().sleep(kAgain);
  }
}

/// Makes the socket to which other tasks connect. It listens on the interface that reaches the rendezvous, unless
/// `options` has another interface.
Socket listen_for_tasks(const Socket& server, const TcpOptions& options) {
  Address here = options.interface.empty() ? net::local_address(server) : net::interface_address(options.interface);
  here.set_port(0);
  require_secret(here, options.secret);
  return net::listen_at(here, "task " + std::to_string(options.task));
}

TaskFacts make_task_facts(const Socket& listener, const Deadline& deadline) {
  TaskFacts mine;
  mine.listens = net::local_address(listener);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.remaining()).count();
  mine.deadline = static_cast<std::uint32_t>(std::clamp<std::int64_t>(left, 1, UINT32_MAX));
  const std::string who = this_host_name().substr(0, 40) + ", process " + std::to_string(getpid());
  who.copy(mine.who.data(), mine.who.size() - 1);
  return mine;
}

/// Returns `hint`, which is about MASTER_PORT, if the user has set MASTER_PORT; else "".
std::string master_port_hint(const TcpOptions& options, const char* hint) {
  return options.served || !options.rendezvous.empty() ? "" : hint;
}

[[noreturn]] void throw_refusal(Greeting greeting, const TcpOptions& options) {
  if (greeting == Greeting::other_key)
    throw Error(Code::usage, where(options) + ": it has another secret than this task")
        .hint("set FERRY_SECRET to the same text for all tasks of a job" +
              master_port_hint(options, ", and MASTER_PORT to another port for each job"));
  if (greeting == Greeting::other_program)
    throw Error(Code::usage, where(options) + ": what answers there is no ferry, or another version")
        .hint("start the same build on all hosts" +
              master_port_hint(options, ", and set MASTER_PORT to a port that nothing else uses"));
  if (greeting == Greeting::silent)
    throw Error(Code::stalled, where(options) + ": what listens there does not answer")
        .hint("see whether task 0 runs" +
              master_port_hint(options, ", and whether MASTER_PORT belongs to another program"));
  throw Error(Code::peer_lost, where(options) + ": the connection ended before the job was formed")
      .hint("see what task 0, or ferry launch, says");
}

Joined read_reply(const Socket& server, const TcpOptions& options) {
  const Deadline deadline(system_clock(), options.deadline + kGrace);
  ReplyHead head;
  if (!net::receive_all(server, std::as_writable_bytes(std::span(&head, 1)), deadline))
    throw_refusal(Greeting::ended, options);
  const auto tasks = static_cast<std::size_t>(options.tasks);
  const std::uint64_t right = sizeof(Nonce) + tasks * sizeof(Address);
  if (head.code == 0 ? head.bytes != right : head.bytes > kLongestRefusal)
    throw_refusal(Greeting::other_program, options);
  std::string body(head.bytes, '\0');
  if (!net::receive_all(server, std::as_writable_bytes(std::span(body)), deadline))
    throw_refusal(Greeting::ended, options);
  if (head.code != 0) throw Error(static_cast<Code>(head.code), body);
  Joined joined;
  joined.addresses.resize(tasks);
  std::memcpy(joined.job.data(), body.data(), sizeof joined.job);
  std::memcpy(joined.addresses.data(), body.data() + sizeof joined.job, tasks * sizeof(Address));
  return joined;
}

Hello hello_of(const TcpOptions& options) {
  Hello hello;
  hello.purpose = Purpose::rendezvous;
  hello.from = options.task;
  hello.tasks = options.tasks;
  hello.nonce = new_nonce();
  return hello;
}

void require_long_secret(std::string_view secret) {
  if (!secret.empty() && secret.size() < kShortestSecret)
    throw Error(Code::usage, "FERRY_SECRET has {} characters; a secret has {} or more", secret.size(), kShortestSecret)
        .hint(kNewSecret);
}

/// Why a task could not join at a notice.
struct JoinFault {
  Error error;
  bool other_key = false;   ///< a ferry answered that has another secret, or is of another job
  std::string notice = {};  ///< the text of the notice
};

/// Connects to the server at the meeting point of a notice, and does the handshake. Returns the fault, or nothing if it
/// succeeds.
std::optional<JoinFault> greet_at(const MeetingPoint& point, const TcpOptions& options, const Deadline& deadline,
                                  Socket& server, Socket& listener) {
  const auto wrong = [&](const std::string& why) { return Error(Code::stalled, point.address.str() + why); };
  if (lacks_secret(point.address, options.secret))
    return JoinFault{wrong(" can be reached from other machines, and this task has no secret").hint(kNewSecret)};
  // Independent of `deadline`, so that the last try has the full time too.
  const Deadline soon(system_clock(), kAttemptTime);
  if (const int error = net::connect_to(point.address, soon, server); error != 0)
    return JoinFault{net::system_error(Code::stalled, wrong(", where nobody listens").text(), error)
                         .hint("see whether task 0 runs; its --interface says by which network it is reached")};
  listener = listen_for_tasks(server, options);
  const Greeting greeting = greet(server, rendezvous_key(options.secret, point.job), hello_of(options),
                                  make_task_facts(listener, deadline), soon);
  if (greeting == Greeting::well) return std::nullopt;
  if (greeting == Greeting::other_key)
    return JoinFault{wrong(", where another job answers, or one with another secret")
                         .hint("set FERRY_SECRET to the same text for all tasks of a job"),
                     true};
  return JoinFault{
      wrong(", where no ferry answers, or another version").hint("see whether task 0 runs, by the same build")};
}

/// Joins the job of a notice. Returns nothing, and sets `wrong` to the fault, if no server of that job answers there.
/// Another secret stays the fault of a notice when its task 0 has ended since.
std::optional<Joined> join_at(const MeetingPoint& point, const std::string& notice, const TcpOptions& options,
                              const Deadline& deadline, std::optional<JoinFault>& wrong) {
  Socket server, listener;
  if (auto fault = greet_at(point, options, deadline, server, listener)) {
    fault->notice = notice;
    if (!wrong || !wrong->other_key || wrong->notice != notice) wrong = std::move(fault);
    return std::nullopt;
  }
  TcpOptions there = options;
  there.address = point.address.host();
  there.port = point.address.port();
  Joined joined = read_reply(server, there);
  joined.listener = std::move(listener);
  return joined;
}

}  // namespace

std::vector<Address> known_addresses(const TcpOptions& options, const Deadline& deadline) {
  for (bool warned = false;; warned = true) {
    try {
      return net::resolve(options.address, options.port, where(options));
    } catch (const Error&) {
      if (deadline.expired()) throw;
    }
    if (!warned) log_warn(where(options) + ": the host is not known yet; ferry looks it up until the deadline");
    check_interrupt();
    system_clock().sleep(std::min<Duration>(deadline.remaining(), kLookUpAgain));
  }
}

bool is_loopback_name(const std::string& name, const Address& address) {
  return address.loopback() && name != "localhost" && name != address.host() && name != "[" + address.host() + "]";
}

void require_secret(const Address& address, std::string_view secret) {
  require_long_secret(secret);
  if (lacks_secret(address, secret))
    throw Error(Code::usage, "tcp: " + address.host() + " can be reached from other machines, and there is no secret" +
                                 " by which the tasks of this job know each other")
        .hint(kNewSecret);
}

std::string rendezvous_key(const std::string& secret, const std::string& job) {
  if (job.empty()) return secret;
  const Sha256 key = hmac_sha256(secret, "ferry rendezvous " + job);
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

Joined join(const TcpOptions& options, const std::string& job, const Deadline& deadline) {
  const std::string key = rendezvous_key(options.secret, job);
  Socket listener;
  for (;;) {
    const Socket server = connect_to_rendezvous(options, deadline);
    if (!listener.open()) listener = listen_for_tasks(server, options);
    const Greeting greeting = greet(server, key, hello_of(options), make_task_facts(listener, deadline), deadline);
    if (greeting == Greeting::well) {
      Joined joined = read_reply(server, options);
      joined.listener = std::move(listener);
      return joined;
    }
    if (greeting != Greeting::ended || deadline.expired()) throw_refusal(greeting, options);
    check_interrupt();
    system_clock().sleep(kAgain);  // a crowd of strangers can take all places
  }
}

Joined join_by_notice(const TcpOptions& options, Notice& notice, const Deadline& deadline) {
  require_long_secret(options.secret);
  const Deadline answers(system_clock(), options.deadline + kGrace);
  std::optional<JoinFault> wrong;  // at the last notice, which may have been removed since
  for (;;) {
    if (const auto text = notice.get(answers))
      if (auto joined = join_at(meeting_point(notice, *text), *text, options, deadline, wrong))
        return std::move(*joined);
    if (deadline.expired()) {
      const std::string by = "rendezvous by " + notice.where() + ": ";
      if (wrong) throw Error(Code::stalled, by + "the notice there says " + wrong->error.text());
      throw Error(Code::stalled, by + "task 0 has put up no notice there before the deadline")
          .hint("see whether task 0 runs, with the same FERRY_RENDEZVOUS");
    }
    check_interrupt();
    system_clock().sleep(std::min<Duration>(deadline.remaining(), kLookAgain));
  }
}

void require_no_other_task_0(const MeetingPoint& point, const TcpOptions& options, const Deadline& deadline) {
  std::optional<JoinFault> gone;
  static_cast<void>(join_at(point, {}, options, deadline, gone));
}

}  // namespace ferry::tcp
