// Calls cuDNN by its graph API. cuDNN is loaded at its first use, so that ferry runs without it.
#include <cudnn_graph.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "kernels/cuda/current_device.hpp"
#include "kernels/cuda/image/dnn.hpp"
#include "kernels/cuda/optional_library.hpp"
#include "kernels/cuda/queue.hpp"

namespace ferry::cuda {
namespace {

/// The functions of the library that ferry uses.
struct Cudnn {
  OptionalLibrary library{"cuDNN", {"libcudnn.so.9"}};
  decltype(&cudnnGetErrorString) error_string = library.find("cudnnGetErrorString");
  decltype(&cudnnGetLastErrorString) last_error = library.find("cudnnGetLastErrorString");
  decltype(&cudnnCreate) create = library.find("cudnnCreate");
  decltype(&cudnnSetStream) set_stream = library.find("cudnnSetStream");
  decltype(&cudnnBackendCreateDescriptor) create_descriptor = library.find("cudnnBackendCreateDescriptor");
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = library.find("cudnnBackendDestroyDescriptor");
  decltype(&cudnnBackendFinalize) finalize = library.find("cudnnBackendFinalize");
  decltype(&cudnnBackendSetAttribute) set_attribute = library.find("cudnnBackendSetAttribute");
  decltype(&cudnnBackendGetAttribute) get_attribute = library.find("cudnnBackendGetAttribute");
  decltype(&cudnnBackendExecute) execute = library.find("cudnnBackendExecute");
  std::string why = library.why();  ///< the reason why the library cannot be used; empty: it can
};

const Cudnn& cudnn() {
  static const Cudnn dnn;
  return dnn;
}

void require_done(const char* function, cudnnStatus_t status) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 1024> text{};
  cudnn().last_error(text.data(), text.size());
  throw Error(Code::resource, std::string(function) + " gives " + cudnn().error_string(status) +
                                  (text[0] == '\0' ? "" : ": " + std::string(text.data())));
}

/// Owns an object of the library.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    require_done("cudnnBackendCreateDescriptor", cudnn().create_descriptor(type, &object_));
  }
  Descriptor(Descriptor&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (object_ != nullptr) cudnn().destroy_descriptor(object_);
  }

  void set_all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
               const void* values) {
    require_done("cudnnBackendSetAttribute", cudnn().set_attribute(object_, name, type, count, values));
  }
  template <class T>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    set_all(name, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.object_);
  }
  void set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values) {
    set_all(name, CUDNN_TYPE_INT64, std::ssize(values), values.data());
  }

  /// Returns the number of values; writes at most `most` of them.
  std::int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t most,
                   void* values) const {
    std::int64_t count = 0;
    require_done("cudnnBackendGetAttribute", cudnn().get_attribute(object_, name, type, most, &count, values));
    return count;
  }
  [[nodiscard]] std::int64_t number(cudnnBackendAttributeName_t name) const {
    std::int64_t value = 0;
    get(name, CUDNN_TYPE_INT64, 1, &value);
    return value;
  }

  [[nodiscard]] cudnnStatus_t finalize_status() { return cudnn().finalize(object_); }
  /// Returns whether the library supports the described object.
  [[nodiscard]] bool finalize() {
    const cudnnStatus_t status = finalize_status();
    if (CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED) return false;
    require_done("cudnnBackendFinalize", status);
    return true;
  }
  [[nodiscard]] cudnnBackendDescriptor_t object() const { return object_; }

 private:
  cudnnBackendDescriptor_t object_ = nullptr;
};

/// The library's handle for a device. A handle has one stream at a time, so its users lock it.
struct Handle {
  std::mutex mutex;
  cudnnHandle_t handle = nullptr;
};

/// The handle for the current device. Each device has one.
Handle& dnn_handle_here() {
  static std::mutex mutex;
  static std::map<int, Handle> handles;
  const int device = current_device();
  const std::lock_guard lock(mutex);
  Handle& handle = handles[device];
  if (handle.handle == nullptr) require_done("cudnnCreate", cudnn().create(&handle.handle));
  return handle;
}

/// The device for which a plan is made: a device of this machine (`handle`), or a described device.
struct Target {
  cudnnHandle_t handle = nullptr;
  std::optional<Descriptor> properties = {};
};

