#include "kernels/compile/region_compiler.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/process/plugin_file.hpp"
#include "kernels/compile/code_cache.hpp"
#include "kernels/compile/llvm/facts.hpp"
#include "kernels/compile/object_code.hpp"
#include "kernels/compiled_region.hpp"
#include "kernels/device.hpp"

namespace ferry {
namespace {

/// The work after which the cache on disk is read, in elements times kernels: it takes about 0.3 ms, and a read 0.2 ms.
constexpr std::int64_t kWorkToSearch = std::int64_t{1} << 22;

/// The plug-in, opened once.
struct Opened {
  PluginFile file = open_plugin(kRegionCompilerFile);
  const RegionCompiler* compiler = nullptr;
  std::string why = file.why;

  Opened() {
    if (file.handle == nullptr) return;
    const auto of = reinterpret_cast<const RegionCompiler* (*)()>(dlsym(file.handle, kRegionCompilerSymbol));
    if (of != nullptr && of()->version == RegionCompiler::kVersion &&
        of()->facts == std::string_view(kRegionCompilerFacts))
      compiler = of();
    if (compiler == nullptr)
      why = formatted("{} was built for another ferry: install the one of this version", file.path);
  }
};
const Opened& plugin() {
  static const Opened opened;
  return opened;
}

/// The code of all regions, by the facts that determine it. Thread-safe.
class RegionCodes {
 public:
  /// Returns null if there is no code, and nothing if another thread is just looking for it. A region that cannot be
  /// compiled is tried once.
  std::optional<RegionFunction> find(const std::string& processor, const std::string& text, RegionSearch where) {
    const std::string key = std::string(kRegionCompilerFacts) + "\n" + processor + "\n" + text;
    std::unique_lock lock(mutex_);
    Entry& entry = entries_[key];
    if (entry.code) return function_of(*entry.code);
    if (entry.busy) return {};
    if (entry.searched >= where) return nullptr;
    entry.busy = true;
    const bool look = entry.searched == RegionSearch::nowhere;
    lock.unlock();
    std::unique_ptr<const ObjectCode> code = look ? load(cache_.find(key)) : nullptr;
    if (code == nullptr && where == RegionSearch::compiler) code = compile(processor, text, key);
    lock.lock();
    entry.busy = false;
    entry.searched = where;
    entry.code = std::move(code);
    return entry.code ? function_of(*entry.code) : nullptr;
  }

 private:
  struct Entry {
    bool busy = false;  ///< a thread is searching
    RegionSearch searched = RegionSearch::nowhere;
    std::unique_ptr<const ObjectCode> code;
  };

  static RegionFunction function_of(const ObjectCode& code) {
    return reinterpret_cast<RegionFunction>(code.function());
  }

  static std::unique_ptr<const ObjectCode> load(const std::optional<std::string>& object) {
    if (!object) return nullptr;
    try {
      return std::make_unique<const ObjectCode>(*object, kRegionFunction);
    } catch (const Error&) {  // the region runs kernel by kernel
      return nullptr;
    }
  }

  std::unique_ptr<const ObjectCode> compile(const std::string& processor, const std::string& text,
                                            const std::string& key) {
    const RegionCompiler* const compiler = plugin().compiler;
    if (compiler == nullptr) return nullptr;
    std::string object;
    const auto take = [](void* to, const char* bytes, std::size_t count) {
      static_cast<std::string*>(to)->assign(bytes, count);
    };
    if (!compiler->compile(text.data(), text.size(), processor.c_str(), take, &object)) return nullptr;
    std::unique_ptr<const ObjectCode> code = load(object);
    if (code != nullptr) cache_.add(key, object);
    return code;
  }

  CodeCache cache_{cache_folder()};
  std::mutex mutex_;  // guards entries_
  std::map<std::string, Entry> entries_;
};

std::optional<RegionFunction> find_region(const std::string& processor, const std::string& text, RegionSearch where) {
  if (std::string_view(kRegionCompilerFacts).empty()) return nullptr;
  static RegionCodes& codes = *new RegionCodes;  // never destroyed, since threads may run the code until the end
  return codes.find(processor, text, where);
}

}  // namespace

bool LazyRegion::ready() {
  if (code_ != nullptr || searched_ == RegionSearch::compiler) return code_ != nullptr;
  work_ += work_of_run_;
  const RegionSearch where = work_ >= compile_after_  ? RegionSearch::compiler
                             : work_ >= kWorkToSearch ? RegionSearch::cache
                                                      : RegionSearch::nowhere;
  if (searched_ >= where) return false;
  const auto found = find_region(processor_, text_, where);
  if (!found) return false;
  code_ = *found;
  searched_ = where;
  return code_ != nullptr;
}

CpuCompiler cpu_compiler() {
  if (std::string_view(kRegionCompilerFacts).empty()) return {"", "", "this build has no plug-in for LLVM", ""};
  return {kRegionCompilerFacts, plugin().file.path, plugin().why, cache_folder()};
}

}  // namespace ferry
