#include "base/files/npy.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/files/compress.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostDims = 64;
constexpr std::uint64_t kMostHeaderBytes = 1 << 20;  // bytes that are read first, to find the header
constexpr std::size_t kAlignment = 64;

Error bad(std::string_view name, const std::string& why) {
  return Error(Code::file, "{:?}: npy: {}", name, as_is(why));
}

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran;
  std::optional<std::vector<std::int64_t>> shape;
};

// Reads the one Python expression that NumPy writes: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view name) : rest_(text), name_(name) {}

  Header parse() {
    Header header;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      value(key, header);
      if (accept(',')) continue;
      expect('}');
      break;
    }
    blanks();
    if (!rest_.empty()) fail("the end of the header");
    if (!header.descr || !header.fortran || !header.shape) {
      throw bad(name_, "the header lacks descr, fortran_order or shape");
    }
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& wanted) {
    throw bad(name_, formatted("damaged header: {} was expected, not {:?}", as_is(wanted), rest_.substr(0, 20)));
  }
  void blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
  bool accept(char c) {
    blanks();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("'") + c + "'");
  }

  template <typename T>
  void once(std::optional<T>& field, T value, const std::string& key) {
    if (field) throw bad(name_, formatted("the header has two of {:?}", key));
    field = std::move(value);
  }
  void value(const std::string& key, Header& header) {
    if (key == "descr") return once(header.descr, descr(), key);
    if (key == "fortran_order") return once(header.fortran, boolean(), key);
    if (key == "shape") return once(header.shape, shape(), key);
    throw bad(name_, formatted("unknown key in the header: {:?}", key));
  }

  std::string string() {
    blanks();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    const std::size_t end = quote == '\'' || quote == '"' ? rest_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) fail("a string");
    std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::string descr() {
    blanks();
    if (!rest_.starts_with('[')) return string();
    throw bad(name_, "its elements are structures").hint("save each field as an array of its own");
  }
  bool boolean() {
    blanks();
    for (const bool truth : {true, false}) {
      const std::string_view word = truth ? "True" : "False";
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return truth;
    }
    fail("True or False");
  }
  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> sizes;
    expect('(');
    while (!accept(')')) {
      sizes.push_back(size());
      if (sizes.size() > kMostDims) throw bad(name_, "more than " + std::to_string(kMostDims) + " dims");
      if (accept(',')) continue;
      if (sizes.size() == 1) fail("','");  // (3) is not a tuple
      expect(')');
      break;
    }
    return sizes;
  }
  std::int64_t size() {
    blanks();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error == std::errc::result_out_of_range) throw bad(name_, "a size of the shape does not fit 64 bits");
    if (error != std::errc()) fail("a size");
    if (number < 0) throw bad(name_, "a size of the shape is negative: " + std::to_string(number));
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return number;
  }

  std::string_view rest_;
  std::string_view name_;
};

struct Parts {
  std::string_view header;
  std::size_t data = 0;  // offset of the data bytes
};

// `file` is the whole file, or its first kMostHeaderBytes bytes.
Parts take_apart(std::string_view file, std::string_view name) {
  if (!file.starts_with(kMagic)) throw bad(name, "not such a file: it does not begin with \\x93NUMPY");
  if (file.size() < 8) throw bad(name, "cut short in the header");
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(file[i])); };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3 || byte(7) != 0) {
    throw bad(name, "version " + std::to_string(version) + "." + std::to_string(byte(7)) +
                        ", and ferry reads 1.0, 2.0 and 3.0");
  }
  const std::size_t begin = version == 1 ? 10 : 12;
  if (file.size() < begin) throw bad(name, "cut short in the header");
  std::size_t size = byte(8) | byte(9) << 8;
  if (version > 1) size |= byte(10) << 16 | byte(11) << 24;
  if (file.size() - begin < size) {
    throw bad(name, "cut short in the header: " + std::to_string(size) + " bytes announced, " +
                        std::to_string(file.size() - begin) + " there");
  }
  return {file.substr(begin, size), begin + size};
}

NpyDtype checked_dtype(const std::string& descr, std::string_view name) {
  const NpyDtype dtype = npy_dtype(descr);
  if (dtype.size != 0) return dtype;
  if (descr.starts_with('>') && npy_dtype("<" + descr.substr(1)).size != 0) {
    throw bad(name, formatted("big-endian elements: {:?}", descr))
        .hint("save it with a.astype(a.dtype.newbyteorder('<'))");
  }
  Error error = bad(name, formatted("elements of the kind {:?} are not read", descr));
  if (descr.ends_with("V2")) throw error.hint("numpy saves bfloat16 as V2: save a.astype(numpy.float32)");
  throw error.hint("save it as numbers or bools");
}

void check_bools(std::span<const std::byte> bytes, std::string_view name) {
  const auto at = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  if (at == bytes.end()) return;
  throw bad(name, "element " + std::to_string(at - bytes.begin()) +
                      " is neither true nor false: " + std::to_string(static_cast<int>(*at)));
}

// Converts Fortran order to C order: walks the target in order, and the source by its strides.
FileBytes transposed(std::span<const std::byte> source, std::span<const std::int64_t> shape, std::size_t item) {
  FileBytes target(std::uint64_t{source.size()});
  const std::size_t dims = shape.size();
  std::vector<std::size_t> stride(dims, item);
  for (std::size_t d = 1; d < dims; ++d) stride[d] = stride[d - 1] * static_cast<std::size_t>(shape[d - 1]);
  std::vector<std::int64_t> index(dims, 0);
  std::size_t from = 0;
  for (std::size_t to = 0; to < source.size(); to += item) {
    std::memcpy(target.data() + to, source.data() + from, item);
    for (std::size_t d = dims; d-- > 0;) {
      from += stride[d];
      if (++index[d] < shape[d]) break;
      from -= stride[d] * static_cast<std::size_t>(shape[d]);
      index[d] = 0;
    }
  }
  return target;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::vector<std::string> sizes;
  for (std::int64_t size : shape) sizes.push_back(std::to_string(size));
  return "(" + join(sizes, ", ") + (sizes.size() == 1 ? ",)" : ")");
}

