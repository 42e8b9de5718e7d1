#include "base/files/safetensors.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/files/json.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

constexpr std::uint64_t kMostHeaderBytes = 100'000'000;
constexpr std::size_t kMostNameBytes = 4096;
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMostAligned = 8;  // bytes of the largest element
constexpr std::string_view kMetadata = "__metadata__";

Error bad(std::string_view file, const std::string& why) {
  return Error(Code::file, "{:?}: safetensors: {}", file, as_is(why));
}

// The fault of a tensor's name; empty: none.
std::string_view fault_of_name(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMostNameBytes) return "is too long";
  if (name.find('\0') != std::string_view::npos) return "holds NUL";
  if (name == kMetadata) return "is reserved";
  return is_valid_utf8(name) ? "" : "is not UTF-8";
}

struct Entry {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<std::int64_t>> shape;
  std::optional<std::vector<std::int64_t>> offsets;
};

// Receives the events of the header's parser. This way it sees duplicate names, and builds no deeply nested structure.
//   {"__metadata__": {name: text…}, name: {"dtype": text, "shape": [n…], "data_offsets": [begin, end]}…}
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(std::string_view file) : file_(file) {}

  std::vector<Entry> entries;
  SafeMetadata metadata;

  bool start_object(std::size_t) override {
    if (is_ignored()) return skip(+1);
    if (state_ == ParserState::outside) return enter(ParserState::top);
    if (state_ != ParserState::top) fail("an object");
    if (key_ == kMetadata) return enter(ParserState::metadata);
    entries.push_back({std::exchange(key_, {}), {}, {}, {}});
    return enter(ParserState::entry);
  }
  bool end_object() override {
    if (skipped_ > 0) return skip(-1);
    return enter(state_ == ParserState::top ? ParserState::outside : ParserState::top);
  }
  bool start_array(std::size_t) override {
    if (is_ignored()) return skip(+1);
    if (state_ != ParserState::entry || (key_ != "shape" && key_ != "data_offsets")) fail("an array");
    auto& field = key_ == "shape" ? entries.back().shape : entries.back().offsets;
    if (field) throw_duplicate();
    numbers_ = &field.emplace();
    return enter(ParserState::numbers);
  }
  bool end_array() override { return skipped_ > 0 ? skip(-1) : enter(ParserState::entry); }

  bool key(string_t& key) override {
    if (skipped_ > 0) return true;
    key_ = key;
    if (state_ == ParserState::top && !names_.insert(key).second) throw_duplicate();
    if (state_ == ParserState::top && key != kMetadata) check_name();
    return true;
  }
  bool string(string_t& text) override {
    if (is_ignored()) return true;
    if (state_ == ParserState::metadata) {
      metadata.insert_or_assign(key_, text);
    } else {
      if (state_ != ParserState::entry || key_ != "dtype") fail("a string");
      if (entries.back().dtype) throw_duplicate();
      entries.back().dtype = text;
    }
    return true;
  }
  bool number_unsigned(number_unsigned_t number) override {
    if (is_ignored()) return true;
    if (state_ != ParserState::numbers) fail("a number");
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) fail("a number above 2^63");
    numbers_->push_back(static_cast<std::int64_t>(number));
    return true;
  }
  bool number_integer(number_integer_t) override { return ignore_or_fail("a negative number"); }
  bool number_float(number_float_t, const string_t& text) override {
    return ignore_or_fail(formatted("the number {}", text));
  }
  bool null() override { return (state_ == ParserState::top && key_ == kMetadata) || ignore_or_fail("null"); }
  bool boolean(bool) override { return ignore_or_fail("a truth value"); }
  bool binary(binary_t&) override { fail("binary"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) override {
    throw bad(file_, formatted("damaged header, at its byte {}: {:.160}", position, error.what()));
  }

 private:
  enum class ParserState { outside, top, metadata, entry, numbers };

  bool enter(ParserState state) {
    state_ = state;
    return true;
  }
  /// Whether the next token is in a field of a tensor that the format does not have. Such fields are ignored.
  [[nodiscard]] bool is_ignored() const {
    return skipped_ > 0 ||
           (state_ == ParserState::entry && key_ != "dtype" && key_ != "shape" && key_ != "data_offsets");
  }
  bool skip(int deeper) {
    skipped_ += deeper;
    return true;
  }
  bool ignore_or_fail(const std::string& what) const {
    if (!is_ignored()) fail(what);
    return true;
  }
  [[noreturn]] void fail(const std::string& what) const {
    const std::string tensor = entries.empty() ? "" : formatted(" of tensor {:?}", entries.back().name);
    throw bad(file_, formatted("damaged header: {} is not expected at {:?}{}", as_is(what), key_,
                               as_is(state_ == ParserState::top || state_ == ParserState::outside ? "" : tensor)));
  }
  [[noreturn]] void throw_duplicate() const { throw bad(file_, formatted("the header has {:?} twice", key_)); }
  void check_name() const {
    const std::string_view fault = fault_of_name(key_);
    if (!fault.empty()) throw bad(file_, formatted("the tensor's name {:?} {}", key_, as_is(fault)));
  }

  std::string_view file_;
  ParserState state_ = ParserState::outside;
  std::int64_t skipped_ = 0;  ///< the depth of nesting within an ignored field
  std::string key_;
  std::set<std::string> names_;
  std::vector<std::int64_t>* numbers_ = nullptr;
};

