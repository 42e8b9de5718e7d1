// Faults of tensor files (safetensors and npy), by their numbers in README.md.
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>

#include "base/files/npy.hpp"
#include "base/files/open_file.hpp"
#include "graph/file/graph_file.hpp"
#include "graph/file/tensor_file.hpp"
#include "ops/math/math.hpp"
#include "ops/op_set.hpp"
#include "tests/support/has.hpp"
#include "tests/support/temp_folder.hpp"

using namespace ferry;

namespace {

using ferry::test::has;

/// Saves a graph with a constant so large that it is in a file beside the graph's file; returns the path of that file.
std::string saved(const test::TempFolder& folder) {
  Graph graph;
  Tensor large(DType::float32, {600, 512});
  large.mutable_data<float>()[7] = 3.5F;
  graph.fetch("predict", "y", graph.constant(large).named("large"));
  save_graph(graph, folder / "m.pb");
  REQUIRE(std::filesystem::exists(folder / "m.pb.safetensors"));
  return folder / "m.pb";
}

/// The error of loading m.pb when the file beside it has this header and `data_bytes` zeros; "accepted" without one.
std::string refusal(const std::string& header, std::size_t data_bytes) {
  const test::TempFolder folder;
  const std::string path = saved(folder);
  std::string padded = header;
  padded.resize((padded.size() + 7) / 8 * 8, ' ');
  std::string size(8, '\0');
  const std::uint64_t bytes = padded.size();
  std::memcpy(size.data(), &bytes, sizeof bytes);
  local_files().write(path + ".safetensors", size + padded + std::string(data_bytes, '\0'));
  try {
    static_cast<void>(load_graph(path, default_ops()));
  } catch (const Error& error) {
    CHECK(error.code() == Code::file);
    CHECK(error.text().find("m.pb.safetensors") != std::string::npos);
    return error.text();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("020 tensors of a dtype that ferry has not") {
  const std::string text = refusal(R"({"a":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}})", 4);
  CHECK(has(text, "the tensor \"a\" is of F8_E4M3; ferry has BOOL, U8, U16,"));
  CHECK(has(text, "F16, BF16, F32, F64"));
  CHECK(has(refusal(R"({"a":{"dtype":"X9","shape":[4],"data_offsets":[0,4]}})", 4), "X9"));
}

TEST_CASE("029 overlapping tensors beside a graph") {
  CHECK(has(refusal(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},)"
                    R"("b":{"dtype":"F32","shape":[4],"data_offsets":[8,24]}})",
                    24),
            "tensor \"b\": its bytes [8, 24] overlap the tensor before, which ends at 16"));
}

TEST_CASE("029 misaligned tensors of a file are read, as by the format's own reader") {
  const test::TempFolder folder;
  std::string header = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                       R"("b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string size(8, '\0');
  const std::uint64_t bytes = header.size();
  std::memcpy(size.data(), &bytes, sizeof bytes);
  local_files().write(folder / "m.safetensors", size + header + std::string("ab\0\0\x60\x40", 6));
  const NamedTensors tensors = read_tensors(local_files(), folder / "m.safetensors");
  CHECK(tensors.find("b")->second.str() == "[3.5]");
}

TEST_CASE("030 a file that shrinks or changes while it is read is refused") {
  const test::TempFolder folder;
  const std::string path = folder / "a.npy";
  local_files().write(path, npy_header("<f4", std::vector<std::int64_t>{4096}) + std::string(16384, '\0'));
  const OpenFile open = OpenFile::at(path);
  std::filesystem::resize_file(path, 100);
  try {
    static_cast<void>(open.read_all(kNoLimit));
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == Code::file);
    CHECK(has(error.text(), "a.npy"));
    CHECK(has(error.text(), "changed while it was read: 100 of"));
  }
}

TEST_CASE("030 files that shrink or change after they were loaded change nothing, and kill nobody") {
  const test::TempFolder folder;
  const std::string path = saved(folder);
  const auto graph = load_graph(path, default_ops());
  const NamedTensors tensors = read_tensors(local_files(), path + ".safetensors");
  std::filesystem::resize_file(path + ".safetensors", 0);
  std::filesystem::resize_file(path, 0);
  const Tensor& large = graph->op(*graph->find("large")).attrs().get<Tensor>("value");
  CHECK(large.data<float>()[7] == 3.5F);
  CHECK(large.data<float>()[600 * 512 - 1] == 0);
  CHECK(tensors.begin()->second.data<float>()[7] == 3.5F);
}

TEST_CASE("031 a big-endian file says how to convert it") {
  const test::TempFolder folder;
  local_files().write(folder / "b.npy", npy_header("<i4", std::vector<std::int64_t>{1}) + std::string(4, '\0'));
  std::string bytes(local_files().read(folder / "b.npy").text());
  bytes[bytes.find("<i4")] = '>';
  local_files().write(folder / "b.npy", bytes);
  try {
    static_cast<void>(read_npy(local_files(), folder / "b.npy"));
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == Code::file);
    CHECK(has(error.text(), "b.npy\": npy: big-endian elements: \">i4\""));
    CHECK(has(error.text(), "newbyteorder"));
  }
}
