// The plug-in that compiles tile regions for CPUs by LLVM. A region becomes one loop over its elements, which calls the
// functions of functions.cpp; LLVM inlines them and vectorizes the loop.
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "kernels/compile/llvm/bitcode.hpp"
#include "kernels/compile/llvm/facts.hpp"
#include "kernels/compile/region_compiler.hpp"

namespace ferry {
namespace {

/// A text that breaks the rules of region_compiler.hpp, or a failure of LLVM.
class NotCompiled : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

llvm::Type* type_of(std::string_view dtype, llvm::LLVMContext& context) {
  if (dtype == "bool") return llvm::Type::getInt8Ty(context);  // in memory
  if (dtype == "int32") return llvm::Type::getInt32Ty(context);
  if (dtype == "int64") return llvm::Type::getInt64Ty(context);
  if (dtype == "float32") return llvm::Type::getFloatTy(context);
  if (dtype == "float64") return llvm::Type::getDoubleTy(context);
  throw NotCompiled("no dtype " + std::string(dtype));
}

/// Writes the loop of a region into `module`, and declares the functions that it calls there.
class LoopWriter {
 public:
  LoopWriter(llvm::Module& module, const llvm::Module& functions)
      : module_(module), functions_(functions), context_(module.getContext()), head_(context_), body_(context_) {
    llvm::Type* const count = llvm::Type::getInt64Ty(context_);
    llvm::Type* const addresses =
        llvm::PointerType::getUnqual(llvm::PointerType::getUnqual(llvm::Type::getInt8Ty(context_)));
    auto* const type = llvm::FunctionType::get(llvm::Type::getVoidTy(context_), {addresses, count}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kRegionFunction, module_);
    function_->setDoesNotThrow();
    group_ = llvm::MDNode::getDistinct(context_, {});
    entry_ = llvm::BasicBlock::Create(context_, "entry", function_);
    loop_ = llvm::BasicBlock::Create(context_, "loop", function_);
    head_.SetInsertPoint(entry_);
    body_.SetInsertPoint(loop_);
    index_ = body_.CreatePHI(count, 2, "i");
  }

  void write(std::string_view text) {
    for (const std::string_view line : split(text, '\n'))
      if (!line.empty()) add(split(line, ' '));
    finish();
  }

 private:
  using Words = std::vector<std::string_view>;

  void add(const Words& words) {
    if (words[0] == "array" && words.size() == 3) return add_array(words[1], words[2]);
    if (words[0] == "call" && words.size() > 2) return add_call(words);
    if (words[0] == "store" && words.size() == 3) return add_store(number(words[1]), number(words[2]));
    throw NotCompiled("no line " + std::string(words[0]));
  }

  /// The arrays are the first values.
  void add_array(std::string_view dtype, std::string_view access) {
    llvm::Type* const type = type_of(dtype, context_);
    llvm::Value* const slot = head_.CreateConstInBoundsGEP1_64(byte_pointer(), function_->getArg(0), arrays_.size());
    llvm::Value* const address =
        head_.CreatePointerCast(head_.CreateLoad(byte_pointer(), slot), llvm::PointerType::getUnqual(type));
    arrays_.push_back({type, address});
    llvm::Value* value = nullptr;  // of an array that is only written
    if (access == "one") value = as_value(head_, head_.CreateLoad(type, address), dtype);
    if (access == "each") value = as_value(body_, grouped(body_.CreateLoad(type, element(arrays_.back()))), dtype);
    values_.push_back(value);
  }

  void add_call(const Words& words) {
    std::string name(words[1]);
    std::ranges::replace(name, '.', '_');
    const llvm::Function* const known = functions_.getFunction(name);
    if (known == nullptr || known->arg_size() != words.size() - 2) throw NotCompiled("no function " + name);
    const llvm::FunctionCallee function = module_.getOrInsertFunction(name, known->getFunctionType());
    std::vector<llvm::Value*> inputs;
    for (const llvm::Type* const type : known->getFunctionType()->params()) {
      inputs.push_back(value(number(words[2 + inputs.size()])));
      if (inputs.back()->getType() != type) throw NotCompiled("an input of " + name + " has another dtype");
    }
    values_.push_back(body_.CreateCall(function, inputs));
  }

  void add_store(std::size_t from, std::size_t array) {
    llvm::Value* stored = value(from);
    if (stored->getType()->isIntegerTy(1)) stored = body_.CreateZExt(stored, body_.getInt8Ty());
    if (array >= arrays_.size() || stored->getType() != arrays_[array].type)
      throw NotCompiled("a store to another dtype");
    grouped(body_.CreateStore(stored, element(arrays_[array])));
  }

  static std::size_t number(std::string_view word) {
    std::size_t made = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), made);
    if (error != std::errc() || end != word.data() + word.size()) throw NotCompiled("no number " + std::string(word));
    return made;
  }
  llvm::Value* value(std::size_t number) {
    if (number >= values_.size() || values_[number] == nullptr) throw NotCompiled("no value " + std::to_string(number));
    return values_[number];
  }

