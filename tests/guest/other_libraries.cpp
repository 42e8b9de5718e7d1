#include "tests/guest/other_libraries.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

[[noreturn]] void called_by_ferry(const char* function) {
  std::fprintf(stderr, "ferry calls %s of the program's other version\n", function);
  std::_Exit(99);
}

}  // namespace

// Makes weak symbols, as a compiler makes them for inline functions of a header-only library.
#define OTHER_VERSION [[gnu::used, gnu::noinline, gnu::weak]]

namespace spdlog {
namespace details {
struct log_msg;
}
class logger {
 public:
  OTHER_VERSION void log_it_(const details::log_msg&, bool, bool) { called_by_ferry("spdlog"); }
  std::vector<int> own;
};
}  // namespace spdlog

namespace fmt {
inline namespace v9 {
namespace detail {
OTHER_VERSION void assert_fail(const char*, int, const char*) {
  called_by_ferry("fmt");
}
}  // namespace detail
}  // namespace v9
}  // namespace fmt

namespace CLI {
class App {
 public:
  OTHER_VERSION explicit App(std::string, std::string) { called_by_ferry("CLI11"); }
  OTHER_VERSION void parse(int, const char* const*) { called_by_ferry("CLI11"); }
  std::string own[9];
};
}  // namespace CLI

namespace nlohmann {
inline namespace json_abi_v3_11_2 {
namespace detail {
template <class CharType, class StringType>
class output_string_adapter {
 public:
  [[gnu::used, gnu::noinline]] void write_character(CharType) { called_by_ferry("nlohmann-json"); }
  [[gnu::used, gnu::noinline]] void write_characters(const CharType*, std::size_t) { called_by_ferry("nlohmann-json"); }
};
template class output_string_adapter<char, std::string>;
}  // namespace detail
}  // namespace json_abi_v3_11_2
}  // namespace nlohmann

namespace flatbuffers {
class FlatBufferBuilder {
 public:
  OTHER_VERSION unsigned EndTable(unsigned) { called_by_ferry("flatbuffers"); }
  OTHER_VERSION void CreateString(const char*, std::size_t) { called_by_ferry("flatbuffers"); }
};
}  // namespace flatbuffers

// Sources of libraries in C that are compiled into the program.
extern "C" {
[[gnu::used]] unsigned long long XXH3_64bits_withSeed(const void*, std::size_t, unsigned long long) {
  called_by_ferry("xxhash");
}
[[gnu::used]] void* XXH3_createState() {
  called_by_ferry("xxhash");
}
[[gnu::used]] void* ZSTD_createDCtx() {
  called_by_ferry("zstd");
}
[[gnu::used]] std::size_t ZSTD_decompressStream(void*, void*, void*) {
  called_by_ferry("zstd");
}
}

namespace guest {

void use_other_libraries() {
  spdlog::logger logger;
  logger.own.push_back(1);
}

}  // namespace guest
