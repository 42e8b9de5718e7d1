#include "runner/files/tensor_files.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "graph/file/tensor_file.hpp"
#include "runner/files/model_files.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

const Tensor kFloats = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
const Tensor kFlags = Tensor::of<bool>({3}, {true, false, true});

Code code_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.code();
  }
  return Code::ok;
}

void save(const std::string& folder, const TensorMap& variables) {
  ModelFolder(folder).write(variables);
}

TEST_CASE("arrays come back from npy files as they were") {
  const test::TempFolder folder;
  const std::string out = folder / "out";
  const std::vector<std::string> names{"c", "dense/w:1"};
  const std::vector<Tensor> tensors{kFloats, kFlags};
  write_npy_files(out, names, tensors);
  CHECK(read_tensor(out + "/c.npy").same_bits(kFloats));
  CHECK(read_tensor(out + "/dense_w_1.npy").same_bits(kFlags));
}

TEST_CASE("arrays of every dtype come back from npy files, but for bfloat16, which they have not") {
  const test::TempFolder folder;
  const std::vector<std::string> names{"a", "b"};
  for (DType dtype : kDTypes) {
    Tensor tensor(dtype, {3, 2});
    std::fill(tensor.mutable_bytes().begin(), tensor.mutable_bytes().end(), std::byte{1});
    const std::string out = folder / std::string(name_of(dtype));
    const std::vector<Tensor> tensors{kFlags, tensor};
    if (dtype == DType::bfloat16) {
      CHECK(code_of([&] { write_npy_files(out, names, tensors); }) == Code::usage);
      CHECK(!local_files().exists(out));
      const DType dtypes[] = {DType::boolean, dtype};
      CHECK(code_of([&] { check_npy_files(names, dtypes); }) == Code::usage);  // before the run
    } else {
      write_npy_files(out, names, tensors);
      CHECK(read_tensor(out + "/b.npy").same_bits(tensor));
    }
  }
}

TEST_CASE("no name of a value leads out of the folder, and none overwrites another") {
  CHECK(file_name_of("../../etc/passwd") == "_._.._etc_passwd");
  CHECK(file_name_of(".hidden") == "_hidden");
  const test::TempFolder folder;
  const std::vector<std::string> names{"a/b", "a:b"};
  const std::vector<Tensor> tensors{kFloats, kFlags};
  CHECK(code_of([&] { write_npy_files(folder / "out", names, tensors); }) == Code::usage);
  CHECK(!local_files().exists(folder / "out"));
}

TEST_CASE("a model comes back as it was saved, also in place of another") {
  const test::TempFolder folder;
  const std::string model = folder / "model";
  save(model, {{"w", kFloats}});
  CHECK(read_model(model).at("w").same_bits(kFloats));
  save(model + "/", {{"v", kFlags}});
  const TensorMap second = read_model(model);
  CHECK(second.size() == 1);
  CHECK(second.at("v").same_bits(kFlags));
  CHECK(local_files().list(folder.path()).size() == 1);
}

TEST_CASE("a run killed while it puts its model in place: readers get a whole model, and the next run completes it") {
  for (const bool between : {false, true}) {
    CAPTURE(between);
    const test::TempFolder folder;
    const std::string model = folder / "model", newer = folder / "newer";
    save(model, {{"w", kFloats}});
    save(newer, {{"v", kFlags}});
    local_files().make_folders(model + "/.saving");
    local_files().move_file(newer + "/variables.safetensors",
                            model + (between ? "" : "/.saving") + "/variables.safetensors");
    local_files().move_file(newer + "/manifest.json", model + "/.saving/manifest.json");
    CHECK(read_model(model).contains(between ? "v" : "w"));
    { const ModelFolder next(model); }
    CHECK(read_model(model).at("v").same_bits(kFlags));
    CHECK(local_files().list(model) == std::vector<std::string>{"manifest.json", "variables.safetensors"});
  }
}

