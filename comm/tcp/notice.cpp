#include "comm/tcp/notice.hpp"

#include <algorithm>
#include <vector>

#include "base/format.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"

namespace ferry::tcp {
namespace {

constexpr std::chrono::seconds kRemoveTime{2};
constexpr std::string_view kFile = "file:", kRedis = "redis://";

}  // namespace

std::unique_ptr<Notice> notice_at(const std::string& place, int task) {
  if (place == kPmiPlace) return pmi_notice(task);
  if (place.starts_with(kFile)) return file_notice(std::string_view(place).substr(kFile.size()));
  if (place.starts_with(kRedis)) return redis_notice(std::string_view(place).substr(kRedis.size()));
  throw Error(Code::usage, "FERRY_RENDEZVOUS={}: no place where tasks can meet", without_password(place))
      .hint("file:/SHARED/FOLDER/NAME or redis://[:PASSWORD@]HOST[:PORT]/KEY, the same for all tasks");
}

std::string MeetingPoint::str() const {
  return "ferry rendezvous " + address.str() + " " + job;
}

MeetingPoint meeting_point(const Notice& notice, const std::string& text) {
  const std::vector<std::string_view> words = split(text, ' ');
  if (words.size() == 4)
    if (const auto address = net::parse_address(std::string(words[2])); address && address->port() > 0)
      if (MeetingPoint point{*address, std::string(words[3])}; !point.job.empty() && point.str() == text) return point;
  throw Error(Code::usage, "rendezvous by {}: it holds another text than a notice of ferry: {:?}",
              as_is(notice.where()), text.substr(0, kLongestNotice))
      .hint("remove it, or give the job another name there");
}

Announcement::Announcement(const TcpOptions& options, Notice& notice, const Deadline& deadline,
                           const std::function<void(const MeetingPoint&)>& before_replacing)
    : notice_(notice),
      point_{options.interface.empty() ? notice.here(deadline) : net::interface_address(options.interface),
             hex_digest(new_nonce())},
      server_({.address = point_.address.host(), .tasks = options.tasks, .secret = options.secret, .job = point_.job}) {
  point_.address.set_port(server_.port());
  do {
    const auto there = notice_.get(deadline);
    if (!there) continue;
    before_replacing(meeting_point(notice_, *there));
    notice_.remove(*there, deadline);
  } while (!notice_.put(point_.str(), deadline));  // another process with number 0 may publish at the same moment
}

Announcement::~Announcement() {
  try {
    notice_.remove(point_.str(), Deadline(system_clock(), kRemoveTime));
  } catch (const std::exception&) {  // a notice that stays there does no harm
  }
}

}  // namespace ferry::tcp
