#include "runner/launch/wire.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

constexpr std::size_t kHeadBytes = 9;          // kind, task, bytes of data
constexpr std::uint32_t kMostData = 16 << 20;  // bytes; far more than a command and its environment have
constexpr std::size_t kReadBytes = 64 << 10;
constexpr std::size_t kMostGreeting = 1 << 20;  // bytes before an agent's first frame

void append_u32(std::string& to, std::uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) to += static_cast<char>(number >> shift & 0xff);
}

std::uint32_t u32_at(std::string_view text, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number |= std::uint32_t{static_cast<unsigned char>(text[at + i])} << 8 * i;
  return number;
}

Error not_understood() {
  return Error(Code::peer_lost, "the launcher and an agent do not understand each other")
      .hint("the same version of ferry on all hosts");
}

int as_number(std::string_view text) {
  return whole_number("a number of the launcher", text, 0, 1 << 30);
}

}  // namespace

std::string packed(std::span<const std::string> texts) {
  std::string data;
  for (const std::string& text : texts) data.append(text).append(1, '\0');
  return data;
}

std::vector<std::string> unpacked(std::string_view data) {
  std::vector<std::string> texts;
  for (std::size_t end = 0; (end = data.find('\0')) != std::string_view::npos; data.remove_prefix(end + 1))
    texts.emplace_back(data.substr(0, end));
  return texts;
}

std::string AgentHello::data() const {
  return packed(std::array{version, host, cores, launcher});
}

AgentHello AgentHello::of(std::string_view data) {
  const auto texts = unpacked(data);
  if (texts.size() != 4) throw not_understood();
  return {.version = texts[0], .host = texts[1], .cores = texts[2], .launcher = texts[3]};
}

std::string StartTasks::data() const {
  std::vector<std::string> texts = {folder, std::to_string(first), std::to_string(count), std::to_string(grace.count()),
                                    std::to_string(command.size())};
  texts.insert(texts.end(), command.begin(), command.end());
  texts.insert(texts.end(), variables.begin(), variables.end());
  return packed(texts);
}

StartTasks StartTasks::of(std::string_view data) {
  constexpr std::size_t kBefore = 5;
  const auto texts = unpacked(data);
  if (texts.size() < kBefore) throw not_understood();
  StartTasks start{.folder = texts[0],
                   .first = as_number(texts[1]),
                   .count = as_number(texts[2]),
                   .grace = std::chrono::milliseconds(as_number(texts[3]))};
  const auto words = static_cast<std::size_t>(as_number(texts[4]));
  if (words == 0 || words > texts.size() - kBefore) throw not_understood();
  const auto rest = std::span(texts).subspan(kBefore);
  start.command.assign(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(words));
  start.variables.assign(rest.begin() + static_cast<std::ptrdiff_t>(words), rest.end());
  return start;
}

AgentWire::AgentWire(Descriptor in, Descriptor out, std::string_view begin)
    : in_(std::move(in)), out_(std::move(out)), begin_(begin) {
  never_wait(in_);
  never_wait(out_);
}

void AgentWire::enqueue(LaunchFrameKind kind, int task, std::string_view data) {
  if (closed_ || reader_gone_) return;
  unsent_ += static_cast<char>(kind);
  append_u32(unsent_, static_cast<std::uint32_t>(task));
  append_u32(unsent_, static_cast<std::uint32_t>(data.size()));
  unsent_ += data;
}

void AgentWire::send() {
  std::size_t sent = 0;
  while (!closed_ && !reader_gone_ && sent < unsent_.size()) {
    const ssize_t written = write(out_.get(), unsent_.data() + sent, unsent_.size() - sent);
    if (written > 0)
      sent += static_cast<std::size_t>(written);
    else if (errno == EAGAIN)
      break;
    else if (errno != EINTR)
      reader_gone_ = true;  // frames that the other side has sent may still be unread
  }
  unsent_.erase(0, closed_ || reader_gone_ ? unsent_.size() : sent);
}

void AgentWire::receive() {
  std::array<char, kReadBytes> buffer{};
  unread_.erase(0, std::exchange(consumed_, 0));
  while (!closed_) {
    const ssize_t got = read(in_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) break;
    unread_.append(buffer.data(), static_cast<std::size_t>(got));
    if (static_cast<std::size_t>(got) < buffer.size()) return;
  }
  closed_ = true;
}

std::optional<LaunchFrame> AgentWire::next() {
  if (!begin_.empty()) {
    const std::size_t at = unread_.find(begin_);
    if (at == std::string::npos && unread_.size() > kMostGreeting) throw not_understood();
    if (at == std::string::npos) return {};
    consumed_ = at + begin_.size();
    begin_.clear();
  }
  const std::string_view unread = std::string_view(unread_).substr(consumed_);
  if (unread.size() < kHeadBytes) return {};
  const auto kind = static_cast<unsigned char>(unread[0]);
  const std::uint32_t size = u32_at(unread, 5);
  if (kind < static_cast<unsigned char>(LaunchFrameKind::hello) ||
      kind > static_cast<unsigned char>(LaunchFrameKind::signal) || size > kMostData)
    throw not_understood();
  if (unread.size() < kHeadBytes + size) return {};
  consumed_ += kHeadBytes + size;
  return LaunchFrame{static_cast<LaunchFrameKind>(kind), static_cast<int>(u32_at(unread, 1)),
                     std::string(unread.substr(kHeadBytes, size))};
}

}  // namespace ferry