TEST_CASE("a model that cannot be put in place stays beside it, and the error says where") {
  const test::TempFolder folder;
  for (const std::string in_the_way : {"variables.safetensors", "manifest.json"}) {
    CAPTURE(in_the_way);
    const std::string model = folder / in_the_way;
    save(model, {{"w", kFloats}});
    Error error(Code::ok, "");
    {
      ModelFolder next(model);
      local_files().remove(model + "/" + in_the_way);
      local_files().make_folders(model + "/" + in_the_way + "/full");
      error = test::error_of([&] { next.write({{"v", kFlags}}); });
    }
    CHECK(error.code() == Code::usage);
    const std::string kept = in_the_way == "manifest.json" ? model : model + "/.saving";
    CHECK(test::says(error, "read the new model from \"" + kept + "\""));
    CHECK(read_model(kept).at("v").same_bits(kFlags));
  }
}

TEST_CASE("a run locks the folder of its model at its start, and removes what it made if it saves nothing") {
  const test::TempFolder folder;
  {
    ModelFolder first(folder / "a/model");
    const Error second = test::error_of([&] { const ModelFolder other(folder / "a/model"); });
    CHECK(second.code() == Code::usage);
    CHECK(test::says(second, "another job uses it"));
  }
  CHECK(local_files().list(folder.path()).empty());
  save(folder / "a/model", {{"w", kFloats}});
  { const ModelFolder unused(folder / "a/model"); }
  CHECK(read_model(folder / "a/model").contains("w"));
  CHECK(code_of([] { const ModelFolder none("/sys/ferry/model"); }) == Code::usage);
}

TEST_CASE("a folder that is no model is not replaced") {
  const test::TempFolder folder;
  local_files().make_folders(folder / "work");
  local_files().write(folder / "work/thesis.txt", "years");
  CHECK(code_of([&] { save(folder / "work", {{"w", kFloats}}); }) == Code::usage);
  CHECK(local_files().read(folder / "work/thesis.txt").text() == "years");
}

TEST_CASE("a damaged model is refused") {
  const test::TempFolder folder;
  const std::string model = folder / "model";
  save(model, {{"w", kFloats}});
  const std::string file = model + "/variables.safetensors";
  std::string bytes(local_files().read(file).text());
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  local_files().write(file, bytes);
  CHECK(code_of([&] { static_cast<void>(read_model(model)); }) == Code::file);
  local_files().write(model + "/manifest.json", R"({"ferry_model": 99, "hash": ""})");
  CHECK(code_of([&] { static_cast<void>(read_model(model)); }) == Code::file);
  CHECK(code_of([&] { static_cast<void>(read_model(folder / "none")); }) == Code::file);
  local_files().write(folder / "tensors.safetensors", "");
  for (const std::string& other : {folder / "tensors.safetensors", folder / "."})
    CHECK(test::says(test::error_of([&] { static_cast<void>(read_model(other)); }), "is not a saved model"));
}

TEST_CASE("a model whose manifest has more behind a NUL, or says something else, is refused") {
  const test::TempFolder folder;
  const std::string model = folder / "model";
  save(model, {{"w", kFloats}});
  CHECK(read_model(model).size() == 1);
  const std::string path = model + "/manifest.json";
  const std::string manifest(local_files().read(path).text());
  const auto with = [&](const std::string& from, const std::string& to) {
    const std::size_t at = manifest.find(from);
    REQUIRE(at != std::string::npos);
    return std::string(manifest).replace(at, from.size(), to);
  };
  for (const std::string& changed :
       {manifest + std::string("\0more", 5), with("\"variables\": 1", "\"variables\": 2"),
        with("\"ferry_model\": 1", "\"ferry_model\": 0"), with("\"ferry_model\": 1", "\"ferry_model\": 2"),
        with("variables.safetensors", "variables/safetensors")}) {
    local_files().write(path, changed);
    CHECK(code_of([&] { static_cast<void>(read_model(model)); }) == Code::file);
  }
}

TEST_CASE("links in a saved model are not followed, and a link is not replaced by one") {
  namespace fs = std::filesystem;
  const test::TempFolder folder;
  const std::string model = folder / "model", link = folder / "link";
  save(model, {{"w", kFloats}});
  fs::create_directory_symlink(model, link);
  CHECK(read_model(link).size() == 1);  // the user may name a link to a model
  CHECK(code_of([&] { save(link, {{"w", kFloats}}); }) == Code::usage);
  CHECK(fs::is_symlink(link));
  fs::rename(model + "/variables.safetensors", folder / "elsewhere");
  fs::create_symlink(folder / "elsewhere", model + "/variables.safetensors");
  CHECK(code_of([&] { static_cast<void>(read_model(model)); }) == Code::file);
}

}  // namespace
}  // namespace ferry