/// The header's size from the first 8 bytes of a file.
std::uint64_t header_size(std::string_view head, std::uint64_t file_size, std::string_view name) {
  if (file_size < 8) throw bad(name, "cut short: " + std::to_string(file_size) + " bytes");
  std::uint64_t size = 0;
  for (std::size_t i = 8; i-- > 0;) size = size << 8 | static_cast<unsigned char>(head[i]);
  if (size > kMostHeaderBytes) {
    throw bad(name, "its header would have " + std::to_string(size) + " bytes, and the limit is " +
                        std::to_string(kMostHeaderBytes));
  }
  if (size > file_size - 8) {
    throw bad(name, "cut short in the header: " + std::to_string(size) + " bytes announced, " +
                        std::to_string(file_size - 8) + " there");
  }
  return size;
}

void check_bools(const SafeTensor& tensor, std::string_view file) {
  const auto at = std::find_if(tensor.bytes.begin(), tensor.bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  if (at == tensor.bytes.end()) return;
  throw bad(file, formatted("tensor {:?}: element {} is neither true nor false: {}", tensor.name,
                            at - tensor.bytes.begin(), static_cast<int>(*at)));
}

// A tensor of the header. `begin` is the offset of its bytes from the end of the header.
struct Extent {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t begin, size;
};

// Returns the extent of one entry, and sets `begin` to the end of its bytes. The bytes must begin at the old `begin`,
// the end of the previous entry's bytes.
Extent extent_of(Entry& entry, std::uint64_t data_size, std::uint64_t& begin, std::string_view file) {
  const std::string tensor = formatted("tensor {:?}: ", entry.name);
  const auto from = static_cast<std::uint64_t>((*entry.offsets)[0]),
             to = static_cast<std::uint64_t>((*entry.offsets)[1]);
  const std::string offsets = "[" + std::to_string(from) + ", " + std::to_string(to) + "]";
  const auto item = static_cast<std::uint64_t>(safetensors_item_size(*entry.dtype));
  const auto wanted = item == 0 ? std::optional(to - from) : tensor_bytes(*entry.shape, item);
  if (!wanted) throw bad(file, tensor + "its shape has more bytes than there can be");
  if (to < from || to > data_size) {
    throw bad(file, tensor + "its bytes " + offsets + " are outside the file's " + std::to_string(data_size));
  }
  if (to - from != *wanted) {
    throw bad(file, tensor + std::to_string(*wanted) + " bytes by shape and dtype, " + std::to_string(to - from) +
                        " by its offsets " + offsets);
  }
  if (from != begin) {
    throw bad(file, tensor + "its bytes " + offsets + (from < begin ? " overlap" : " leave a hole after") +
                        " the tensor before, which ends at " + std::to_string(begin));
  }
  begin = to;
  return {std::move(entry.name), std::move(*entry.dtype), std::move(*entry.shape), from, to - from};
}

// The extents of all tensors, in the order of their bytes.
std::vector<Extent> extents_of(std::vector<Entry> entries, std::uint64_t data_size, std::string_view file) {
  for (const Entry& entry : entries) {
    if (entry.dtype && entry.shape && entry.offsets && entry.offsets->size() == 2) continue;
    throw bad(file, formatted("tensor {:?} lacks dtype, shape or two data_offsets", entry.name));
  }
  std::vector<Entry*> order;
  order.reserve(entries.size());
  for (Entry& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) { return *a->offsets < *b->offsets; });
  std::vector<Extent> extents;
  extents.reserve(order.size());
  std::uint64_t end = 0;
  for (Entry* entry : order) extents.push_back(extent_of(*entry, data_size, end, file));
  if (end != data_size) {
    throw bad(file, "trailing bytes: the tensors end at " + std::to_string(end) + " of " + std::to_string(data_size));
  }
  return extents;
}

