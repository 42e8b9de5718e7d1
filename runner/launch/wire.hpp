// The protocol between the launcher and its agents, one on each host, over a pipe or ssh. A frame has a kind, the
// number of a task, and data.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/descriptor.hpp"
#include "base/process/poll.hpp"

namespace ferry {

enum class LaunchFrameKind : std::uint8_t {
  // From an agent.
  hello = 1,    ///< the agent runs: AgentHello, packed
  started,      ///< all tasks run: their process ids, packed
  output,       ///< bytes that a task wrote to stdout
  error,        ///< bytes that a task wrote to stderr
  input_taken,  ///< number of bytes of `input` that the task took or that were dropped, packed
  ended,        ///< the end of a task, after its output: exit code and signal, packed
  refused,      ///< the agent could not carry out a command: code and text of the error, packed
  // From the launcher.
  start,      ///< StartTasks, packed
  input,      ///< bytes for a task's stdin
  input_end,  ///< the end of a task's stdin
  signal      ///< a signal for all tasks: its number, packed
};

struct LaunchFrame {
  LaunchFrameKind kind{};
  int task = 0;
  std::string data;
};

/// Packs texts without NUL into the data of a frame, and unpacks them.
[[nodiscard]] std::string packed(std::span<const std::string> texts);
[[nodiscard]] std::vector<std::string> unpacked(std::string_view data);

/// An agent's description of itself.
struct AgentHello {
  std::string version;   ///< version of ferry, which must be the launcher's
  std::string host;      ///< the machine's name
  std::string cores;     ///< "0-3": the cores that tasks may run on
  std::string launcher;  ///< the launcher's address as the host sees it; "" if it is not known

  [[nodiscard]] std::string data() const;
  /// Error(peer_lost) for malformed data.
  [[nodiscard]] static AgentHello of(std::string_view data);
};

/// The request to start tasks on an agent's host.
struct StartTasks {
  std::string folder;  ///< the current folder of the tasks
  int first = 0, count = 0;
  std::chrono::milliseconds grace{};  ///< for tasks to end if the launcher is gone and they were asked to end
  std::vector<std::string> command = {};
  std::vector<std::string> variables = {};  ///< "NAME=VALUE", the same for all

  [[nodiscard]] std::string data() const;
  /// Error(peer_lost) for malformed data.
  [[nodiscard]] static StartTasks of(std::string_view data);
};

/// One end of the connection. Reading and writing never block.
class AgentWire {
 public:
  /// Makes both descriptors non-blocking. Drops input up to `begin`, such as the greeting of a login shell.
  AgentWire(Descriptor in, Descriptor out, std::string_view begin);

  /// Puts a frame into the output queue.
  void enqueue(LaunchFrameKind kind, int task, std::string_view data);
  /// Puts text that is not a frame into the output queue.
  void enqueue_text(std::string_view text) { unsent_ += text; }
  /// Writes as much of the queue as possible. If nobody reads any more, drops the queue and all later frames.
  void send();
  /// Reads the available input. At the end of the input, closed() becomes true.
  void receive();
  /// The next frame that was read. Error(peer_lost) for malformed data.
  [[nodiscard]] std::optional<LaunchFrame> next();

  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] std::size_t unsent() const { return unsent_.size(); }
  /// Descriptors for wait_ready(): to_read() waits for input, if `wanted`; to_write() waits until the queue can be
  /// written, if it is not empty.
  [[nodiscard]] DescriptorWatch to_read(bool wanted = true) const {
    return {in_.get(), wanted && !closed_, false, false};
  }
  [[nodiscard]] DescriptorWatch to_write() const { return {out_.get(), false, !closed_ && !unsent_.empty(), false}; }
  /// Ends the output. The other side's receive() finds its end.
  void close() {
    out_.close();
    closed_ = true;
  }

 private:
  Descriptor in_, out_;
  std::string begin_;  // the text that comes before the frames; empty when it was found
  std::string unsent_, unread_;
  std::size_t consumed_ = 0;  // bytes of unread_ that next() has returned
  bool closed_ = false;
  bool reader_gone_ = false;  // the other side reads no more
};

/// The text that an agent sends before its first frame. The launcher drops all output before it.
inline constexpr std::string_view kAgentBegins = "\nferry launch agent 1\n";

}  // namespace ferry