// The content of a header that was checked against the size of the file.
struct Described {
  std::string descr;
  std::vector<std::int64_t> shape;
  bool fortran;      // true if the order is Fortran's and differs from C order
  std::size_t data;  // offset of the data bytes
};

Described describe(std::string_view head, std::uint64_t file_size, std::string_view name) {
  const Parts parts = take_apart(head, name);
  Header header = HeaderParser(parts.header, name).parse();
  const NpyDtype dtype = checked_dtype(*header.descr, name);
  const auto wanted = tensor_bytes(*header.shape, static_cast<std::uint64_t>(dtype.size));
  const std::string shape = shape_text(*header.shape);
  if (!wanted) throw bad(name, "the shape " + shape + " has more bytes than there can be");
  const std::uint64_t there = file_size - parts.data;
  if (there != *wanted) {
    throw bad(name, (there < *wanted ? "cut short: " : "trailing bytes: ") + std::to_string(*wanted) +
                        " bytes for the shape " + shape + " of " + *header.descr + ", " + std::to_string(there) +
                        " there");
  }
  if (dtype.size == 1) header.descr->front() = '|';
  const bool fortran = *header.fortran && header.shape->size() > 1;
  return {std::move(*header.descr), std::move(*header.shape), fortran, parts.data};
}

Described describe(const FileReader& file, std::string_view name) {
  FileBytes head(std::min<std::uint64_t>(file.size(), kMostHeaderBytes));
  file.read(0, head.span());
  return describe(head.text(), file.size(), name);
}

}  // namespace

NpyDtype npy_dtype(std::string_view descr) {
  constexpr std::string_view kKnown[] = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8"};
  const bool c16 = descr == "<c16";
  if (!c16 &&
      (descr.size() != 3 || std::find(std::begin(kKnown), std::end(kKnown), descr.substr(1)) == std::end(kKnown))) {
    return {};
  }
  const int size = c16 ? 16 : descr[2] - '0';
  const bool order_fits = descr[0] == '<' || (size == 1 && (descr[0] == '|' || descr[0] == '>'));
  return order_fits ? NpyDtype{descr[1], size} : NpyDtype{};
}

std::vector<std::int64_t> npy_sizes(FileSystem& files, const std::string& path) {
  const auto file = files.open(path);
  FileBytes begin(std::min<std::uint64_t>(file->size(), kMagic.size()));
  file->read(0, begin.span());
  if (begin.text() == kMagic) return describe(*file, path).shape;
  const FileBytes content = maybe_decompress(files.read(path), kNoLimit, path);
  return describe(content.text(), content.size(), path).shape;
}

ArrayPlace npy_place(const FileReader& file) {
  Described described = describe(file, file.name());
  if (described.fortran)
    throw bad(file.name(), "its rows are not contiguous (Fortran order)")
        .hint("save it with numpy.save(file, numpy.ascontiguousarray(a))");
  return {std::move(described.descr), std::move(described.shape), described.data, 1};
}

NpyArray parse_npy(FileBytes file, std::string_view name) {
  Described described = describe(file.text(), file.size(), name);
  const auto item = static_cast<std::size_t>(npy_dtype(described.descr).size);
  const std::span<const std::byte> bytes = std::as_const(file).span().subspan(described.data);
  if (npy_dtype(described.descr).kind == 'b') check_bools(bytes, name);
  NpyArray array{std::move(described.descr), std::move(described.shape), bytes, {}};
  if (described.fortran) {
    array.storage = transposed(bytes, array.shape, item);
    array.bytes = std::as_const(array.storage).span();
  } else if (described.data % item != 0) {
    array.storage = FileBytes(bytes);
    array.bytes = std::as_const(array.storage).span();
  } else {
    array.storage = std::move(file);
  }
  return array;
}

NpyArray read_npy(FileSystem& files, const std::string& path, std::uint64_t limit, const AcceptNpy& accept) {
  const Described described = describe(*files.open(path), path);
  if (accept) accept(described.descr, described.shape);
  return parse_npy(files.read(path, limit), path);
}

std::string npy_header(std::string_view descr, std::span<const std::int64_t> shape) {
  FERRY_ASSERT(shape.size() <= kMostDims, "npy files have at most 64 dims");
  std::string text = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': " + shape_text(shape);
  text += ", }";
  const std::size_t before = kMagic.size() + 4;
  text.append((2 * kAlignment - (before + text.size() + 1) % kAlignment) % kAlignment, ' ').append("\n");
  std::string header(kMagic);
  header += {1, 0, static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  return header + text;
}

void write_npy(FileSystem& files, const std::string& path, std::string_view descr, std::span<const std::int64_t> shape,
               std::span<const std::byte> bytes) {
  const NpyDtype dtype = npy_dtype(descr);
  FERRY_ASSERT(dtype.size != 0 && tensor_bytes(shape, static_cast<std::uint64_t>(dtype.size)) == bytes.size(),
               "write_npy: the bytes do not fit shape and descr");
  const std::string header = npy_header(descr, shape);
  const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(header)), bytes};
  files.write(path, pieces);
}

}  // namespace ferry
