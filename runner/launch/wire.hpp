// What the launcher and its agents, one on each host, say to each other over a pipe or ssh: frames of a kind, a task's
// number and data.
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
  // Of an agent.
  hello = 1,    ///< it runs: AgentHello, packed
  started,      ///< all tasks run: their process ids, packed
  output,       ///< bytes that a task wrote to stdout
  error,        ///< bytes that a task wrote to stderr
  input_taken,  ///< as many bytes of `input` as the data have are with the task or dropped
  ended,        ///< a task's end, after its output: exit code and signal, packed
  refused,      ///< what was asked for cannot be done: code and text of an error, packed
  // Of the launcher.
  start,      ///< StartTasks, packed
  input,      ///< bytes for a task's stdin
  input_end,  ///< there are no more
  signal      ///< a signal for all tasks: its number, packed
};

struct LaunchFrame {
  LaunchFrameKind kind{};
  int task = 0;
  std::string data;
};

/// Texts, which have no NUL, as the data of a frame, and back.
[[nodiscard]] std::string packed(std::span<const std::string> texts);
[[nodiscard]] std::vector<std::string> unpacked(std::string_view data);

/// An agent says who it is.
struct AgentHello {
  std::string version;   ///< of ferry, which must be the launcher's
  std::string host;      ///< the machine's name
  std::string cores;     ///< "0-3": those that tasks may run on
  std::string launcher;  ///< the launcher's address as the host sees it; "" without ssh

  [[nodiscard]] std::string data() const;
  /// Error(peer_lost) for malformed data.
  [[nodiscard]] static AgentHello of(std::string_view data);
};

/// Which tasks an agent starts, and how.
struct StartTasks {
  std::string folder;  ///< the current one of the tasks
  int first = 0, count = 0;
  std::chrono::milliseconds grace{};  ///< for tasks that were asked to end when the launcher is gone
  std::vector<std::string> command = {};
  std::vector<std::string> variables = {};  ///< "NAME=VALUE", the same for all

  [[nodiscard]] std::string data() const;
  /// Error(peer_lost) for malformed data.
  [[nodiscard]] static StartTasks of(std::string_view data);
};

/// One end of the connection. Neither reading nor writing ever waits.
class AgentWire {
 public:
  /// Both are set so that they never wait. Text before `begin`, such as the greeting of a login shell, is dropped.
  AgentWire(Descriptor in, Descriptor out, std::string_view begin);

  /// Puts a frame into the output queue.
  void say(LaunchFrameKind kind, int task, std::string_view data);
  /// Puts text into that queue which is no frame.
  void say_raw(std::string_view text) { unsent_ += text; }
  /// Writes as much of the queue as goes. If nobody reads any more, this frame and all later frames are dropped.
  void send();
  /// Reads what there is; at its end, closed() becomes true.
  void receive();
  /// The next frame that was read. Error(peer_lost) for malformed data.
  [[nodiscard]] std::optional<LaunchFrame> next();

  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] std::size_t unsent() const { return unsent_.size(); }
  /// What to wait for: what can be read, if `wanted`, and, of the second, that something can be written if there is
  /// any.
  [[nodiscard]] DescriptorWatch to_read(bool wanted = true) const {
    return {in_.get(), wanted && !closed_, false, false};
  }
  [[nodiscard]] DescriptorWatch to_write() const { return {out_.get(), false, !closed_ && !unsent_.empty(), false}; }
  /// Says no more; the other side's receive() finds the end.
  void close() {
    out_.close();
    closed_ = true;
  }

 private:
  Descriptor in_, out_;
  std::string begin_;  // what frames come after; empty: it was found
  std::string unsent_, unread_;
  std::size_t told_ = 0;  // bytes of unread_ that next() has returned
  bool closed_ = false;
  bool deaf_ = false;  // the other side reads no more
};

/// The first frame that an agent sends, and the first that it reads.
inline constexpr std::string_view kAgentBegins = "\nferry launch agent 1\n";

}  // namespace ferry