Target described(const std::string& device) {
  Target target{nullptr, Descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR)};
  target.properties->set_all(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, std::ssize(device),
                             device.data());
  require_done("cudnnBackendFinalize", target.properties->finalize_status());
  return target;
}

// ---- Description of the computation ----

cudnnDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return CUDNN_DATA_DOUBLE;
    case DType::float16:
      return CUDNN_DATA_HALF;
    case DType::bfloat16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

enum ArrayId : std::int64_t { kImageId = 1, kFilterId, kOutputId };

/// The library's names for an operation and its attributes.
struct Operation {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t convolution, image, filter, output, alpha, beta;
};

Operation operation_of(DnnResult result) {
  switch (result) {
    case DnnResult::image:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case DnnResult::filter:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  }
}

/// The library's description of a convolution. Owns its descriptors, because they refer to one another.
class Description {
 public:
  /// Describes a convolution. Returns whether the library supports it.
  bool describe(const DnnConvolution& of, std::uint32_t alignment, const Target& target) {
    const cudnnDataType_t type = data_type(of.dtype);
    const bool in_double = of.dtype == DType::float64;
    const Operation names = operation_of(of.result);
    Descriptor &image = add(CUDNN_BACKEND_TENSOR_DESCRIPTOR), &filter = add(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    Descriptor &output = add(CUDNN_BACKEND_TENSOR_DESCRIPTOR), &window = add(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    Descriptor &operation = add(names.type), &whole = add(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    if (!describe_array(image, of.image, kImageId, type, alignment) ||
        !describe_array(filter, of.filter, kFilterId, type, alignment) ||
        !describe_array(output, of.output, kOutputId, type, alignment) ||
        !describe_window(window, of, in_double ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT))
      return false;
    operation.set(names.convolution, window);
    operation.set(names.image, image);
    operation.set(names.filter, filter);
    operation.set(names.output, output);
    for (const auto& [name, factor] : {std::pair{names.alpha, 1.0}, std::pair{names.beta, 0.0}})
      if (in_double)
        operation.set(name, CUDNN_TYPE_DOUBLE, factor);
      else
        operation.set(name, CUDNN_TYPE_FLOAT, static_cast<float>(factor));
    if (!operation.finalize()) return false;
    if (target.handle != nullptr) whole.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
    whole.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    graph_ = &whole;
    return whole.finalize();
  }

  [[nodiscard]] const Descriptor& graph() const { return *graph_; }

 private:
  Descriptor& add(cudnnBackendDescriptorType_t type) { return *all_.emplace_back(std::make_unique<Descriptor>(type)); }

  static bool describe_array(Descriptor& to, const DnnArray& array, std::int64_t id, cudnnDataType_t type,
                             std::int64_t alignment) {
    to.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
    to.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
    to.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment);
    to.set(CUDNN_ATTR_TENSOR_DIMENSIONS, array.sizes);
    to.set(CUDNN_ATTR_TENSOR_STRIDES, array.strides);
    return to.finalize();
  }

  static bool describe_window(Descriptor& to, const DnnConvolution& of, cudnnDataType_t sums) {
    to.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, sums);
    to.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
    to.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2});
    to.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, of.strides);
    to.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, of.dilations);
    to.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, of.before);
    to.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, of.after);
    return to.finalize();
  }

  std::vector<std::unique_ptr<Descriptor>> all_;
  Descriptor* graph_ = nullptr;
};

// ---- Choice of a plan ----

constexpr const char* kNoteNames[CUDNN_NUMERICAL_NOTE_TYPE_COUNT] = {
    "tensor cores", "rounded inputs", "rounded sums",   "Fourier",          "not deterministic",
    "Winograd",     "Winograd 4 x 4", "Winograd 6 x 6", "Winograd 13 x 13", "strict NaN"};

struct CudnnPlan final : DnnPlan {
  [[nodiscard]] std::string str() const override {
    std::string text = "engine " + std::to_string(engine) + ", workspace " + std::to_string(workspace_bytes);
    for (const cudnnBackendNumericalNote_t note : notes) text += std::string(", ") + kNoteNames[note];
    return text;
  }
  Description description;
  std::optional<Descriptor> config, plan;
  std::int64_t engine = 0, workspace_bytes = 0;
  std::vector<cudnnBackendNumericalNote_t> notes;
};

