// Calls cuBLASLt. It is loaded at its first use, so that ferry runs without it.
#include <cublasLt.h>

#include <map>
#include <mutex>

#include "base/error.hpp"
#include "kernels/cuda/current_device.hpp"
#include "kernels/cuda/optional_library.hpp"
#include "kernels/cuda/product/blas.hpp"
#include "kernels/cuda/queue.hpp"

namespace ferry::cuda {
namespace {

/// The functions of the library that ferry uses.
struct CublasLt {
  OptionalLibrary library{"cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"}};
  decltype(&cublasLtGetStatusName) status_name = library.find("cublasLtGetStatusName");
  decltype(&cublasLtCreate) create = library.find("cublasLtCreate");
  decltype(&cublasLtMatmulDescCreate) desc_create = library.find("cublasLtMatmulDescCreate");
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = library.find("cublasLtMatmulDescDestroy");
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = library.find("cublasLtMatmulDescSetAttribute");
  decltype(&cublasLtMatrixLayoutCreate) layout_create = library.find("cublasLtMatrixLayoutCreate");
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = library.find("cublasLtMatrixLayoutDestroy");
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = library.find("cublasLtMatrixLayoutSetAttribute");
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = library.find("cublasLtMatmulPreferenceCreate");
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = library.find("cublasLtMatmulPreferenceDestroy");
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = library.find("cublasLtMatmulPreferenceSetAttribute");
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = library.find("cublasLtMatmulAlgoGetHeuristic");
  decltype(&cublasLtMatmulAlgoCheck) check = library.find("cublasLtMatmulAlgoCheck");
  decltype(&cublasLtMatmulAlgoCapGetAttribute) capability = library.find("cublasLtMatmulAlgoCapGetAttribute");
  decltype(&cublasLtMatmul) matmul = library.find("cublasLtMatmul");
  std::string why = library.why();  ///< the reason why the library cannot be used; empty: it can
};

const CublasLt& library() {
  static const CublasLt lt;
  return lt;
}

void require(const char* function, cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(Code::resource, std::string(function) + " gives " + library().status_name(status));
}

/// The library's handle for the current device. Each device has one.
cublasLtHandle_t handle_here() {
  static std::mutex mutex;
  static std::map<int, cublasLtHandle_t> handles;
  const int device = current_device();
  const std::lock_guard lock(mutex);
  cublasLtHandle_t& handle = handles[device];
  if (handle == nullptr) require("cublasLtCreate", library().create(&handle));
  return handle;
}

struct BlasTypes {
  cudaDataType_t elements, scale;
  cublasComputeType_t sums;
};

/// Sums of float32 are exact to float32, without TF32.
BlasTypes types_of(DType dtype) {
  switch (dtype) {
    case DType::float64:
      return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case DType::float16:
      return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::bfloat16:
      return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    default:
      return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  }
}

/// Owns an object of the library.
template <class Object>
class Held {
 public:
  explicit Held(cublasStatus_t (*destroy)(Object)) : destroy_(destroy) {}
  ~Held() {
    if (object_ != nullptr) destroy_(object_);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  [[nodiscard]] Object* made() { return &object_; }
  [[nodiscard]] Object get() const { return object_; }

 private:
  Object object_ = nullptr;
  cublasStatus_t (*destroy_)(Object);
};

struct LtAlgorithm final : BlasAlgorithm {
  cublasLtHandle_t handle = nullptr;
  Held<cublasLtMatmulDesc_t> product{library().desc_destroy}, with_bias{library().desc_destroy};
  Held<cublasLtMatrixLayout_t> a{library().layout_destroy}, b{library().layout_destroy}, c{library().layout_destroy};
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace_bytes = 0;
  bool in_double = false;
};

template <class T>
void set(const Held<cublasLtMatmulDesc_t>& product, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  require("cublasLtMatmulDescSetAttribute", library().desc_set(product.get(), attribute, &value, sizeof value));
}

void describe(Held<cublasLtMatmulDesc_t>& described, const BlasProduct& product, cublasLtEpilogue_t epilogue) {
  const BlasTypes types = types_of(product.dtype);
  require("cublasLtMatmulDescCreate", library().desc_create(described.made(), types.sums, types.scale));
  const auto operation = [](const BlasMatrix& matrix) { return matrix.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  set(described, CUBLASLT_MATMUL_DESC_TRANSA, operation(product.a));
  set(described, CUBLASLT_MATMUL_DESC_TRANSB, operation(product.b));
  set(described, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
}

void make_layout(Held<cublasLtMatrixLayout_t>& layout, const BlasMatrix& matrix, std::int64_t count,
                 cudaDataType_t type) {
  require("cublasLtMatrixLayoutCreate",
          library().layout_create(layout.made(), type, static_cast<std::uint64_t>(matrix.rows),
                                  static_cast<std::uint64_t>(matrix.columns), matrix.step));
  if (count == 1) return;
  const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
    require("cublasLtMatrixLayoutSetAttribute", library().layout_set(layout.get(), attribute, &value, sizeof value));
  };
  set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(count));
  set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.next);
}

}  // namespace

