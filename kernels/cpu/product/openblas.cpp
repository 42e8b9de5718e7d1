#include <cblas.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/process/environment.hpp"
#include "base/process/loaded_library.hpp"
#include "base/system/event_count.hpp"
#include "base/text.hpp"
#include "kernels/cpu/processor.hpp"
#include "kernels/cpu/product/blas.hpp"

namespace ferry::cpu {
namespace {

constexpr const char* kLibrary = "libopenblas.so.0";

void* open_library() {
  const EnvironmentSetting threads("OPENBLAS_NUM_THREADS", "1");
  return load_library(kLibrary, "install OpenBLAS (libopenblas0), and see whether there is memory for it");
}

/// OpenBLAS recognizes processors by number, and uses its code for SSE3 ("Prescott") if the processor is newer than
/// OpenBLAS. Then this function loads the library again, with the level of the processor in OPENBLAS_CORETYPE. It does
/// not if the user has set this variable, or if the program loaded OpenBLAS before.
void* open_for_processor() {
  constexpr const char* kCore = "OPENBLAS_CORETYPE";
  void* const library = open_library();
  const int level = processor_level();
  if (level < 3 || std::getenv(kCore) != nullptr) return library;
  const decltype(&openblas_get_corename) corename = function_of(library, "openblas_get_corename");
  if (std::string_view(corename()) != "Prescott") return library;
  dlclose(library);
  const EnvironmentSetting core(kCore, level == 4 ? "SkylakeX" : "Haswell");
  return open_library();
}

/// The functions of OpenBLAS that ferry uses. ferry loads the library and does not link it. A linked OpenBLAS would
/// start a thread for each core before main. Each of these threads maps a buffer, and retries for ever if it gets no
/// memory. A call computes on one thread; the kernels divide the work.
struct OpenBlas {
  void* library = open_for_processor();
  decltype(&cblas_sgemm) sgemm = function_of(library, "cblas_sgemm");
  decltype(&cblas_dgemm) dgemm = function_of(library, "cblas_dgemm");
  decltype(&openblas_get_corename) corename = function_of(library, "openblas_get_corename");
  decltype(&openblas_get_config) config = function_of(library, "openblas_get_config");
  decltype(&openblas_get_num_threads) threads = function_of(library, "openblas_get_num_threads");
  decltype(&openblas_set_num_threads) set_threads = function_of(library, "openblas_set_num_threads");
  // Functions for OpenBLAS's working memory, which its headers do not declare. take_buffer() returns a free buffer or
  // maps a new one.
  void* (*take_buffer)(int position) = function_of(library, "blas_memory_alloc");
  void (*give_buffer)(void* buffer) = function_of(library, "blas_memory_free");
};

const OpenBlas& openblas() {
  static const OpenBlas functions;
  return functions;
}

/// The most bytes that OpenBLAS maps for a buffer on x86-64.
constexpr std::size_t kBufferBytes = std::size_t{128} << 20;
/// The number of products that OpenBLAS computes at a time. It has two buffers for each thread of its build
/// ("MAX_THREADS=64"), and at least 50. Half of them are left to the program. Beyond its buffers OpenBLAS uses an
/// auxiliary array. Version 0.3.21 overruns this array, so that threads share buffers and the heap is damaged.
std::size_t most_products() {
  constexpr std::string_view kThreads = "MAX_THREADS=";
  constexpr std::size_t kLeastBuffers = 50;
  const std::string_view config = openblas().config();
  std::size_t threads = 1;
  if (const std::size_t at = config.find(kThreads); at != std::string_view::npos)
    std::from_chars(config.data() + at + kThreads.size(), config.data() + config.size(), threads);
  return std::max(2 * threads, kLeastBuffers) / 2;
}

/// A thread that computes products.
struct User {
  User();
  ~User();
  User(const User&) = delete;
  User& operator=(const User&) = delete;

  std::atomic<bool> multiplies{false};  ///< OpenBLAS computes a product on this thread now
  std::size_t buffer = 0;               ///< the number of the buffer that the thread uses, perhaps with other threads
};

/// OpenBLAS's buffers, one for each thread that multiplies. If there are more threads than most_products(), some
/// threads share a buffer, and their products run one after another. OpenBLAS retries for ever if the system has no
/// memory, so this class first checks that there is memory. Never destroyed, because threads may end after static
/// objects.
///
/// At the end of the process OpenBLAS unmaps its buffers. A thread other than the one that called exit() may still run
/// steps then. So end_products() waits for products under way, and after it no product begins.
class Buffers {
 public:
  static Buffers& all() {
    static auto& buffers = *new Buffers;
    return buffers;
  }

  void add_user(User* user) {
    const std::lock_guard lock(mutex_);
    if (process_.exchange(getpid()) != getpid()) {  // the threads of a parent process do not exist here
      users_.clear();
      for (std::atomic<bool>& used : used_) used.store(false);
    }
    std::vector<std::size_t> loads(used_.size());
    for (const User* other : users_) ++loads[other->buffer];
    user->buffer = static_cast<std::size_t>(std::ranges::min_element(loads) - loads.begin());
    if (user->buffer >= mapped_.size()) map_another();
    users_.insert(user);
  }
  void remove_user(User* user) {
    const std::lock_guard lock(mutex_);
    users_.erase(user);
  }

