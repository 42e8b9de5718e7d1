#include "kernels/compile/code_cache.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include "base/hash.hpp"
#include "base/system/log.hpp"

namespace ferry {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;  // a larger file is damaged

/// The first bytes of a file. The key and the code follow.
struct Head {
  char magic[8] = {'f', 'e', 'r', 'r', 'y', 'k', '0', '1'};
  std::uint64_t key_bytes = 0;
  std::uint64_t hash = 0;  ///< of key and code
};

}  // namespace

std::string cache_folder() {
  if (const char* const caches = std::getenv("XDG_CACHE_HOME"); caches != nullptr && caches[0] == '/')
    return std::string(caches) + "/ferry/kernels";
  const char* const home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache/ferry/kernels" : "";
}

std::string CodeCache::path_of(const std::string& key) const {
  return folder_ + "/" + hex_digest(std::as_bytes(std::span(key)));
}

std::optional<std::string> CodeCache::find(const std::string& key) {
  const std::string path = path_of(key);
  if (folder_.empty() || !files_.exists(path)) return {};
  try {
    const FileBytes bytes = files_.read(path, kMostBytes);
    const std::string_view file = bytes.text();
    Head head;
    if (file.size() < sizeof head + key.size()) return {};
    std::memcpy(&head, file.data(), sizeof head);
    const std::string_view rest = file.substr(sizeof head);
    const bool whole = std::memcmp(head.magic, Head().magic, sizeof head.magic) == 0 && head.key_bytes == key.size() &&
                       rest.starts_with(key) && hash64(rest) == head.hash;
    if (whole) return std::string(rest.substr(key.size()));
  } catch (const Error& error) {
    warn("read", error);
  }
  return {};
}

void CodeCache::add(const std::string& key, const std::string& code) {
  if (folder_.empty()) return;
  try {
    files_.make_folders(folder_);
    make_room();
    const std::string rest = key + code;
    Head head;
    head.key_bytes = key.size();
    head.hash = hash64(rest);
    const std::array pieces{std::as_bytes(std::span(&head, 1)), std::as_bytes(std::span(rest))};
    files_.write(path_of(key), pieces);
  } catch (const Error& error) {
    warn("written", error);
  }
}

void CodeCache::make_room() {
  const std::vector<std::string> names = files_.list(folder_);
  if (names.size() < kMostFiles) return;
  for (std::size_t i = 0; i < names.size(); i += 2) files_.remove(folder_ + "/" + names[i]);
}

void CodeCache::warn(const char* what, const Error& error) {
  const std::lock_guard lock(mutex_);
  if (warned_) return;
  warned_ = true;
  log_warn("the cache of generated kernels cannot be " + std::string(what) +
           ", so they are compiled in each run: " + error.what());
}

}  // namespace ferry
