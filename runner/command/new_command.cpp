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

std::string project_of(const std::string& name) {
  const std::string_view version = FERRY_VERSION;
  return "cmake_minimum_required(VERSION 3.16)\nproject(" + name +
         " CXX)\nif(NOT CMAKE_BUILD_TYPE)\n  set(CMAKE_BUILD_TYPE Release)\nendif()\nfind_package(ferry " +
         std::string(version.substr(0, version.rfind('.'))) + " CONFIG REQUIRED)\nadd_executable(" + name +
         " main.cpp)\ntarget_compile_features(" + name + " PRIVATE cxx_std_20)\ntarget_link_libraries(" + name +
         " PRIVATE ferry::ferry)\n";
}

/// Error(usage) unless the name can be the name of a folder and of a target of CMake.
void require_name(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto fits = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-'; };
  constexpr std::string_view kTargets[] = {"all",        "clean",         "edit_cache", "ferry",
                                           "help",       "install",       "package",    "package_source",
                                           "preinstall", "rebuild_cache", "test"};
  const bool taken = std::ranges::find(kTargets, name) != std::end(kTargets);
  if (!taken && name.size() <= kLongestName && letter(name.front()) && std::ranges::all_of(name, fits)) return;
  throw Error(Code::usage, "new: {:?} cannot be the name of a project", name)
      .hint(
          "begin with a letter, and use only letters, digits, _ and -; names of CMake's targets such as all, clean "
          "and test are taken");
}

int make_project(const std::string& name) {
  require_name(name);
  FileSystem& files = local_files();
  if (files.exists(name)) throw Error(Code::usage, "new: {:?} exists already", name).hint("choose another name");
  files.make_folders(name);
  files.write(name + "/CMakeLists.txt", project_of(name));
  files.write(name + "/main.cpp", kProgram);
  print("made " + name + "/CMakeLists.txt and " + name + "/main.cpp\nnext:\n  cmake -S " + name + " -B " + name +
        "/build && cmake --build " + name + "/build\n  " + name + "/build/" + name + " --tasks 2 --steps 500\n");
  return 0;
}

}  // namespace

void add_new_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("new", "Makes a folder with a program and its CMake project");
  auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "The name of the folder, the project and the program")->required();
  add_examples(*command, R"(
    ferry new line    makes line/CMakeLists.txt and line/main.cpp, and prints how to build and run them)");
  command->callback([&action, name] { action = [name] { return make_project(*name); }; });
}

}  // namespace ferry