  /// Called by a user's thread before and after each product.
  void begin_product(User& user) {
    while (used_[user.buffer].exchange(true, std::memory_order_acquire)) used_[user.buffer].wait(true);
    user.multiplies.store(true, std::memory_order_relaxed);
    fence_.light();
    if (!ended_.load(std::memory_order_relaxed)) return;
    user.multiplies.store(false, std::memory_order_release);
    for (;;) pause();
  }
  void end_product(User& user) {
    user.multiplies.store(false, std::memory_order_release);
    used_[user.buffer].store(false, std::memory_order_release);
    used_[user.buffer].notify_one();
  }

  void end_products() {
    if (process_.load() != getpid()) return;
    ended_.store(true);
    fence_.heavy();
    const std::lock_guard lock(mutex_);
    for (const User* user : users_)
      while (user->multiplies.load(std::memory_order_acquire)) std::this_thread::yield();
  }

 private:
  /// Takes buffers until OpenBLAS maps a new one: it first returns the existing buffers that are free.
  void map_another() {
    void* const trial = mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (trial == MAP_FAILED)
      throw Error(Code::resource, "out of memory: OpenBLAS needs " + human_bytes(kBufferBytes) +
                                      " of addresses for each thread that multiplies matrices")
          .hint("fewer --threads or tasks, or a higher limit (ulimit -v)");
    munmap(trial, kBufferBytes);
    const std::size_t before = mapped_.size();
    std::vector<void*> taken;
    taken.reserve(before + 1);
    mapped_.reserve(before + 1);
    while (mapped_.size() == before) {
      taken.push_back(openblas().take_buffer(0));
      if (std::find(mapped_.begin(), mapped_.end(), taken.back()) == mapped_.end()) mapped_.push_back(taken.back());
    }
    for (void* buffer : taken) openblas().give_buffer(buffer);
  }

  std::mutex mutex_;
  std::vector<std::atomic<bool>> used_ =
      std::vector<std::atomic<bool>>(most_products());  ///< of each buffer, whether a product uses it
  std::vector<void*> mapped_;
  std::set<User*> users_;
  std::atomic<pid_t> process_{0};  ///< the process of the users
  std::atomic<bool> ended_{false};
  const AsymmetricFence fence_;
};

User::User() {
  Buffers::all().add_user(this);
}
User::~User() {
  Buffers::all().remove_user(this);
}

/// Runs after the destructors of static objects, and before OpenBLAS's.
[[gnu::destructor(101)]] void end_products() {
  Buffers::all().end_products();
}

/// The calling thread. It has a buffer until it ends.
User& this_user() {
  static thread_local User user;
  return user;
}

/// Makes OpenBLAS use one thread while it computes a product of ferry. A program that also uses OpenBLAS gets its own
/// number of threads back between ferry's products.
class ProductThreads {
 public:
  static ProductThreads& all() {
    static auto& threads = *new ProductThreads;
    return threads;
  }

  /// Returns whether the caller must call leave() after the product.
  bool enter() {
    if (openblas().threads() != 1) is_shared_ = true;
    if (!is_shared_) return false;  // also after another thread has set 1: it set is_shared_ before
    const std::lock_guard lock(mutex_);
    const int now = openblas().threads();
    if (products_++ == 0 || now != 1) of_program_ = now;
    if (now != 1) openblas().set_threads(1);
    return true;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    if (--products_ == 0 && of_program_ != 1) openblas().set_threads(of_program_);
  }

 private:
  std::atomic<bool> is_shared_{false};  ///< the program has set a number
  std::mutex mutex_;
  int products_ = 0;  ///< the number of products that are computed now
  int of_program_ = 1;
};

/// One product, on one thread.
class Product {
 public:
  Product() : user_(this_user()), entered_(ProductThreads::all().enter()) { Buffers::all().begin_product(user_); }
  ~Product() {
    Buffers::all().end_product(user_);
    if (entered_) ProductThreads::all().leave();
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

 private:
  User& user_;
  const bool entered_;
};

constexpr CBLAS_TRANSPOSE mode(bool transposed) {
  return transposed ? CblasTrans : CblasNoTrans;
}

}  // namespace

void multiply(int m, int n, int k, const Matrix<float>& a, const Matrix<float>& b, float* c, std::int64_t c_step,
              bool add) {
  const Product product;
  openblas().sgemm(CblasRowMajor, mode(a.transposed), mode(b.transposed), m, n, k, 1.0F, a.data,
                   static_cast<int>(a.step), b.data, static_cast<int>(b.step), add ? 1.0F : 0.0F, c,
                   static_cast<int>(c_step));
}

void multiply(int m, int n, int k, const Matrix<double>& a, const Matrix<double>& b, double* c, std::int64_t c_step,
              bool add) {
  const Product product;
  openblas().dgemm(CblasRowMajor, mode(a.transposed), mode(b.transposed), m, n, k, 1.0, a.data,
                   static_cast<int>(a.step), b.data, static_cast<int>(b.step), add ? 1.0 : 0.0, c,
                   static_cast<int>(c_step));
}

std::string_view blas_name() {
  static const std::string name = std::string("openblas-") + openblas().corename();
  return name;
}

}  // namespace ferry::cpu
