#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "base/text.hpp"
#include "runner/command/commands.hpp"

namespace ferry {
namespace {

constexpr std::size_t kLongestName = 64;

constexpr std::string_view kProject = R"(cmake_minimum_required(VERSION 3.16)
project(NAME CXX)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_package(ferry VERSION CONFIG REQUIRED)
add_executable(NAME main.cpp)
target_compile_features(NAME PRIVATE cxx_std_20)
target_link_libraries(NAME PRIVATE ferry::ferry)
)";

constexpr std::string_view kProgram = R"(// Fits a line to points, over all tasks of the job.
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

int main(int argc, char** argv) {
  ferry::Graph g;
  auto everywhere = g.on(g.mesh("dp"));  // ops made from here on are on all tasks of the job

  // New points in each step: z = 3x - 2y + 1. Each task makes and computes its part of the rows.
  auto x = ferry::uniform(g, {512, 2}).laid({ferry::split(0)});
  auto z = ferry::matmul(x, g.constant({{3.0}, {-2.0}})) + 1.0;

  // Variables keep their value from step to step.
  auto weights = g.variable("weights", g.constant({{0.0}, {0.0}}));
  auto bias = g.variable("bias", g.constant(0.0));

  // ferry adds the messages: here the sums of the gradients over the tasks.
  auto loss = ferry::mean(ferry::square(ferry::matmul(x, weights) + bias - z));
  for (const auto& update : ferry::adam(loss, {weights, bias}, 0.05)) g.target("train", update);
  g.fetch("train", "loss", loss);
  return ferry::run_main(argc, argv, g);
}
)";

/// `text` with each NAME and VERSION replaced.
std::string filled(std::string_view text, const std::string& name) {
  const std::string_view version = FERRY_VERSION;
  std::string made;
  while (!text.empty()) {
    if (text.starts_with("NAME")) {
      made += name;
      text.remove_prefix(4);
    } else if (text.starts_with("VERSION CONFIG")) {
      made += version.substr(0, version.rfind('.'));
      text.remove_prefix(7);
    } else {
      made += text.front();
      text.remove_prefix(1);
    }
  }
  return made;
}

/// Error(usage) unless the name can be the name of a folder and of a target of CMake.
void require_name(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto fits = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-'; };
  constexpr std::string_view kTargets[] = {"all", "clean", "help", "install", "test", "ferry"};
  const bool taken = std::ranges::find(kTargets, name) != std::end(kTargets);
  if (!taken && name.size() <= kLongestName && letter(name.front()) && std::ranges::all_of(name, fits)) return;
  throw Error(Code::usage, "new: " + in_quotes(name) + " cannot be the name of a project")
      .hint("a letter, and then letters, digits, _ and -; none of all, clean, ferry, help, install and test");
}

int make_project(const std::string& name) {
  require_name(name);
  FileSystem& files = local_files();
  if (files.exists(name))
    throw Error(Code::usage, "new: " + in_quotes(name) + " is there already").hint("another name");
  files.make_folders(name);
  files.write(name + "/CMakeLists.txt", filled(kProject, name));
  files.write(name + "/main.cpp", filled(kProgram, name));
  print("made " + name + "/CMakeLists.txt and " + name + "/main.cpp\nnext:\n  cmake -S " + name + " -B " + name +
        "/build && cmake --build " + name + "/build\n  " + name + "/build/" + name + " --tasks 2 --steps 500\n");
  return 0;
}

}  // namespace

void add_new_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("new", "Makes a folder with a program and its CMake project");
  auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "Of the folder, the project and the program")->required();
  add_examples(*command, R"(
    ferry new line    makes line/CMakeLists.txt and line/main.cpp, and prints how to build and run them)");
  command->callback([&action, name] { action = [name] { return make_project(*name); }; });
}

}  // namespace ferry
