#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "runner/pictures/plan_pictures.hpp"

extern char** environ;

namespace ferry {
namespace {

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(Code::resource, std::string("a pipe: ") + std::strerror(errno));
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(std::size_t end) {
    if (ends[end] >= 0) close(std::exchange(ends[end], -1));
  }
};

/// Graphviz's picture of `dot`, with straight arrows, or with its usual arrows and without its warnings. Nothing if it
/// fails.
std::optional<std::string> drawn(const std::string& dot, bool straight) {
  Pipe in, out;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.ends[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  if (!straight) posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const char* const words[] = {"dot", "-Tsvg", straight ? "-Gsplines=line" : nullptr, nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, "dot", &actions, nullptr, const_cast<char* const*>(words), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    throw Error(Code::usage, std::string("--svg: dot cannot be started: ") + std::strerror(failed))
        .hint("apt install graphviz, or --dot");
  in.close_end(0);
  out.close_end(1);
  // dot reads all its input before it writes, so that writing all of it first cannot deadlock.
  for (std::string_view rest = dot; !rest.empty();) {
    const ssize_t n = write(in.ends[1], rest.data(), rest.size());
    if (n < 0 && errno != EINTR) break;
    rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  }
  in.close_end(1);
  std::string svg;
  std::array<char, 65536> buffer{};
  for (ssize_t n; (n = read(out.ends[0], buffer.data(), buffer.size())) != 0;) {
    if (n < 0 && errno != EINTR) break;
    if (n > 0) svg.append(buffer.data(), static_cast<std::size_t>(n));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) return std::nullopt;
  return svg;
}

}  // namespace

std::string svg_of(const std::string& dot) {
  // Around many boxes graphviz may fail to bend an arrow; it then draws nothing.
  auto svg = drawn(dot, false);
  if (!svg) svg = drawn(dot, true);
  if (!svg) throw Error(Code::usage, "--svg: dot failed").hint("--dot shows what it was given");
  return *std::move(svg);
}

}  // namespace ferry
