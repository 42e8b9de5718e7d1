#include "graph/file/graph_frame.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/error.hpp"
#include "base/hash.hpp"

namespace ferry {
namespace {

// Tags of fields 1 and 2 as fixed64.
constexpr char kMagicTag = 0x09, kHashTag = 0x11;
constexpr std::string_view kMagic = "FERRYGR1";
constexpr std::size_t kHashAt = 10;

std::uint64_t hash_of_rest(std::string_view content) {
  return hash64(content.substr(kGraphHeadBytes));
}

}  // namespace

void write_graph_head(std::string& content) {
  content[0] = kMagicTag;
  std::copy(kMagic.begin(), kMagic.end(), content.begin() + 1);
  content[kMagic.size() + 1] = kHashTag;
  const std::uint64_t hash = hash_of_rest(content);
  std::memcpy(content.data() + kHashAt, &hash, sizeof hash);
}

bool begins_as_graph(std::span<const std::byte> bytes) {
  const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return content.starts_with(kMagicTag + std::string(kMagic));
}

void check_graph_head(std::span<const std::byte> bytes) {
  const std::string_view content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (content.empty()) throw Error(Code::file, "the file is empty");
  const std::string head = kMagicTag + std::string(kMagic);
  const std::size_t there = std::min(content.size(), head.size());
  if (content.substr(0, there) != std::string_view(head).substr(0, there))
    throw Error(Code::file, "this is not a ferry graph: it does not begin as one")
        .hint(
            "a .pb file is made by ferry, or with field `magic` of ferry_graph.proto set; an ONNX file by `ferry "
            "import`");
  if (content.size() < kGraphHeadBytes)
    throw Error(Code::file, "the file is cut short, after {} bytes", content.size());
  if (content[kHashAt - 1] != kHashTag) return;  // another program has written the file, without a hash
  std::uint64_t hash = 0;
  std::memcpy(&hash, content.data() + kHashAt, sizeof hash);
  if (hash != hash_of_rest(content))
    throw Error(Code::file, "the file is damaged, cut short or has bytes after its end: its hash does not fit")
        .hint("save the graph again");
}

}  // namespace ferry
