// Checks the plans of cuDNN for an H100. No GPU is needed, because cuDNN also plans for a described device.
#include <doctest/doctest.h>

#include <filesystem>
#include <iostream>
#include <map>

#include "graph/file/graph_file.hpp"
#include "kernels/cuda_dnn.hpp"
#include "ops/op_set.hpp"
#include "tests/op_cases/case.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/throws.hpp"

namespace ferry::test {
namespace {

using cuda::DnnConvolution;
using cuda::DnnResult;

/// The properties of an H100 SXM in the form in which cuDNN writes them. The figures are NVIDIA's.
constexpr const char* kH100 = R"({"deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0,
  "deviceName": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85017624576, "multiProcessorCount": 132, "warpSize": 32,
  "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024,
  "maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
  "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "smClockRateKHz": 1980000, "memClockRateKHz": 2619000,
  "l2CacheSize": 52428800})";

constexpr DnnResult kResults[] = {DnnResult::output, DnnResult::image, DnnResult::filter};
constexpr DType kDnnDTypes[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16};

/// The plan's text; empty: there is none.
std::string plan_of(const DnnConvolution& convolution, std::int64_t workspace_bytes, std::uint32_t alignment = 16) {
  const auto plan = cuda::choose_plan(convolution, alignment, static_cast<std::size_t>(workspace_bytes), kH100);
  return plan == nullptr ? "" : plan->str();
}

/// Numbers of the arrays that an op's convolution has, and which of them it computes.
struct Role {
  DnnResult result;
  ConvOperands of;
};

const std::map<std::string_view, Role>& roles() {
  static const std::map<std::string_view, Role> all{{"Conv2D", {DnnResult::output, {0, 1, 2}}},
                                                    {"Conv2DTranspose", {DnnResult::image, {2, 1, 0}}},
                                                    {"Conv2DGradInput", {DnnResult::image, {3, 1, 0}}},
                                                    {"Conv2DGradFilter", {DnnResult::filter, {1, 3, 0}}}};
  return all;
}

/// The convolutions of a graph, with the batch of those that have any number of images.
class Planned {
 public:
  void plan_all(const Graph& graph) {
    for (OpId id = 0; id < graph.size(); ++id)
      if (const auto role = roles().find(graph.op(id).def().name); role != roles().end())
        plan(graph.op(id), role->second);
  }

  std::map<std::string, int> engines;  ///< how many plans of each dtype, result and engine there are
  int described = 0, planned = 0;

 private:
  void plan(const Op& op, const Role& role) {
    std::vector<Type> types;
    for (const ValueId input : op.inputs()) types.push_back(of_batch(op.graph().type(input)));
    types.push_back(of_batch(op.graph().type(op.output(0))));
    const std::span<const Type> all(types);
    const KernelSetup setup{"conv", op.attrs(), all.first(all.size() - 1), all.last(1), nullptr, {}, 0};
    const Convolution conv = conv_of(setup, role.of);
    for (const DType dtype : kDnnDTypes) {
      const auto convolution = cuda::for_library(conv, role.result, dtype);
      if (!convolution) continue;
      ++described;
      CAPTURE(op.str());
      CAPTURE(name_of(dtype));
      const std::string text = plan_of(*convolution, cuda::workspace_bytes(conv, role.result, dtype));
      CAPTURE(text);
      CHECK(text != "");
      planned += text.empty() ? 0 : 1;
      CHECK((dtype != DType::float32 || text.find("tensor cores") == std::string::npos));
      for (const char* note : {"rounded", "Fourier", "not deterministic", "Winograd"})
        CHECK(text.find(note) == std::string::npos);
      ++engines[std::string(op.def().name) + " " + std::string(name_of(dtype)) + ": " + text.substr(0, text.find(','))];
    }
  }

  static Type of_batch(Type type) {
    if (!type.shape.known()) {
      std::vector<std::int64_t> sizes{32};
      for (int d = 1; d < type.shape.rank(); ++d) sizes.push_back(type.shape[d].size());
      type.shape = Shape(std::span<const std::int64_t>(sizes));
    }
    return type;
  }
};

void print(const char* of, const Planned& all) {
  std::cout << of << ": " << all.planned << " of " << all.described << " convolutions have a plan\n";
  for (const auto& [engine, count] : all.engines) std::cout << "  " << count << " " << engine << "\n";
}