std::string why_no_blas() {
  return library().why;
}

std::unique_ptr<BlasAlgorithm> choose_algorithm(const BlasProduct& product, std::uint32_t alignment,
                                                std::size_t workspace_bytes) {
  const CublasLt& lt = library();
  const BlasTypes types = types_of(product.dtype);
  auto chosen = std::make_unique<LtAlgorithm>();
  chosen->handle = handle_here();
  chosen->in_double = product.dtype == DType::float64;
  chosen->workspace_bytes = workspace_bytes;
  describe(chosen->product, product, CUBLASLT_EPILOGUE_DEFAULT);
  describe(chosen->with_bias, product, CUBLASLT_EPILOGUE_BIAS);
  make_layout(chosen->a, product.a, product.count, types.elements);
  make_layout(chosen->b, product.b, product.count, types.elements);
  make_layout(chosen->c, product.c, product.count, types.elements);

  Held<cublasLtMatmulPreference_t> preference(lt.preference_destroy);
  require("cublasLtMatmulPreferenceCreate", lt.preference_create(preference.made()));
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    require("cublasLtMatmulPreferenceSetAttribute",
            lt.preference_set(preference.get(), attribute, &value, sizeof value));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(workspace_bytes));
  // If the library divides k into parts, it must add their sums in the dtype of sums, which gives the same bits in
  // every run.
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  for (const auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                               CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    prefer(attribute, alignment);

  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  const cublasStatus_t status = lt.heuristic(chosen->handle, chosen->product.get(), chosen->a.get(), chosen->b.get(),
                                             chosen->c.get(), chosen->c.get(), preference.get(), 1, &best, &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return nullptr;
  require("cublasLtMatmulAlgoGetHeuristic", status);
  if (found == 0 || best.state != CUBLAS_STATUS_SUCCESS) return nullptr;
  chosen->algorithm = best.algo;
  return chosen;
}

bool can_add(BlasAlgorithm& algorithm, const BlasAddend& addend) {
  const CublasLt& lt = library();
  const auto& chosen = static_cast<const LtAlgorithm&>(algorithm);
  if (addend.has == BlasAddend::Has::all) {
    std::int32_t apart = 0;
    std::size_t written = 0;
    require("cublasLtMatmulAlgoCapGetAttribute",
            lt.capability(&chosen.algorithm, CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT, &apart, sizeof apart,
                          &written));
    return apart != 0;
  }
  const void* const bias = addend.from.data();  // the library also checks its alignment
  set(chosen.with_bias, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  cublasLtMatmulHeuristicResult_t result{};
  const cublasStatus_t status = lt.check(chosen.handle, chosen.with_bias.get(), chosen.a.get(), chosen.b.get(),
                                         chosen.c.get(), chosen.c.get(), &chosen.algorithm, &result);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return false;
  require("cublasLtMatmulAlgoCheck", status);
  return result.state == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= chosen.workspace_bytes;
}

void multiply(const KernelRun& run, BlasAlgorithm& algorithm, const std::byte* a, const std::byte* b, std::byte* c,
              const BlasAddend& addend, std::span<std::byte> workspace) {
  const auto& chosen = static_cast<const LtAlgorithm&>(algorithm);
  const bool has_bias = addend.has == BlasAddend::Has::one_a_row, has_matrix = addend.has == BlasAddend::Has::all;
  const void* const bias = addend.from.data();
  if (has_bias) set(chosen.with_bias, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  const double one = 1, zero = 0;
  const float float_one = 1, float_zero = 0;
  const auto factor = [&](bool is_one) {
    return chosen.in_double ? static_cast<const void*>(is_one ? &one : &zero) : is_one ? &float_one : &float_zero;
  };
  require("cublasLtMatmul",
          library().matmul(chosen.handle, (has_bias ? chosen.with_bias : chosen.product).get(), factor(true), a,
                           chosen.a.get(), b, chosen.b.get(), factor(has_matrix), has_matrix ? addend.from.data() : c,
                           chosen.c.get(), c, chosen.c.get(), &chosen.algorithm, workspace.data(), workspace.size(),
                           static_cast<cudaStream_t>(static_cast<Queue*>(run.queue)->stream)));
}

}  // namespace ferry::cuda