std::vector<SafeTensor> tensors_of(std::vector<Entry> entries, std::span<const std::byte> data, std::string_view file) {
  std::vector<SafeTensor> tensors;
  for (Extent& at : extents_of(std::move(entries), data.size(), file)) {
    tensors.push_back({std::move(at.name), std::move(at.dtype), std::move(at.shape), data.subspan(at.begin, at.size)});
    if (tensors.back().dtype == "BOOL") check_bools(tensors.back(), file);
  }
  std::sort(tensors.begin(), tensors.end(), [](const SafeTensor& a, const SafeTensor& b) { return a.name < b.name; });
  return tensors;
}

/// If the bytes of any tensor are misaligned for its dtype, copies all tensors into a new, aligned storage.
void align(SafeTensors& file) {
  const auto is_aligned = [](const SafeTensor& tensor) {
    const auto item = static_cast<std::uintptr_t>(std::max(safetensors_item_size(tensor.dtype), 1));
    return reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % item == 0;
  };
  if (std::all_of(file.tensors.begin(), file.tensors.end(), is_aligned)) return;
  const auto room_of = [](const SafeTensor& tensor) {
    return (tensor.bytes.size() + kMostAligned - 1) / kMostAligned * kMostAligned;
  };
  std::uint64_t size = 0;
  for (const SafeTensor& tensor : file.tensors) size += room_of(tensor);
  FileBytes storage(size);
  std::byte* next = storage.data();
  for (SafeTensor& tensor : file.tensors) {
    std::copy(tensor.bytes.begin(), tensor.bytes.end(), next);
    tensor.bytes = {next, tensor.bytes.size()};
    next += room_of(tensor);
  }
  file.storage = std::move(storage);
}

void check_writable(const SafeTensor& tensor, std::set<std::string_view>& names, const std::string& path) {
  const auto item = static_cast<std::uint64_t>(safetensors_item_size(tensor.dtype));
  FERRY_ASSERT(item != 0 && tensor_bytes(tensor.shape, item) == tensor.bytes.size(),
               "write_safetensors: the bytes do not fit shape and dtype");
  const std::string_view fault = names.insert(tensor.name).second ? fault_of_name(tensor.name) : "is given twice";
  if (fault.empty()) return;
  throw Error(Code::usage, "{:?}: safetensors: the tensor's name {:?} {}", path, tensor.name, as_is(fault));
}

void check_writable(const SafeMetadata& metadata, const std::string& path) {
  for (const auto& [key, text] : metadata) {
    if (is_valid_utf8(key) && is_valid_utf8(text)) continue;
    throw Error(Code::usage, "{:?}: safetensors: the metadata {:?} is not UTF-8", path, key);
  }
}

std::string header_of(std::span<const SafeTensor* const> tensors, const SafeMetadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[std::string(kMetadata)] = metadata;
  std::uint64_t begin = 0;
  std::string text = header.dump();
  text.pop_back();
  for (const SafeTensor* tensor : tensors) {
    const std::uint64_t end = begin + tensor->bytes.size();
    const nlohmann::ordered_json entry = {
        {"dtype", tensor->dtype}, {"shape", tensor->shape}, {"data_offsets", {begin, end}}};
    text += (text.size() > 1 ? "," : "") + nlohmann::ordered_json(tensor->name).dump() + ":" + entry.dump();
    begin = end;
  }
  text += '}';
  text.append((kAlignment - (8 + text.size()) % kAlignment) % kAlignment, ' ');
  return text;
}

void parse_header(HeaderReader& reader, std::string_view text, std::string_view file) {
  if (!trimmed(text).starts_with('{')) throw bad(file, "damaged header: it does not begin with '{'");
  nlohmann::json::sax_parse(json_text(text), &reader);
}