/// A layer with an image of rows as long as its columns, and so its filter.
Convolution layer(std::int64_t images, std::int64_t in, std::int64_t size, std::int64_t out, std::int64_t taps,
                  std::int64_t stride) {
  const std::int64_t padding = taps / 2, outputs = (size + 2 * padding - taps) / stride + 1;
  Convolution conv;
  conv.images = images;
  conv.in = in;
  conv.out = out;
  conv.image = {size, size};
  conv.filter = {taps, taps};
  conv.output = {outputs, outputs};
  conv.slide.rows = conv.slide.columns = {stride, padding, 1};
  return conv;
}

}  // namespace

TEST_CASE("cuDNN has a plan for every convolution of the op cases") {
  if (const std::string why = cuda::why_no_dnn(); !why.empty()) FERRY_SKIP(why);
  Planned all;
  for (const Case& which : op_cases())
    if (roles().contains(which.op))
      for (std::size_t shape = 0; shape < which.shapes.size(); ++shape)
        all.plan_all(CaseGraph(which, inputs_for(which, shape, DType::float32)).graph);
  print("op cases", all);
  CHECK(all.described > 300);
}

TEST_CASE("cuDNN has a plan for every convolution of the samples") {
  if (const std::string why = cuda::why_no_dnn(); !why.empty()) FERRY_SKIP(why);
  Planned all;
  for (const auto& file : std::filesystem::directory_iterator(FERRY_SAMPLES))
    if (file.path().extension() == ".pb") all.plan_all(*load_graph(file.path(), default_ops()));
  print("samples", all);
  CHECK(all.described > 20);
}

TEST_CASE("the planned workspace suffices for cuDNN's best plans") {
  if (const std::string why = cuda::why_no_dnn(); !why.empty()) FERRY_SKIP(why);
  for (const Convolution& conv :
       {layer(64, 3, 224, 64, 7, 2), layer(64, 64, 56, 64, 3, 1), layer(64, 256, 56, 64, 1, 1),
        layer(64, 256, 56, 512, 1, 2), layer(64, 128, 28, 128, 3, 1), layer(64, 512, 7, 512, 3, 1),
        layer(256, 64, 56, 64, 3, 1), layer(64, 32, 28, 64, 5, 1), layer(64, 1, 28, 32, 5, 1)})
    for (const DnnResult result : kResults)
      for (const DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
        CAPTURE(conv.in);
        CAPTURE(conv.image.rows);
        CAPTURE(static_cast<int>(result));
        CAPTURE(name_of(dtype));
        const DnnConvolution convolution = *cuda::for_library(conv, result, dtype);
        CHECK(plan_of(convolution, cuda::workspace_bytes(conv, result, dtype)) ==
              plan_of(convolution, std::int64_t{1} << 40));
      }
}

TEST_CASE("cuDNN plans for arrays in any order of dims and of any alignment") {
  if (const std::string why = cuda::why_no_dnn(); !why.empty()) FERRY_SKIP(why);
  const Convolution conv = layer(64, 128, 28, 128, 3, 1);
  DnnConvolution convolution = *cuda::for_library(conv, DnnResult::output, DType::bfloat16);
  CHECK(plan_of(convolution, 1000) != plan_of(convolution, std::int64_t{1} << 30));
  CHECK(plan_of(convolution, std::int64_t{1} << 30, 2) != "");
  for (cuda::DnnArray* array : {&convolution.image, &convolution.filter, &convolution.output}) {
    const auto& [n, c, rows, columns] = array->sizes;
    array->strides = {c * rows * columns, 1, c * columns, c};
  }
  CHECK(plan_of(convolution, 1000).find("tensor cores") != std::string::npos);
}

TEST_CASE("an error of cuDNN has its text") {
  if (const std::string why = cuda::why_no_dnn(); !why.empty()) FERRY_SKIP(why);
  DnnConvolution convolution = *cuda::for_library(layer(2, 8, 9, 8, 3, 1), DnnResult::output, DType::float32);
  CHECK(plan_of(convolution, 1 << 20) != "");
  ++convolution.output.sizes[2];
  const std::string text = error_of([&] { plan_of(convolution, 1 << 20); }).text();
  CHECK(text.starts_with("cudnnBackendFinalize gives CUDNN_STATUS_BAD_PARAM: "));
}

}  // namespace ferry::test
