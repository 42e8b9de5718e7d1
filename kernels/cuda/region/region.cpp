#include "kernels/cuda/region/region.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/hash.hpp"
#include "kernels/cuda/region/compiler.hpp"
#include "kernels/cuda/region/source.hpp"

namespace ferry::cuda {
namespace {

/// A generated kernel's code and its arguments. Each run fills in the addresses of arrays.
class RegionState final : public KernelState {
 public:
  RegionState(RegionSource source, std::shared_ptr<const RegionCode> code)
      : source_(std::move(source)), code_(std::move(code)), arguments_(source_.aligned.size()) {
    arguments_.push_back(source_.elements);
    arguments_.push_back(0);
    arguments_.insert(arguments_.end(), source_.walks.begin(), source_.walks.end());
  }

  void run(const KernelRun& run) {
    if (source_.elements == 0) return;
    bool at_once = true;
    std::size_t next = 0;
    const auto place = [&](const Array& array) {
      const auto address = reinterpret_cast<std::uintptr_t>(array.data);
      at_once = at_once && address % source_.aligned[next] == 0;
      arguments_[next++] = static_cast<std::int64_t>(address);
    };
    std::ranges::for_each(run.inputs, place);
    std::ranges::for_each(run.outputs, place);
    arguments_[next + 1] = at_once ? 1 : 0;
    code_->launch(run, (source_.elements + source_.group - 1) / source_.group, arguments_);
  }

 private:
  const RegionSource source_;
  const std::shared_ptr<const RegionCode> code_;
  std::vector<std::int64_t> arguments_;
};

/// Calls f(0) … f(n - 1) on up to `threads` threads. If some calls throw, throws one of their exceptions at the end.
template <class F>
void on_threads(std::size_t n, int threads, const F& f) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&] {
    for (std::size_t i = next++; i < n; i = next++) {
      try {
        f(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        error = std::current_exception();
      }
    }
  };
  std::vector<std::thread> others;
  try {
    for (std::size_t t = 1; t < std::min(n, static_cast<std::size_t>(threads)); ++t) others.emplace_back(work);
  } catch (const std::exception&) {  // no more threads can be started: the others do the work
  }
  work();
  for (std::thread& other : others) other.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace

std::vector<BoundKernel> fused(std::span<const FusedKernels> all, int architecture, int threads, CodeCache& cache) {
  const std::string facts = compiler_facts(architecture);
  const std::string decided_by = hex_digest(std::as_bytes(std::span(facts)));
  struct Code {
    const std::string* text;
    std::string binary;
  };
  std::vector<RegionSource> sources;
  for (const FusedKernels& kernels : all) sources.push_back(source_of(kernels));
  std::map<std::string, std::shared_ptr<const RegionCode>> codes;  // by text
  for (const RegionSource& source : sources) codes.try_emplace(source.text);
  std::vector<Code> made;
  for (const auto& [text, _] : codes) made.push_back({&text, {}});
  on_threads(made.size(), threads, [&](std::size_t i) {
    const std::string key = decided_by + "\n" + *made[i].text;
    if (std::optional<std::string> known = cache.find(key)) {
      made[i].binary = std::move(*known);
    } else {
      made[i].binary = compile_region(*made[i].text, architecture).code;
      cache.add(key, made[i].binary);
    }
  });
  for (const Code& code : made) codes[*code.text] = load_region(code.binary);
  std::vector<BoundKernel> kernels;
  for (RegionSource& source : sources) {
    BoundKernel& kernel = kernels.emplace_back();
    kernel.run = [](KernelRun& run) { static_cast<RegionState*>(run.state)->run(run); };
    auto code = codes.at(source.text);
    kernel.state = std::make_unique<RegionState>(std::move(source), std::move(code));
  }
  return kernels;
}

}  // namespace ferry::cuda
