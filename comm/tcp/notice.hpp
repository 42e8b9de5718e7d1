// Notice: the place where task 0 publishes its address, for jobs in which tasks cannot know it before they start.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "comm/backends.hpp"
#include "comm/rendezvous.hpp"
#include "comm/tcp/handshake.hpp"

namespace ferry::tcp {

/// A short text at a place that all tasks of a job reach. Used by one thread at a time. All functions throw
/// Error(usage) if the place cannot be used, or holds data other than a short text, and Error(stalled) if the place
/// does not answer before the deadline. Both errors name the place.
class Notice {
 public:
  virtual ~Notice() = default;
  /// The place, for messages, without a password: "file:/shared/job42".
  [[nodiscard]] virtual std::string where() const = 0;
  /// Returns the address, with port 0, at which the other tasks can best reach this one. Error(usage) if several are
  /// possible.
  [[nodiscard]] virtual Address here(const Deadline& deadline) = 0;
  /// Publishes the text, unless the place has a text. Returns whether it did. The place may delete the text some time
  /// after the deadline.
  [[nodiscard]] virtual bool put(const std::string& text, const Deadline& deadline) = 0;
  /// The text, if one is there.
  [[nodiscard]] virtual std::optional<std::string> get(const Deadline& deadline) = 0;
  /// Removes the text, unless the place has another one by now.
  virtual void remove(const std::string& text, const Deadline& deadline) = 0;
};

inline constexpr std::size_t kLongestNotice = 256;

/// Makes the notice of `task` at `place`, the value of FERRY_RENDEZVOUS: "file:/FOLDER/NAME" or
/// "redis://[:PASSWORD@]HOST[:PORT]/KEY"; or at kPmiPlace, which launch_of() chooses. Does not access the place yet.
/// Error(usage) for any other text.
[[nodiscard]] std::unique_ptr<Notice> notice_at(const std::string& place, int task);
[[nodiscard]] std::unique_ptr<Notice> file_notice(std::string_view path);
[[nodiscard]] std::unique_ptr<Notice> redis_notice(std::string_view url);
[[nodiscard]] std::unique_ptr<Notice> pmi_notice(int task);

/// The content of a notice: "ferry rendezvous 10.0.0.1:29500 JOB". The job's name is random, so that no task mistakes
/// another job, which got the same port later, for this one.
struct MeetingPoint {
  Address address;
  std::string job;

  [[nodiscard]] std::string str() const;
};
/// Parses a notice. Error(usage), which names the place, if `text` is not a notice.
[[nodiscard]] MeetingPoint meeting_point(const Notice& notice, const std::string& text);

/// Task 0's part of a rendezvous by notice: a server at a free port. Its address is published during the lifetime of
/// this object. It replaces the notice of another job, but no other data. Errors as Notice and RendezvousServer.
class Announcement {
 public:
  /// If the place has the notice of another job, the constructor calls `before_replacing` with it, which may throw.
  Announcement(const TcpOptions& options, Notice& notice, const Deadline& deadline,
               const std::function<void(const MeetingPoint&)>& before_replacing);
  ~Announcement();
  Announcement(const Announcement&) = delete;
  Announcement& operator=(const Announcement&) = delete;

  [[nodiscard]] const MeetingPoint& point() const { return point_; }

 private:
  Notice& notice_;
  MeetingPoint point_;
  RendezvousServer server_;
};

}  // namespace ferry::tcp
