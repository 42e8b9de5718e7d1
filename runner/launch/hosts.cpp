#include "runner/launch/hosts.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "base/format.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

constexpr std::uint64_t kMostHostfileBytes = 16 << 20;  // enough for a line per slot of the largest clusters
constexpr const char* kHostfileHint = "a line is NAME, NAME:SLOTS, or NAME slots=N max_slots=N";

/// Reads hosts from one source, which its errors name.
class HostReader {
 public:
  HostReader(Code code, std::string where, std::string hint)
      : code_(code), where_(std::move(where)), hint_(std::move(hint)) {}

  [[noreturn]] void fail(const std::string& why) const { throw Error(code_, where_ + ": " + why).hint(hint_); }

  /// Reads NAME, NAME:SLOTS, [ADDRESS]:SLOTS, or an IPv6 address alone.
  [[nodiscard]] LaunchHost host(std::string_view text) const {
    const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
    if (bracket == std::string_view::npos) fail(formatted("'[' without ']' in {:?}", text));
    constexpr std::ptrdiff_t kMostColons = 7;  // of an IPv6 address; "::" replaces several
    const bool bare =
        bracket == 0 && (text.find("::") != std::string_view::npos || std::ranges::count(text, ':') == kMostColons);
    const std::size_t colon = bare ? std::string_view::npos : text.find(':', bracket);
    LaunchHost host{.name = std::string(text.substr(0, colon)), .where = where_};
    if (host.name.starts_with('[')) host.name = host.name.substr(1, host.name.size() - 2);
    check_name(host.name);
    if (colon != std::string_view::npos) host.slots = number("the slots of " + host.name, text.substr(colon + 1));
    return host;
  }

  [[nodiscard]] int number(const std::string& what, std::string_view text) const {
    try {
      return whole_number(what, text, 1, kMostSlots);
    } catch (const Error& error) {
      fail(error.text());
    }
  }

  /// Sets slots=N, max_slots=N or max-slots=N.
  void set(LaunchHost& host, std::string_view text) const {
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string key(text.substr(0, equals));
    const std::string_view value = text.substr(std::min(equals + 1, text.size()));
    if (key == "slots") {
      host.slots = number(key, value);
    } else if (key == "max_slots" || key == "max-slots") {
      host.max_tasks = number(key, value);
    } else {
      const std::string like = nearest(key, std::vector<std::string>{"slots", "max_slots"});
      fail(formatted("unknown word {:?}{}", text, as_is(like.empty() ? "" : "; " + like + "=N?")));
    }
  }

 private:
  // A name that begins with '-' would be an option of ssh.
  void check_name(const std::string& name) const {
    const auto allowed = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::string_view("._-@:%").find(c) != std::string_view::npos;
    };
    if (name.empty()) fail("a host has no name");
    if (name.front() == '-' || !std::all_of(name.begin(), name.end(), allowed))
      fail(formatted("{:?} is no name of a host", name));
  }

  Code code_;
  std::string where_, hint_;
};

/// The words of a line. Blanks around '=' do not end a word.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (!(line = trimmed(line)).empty()) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    const bool goes_on = !words.empty() && (words.back().ends_with('=') || line.front() == '=');
    if (!goes_on) words.emplace_back();
    words.back() += line.substr(0, end);
    line.remove_prefix(end);
  }
  return words;
}

/// Collects hosts. A host that is named again gets the slots of both entries, as in the hostfiles of PBS and LSF.
class HostList {
 public:
  void add(LaunchHost host, const HostReader& reader) {
    const auto [place, is_new] = places_.try_emplace(host.name, hosts_.size());
    if (is_new) return hosts_.push_back(std::move(host));
    LaunchHost& before = hosts_[place->second];
    before.slots += host.slots;
    before.max_tasks = std::min(before.max_tasks, host.max_tasks);
    if (before.slots > std::min(before.max_tasks, kMostSlots))
      reader.fail(before.name + " has " + plural(static_cast<std::uint64_t>(before.slots), "slot") + ", from " +
                  before.where + " on, and may have " + std::to_string(std::min(before.max_tasks, kMostSlots)));
  }
  [[nodiscard]] std::vector<LaunchHost> take() { return std::move(hosts_); }

 private:
  std::vector<LaunchHost> hosts_;  // in the order in which they are first named
  std::unordered_map<std::string, std::size_t> places_;
};

/// The most tasks that the host can get.
int room_of(const LaunchHost& host, std::optional<int> per_host) {
  if (per_host && *per_host > host.max_tasks)
    throw Error(Code::usage, "-ppn " + std::to_string(*per_host) + ": " + host.where + " allows " + host.name +
                                 " only " + plural(static_cast<std::uint64_t>(host.max_tasks), "task"))
        .hint("a lower -ppn, or a higher max_slots");
  return per_host.value_or(host.slots);
}

}  // namespace

std::vector<LaunchHost> parse_hosts(std::string_view text) {
  const HostReader reader(Code::usage, "--hosts", "for example --hosts h1:2,h2:2");
  HostList hosts;
  for (const std::string_view item : split(text, ',')) hosts.add(reader.host(trimmed(item)), reader);
  return hosts.take();
}

std::vector<LaunchHost> parse_hostfile(const std::string& file, std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  HostList list;
  int line_number = 0;
  for (std::string_view line : split(text, '\n')) {
    const HostReader reader(Code::file, formatted("{}:{}", file, ++line_number), kHostfileHint);
    const auto words = words_of(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    LaunchHost host = reader.host(words.front());
    const int named = host.slots;
    const bool has_slots = words.front().size() > host.name.size() && words.front().back() != ']';
    for (const std::string& word : std::span(words).subspan(1)) reader.set(host, word);
    if (has_slots && host.slots != named)
      reader.fail(formatted("{:?} contradicts slots={}", words.front(), host.slots));
    if (host.slots > host.max_tasks)
      reader.fail("slots=" + std::to_string(host.slots) + " is more than max_slots=" + std::to_string(host.max_tasks));
    list.add(std::move(host), reader);
  }
  std::vector<LaunchHost> hosts = list.take();
  if (hosts.empty()) throw Error(Code::file, "{}: it names no host", file).hint(kHostfileHint);
  return hosts;
}

std::vector<LaunchHost> read_hostfile(const std::string& file) {
  const FileBytes bytes = local_files().read(file, kMostHostfileBytes);
  return parse_hostfile(file, {reinterpret_cast<const char*>(bytes.span().data()), bytes.span().size()});
}

std::vector<HostTasks> place_tasks(std::span<const LaunchHost> hosts, std::optional<int> tasks,
                                   std::optional<int> per_host) {
  std::vector<HostTasks> placed;
  std::string rooms;
  int next = 0;
  for (const LaunchHost& host : hosts) {
    const int room = room_of(host, per_host);
    const int count = tasks ? std::min(room, *tasks - next) : room;
    if (count > 0) placed.push_back({host, next, count});
    next += count;
    if (rooms.size() < 200) rooms += (rooms.empty() ? "" : ", ") + host.name + ":" + std::to_string(room);
  }
  if (tasks && next < *tasks)
    throw Error(Code::usage, "-n " + std::to_string(*tasks) + ": the hosts have room for " +
                                 plural(static_cast<std::uint64_t>(next), "task") + ": " + rooms)
        .hint("more slots for a host (NAME:SLOTS, slots=N), or -ppn");
  return placed;
}

}  // namespace ferry
