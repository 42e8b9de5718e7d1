// region_texts FOLDER PLAN.plan…: writes the texts of the kernels that are generated for the tile regions on GPUs of
// these plans, each once. Prints the number of texts and the number of regions.
#include <cstdio>
#include <cstdlib>
#include <set>
#include <span>
#include <string>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "executor/fused/device_regions.hpp"
#include "kernels/cuda_on_host.hpp"
#include "plan/file/plan_file.hpp"

namespace {

using namespace ferry;

int run(const std::string& folder, std::span<char* const> paths) {
  const std::shared_ptr<const KernelTable> kernels = cuda::kernels_on_host(cpu_kernels());
  std::set<std::string> texts;
  int regions = 0;
  for (const char* const path : paths) {
    const Plan plan = read_plan(local_files(), path);
    for (const PlanClass& role : plan.classes)
      for (const Instruction& instruction : role.instructions) {
        if (instruction.what != Opcode::tiles || !role.on_queue(instruction)) continue;
        texts.insert(cuda::text_of_region(fused_kernels(plan, role, instruction, *kernels)));
        ++regions;
      }
  }
  int number = 0;
  for (const std::string& text : texts)
    local_files().write(folder + "/region" + std::to_string(number++) + ".cu", std::string_view(text));
  std::printf("%d texts of %d regions\n", number, regions);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return argc < 2 ? 2 : run(argv[1], std::span(argv + 2, static_cast<std::size_t>(argc - 2)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
