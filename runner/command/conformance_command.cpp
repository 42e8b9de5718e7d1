#include <memory>
#include <nlohmann/json.hpp>

#include "base/format.hpp"
#include "runner/command/commands.hpp"
#include "runner/command/conformance.hpp"
#include "runner/options/number_options.hpp"

namespace ferry {
namespace {

struct ConformanceOptions {
  std::vector<std::string> folders;
  std::uint64_t seed = 0;
  bool as_json = false;
};

constexpr const char* kResults[] = {"passed", "failed", "skipped"};

std::string summary(const std::vector<ConformanceCase>& cases) {
  std::size_t counts[3] = {};
  for (const ConformanceCase& one : cases) ++counts[static_cast<std::size_t>(one.result)];
  return std::to_string(counts[0]) + " passed, " + std::to_string(counts[1]) + " failed, " + std::to_string(counts[2]) +
         " skipped\n";
}

std::string json_of(const std::vector<ConformanceCase>& cases) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ConformanceCase& one : cases) {
    nlohmann::ordered_json item = {{"name", one.name}, {"result", kResults[static_cast<std::size_t>(one.result)]}};
    if (!one.reason.empty()) item["reason"] = one.reason;
    list.push_back(std::move(item));
  }
  const nlohmann::ordered_json json = {{"cases", std::move(list)}};
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

int conformance(const ConformanceOptions& options) {
  std::vector<ConformanceCase> cases;
  bool failed = false;
  for (const std::string& folder : conformance_folders(options.folders)) {
    cases.push_back(run_conformance_case(folder, options.seed));
    const ConformanceCase& now = cases.back();
    failed = failed || now.result == ConformanceCase::Result::failed;
    if (!options.as_json && now.result != ConformanceCase::Result::passed)
      print(
          formatted("{}: {}: {:.400}\n", now.name, as_is(kResults[static_cast<std::size_t>(now.result)]), now.reason));
  }
  print(options.as_json ? json_of(cases) : summary(cases));
  return failed ? static_cast<int>(Code::conformance) : 0;
}

}  // namespace

void add_conformance_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("conformance", "Runs ONNX's test cases on one task and on two");
  auto options = std::make_shared<ConformanceOptions>();
  command->add_option("DIR", options->folders, "Folders with a model.onnx and test_data_set_*, or folders of such")
      ->required();
  restrict_range(
      command->add_option("--seed", options->seed, "The seed of the random placement of ops on two tasks; default 0"),
      std::uint64_t{0}, kMostSeed);
  command->add_flag("--json", options->as_json, "Prints each case with its result and reason as JSON");
  add_examples(*command, R"(
    ferry conformance /usr/share/libonnx-testdata/data/node    the cases of Debian's libonnx-testdata
    ferry conformance mine/test_relu --json)");
  command->callback([&action, options] { action = [options] { return conformance(*options); }; });
}

}  // namespace ferry