/// The library's suggestions for computing the graph, the best one first.
std::vector<Descriptor> advised(const Descriptor& graph, cudnnBackendHeurMode_t mode, const Target& target) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (target.properties) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *target.properties);
  if (!heuristics.finalize()) return {};
  const std::int64_t count = heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<Descriptor> configs;
  std::vector<cudnnBackendDescriptor_t> objects;
  for (std::int64_t i = 0; i < count; ++i)
    objects.push_back(configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).object());
  const std::int64_t got =
      heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, objects.data());
  while (std::ssize(configs) > got) configs.pop_back();
  return configs;
}

/// True if an engine with these notes computes the same as ferry's own kernels, except for the order of sums. Tensor
/// cores are excluded for float32, because they would round factors to TF32.
bool is_exact(std::span<const cudnnBackendNumericalNote_t> notes, DType dtype) {
  return std::ranges::none_of(notes, [&](cudnnBackendNumericalNote_t note) {
    return note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE ? dtype == DType::float32
                                                    : note != CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP;
  });
}

/// Makes `plan` use the suggestion `config`. Returns false if the suggestion does not give ferry's bits, does not work,
/// or needs more workspace.
bool take(CudnnPlan& plan, Descriptor config, const Target& target, DType dtype, std::size_t workspace_bytes) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t object = engine.object();
  config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &object);
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> all{};
  const auto count =
      engine.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, std::ssize(all), all.data());
  const std::span notes(all.data(), static_cast<std::size_t>(count));
  if (!is_exact(notes, dtype)) return false;

  Descriptor made(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (target.handle != nullptr) made.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, target.handle);
  if (target.properties) made.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target.properties);
  made.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  // A suggestion may fail for these sizes.
  if (made.finalize_status() != CUDNN_STATUS_SUCCESS) return false;
  plan.workspace_bytes = made.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  if (static_cast<std::size_t>(plan.workspace_bytes) > workspace_bytes) return false;
  plan.engine = engine.number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  plan.notes.assign(notes.begin(), notes.end());
  plan.config.emplace(std::move(config));
  plan.plan.emplace(std::move(made));
  return true;
}

std::unique_ptr<const DnnPlan> choose_plan_for(const DnnConvolution& convolution, std::uint32_t alignment,
                                               std::size_t workspace_bytes, const Target& target) {
  auto plan = std::make_unique<CudnnPlan>();
  if (!plan->description.describe(convolution, alignment, target)) return nullptr;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
    for (Descriptor& config : advised(plan->description.graph(), mode, target))
      if (take(*plan, std::move(config), target, convolution.dtype, workspace_bytes)) return plan;
  return nullptr;
}

}  // namespace

std::string why_no_dnn() {
  return cudnn().why;
}

std::unique_ptr<const DnnPlan> choose_plan(const DnnConvolution& convolution, std::uint32_t alignment,
                                           std::size_t workspace_bytes, const std::string& device) {
  if (!device.empty()) return choose_plan_for(convolution, alignment, workspace_bytes, described(device));
  Handle& handle = dnn_handle_here();
  const std::lock_guard lock(handle.mutex);
  return choose_plan_for(convolution, alignment, workspace_bytes, {handle.handle});
}

void convolve(const KernelRun& run, const DnnPlan& plan, std::byte* image, std::byte* filter, std::byte* output,
              std::span<std::byte> workspace) {
  const auto& chosen = static_cast<const CudnnPlan&>(plan);
  constexpr std::array<std::int64_t, 3> kIds{kImageId, kFilterId, kOutputId};
  const std::array<void*, 3> pointers{image, filter, output};
  Descriptor arrays(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  arrays.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, kIds);
  arrays.set_all(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, std::ssize(pointers), pointers.data());
  arrays.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, static_cast<void*>(workspace.data()));
  require_done("cudnnBackendFinalize", arrays.finalize_status());
  Handle& handle = dnn_handle_here();
  const std::lock_guard lock(handle.mutex);
  require_done("cudnnSetStream",
               cudnn().set_stream(handle.handle, static_cast<cudaStream_t>(static_cast<Queue*>(run.queue)->stream)));
  require_done("cudnnBackendExecute", cudnn().execute(handle.handle, chosen.plan->object(), arrays.object()));
}

}  // namespace ferry::cuda
