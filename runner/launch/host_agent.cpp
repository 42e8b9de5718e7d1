#include "runner/launch/host_agent.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/system/machine.hpp"
#include "base/text.hpp"
#include "runner/launch/slurm.hpp"

namespace ferry {
namespace {

constexpr int kSshFailed = 255, kNotFound = 127, kNotExecutable = 126;

/// Parts of the messages of ssh if a host, such as a container that is still starting, cannot be reached yet.
constexpr std::string_view kNotYet[] = {"Connection refused", "Could not resolve hostname", "No route to host"};

bool is_temporary_failure(std::string_view line) {
  return std::ranges::any_of(kNotYet, [&](std::string_view part) { return line.find(part) != std::string_view::npos; });
}

/// srun's message on a cluster that cannot bind tasks to cores, even if it is asked to bind none.
constexpr std::string_view kNoBinding = "cluster configuration lacks support for cpu binding";

/// The path as a word of a POSIX shell.
std::string shell_word(const std::string& path) {
  std::string word = "'";
  for (const char c : path) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

bool by_srun(const LaunchHost& host, const LaunchOptions& options) {
  return host.by_srun && options.ssh.empty();
}

/// Whether the agent is a child of this process. On a node of the job, srun starts it unless this process is in a step.
/// Otherwise its tasks could use CPUs that the job does not have.
bool starts_here(const LaunchHost& host, const LaunchOptions& options) {
  return is_this_host(host.name) && (!by_srun(host, options) || in_slurm_step());
}

std::vector<std::string> ssh_command(const LaunchOptions& options, const std::string& host) {
  std::vector<std::string> words;
  const std::string command = options.ssh.empty() ? "ssh" : options.ssh;
  for (const std::string_view word : split(command, ' '))
    if (!word.empty()) words.emplace_back(word);
  if (words.empty()) throw Error(Code::usage, "--ssh: no command").hint("--ssh \"ssh -p 2222\"");
  const auto seconds = std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(options.arrival_wait).count());
  // ssh must never ask for a password, and must notice a lost connection. The user's options come first, so they win.
  for (const std::string& word :
       {std::string("-T"), std::string("-x"), std::string("-oBatchMode=yes"),
        "-oConnectTimeout=" + std::to_string(seconds), std::string("-oServerAliveInterval=10"), host,
        "exec " + shell_word(this_program_path()) + " launch --agent"})
    words.push_back(word);
  return words;
}

ProgramStart program_of(const LaunchHost& host, bool remote, const LaunchOptions& options) {
  const std::vector<std::string> agent{this_program_path(), "launch", "--agent"};
  if (!remote) return {.arguments = agent, .dies_with_parent = false};
  if (!by_srun(host, options)) return {.arguments = ssh_command(options, host.name)};
  ProgramStart srun = srun_program(host);
  srun.arguments.insert(srun.arguments.end(), agent.begin(), agent.end());
  return srun;
}

}  // namespace

HostAgent::HostAgent(HostTasks tasks, const LaunchOptions& options, std::string earlier)
    : HostAgent(std::move(tasks), options, std::move(earlier), make_pipe(), make_pipe(), make_pipe()) {}

HostAgent::HostAgent(HostTasks tasks, const LaunchOptions& options, std::string earlier, Pipe to, Pipe from,
                     Pipe stderr_pipe)
    : tasks_(std::move(tasks)),
      by_srun_(by_srun(tasks_.host, options)),
      stderr_last_(std::move(earlier)),
      wire_(std::move(from.reader), std::move(to.writer), kAgentBegins) {
  const bool remote = !starts_here(tasks_.host, options);
  ProgramStart program = program_of(tasks_.host, remote, options);
  program.in = to.reader.get();
  program.out = from.writer.get();
  if (remote) {
    program.error = stderr_pipe.writer.get();
    stderr_pipe_ = std::move(stderr_pipe.reader);
    never_wait(stderr_pipe_);
  }
  process_ = start_program(program);
  running = tasks_.count;
}

std::vector<std::string> HostAgent::read_stderr() {
  std::array<char, 4096> buffer{};
  const ssize_t got = read(stderr_pipe_.get(), buffer.data(), buffer.size());
  stderr_ended_ = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  if (got > 0) stderr_partial_.append(buffer.data(), static_cast<std::size_t>(got));
  if (stderr_ended_ && !stderr_partial_.empty()) stderr_partial_ += '\n';
  std::vector<std::string> lines;
  for (std::size_t end = 0; (end = stderr_partial_.find('\n')) != std::string::npos;
       stderr_partial_.erase(0, end + 1)) {
    const std::string_view line = trimmed(std::string_view(stderr_partial_).substr(0, end));
    if (line.empty() || line.find(kNoBinding) != std::string_view::npos) continue;
    stderr_last_ = formatted("{:.400}", line);
    if (!may_retry()) lines.push_back(stderr_last_);
  }
  return lines;
}

bool HostAgent::may_retry() const {
  return is_remote() && !by_srun_ && !hello && is_temporary_failure(stderr_last_);
}

Error HostAgent::lost() const {
  const std::string where = "host " + name() + " (" + tasks_.host.where + "): ";
  const std::string why = stderr_last_.empty() ? "" : ": " + stderr_last_;
  const int code = end ? end->code() : 0;
  if (!is_remote())
    return Error(Code::peer_lost, where + "the agent that runs its tasks " + (end ? end->text() : "is gone"));
  if (!hello && (code == kNotFound || code == kNotExecutable))
    return Error(Code::usage, where + "there is no " + this_program_path() + why)
        .hint("install ferry at the same path on all hosts");
  if (!hello && by_srun_)
    return Error(Code::peer_lost, where + "srun cannot start ferry there" + why)
        .hint("srun --overlap --nodelist=" + name() + " true; or --ssh ssh");
  if (!hello && may_retry())
    return Error(Code::peer_lost, where + "it cannot be reached by ssh" + why)
        .hint("a longer --deadline, or ssh " + name() + " true");
  if (!hello)
    return Error(Code::peer_lost, where + "it cannot be reached by ssh" + why)
        .hint(code == kSshFailed ? "ssh " + name() + " must work without a password; --ssh \"ssh -p PORT -i KEY\""
                                 : "ssh " + name() + " true");
  return Error(Code::peer_lost, where + "the connection is lost" + why);
}

}  // namespace ferry
