#include "bench/processes/process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "base/error.hpp"
#include "base/system/clock.hpp"
#include "base/text.hpp"
#include "bench/benchmark.hpp"

namespace ferry::bench {
namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> found;
  found.reserve(texts.size() + 1);
  for (std::string& text : texts) found.push_back(text.data());
  found.push_back(nullptr);
  return found;
}

std::vector<std::string> environment_with(const std::vector<std::string>& settings) {
  std::vector<std::string> all = settings;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

/// Starts a program with the file descriptor `output` as its stdout.
pid_t start(const std::vector<std::string>& arguments, const std::vector<std::string>& settings, int output) {
  std::vector<std::string> words = arguments, environment = environment_with(settings);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  pid_t pid = 0;
  const int failed =
      posix_spawnp(&pid, words[0].c_str(), &files, nullptr, pointers(words).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw Error(Code::resource, "cannot start " + arguments[0] + ": " + std::strerror(failed));
  return pid;
}

std::string all_of(int file) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = read(file, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  return text;
}

/// How a program ended, such as "ended with exit code 3", from the status that wait4() gave.
std::string end_of(int status) {
  return WIFSIGNALED(status) ? "was killed by signal " + std::to_string(WTERMSIG(status))
                             : "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& arguments, const std::vector<std::string>& settings) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(Code::resource, "no pipe to " + arguments[0]);
  const TimePoint begin = system_clock().now();
  pid_t pid = 0;
  try {
    pid = start(arguments, settings, ends[1]);
  } catch (const Error&) {
    close(ends[0]);
    close(ends[1]);
    throw;
  }
  close(ends[1]);
  ProgramResult finished;
  finished.output = all_of(ends[0]);
  close(ends[0]);
  int status = 0;
  rusage usage{};
  wait4(pid, &status, 0, &usage);
  finished.seconds = std::chrono::duration<double>(system_clock().now() - begin).count();
  finished.resident_mib = static_cast<double>(usage.ru_maxrss) / 1024;
  if (status != 0)
    throw Error(Code::resource, arguments[0] + " " + end_of(status))
        .note("started as: " + join(arguments, " "))
        .hint(
            "start it by hand; a program in Python that a benchmark is compared with is left out where python3 has no "
            "PyTorch");
  return finished;
}

std::string this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

std::string beside_this_program(const std::string& name) {
  const auto folder = std::filesystem::path(this_program()).parent_path();
  for (const char* place : {"bench", "samples"}) {
    const auto found = folder / place / name;
    if (std::filesystem::exists(found)) return found.string();
  }
  throw Skipped{
      "their programs are only in a build folder of ferry, some only if it is built with MPI; run build/ferry bench "
      "there"};
}

}  // namespace ferry::bench
