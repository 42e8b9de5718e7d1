#include "base/process/process.hpp"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/system/clock.hpp"

namespace ferry {
namespace {

constexpr auto kKillPatience = std::chrono::seconds(1);
constexpr auto kKillLook = std::chrono::milliseconds(1);

Error no_process(const std::string& what) {
  return Error(Code::resource, what + ": " + std::strerror(errno)).hint("higher limits: ulimit -n, ulimit -u");
}

bool is_named(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
}

std::vector<std::string> environment_of(const ProgramStart& program) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const auto named = [entry](const std::string& name) { return is_named(*entry, name); };
    const auto replaced = [entry](const auto& pair) { return is_named(*entry, pair.first); };
    if (std::any_of(program.unset.begin(), program.unset.end(), named)) continue;
    if (std::any_of(program.set.begin(), program.set.end(), replaced)) continue;
    entries.emplace_back(*entry);
  }
  for (const auto& [name, value] : program.set) entries.push_back(name + "=" + value);
  return entries;
}

std::vector<char*> ending_with_null(std::vector<std::string>& texts) {
  std::vector<char*> found;
  found.reserve(texts.size() + 1);
  for (std::string& text : texts) found.push_back(text.data());
  found.push_back(nullptr);
  return found;
}

/// Runs in the child after a fork, and executes the program. Uses only async-signal-safe functions. If a call fails,
/// writes its errno to the pipe `said`.
[[noreturn]] void become(const ProgramStart& program, char* const* words, char* const* environment, pid_t parent,
                         int said) {
  const auto replace = [](int from, int to) { return from < 0 || dup2(from, to) >= 0; };
  setpgid(0, 0);
  const bool dies = !program.dies_with_parent || prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
  if (program.dies_with_parent && getppid() != parent) _exit(1);  // the parent ended before prctl
  for (const int ignored : {SIGPIPE, SIGXFSZ}) signal(ignored, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (dies && replace(program.in, STDIN_FILENO) && replace(program.out, STDOUT_FILENO) &&
      replace(program.error, STDERR_FILENO)) {
    environ = const_cast<char**>(environment);  // execvp searches the PATH of this environment
    execvp(words[0], words);
  }
  const int error = errno;
  static_cast<void>(!write(said, &error, sizeof error));
  _exit(1);
}

}  // namespace

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw no_process("no pipe can be made");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

int start_program(const ProgramStart& program) {
  std::vector<std::string> arguments = program.arguments, entries = environment_of(program);
  const std::vector<char*> words = ending_with_null(arguments), environment = ending_with_null(entries);
  Pipe said = make_pipe();
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process < 0) throw no_process(formatted("cannot start {:?}", arguments[0]));
  if (process == 0) become(program, words.data(), environment.data(), parent, said.writer.get());
  setpgid(process, process);  // also here, because either process may run first
  said.writer.close();
  int error = 0;
  if (read(said.reader.get(), &error, sizeof error) != sizeof error) return process;
  waitpid(process, nullptr, 0);
  throw Error(Code::usage, "cannot start {:?}: {}", arguments[0], std::strerror(error))
      .hint("a program in PATH, or its path: ./NAME for one in this folder");
}

std::string ProcessEnd::text() const {
  if (signal != 0) return "was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  return "ended with exit code " + std::to_string(exit_code);
}

std::optional<ProcessEnd> next_ended_child() noexcept {
  siginfo_t ended{};
  if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) return {};
  // getpgid works only until waitpid.
  ProcessEnd end{.process = ended.si_pid, .group = getpgid(ended.si_pid)};
  waitpid(ended.si_pid, nullptr, WNOHANG);
  (ended.si_code == CLD_EXITED ? end.exit_code : end.signal) = ended.si_status;
  return end;
}

std::vector<ProcessId> adopt_orphans() {
  std::vector<ProcessId> before = child_processes();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  return before;
}

void kill_descendants(std::span<const ProcessId> spared) {
  // The children of a killed child become children of this process, so it takes several rounds.
  for (const Deadline patience(system_clock(), kKillPatience); !patience.expired(); system_clock().sleep(kKillLook)) {
    std::vector<ProcessId> children = child_processes();
    std::erase_if(children,
                  [&](const ProcessId& one) { return std::find(spared.begin(), spared.end(), one) != spared.end(); });
    if (children.empty()) return;
    for (const ProcessId& child : children) kill(static_cast<pid_t>(child.pid), SIGKILL);
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
  }
}

void signal_group(int process, int signal) noexcept {
  kill(-process, signal);
}

bool group_lives(int process) noexcept {
  return kill(-process, 0) == 0 || errno == EPERM;
}

std::string this_program_path() {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  if (size > 0) return {path.data(), static_cast<std::size_t>(size)};
  // Without /proc, use the path by which the program was started. It may be relative, but ferry never changes its
  // folder.
  const auto* const started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  std::error_code none;
  if (started != nullptr)
    if (const auto found = std::filesystem::absolute(started, none); !none) return found;
  throw Error(Code::resource, "the path of this program is not known, as there is no /proc").hint("mount /proc");
}

}  // namespace ferry
