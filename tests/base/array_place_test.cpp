// Finding where arrays lie in files, from headers alone. It refuses what reading the whole file would refuse.
#include "base/files/array_place.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/files/idx.hpp"
#include "base/files/npy.hpp"
#include "base/files/safetensors.hpp"
#include "tests/support/damage.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

using test::error_of;

/// A file in memory.
class TextReader final : public FileReader {
 public:
  explicit TextReader(std::string text) : text_(std::move(text)) {}
  const std::string& name() const override { return name_; }
  std::uint64_t size() const override { return text_.size(); }
  void read(std::uint64_t begin, std::span<std::byte> target) const override {
    REQUIRE(begin + target.size() <= text_.size());
    if (!target.empty()) std::memcpy(target.data(), text_.data() + begin, target.size());
  }

 private:
  std::string text_, name_ = "x";
};

std::string npy_file() {
  const std::int64_t shape[] = {2, 3};
  return npy_header("<f4", shape) + std::string(24, 'a');
}
std::string idx_file() {
  return std::string("\0\0\x0c\x02\0\0\0\x02\0\0\0\x03", 12) + std::string(24, 'a');
}
std::string safetensors_file() {
  std::string header = R"({"b":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                       R"("a":{"dtype":"U8","shape":[1],"data_offsets":[24,25]}})";
  header.append((8 - header.size() % 8) % 8, ' ');
  return std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header + std::string(25, 'a');
}

ArrayPlace of_npy(const std::string& file) {
  return npy_place(TextReader(file));
}
ArrayPlace of_idx(const std::string& file) {
  return idx_place(TextReader(file));
}
ArrayPlace of_safetensors(const std::string& file) {
  return safetensors_place(TextReader(file), "b");
}

TEST_SUITE_BEGIN("base/array_place");

TEST_CASE("array_place: where the elements begin") {
  const std::vector<std::int64_t> shape{2, 3};
  const ArrayPlace npy = of_npy(npy_file()), idx = of_idx(idx_file()), safe = of_safetensors(safetensors_file());
  CHECK((npy.dtype == "<f4" && npy.shape == shape && npy.begin == 128 && npy.reversed == 1));
  CHECK((idx.dtype == "<i4" && idx.shape == shape && idx.begin == 12 && idx.reversed == 4));
  CHECK((safe.dtype == "F32" && safe.shape == shape && safe.begin + 25 == safetensors_file().size()));
}

TEST_CASE("array_place: rows that do not lie together, tensors that are not there") {
  std::string fortran = npy_file();
  fortran.replace(fortran.find("False"), 5, "True ");
  CHECK(test::says(error_of([&] { (void)of_npy(fortran); }), "Fortran order"));
  const TextReader file(safetensors_file());
  CHECK(test::says(error_of([&] { (void)safetensors_place(file, "c"); }), "there is no tensor \"c\""));
}

TEST_CASE("array_place: cut or flipped anywhere, a file is refused, or its elements are in it") {
  for (const auto& [good, place] : {std::pair(npy_file(), &of_npy), std::pair(idx_file(), &of_idx),
                                    std::pair(safetensors_file(), &of_safetensors)}) {
    const auto read = [place = place](const std::string& file) {
      const ArrayPlace found = place(file);
      const bool byte = found.dtype.ends_with("1") || found.dtype.ends_with("8");
      CHECK(found.begin + *tensor_bytes(found.shape, byte ? 1 : 2) <= file.size());
    };
    CHECK(test::cut_everywhere(good, read) == 0);
    test::flip_everywhere(good, read);
  }
}

TEST_CASE("array_place: parts of a file are read, and a change is told") {
  const test::TempFolder folder;
  local_files().write(folder / "x", std::string_view("abcdefgh"));
  const auto file = local_files().open_beneath(folder.path(), "x");
  CHECK(file->size() == 8);
  char part[3] = {};
  file->read(2, std::as_writable_bytes(std::span(part)));
  CHECK(std::string(part, 3) == "cde");
  const Error behind = error_of([&] { file->read(6, std::as_writable_bytes(std::span(part))); });
  CHECK(behind.code() == Code::file);
  CHECK(test::says(behind, "of 3 bytes from byte 6 on 2 were there"));
  CHECK(error_of([&] { (void)local_files().open_beneath(folder.path(), "../x"); }).code() == Code::file);
}

TEST_SUITE_END();

}  // namespace
}  // namespace ferry
