#include "runner/run/own_feeds.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "base/format.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "runner/options/feeds.hpp"

namespace ferry {
namespace {

constexpr std::uint64_t kPiece = 1 << 20;  // bytes of a file in memory at one time while it is hashed

/// A mark for each feed, by its escaped name: equal feeds have equal marks.
using FeedMarks = std::map<std::string, std::string>;

bool is_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::string hash_of_file(const std::string& path) {
  const std::unique_ptr<FileReader> file = local_files().open(path);
  Hasher hasher;
  std::vector<std::byte> piece;
  for (std::uint64_t at = 0; at < file->size(); at += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min(kPiece, file->size() - at)));
    file->read(at, piece);
    hasher.add(piece);
  }
  return hasher.hex();
}

/// The marks of each process. Collective: all processes call it.
std::vector<FeedMarks> exchange_marks(const Cluster& cluster, const FeedMarks& mine) {
  std::string text;
  for (const auto& [name, mark] : mine) text += name + "\n" + mark + "\n";
  std::vector<FeedMarks> all;
  for (const std::string& said : cluster.exchange(text)) {
    FeedMarks& marks = all.emplace_back();
    const std::vector<std::string_view> lines = split(said, '\n');
    for (std::size_t i = 0; i + 1 < lines.size(); i += 2) marks.emplace(lines[i], lines[i + 1]);
  }
  return all;
}

/// The name and the value of each feed that this process has.
std::map<std::string, std::string> typed_feeds(const Cluster& cluster, const std::vector<std::string>& feeds) {
  std::map<std::string, std::string> here;
  for (const std::string& feed : feeds) {
    const std::size_t equals = feed.find('=');
    const std::string value = equals == std::string::npos ? std::string() : feed.substr(equals + 1);
    if (cluster.rank() == 0 || is_number(value) || local_files().exists(value))
      here.emplace(formatted("{}", feed.substr(0, equals)), value);
  }
  return here;
}

/// The first process that has the feed.
std::size_t first_with(const std::vector<FeedMarks>& all, const std::string& name) {
  const auto first = std::ranges::find_if(all, [&](const FeedMarks& marks) { return marks.contains(name); });
  return static_cast<std::size_t>(first - all.begin());
}

/// Error(usage) unless all processes have the same mark for each feed.
void require_same(const Cluster& cluster, const std::vector<FeedMarks>& all) {
  const auto task_of = [&](std::size_t process) {
    int task = 0;
    while (cluster.process_of(task) != static_cast<int>(process)) ++task;
    return "task " + std::to_string(task);
  };
  for (std::size_t process = 0; process < all.size(); ++process)
    for (const auto& [name, mark] : all[process]) {
      const std::size_t first = first_with(all, name);
      if (all[first].at(name) == mark) continue;
      throw Error(Code::usage,
                  "--feed " + name + ": the bytes on " + task_of(process) + " are not those on " + task_of(first))
          .hint("give --feed " + name + " to one task only, or the same file to all tasks; rows that each task " +
                "has for itself are given by --feed-part");
    }
}

}  // namespace

void require_own_parts(const Cluster& cluster, const std::vector<std::string>& parts) {
  if (parts.empty() || cluster.process_of(cluster.size() - 1) == 0) return;
  const std::string host = std::to_string(cluster.topology().tasks[cluster.rank()].host);
  FeedMarks places;
  for (const std::string& part : parts) {
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string file = part.substr(std::min(equals + 1, part.size()));
    if (file.find(kTaskInName) == std::string::npos)
      places[formatted("{}", part.substr(0, equals))] = formatted("on host {}: {}", as_is(host), file_identity(file));
  }
  std::map<std::pair<std::string, std::string>, std::size_t> first;  // process, by name and place
  const std::vector<FeedMarks> all = exchange_marks(cluster, places);
  for (std::size_t process = 0; process < all.size(); ++process)
    for (const auto& mark : all[process]) {
      const auto [other, fresh] = first.try_emplace(mark, process);
      if (fresh) continue;
      throw Error(Code::usage, "--feed-part " + mark.first + ": processes " + std::to_string(other->second) + " and " +
                                   std::to_string(process) + " of one host would feed the same rows")
          .hint(hint_of_names(mark.first));
    }
}

std::vector<std::string> own_feeds(const Cluster& cluster, const std::vector<std::string>& feeds) {
  const auto process = static_cast<std::size_t>(cluster.process_of(cluster.rank()));
  if (cluster.process_of(cluster.size() - 1) == 0) return feeds;
  const std::string host = std::to_string(cluster.topology().tasks[cluster.rank()].host);
  const std::map<std::string, std::string> here = typed_feeds(cluster, feeds);
  FeedMarks places;
  for (const auto& [name, value] : here)
    places[name] = is_number(value) ? value : formatted("on host {}: {}", as_is(host), file_identity(value));
  const std::vector<FeedMarks> all = exchange_marks(cluster, places);

  FeedMarks hashes;
  bool any = false;
  for (const FeedMarks& marks : all)
    for (const auto& [name, place] : marks) {
      if (all[first_with(all, name)].at(name) == place) continue;
      any = true;
      if (const auto mine = here.find(name); mine != here.end() && !hashes.contains(name))
        hashes[name] = is_number(mine->second) ? mine->second : hash_of_file(mine->second);
    }
  if (any)
    if (const std::vector<FeedMarks> of_bytes = exchange_marks(cluster, hashes); cluster.rank() == 0)
      require_same(cluster, of_bytes);

  std::vector<std::string> own;
  for (const std::string& feed : feeds)
    if (const std::string name = formatted("{}", feed.substr(0, feed.find('='))); first_with(all, name) == process)
      own.push_back(feed);
  return own;
}

}  // namespace ferry
