// Calls NVRTC. It is loaded at its first use, so that ferry runs without it.
#include <nvrtc.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "kernels/cuda/optional_library.hpp"
#include "kernels/cuda/region/compiler.hpp"
#include "kernels/cuda/region/embedded.hpp"

namespace ferry::cuda {
namespace {

/// The functions of the library that ferry uses, and the version that they report.
struct Nvrtc {
  Nvrtc() {
    if (!why.empty()) return;
    int count = 0;
    if (version(&major, &minor) == NVRTC_SUCCESS && count_architectures(&count) == NVRTC_SUCCESS) {
      architectures.resize(static_cast<std::size_t>(count));
      if (list_architectures(architectures.data()) != NVRTC_SUCCESS) architectures.clear();
    }
    if (architectures.empty()) why = "NVRTC does not say for which GPUs it makes code";
  }
  OptionalLibrary library{"NVRTC", {"libnvrtc.so.13", "libnvrtc.so.12"}};
  decltype(&nvrtcVersion) version = library.find("nvrtcVersion");
  decltype(&nvrtcGetErrorString) error_string = library.find("nvrtcGetErrorString");
  decltype(&nvrtcGetNumSupportedArchs) count_architectures = library.find("nvrtcGetNumSupportedArchs");
  decltype(&nvrtcGetSupportedArchs) list_architectures = library.find("nvrtcGetSupportedArchs");
  decltype(&nvrtcCreateProgram) create = library.find("nvrtcCreateProgram");
  decltype(&nvrtcDestroyProgram) destroy = library.find("nvrtcDestroyProgram");
  decltype(&nvrtcCompileProgram) compile = library.find("nvrtcCompileProgram");
  decltype(&nvrtcGetProgramLogSize) log_size = library.find("nvrtcGetProgramLogSize");
  decltype(&nvrtcGetProgramLog) log = library.find("nvrtcGetProgramLog");
  decltype(&nvrtcGetCUBINSize) cubin_size = library.find("nvrtcGetCUBINSize");
  decltype(&nvrtcGetCUBIN) cubin = library.find("nvrtcGetCUBIN");
  decltype(&nvrtcGetPTXSize) ptx_size = library.find("nvrtcGetPTXSize");
  decltype(&nvrtcGetPTX) ptx = library.find("nvrtcGetPTX");
  std::string why = library.why();  ///< the reason why the library cannot be used; empty: it can
  int major = 0, minor = 0;
  std::vector<int> architectures;  ///< for which it makes code, ascending
};

const Nvrtc& library() {
  static const Nvrtc nvrtc;
  return nvrtc;
}

void require(const char* function, nvrtcResult result) {
  if (result == NVRTC_SUCCESS) return;
  throw Error(Code::resource, std::string(function) + " gives " + library().error_string(result));
}

bool makes_code_for(int architecture) {
  return std::ranges::binary_search(library().architectures, architecture);
}

/// The option for the kind of code: code for the device if NVRTC knows it, else intermediate code (PTX) for the newest
/// older architecture, which the driver compiles for the device.
std::string target_of(int architecture) {
  if (makes_code_for(architecture)) return "--gpu-architecture=sm_" + std::to_string(architecture);
  const auto& known = library().architectures;
  const auto after = std::ranges::upper_bound(known, architecture);
  return "--gpu-architecture=compute_" + std::to_string(after == known.begin() ? known.front() : *std::prev(after));
}

/// --fmad=false: no contraction, so that a region has the bits of its ops one by one.
constexpr const char* kOptions[] = {"--std=c++20",       "--fmad=false",     "--device-as-default-execution-space",
                                    "--device-int128",   "-D__extension__=", "--diag-suppress=161,186",
                                    "--ptxas-options=-v"};

struct Program {
  ~Program() {
    if (program != nullptr) library().destroy(&program);
  }
  nvrtcProgram program = nullptr;
};

std::string text_of(nvrtcProgram program, decltype(&nvrtcGetPTXSize) size, decltype(&nvrtcGetPTX) get) {
  std::size_t bytes = 0;
  require("NVRTC", size(program, &bytes));
  std::string text(bytes, '\0');
  require("NVRTC", get(program, text.data()));
  return text;
}

}  // namespace

std::string why_no_compiler() {
  return library().why;
}

std::string compiler_facts(int architecture) {
  std::string facts = "NVRTC " + std::to_string(library().major) + "." + std::to_string(library().minor) + " " +
                      target_of(architecture);
  for (const char* option : kOptions) facts.append(" ").append(option);
  for (const EmbeddedHeader& header : embedded_headers()) facts.append("\n").append(header.text);
  return facts;
}

CompiledRegion compile_region(const std::string& text, int architecture) {
  const Nvrtc& nvrtc = library();
  std::vector<const char*> names, texts;
  for (const EmbeddedHeader& header : embedded_headers()) {
    names.push_back(header.name);
    texts.push_back(header.text);
  }
  Program made;
  require("nvrtcCreateProgram", nvrtc.create(&made.program, text.c_str(), "region.cu", static_cast<int>(names.size()),
                                             texts.data(), names.data()));
  const std::string target = target_of(architecture);
  std::vector<const char*> options(std::begin(kOptions), std::end(kOptions));
  options.push_back(target.c_str());
  const nvrtcResult result = nvrtc.compile(made.program, static_cast<int>(options.size()), options.data());
  const std::string log = text_of(made.program, nvrtc.log_size, nvrtc.log);
  if (result == NVRTC_ERROR_COMPILATION)
    throw Error(Code::bug, "NVRTC does not compile a generated kernel").note(log).note(text);
  require("nvrtcCompileProgram", result);
  std::string ptx = text_of(made.program, nvrtc.ptx_size, nvrtc.ptx);
  std::string code = makes_code_for(architecture) ? text_of(made.program, nvrtc.cubin_size, nvrtc.cubin) : ptx;
  return {std::move(code), std::move(ptx), log};
}

}  // namespace ferry::cuda
