// fuzz_onnx CASES FIRST COUNT: changes ONNX models at random, reads them, and imports them with the input shapes that
// they declare. A model must be refused with a reason, or give a legal graph. It starts from the small models in the
// folder CASES: ONNX's own tests.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "graph/legality.hpp"
#include "ops/onnx/ferry_onnx.pb.h"
#include "ops/onnx/import.hpp"
#include "runner/files/graph_files.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace ferry::test {
namespace {

constexpr std::uintmax_t kSmall = 4000;

std::vector<std::string> seeds(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().filename() == "model.onnx" && entry.file_size() < kSmall) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> files;
  for (const auto& path : paths) {
    const FileBytes bytes = local_files().read(path.string(), kSmall);
    files.emplace_back(reinterpret_cast<const char*>(bytes.span().data()), bytes.span().size());
  }
  return files;
}

bool imported(const std::string& content, const onnx::Evaluate& evaluate) {
  const onnx::Model model = onnx::decode_model(std::as_bytes(std::span(content)), "fuzz.onnx", "/nowhere");
  onnx::ImportOptions options;
  options.evaluate = evaluate;
  check_legal(*onnx::import_model(model, options).graph);
  return true;
}

}  // namespace
}  // namespace ferry::test

int main(int argc, char** argv) {
  using namespace ferry::test;
  if (argc != 4) return std::fputs("usage: fuzz_onnx FOLDER FIRST COUNT\n", stderr), 2;
  using ferry::Code;
  if (!std::filesystem::exists(argv[1])) return 77;  // skipped
  const ferry::onnx::Evaluate evaluate = ferry::constant_evaluator();
  ferry::onnx_file::ModelProto message;
  return fuzz(argv[2], argv[3], seeds(argv[1]), message, [&] {
    const std::string content = message.SerializeAsString();
    return outcome_of([&] { return imported(content, evaluate); },
                      {Code::file, Code::usage, Code::plan, Code::numeric, Code::resource, Code::program});
  });
}
