#include "comm/tcp/pmi.hpp"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/format.hpp"
#include "base/numbers.hpp"
#include "base/process/environment.hpp"
#include "base/text.hpp"

namespace ferry::tcp {
namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr std::chrono::seconds kFinalizeTime{1};

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

}  // namespace

Pmi& Pmi::here(const Deadline& deadline) {
  static Pmi pmi(deadline);
  return pmi;
}

Pmi::Pmi(const Deadline& deadline) : socket_(duplicate_pmi_socket(environment("PMI_FD"))) {
  ask("cmd=init pmi_version=1 pmi_subversion=1", deadline);
  space_ = field(ask("cmd=get_my_kvsname", deadline), "kvsname").value_or("");
}

/// The launcher ends the job if a process exits without this goodbye.
Pmi::~Pmi() {
  if (failed_) return;
  try {
    ask("cmd=finalize", Deadline(system_clock(), kFinalizeTime));
  } catch (const Error&) {  // the launcher has ended
  }
}

void Pmi::fail(Error error) {
  failed_ = true;
  throw std::move(error);
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
      if (!deadline.expired()) fail(pmi_error(Code::peer_lost, "the launcher has closed its connection"));
      fail(pmi_error(Code::stalled, "not all tasks came before the deadline")
               .hint(
                   "see whether every process of the job runs ferry, with the same --transport; if srun starts several "
                   "commands ('srun … : …'), use FERRY_RENDEZVOUS"));
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
  pmi.fail(
      pmi_error(Code::usage, "task 0 has put up nothing there")
          .hint("see whether task 0 uses MPI, which this task has not found; ferry doctor says which MPI it finds"));
}

}  // namespace ferry::tcp

namespace ferry {

bool pmi_offered() {
  return !environment("PMI_FD").empty();
}

}  // namespace ferry
