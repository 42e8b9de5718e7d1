#include "comm/tcp/pmi.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/format.hpp"
#include "base/numbers.hpp"
#include "base/process/environment.hpp"
#include "base/system/machine.hpp"
#include "base/text.hpp"
#include "comm/backends.hpp"

namespace ferry::tcp {
namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr std::chrono::seconds kFinalizeTime{1};
/// The time for the other tasks of a failed job to learn of the failure, to print it and to end by themselves.
constexpr std::chrono::seconds kGrace{2};
/// The time for the launcher to forward output. With an abort, Hydra drops the output that it has not forwarded yet.
constexpr std::chrono::milliseconds kForwarding{500};

Error pmi_error(Code code, const std::string& what) {
  return {code, "rendezvous by PMI: " + what};
}

/// Duplicates the descriptor of the connection that the launcher has opened for this process.
net::Socket duplicate_pmi_socket(const std::string& number) {
  try {
    const int descriptor = whole_number("PMI_FD", number, 0, 1 << 20);
    net::Socket socket(fcntl(descriptor, F_DUPFD_CLOEXEC, 3));
    if (socket.open()) return socket;
    throw net::system_error(Code::usage, "PMI_FD=" + number + " is no open descriptor", errno);
  } catch (const Error& error) {
    throw pmi_error(Code::usage, error.text())
        .hint("start ferry by mpiexec or srun itself, or by a program that passes this descriptor on");
  }
}

/// The value of `name` in "cmd=… NAME=VALUE …".
std::optional<std::string> field(std::string_view line, std::string_view name) {
  for (const std::string_view word : split(line, ' '))
    if (word.starts_with(name) && word.substr(name.size()).starts_with('='))
      return std::string(word.substr(name.size() + 1));
  return std::nullopt;
}

/// Replaces `other` by `instead`. The protocol separates words by spaces, so a value must not contain a space.
std::string replace_char(std::string text, char other, char instead) {
  std::ranges::replace(text, other, instead);
  return text;
}

std::atomic<Standing> standing_here = Standing::outside;
std::atomic<bool> released = false;    // release_pmi() was called
std::atomic<bool> registered = false;  // leave_at_exit() was called
std::atomic<bool> connected = false;   // Pmi::here() has made the connection

/// Whether all tasks end by themselves: each of them comes to this fence at its exit with an error.
bool all_end(Pmi& pmi) {
  try {
    pmi.fence(Deadline(system_clock(), kGrace));
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Leaves the launcher at the exit of this process.
void leave(int status) noexcept {
  if (released) return;
  // Tasks that were stopped from outside save first, which may take long.
  const bool failed =
      status != 0 && status != static_cast<int>(Code::preempted) && standing_here != Standing::left && pmi_offered();
  if (!failed && !connected) return;
  // Otherwise the others would learn of an exit() in the middle of a job only when this process is gone.
  if (failed) leave_tcp(Code::peer_lost, "the process ended before the job was done (exit without close)", false);
  try {
    Pmi& pmi = Pmi::here(Deadline(system_clock(), kFinalizeTime));
    std::fflush(nullptr);  // the launcher may kill this process, too
    if (failed && !(standing_here == Standing::inside && all_end(pmi))) {
      system_clock().sleep(kForwarding);
      pmi.abort(status, Deadline(system_clock(), kFinalizeTime));
    } else {
      pmi.finalize(Deadline(system_clock(), kFinalizeTime));
    }
  } catch (const Error&) {  // the launcher has ended
  }
}

/// Calls leave() at the exit of this process, but not at the exit of its children.
void leave_at_exit() {
  if (registered.exchange(true)) return;
  on_exit(
      [](int status, void* process) {
        if (reinterpret_cast<std::intptr_t>(process) == getpid()) leave(status);
      },
      reinterpret_cast<void*>(static_cast<std::intptr_t>(getpid())));
}

}  // namespace

Pmi& Pmi::here(const Deadline& deadline) {
  leave_at_exit();
  static Pmi& pmi = *new Pmi(deadline);  // never destroyed, because leave() uses it while the process exits
  return pmi;
}

Pmi::Pmi(const Deadline& deadline) : socket_(duplicate_pmi_socket(environment("PMI_FD"))) {
  ask("cmd=init pmi_version=1 pmi_subversion=1", deadline);
  space_ = field(ask("cmd=get_my_kvsname", deadline), "kvsname").value_or("");
  connected = true;
}

void Pmi::finalize(const Deadline& deadline) {
  ask("cmd=finalize", deadline);
}

void Pmi::abort(int code, const Deadline& deadline) {
  send("cmd=abort exitcode=" + std::to_string(code), deadline);
}

void Pmi::put(std::string_view key, std::string text, const Deadline& deadline) {
  ask("cmd=put kvsname=" + space_ + " key=" + std::string(key) + " value=" + replace_char(std::move(text), ' ', '~'),
      deadline);
}

void Pmi::fence(const Deadline& deadline) {
  ask("cmd=barrier_in", deadline);
}

std::optional<std::string> Pmi::get(std::string_view key, const Deadline& deadline) {
  send("cmd=get kvsname=" + space_ + " key=" + std::string(key), deadline);
  const std::string answer = line(deadline);
  auto value = field(answer, "value");
  if (field(answer, "rc").value_or("0") != "0" || !value) return std::nullopt;
  return replace_char(std::move(*value), '~', ' ');
}

/// Sends a command and returns the answer. Error(usage) if the answer reports a failure.
std::string Pmi::ask(const std::string& command, const Deadline& deadline) {
  send(command, deadline);
  std::string answer = line(deadline);
  if (field(answer, "rc").value_or("0") != "0")
    throw pmi_error(Code::usage, formatted("the launcher answers {:?} to {:?}", answer, command));
  return answer;
}

void Pmi::send(const std::string& command, const Deadline& deadline) {
  const std::string text = command + "\n";
  if (!net::send_all(socket_, std::as_bytes(std::span(text)), deadline))
    throw pmi_error(Code::peer_lost, "the launcher has closed its connection");
}

std::string Pmi::line(const Deadline& deadline) {
  std::string text;
  for (;;) {
    char next = 0;
    // The launcher's socket blocks, so it must be ready before it is read.
    if (!net::ready(socket_, POLLIN, deadline) ||
        !net::receive_all(socket_, std::as_writable_bytes(std::span(&next, 1)), deadline)) {
      if (!deadline.expired()) throw pmi_error(Code::peer_lost, "the launcher has closed its connection");
      throw pmi_error(Code::stalled, "not all tasks came before the deadline")
          .hint(
              "see whether every process of the job runs ferry, with the same --transport; if srun starts several "
              "commands ('srun … : …'), use FERRY_RENDEZVOUS");
    }
    if (next == '\n') return text;
    text += next;
    if (text.size() > kLongestLine) throw pmi_error(Code::usage, "the launcher's answer is no line of PMI");
  }
}

std::string broadcast_from_task_0(int task, const std::string& mine, const Deadline& deadline) {
  static int turns = 0;  // each call uses a new key
  const std::string key = "ferry-" + std::to_string(turns++);
  Pmi& pmi = Pmi::here(deadline);
  if (task == 0) pmi.put(key, mine, deadline);
  pmi.fence(deadline);
  if (task == 0) return mine;
  if (auto text = pmi.get(key, deadline)) return std::move(*text);
  throw pmi_error(Code::usage, "task 0 has put up nothing there")
      .hint("see whether task 0 uses MPI, which this task has not found; ferry doctor says which MPI it finds");
}

void set_standing(Standing standing) {
  standing_here = standing;
}

}  // namespace ferry::tcp

namespace ferry {

bool pmi_offered() {
  return !environment("PMI_FD").empty();
}

void require_one_way(const MpiLaunch& launch, bool tcp, const std::string& way, std::chrono::milliseconds deadline) {
  // The mpiexec of MPICH and Intel MPI, unlike srun, set this variable, and accept that MPI_Init begins once more.
  if (launch.size == 1 || !pmi_offered() || environment("MPI_LOCALRANKID").empty()) return;
  constexpr std::string_view kTcp = "tcp", kMpi = "mpi";
  constexpr std::size_t kLongestWay = 400;
  const auto key = [](int task) { return "ferry-way-" + std::to_string(task); };
  const Deadline all_come(system_clock(), deadline);
  tcp::Pmi& pmi = tcp::Pmi::here(all_come);
  const std::string host = this_host_name();
  pmi.put(key(launch.rank), std::string(tcp ? kTcp : kMpi) + " " + host + " " + way.substr(0, kLongestWay), all_come);
  pmi.fence(all_come);
  if (tcp) return;
  const int before = (launch.rank + launch.size - 1) % launch.size;
  const std::string theirs = pmi.get(key(before), all_come).value_or("");
  const std::vector<std::string_view> words = split(theirs, ' ');
  if (words.size() < 3 || words[0] != kTcp) return;
  const std::string_view why = std::string_view(theirs).substr(words[0].size() + words[1].size() + 2);
  throw Error(Code::usage, "launch: task {} on host {} uses TCP ({}), but task {} on host {} uses {}", before, words[1],
              why, launch.rank, host, way)
      .hint("install the same MPI and ferry's plug-in for it on all hosts, or add --transport tcp for all tasks");
}

void end_others_at_exit() {
  if (pmi_offered() && !program_has_mpi()) tcp::leave_at_exit();
}

void release_pmi() noexcept {
  tcp::released = true;
}

void leave_pmi(Code code) noexcept {
  if (tcp::registered) tcp::leave(static_cast<int>(code));
}

}  // namespace ferry