  void finish() {
    auto* const done = llvm::BasicBlock::Create(context_, "done", function_);
    head_.CreateCondBr(head_.CreateICmpSGT(function_->getArg(1), head_.getInt64(0)), loop_, done);
    llvm::Value* const next = body_.CreateAdd(index_, body_.getInt64(1), "next", true, true);
    index_->addIncoming(body_.getInt64(0), entry_);
    index_->addIncoming(next, loop_);
    llvm::BranchInst* const back = body_.CreateCondBr(body_.CreateICmpSLT(next, function_->getArg(1)), loop_, done);
    back->setMetadata(llvm::LLVMContext::MD_loop, independent_loop());
    llvm::IRBuilder<>(done).CreateRetVoid();
  }

  /// The elements are independent: an iteration accesses its own elements alone, also of arrays that are written.
  llvm::MDNode* independent_loop() {
    llvm::MDNode* const accesses =
        llvm::MDNode::get(context_, {llvm::MDString::get(context_, "llvm.loop.parallel_accesses"), group_});
    llvm::MDNode* const loop = llvm::MDNode::getDistinct(context_, {nullptr, accesses});
    loop->replaceOperandWith(0, loop);
    return loop;
  }

  template <class Access>
  Access* grouped(Access* access) {
    access->setMetadata(llvm::LLVMContext::MD_access_group, group_);
    return access;
  }

  struct InMemory {
    llvm::Type* type;
    llvm::Value* address;
  };
  llvm::Value* element(const InMemory& array) { return body_.CreateInBoundsGEP(array.type, array.address, index_); }
  llvm::Type* byte_pointer() { return llvm::PointerType::getUnqual(llvm::Type::getInt8Ty(context_)); }
  llvm::Value* as_value(llvm::IRBuilder<>& at, llvm::Value* loaded, std::string_view dtype) {
    return dtype == "bool" ? at.CreateTrunc(loaded, at.getInt1Ty()) : loaded;
  }

  llvm::Module& module_;
  const llvm::Module& functions_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> head_, body_;  // before the loop, and in it
  llvm::Function* function_ = nullptr;
  llvm::MDNode* group_ = nullptr;
  llvm::BasicBlock *entry_ = nullptr, *loop_ = nullptr;
  llvm::PHINode* index_ = nullptr;
  std::vector<InMemory> arrays_;
  std::vector<llvm::Value*> values_;
};

std::unique_ptr<llvm::TargetMachine> machine_of(const char* processor) {
  static const bool ready = !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
  const std::string triple = FERRY_TRIPLE;
  std::string why = "LLVM has no code for " + triple;
  const llvm::Target* const target = ready ? llvm::TargetRegistry::lookupTarget(triple, why) : nullptr;
  if (target == nullptr) throw NotCompiled(why);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // no contraction, so that a region has the bits of its ops
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, processor, "", options, llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOpt::Default));
}

/// All functions get the processor's instructions. Only the region's own function remains visible.
void prepare(llvm::Module& module, const std::string& processor) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    for (const char* const of_clang : {"target-features", "tune-cpu", "min-legal-vector-width"})
      function.removeFnAttr(of_clang);
    function.addFnAttr("target-cpu", processor);
    function.addFnAttr("prefer-vector-width", processor == "x86-64-v4" ? "512" : "256");
    if (function.getName() != kRegionFunction) function.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.LoopInterleaving = true;
  tuning.SLPVectorization = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(&machine, tuning);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(calls);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, calls, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

llvm::SmallVector<char, 0> object_of(std::string_view text, const char* processor) {
  const std::unique_ptr<llvm::TargetMachine> machine = machine_of(processor);
  llvm::LLVMContext context;
  const llvm::MemoryBufferRef bitcode(llvm::StringRef(reinterpret_cast<const char*>(kBitcode), sizeof kBitcode),
                                      "functions");
  llvm::Expected<std::unique_ptr<llvm::Module>> functions = llvm::getLazyBitcodeModule(bitcode, context);
  if (!functions) throw NotCompiled(llvm::toString(functions.takeError()));
  llvm::Module module("region", context);
  for (llvm::Module* const each : {&module, functions->get()}) {
    each->setTargetTriple(FERRY_TRIPLE);
    each->setDataLayout(machine->createDataLayout());
  }
  LoopWriter(module, **functions).write(text);
  if (llvm::Linker::linkModules(module, std::move(*functions), llvm::Linker::LinkOnlyNeeded))
    throw NotCompiled("LLVM does not link the functions");
  prepare(module, processor);
  optimize(module, *machine);
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream to(object);
  llvm::legacy::PassManager emit;
  if (machine->addPassesToEmitFile(emit, to, nullptr, llvm::CGFT_ObjectFile))
    throw NotCompiled("LLVM writes no objects");
  emit.run(module);
  return object;
}

bool compile(const char* text, std::size_t bytes, const char* processor,
             void (*take)(void* to, const char* bytes, std::size_t count), void* to) {
  try {
    const llvm::SmallVector<char, 0> object = object_of({text, bytes}, processor);
    take(to, object.data(), object.size());
    return true;
  } catch (const std::exception& error) {
    const std::string why = error.what();
    take(to, why.data(), why.size());
    return false;
  }
}

}  // namespace
}  // namespace ferry

extern "C" [[gnu::visibility("default")]] const ferry::RegionCompiler* ferry_region_compiler() {
  static constexpr ferry::RegionCompiler kCompiler{.facts = ferry::kRegionCompilerFacts, .compile = ferry::compile};
  return &kCompiler;
}