/// Returns the position of the tensors' bytes in the file, and the position of each tensor relative to it. Reads only
/// the header.
std::pair<std::uint64_t, std::vector<Extent>> described(const FileReader& file) {
  char head[8] = {};
  if (file.size() >= sizeof head) file.read(0, std::as_writable_bytes(std::span(head)));
  const std::uint64_t size = header_size({head, sizeof head}, file.size(), file.name());
  FileBytes header(size);
  file.read(sizeof head, header.span());
  HeaderReader reader(file.name());
  parse_header(reader, header.text(), file.name());
  const std::uint64_t begin = sizeof head + size;
  return {begin, extents_of(std::move(reader.entries), file.size() - begin, file.name())};
}

}  // namespace

ArrayPlace safetensors_place(const FileReader& file, std::string_view tensor) {
  auto [begin, extents] = described(file);
  std::vector<std::string> names;
  for (Extent& at : extents) {
    if (at.name == tensor) return {std::move(at.dtype), std::move(at.shape), begin + at.begin, 1};
    names.push_back(std::move(at.name));
  }
  Error missing = bad(file.name(), formatted("there is no tensor {:?}", tensor));
  const std::string like = nearest(tensor, names);
  throw like.empty() ? std::move(missing) : missing.hint("did you mean {:?}?", like);
}

void check_safetensors(const FileReader& file) {
  static_cast<void>(described(file));
}

const SafeTensor* SafeTensors::find(std::string_view name) const {
  const auto at = std::lower_bound(tensors.begin(), tensors.end(), name,
                                   [](const SafeTensor& tensor, std::string_view n) { return tensor.name < n; });
  return at == tensors.end() || at->name != name ? nullptr : &*at;
}

int safetensors_item_size(std::string_view dtype) {
  constexpr std::array<std::pair<std::string_view, int>, 15> kSizes = {{{"F64", 8},
                                                                        {"F32", 4},
                                                                        {"F16", 2},
                                                                        {"BF16", 2},
                                                                        {"I64", 8},
                                                                        {"I32", 4},
                                                                        {"I16", 2},
                                                                        {"I8", 1},
                                                                        {"U64", 8},
                                                                        {"U32", 4},
                                                                        {"U16", 2},
                                                                        {"U8", 1},
                                                                        {"BOOL", 1},
                                                                        {"F8_E5M2", 1},
                                                                        {"F8_E4M3", 1}}};
  for (const auto& [name, size] : kSizes) {
    if (name == dtype) return size;
  }
  return 0;
}

SafeTensors parse_safetensors(FileBytes file, std::string_view file_name) {
  const std::uint64_t header = header_size(file.text(), file.size(), file_name);
  HeaderReader reader(file_name);
  parse_header(reader, file.text().substr(8, header), file_name);
  SafeTensors result;
  result.storage = std::move(file);
  const std::span<const std::byte> data = std::as_const(result.storage).span().subspan(8 + header);
  result.metadata = std::move(reader.metadata);
  result.tensors = tensors_of(std::move(reader.entries), data, file_name);
  align(result);
  return result;
}

SafeTensors read_safetensors(FileSystem& files, const std::string& path, std::uint64_t limit) {
  check_safetensors(*files.open(path));
  return parse_safetensors(files.read(path, limit), path);
}

void write_safetensors(FileSystem& files, const std::string& path, std::span<const SafeTensor> tensors,
                       const SafeMetadata& metadata) {
  check_writable(metadata, path);
  std::vector<const SafeTensor*> order;
  std::set<std::string_view> names;
  for (const SafeTensor& tensor : tensors) {
    check_writable(tensor, names, path);
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const SafeTensor* a, const SafeTensor* b) {
    return std::tuple(-safetensors_item_size(a->dtype), std::string_view(a->name)) <
           std::tuple(-safetensors_item_size(b->dtype), std::string_view(b->name));
  });
  const std::string header = header_of(order, metadata);
  std::string size;
  for (unsigned shift = 0; shift < 64; shift += 8) size += static_cast<char>(std::uint64_t{header.size()} >> shift);
  std::vector<std::span<const std::byte>> pieces = {std::as_bytes(std::span(size)), std::as_bytes(std::span(header))};
  for (const SafeTensor* tensor : order) pieces.push_back(tensor->bytes);
  files.write(path, pieces);
}

}  // namespace ferry
