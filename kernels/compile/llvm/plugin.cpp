// The plug-in that compiles tile regions for CPUs by LLVM. A region becomes loops over its elements, which call the
// functions of functions.cpp; LLVM inlines them and vectorizes the loops.
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
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
  if (dtype == "bool") return llvm::Type::getInt1Ty(context);
  if (dtype == "int32") return llvm::Type::getInt32Ty(context);
  if (dtype == "int64") return llvm::Type::getInt64Ty(context);
  if (dtype == "float32") return llvm::Type::getFloatTy(context);
  if (dtype == "float64") return llvm::Type::getDoubleTy(context);
  throw NotCompiled("no dtype " + std::string(dtype));
}

/// Writes the function of a region into `module`, and declares the functions that it calls there. The code of a row (of
/// all elements, if there are no rows) has a loop for each stage: for values that need no sum, for values that need
/// sums of the first loop, and so on. A value that is summed, or that a later loop needs, is kept in a buffer. Outputs
/// are written in the last loop, because an output may be in the memory of an input.
class RegionWriter {
 public:
  RegionWriter(llvm::Module& module, const llvm::Module& functions)
      : module_(module), functions_(functions), context_(module.getContext()), at_(context_) {
    llvm::Type* const addresses = llvm::PointerType::getUnqual(byte_pointer());
    auto* const type = llvm::FunctionType::get(at_.getVoidTy(), {addresses, at_.getInt64Ty()}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kRegionFunction, module_);
    function_->setDoesNotThrow();
  }

  void write(std::string_view text) {
    for (const std::string_view line : split(text, '\n'))
      if (!line.empty()) add(split(line, ' '));
    for (const Store& store : stores_)
      if (values_[store.from].stage < last_) values_[store.from].keep();
    finish();
  }

 private:
  using Words = std::vector<std::string_view>;

  static constexpr unsigned kLanes = 16;                          // of kernels/cpu/elements/lanes.hpp
  static constexpr std::size_t kMostKept = std::size_t{1} << 15;  // elements of buffers on the stack

  struct Value {
    llvm::Type* type = nullptr;
    std::string_view access = {};        ///< of an array
    llvm::Function* function = nullptr;  ///< of a call, except of a sum
    std::vector<std::size_t> inputs = {};
    bool each = false;  ///< it has an element for each element of the row
    bool kept = false;
    std::size_t stage = 0;           ///< the loop that computes it, or before which it is known
    llvm::Value* address = nullptr;  ///< of an array's elements in the row, or of the buffer
    llvm::Value* known = nullptr;    ///< in the code that is being written

    [[nodiscard]] bool is_array() const { return !access.empty(); }
    [[nodiscard]] bool is_sum() const { return !is_array() && function == nullptr; }
    void keep() { kept = kept || (each && !is_array()); }
  };
  struct Store {
    std::size_t from, array;
  };

  // ---- The text ----

  void add(const Words& words) {
    if (words[0] == "rows" && words.size() == 2)
      row_ = number(words[1]);
    else if (words[0] == "array" && words.size() == 3)
      add_array(words[1], words[2]);
    else if (words[0] == "call" && words.size() > 2)
      add_call(words);
    else if (words[0] == "store" && words.size() == 3)
      add_store({number(words[1]), number(words[2])});
    else
      throw NotCompiled("no line " + std::string(words[0]));
  }

  void add_array(std::string_view dtype, std::string_view access) {
    const bool each = access == "each" || access == "columns";
    values_.push_back({.type = type_of(dtype, context_), .access = access, .each = each});
  }

  void add_call(const Words& words) {
    Value made;
    for (std::size_t k = 2; k < words.size(); ++k) {
      made.inputs.push_back(number(words[k]));
      const Value& input = value(made.inputs.back());
      made.each = made.each || input.each;
      made.stage = std::max(made.stage, input.stage);
    }
    if (words[1].starts_with("Sum."))
      become_sum(made, type_of(words[1].substr(4), context_));
    else
      become_call(made, std::string(words[1]));
    values_.push_back(std::move(made));
  }

  void become_sum(Value& made, llvm::Type* type) {
    Value& input = values_[made.inputs[0]];
    if (row_ == 0 || !input.each || input.type != type || type->isIntegerTy(1))
      throw NotCompiled("a sum of a value without rows of its dtype");
    input.keep();
    made.type = type;
    made.each = false;
    last_ = std::max(last_, ++made.stage);
  }

  void become_call(Value& made, std::string name) {
    std::ranges::replace(name, '.', '_');
    const llvm::Function* const known = functions_.getFunction(name);
    if (known == nullptr || known->arg_size() != made.inputs.size()) throw NotCompiled("no function " + name);
    for (unsigned k = 0; k < made.inputs.size(); ++k) {
      Value& input = values_[made.inputs[k]];
      if (input.type != known->getFunctionType()->getParamType(k))
        throw NotCompiled("an input of " + name + " has another dtype");
      if (input.stage < made.stage) input.keep();
    }
    made.type = known->getReturnType();
    made.function = llvm::cast<llvm::Function>(module_.getOrInsertFunction(name, known->getFunctionType()).getCallee());
  }

  void add_store(const Store& store) {
    const Value& from = value(store.from);
    if (store.array >= values_.size() || from.type != values_[store.array].type ||
        (values_[store.array].access != "written" && (values_[store.array].access != "row_written" || from.each)))
      throw NotCompiled("a store to another dtype");
    stores_.push_back(store);
  }

  static std::size_t number(std::string_view word) {
    std::size_t made = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), made);
    if (error != std::errc() || end != word.data() + word.size()) throw NotCompiled("no number " + std::string(word));
    return made;
  }
  const Value& value(std::size_t number) const {
    if (number >= values_.size() || values_[number].access.ends_with("written"))
      throw NotCompiled("no value " + std::to_string(number));
    return values_[number];
  }

  // ---- The code ----

  void finish() {
    llvm::BasicBlock* const entry = block("entry");
    llvm::BasicBlock* const row = block("row");
    llvm::BasicBlock* const done = block("done");
    at_.SetInsertPoint(entry);
    llvm::Value* const n = function_->getArg(1);
    llvm::Value* const length = row_ == 0 ? n : at_.getInt64(row_);
    llvm::Value* const rows = row_ == 0 ? at_.getInt64(1) : at_.CreateSDiv(n, length);
    make_buffers();
    std::vector<llvm::Value*> begins = addresses_of_arrays();
    at_.CreateCondBr(at_.CreateICmpSGT(n, at_.getInt64(0)), row, done);

    at_.SetInsertPoint(row);
    llvm::PHINode* const index = at_.CreatePHI(at_.getInt64Ty(), 2, "row");
    index->addIncoming(at_.getInt64(0), entry);
    enter_row(begins, index, length);
    for (std::size_t stage = 0; stage <= last_; ++stage) {
      for (Value& value : values_)
        if (!value.each && !value.is_array() && !value.is_sum() && value.stage == stage) value.known = called(value);
      write_loop(stage, length);
      add_up(stage + 1);
    }
    for (const auto& [from, array] : stores_)
      if (values_[array].access == "row_written") put(values_[from].known, values_[array].address);
    llvm::Value* const next = at_.CreateAdd(index, at_.getInt64(1), "next", true, true);
    index->addIncoming(next, at_.GetInsertBlock());
    at_.CreateCondBr(at_.CreateICmpSLT(next, rows), row, done);
    at_.SetInsertPoint(done);
    at_.CreateRetVoid();
  }

  void make_buffers() {
    std::size_t kept = 0;
    for (Value& value : values_) {
      if (!value.kept) continue;
      llvm::AllocaInst* const buffer = at_.CreateAlloca(in_memory(value.type), at_.getInt64(row_));
      buffer->setAlignment(llvm::Align(64));
      value.address = buffer;
      kept += row_;
    }
    if (kept > kMostKept) throw NotCompiled("too many values between loops");
  }

  std::vector<llvm::Value*> addresses_of_arrays() {
    std::vector<llvm::Value*> begins;
    for (Value& value : values_) {
      if (!value.is_array()) break;
      llvm::Value* const slot = at_.CreateConstInBoundsGEP1_64(byte_pointer(), function_->getArg(0), begins.size());
      begins.push_back(at_.CreatePointerCast(at_.CreateLoad(byte_pointer(), slot),
                                             llvm::PointerType::getUnqual(in_memory(value.type))));
      if (value.access == "one") value.known = get(value.type, begins.back());
    }
    return begins;
  }

  void enter_row(const std::vector<llvm::Value*>& begins, llvm::Value* index, llvm::Value* length) {
    llvm::Value* const first = at_.CreateMul(index, length, "first", true, true);
    for (std::size_t a = 0; a < begins.size(); ++a) {
      Value& array = values_[a];
      array.address = begins[a];
      if (array.access == "each" || array.access == "written") array.address = element(array, first);
      if (array.access == "row" || array.access == "row_written") array.address = element(array, index);
      if (array.access == "row") array.known = get(array.type, array.address);
    }
  }

  /// The loop of a stage: fills the buffers of its values. The last one writes the outputs.
  void write_loop(std::size_t stage, llvm::Value* length) {
    const auto fills = [&](const Value& value) { return value.kept && value.stage == stage; };
    const auto writes = [&](const Store& s) { return stage == last_ && values_[s.array].access == "written"; };
    if (std::ranges::none_of(values_, fills) && std::ranges::none_of(stores_, writes)) return;
    llvm::PHINode* const index = begin_loop();
    group_ = llvm::MDNode::getDistinct(context_, {});
    for (Value& value : values_)
      if (fills(value)) put(in_loop(value, index, stage), element(value, index));
    for (const Store& store : stores_)
      if (writes(store)) put(in_loop(values_[store.from], index, stage), element(values_[store.array], index));
    end_loop(index, 1, length)->setMetadata(llvm::LLVMContext::MD_loop, independent_loop());
    group_ = nullptr;
    for (Value& value : values_)
      if (value.each) value.known = nullptr;
  }

  /// A value's element in the loop of a stage.
  llvm::Value* in_loop(Value& value, llvm::Value* index, std::size_t stage) {
    if (value.known != nullptr) return value.known;
    if (value.is_array() || (value.kept && value.stage < stage))
      return value.known = get(value.type, element(value, index));
    for (const std::size_t input : value.inputs) in_loop(values_[input], index, stage);
    return value.known = called(value);
  }

  /// Computes the sums that are known before the loop of a stage, in the order of fold_lanes().
  void add_up(std::size_t stage) {
    std::vector<Value*> sums;
    std::vector<Value> summed;
    std::vector<llvm::Value*> lanes;
    for (Value& value : values_) {
      if (!value.is_sum() || value.stage != stage) continue;
      sums.push_back(&value);
      summed.push_back(values_[value.inputs[0]]);
      summed.back().address = hidden(summed.back().address);
      lanes.push_back(llvm::Constant::getNullValue(llvm::FixedVectorType::get(value.type, kLanes)));
    }
    const std::size_t whole = row_ / kLanes * kLanes;
    if (!sums.empty() && whole > 0) {
      llvm::BasicBlock* const before = at_.GetInsertBlock();
      llvm::PHINode* const index = begin_loop();
      for (llvm::Value*& lane : lanes) {
        llvm::PHINode* const phi = at_.CreatePHI(lane->getType(), 2);
        phi->addIncoming(lane, before);
        lane = phi;
      }
      std::vector<llvm::PHINode*> phis;
      for (std::size_t k = 0; k < sums.size(); ++k) {
        phis.push_back(llvm::cast<llvm::PHINode>(lanes[k]));
        llvm::Type* const type = lanes[k]->getType();
        llvm::Value* const from = at_.CreatePointerCast(element(summed[k], index), llvm::PointerType::getUnqual(type));
        const llvm::Align align(type->getScalarSizeInBits() / 8);
        lanes[k] = sum(lanes[k], at_.CreateAlignedLoad(type, from, align));
        phis[k]->addIncoming(lanes[k], at_.GetInsertBlock());
      }
      end_loop(index, kLanes, at_.getInt64(whole));
    }
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k]->known = joined(lanes[k], summed[k], whole);
  }

  /// The sum of the lanes and of the elements from `whole` on.
  llvm::Value* joined(llvm::Value* lanes, const Value& from, std::size_t whole) {
    for (std::size_t k = whole; k < row_; ++k) {
      llvm::Value* const more = get(from.type, element(from, at_.getInt64(k)));
      lanes = at_.CreateInsertElement(lanes, sum(at_.CreateExtractElement(lanes, k - whole), more), k - whole);
    }
    for (int width = kLanes / 2; width > 0; width /= 2) {
      std::vector<int> low, high;
      for (int k = 0; k < width; ++k) low.push_back(k), high.push_back(k + width);
      lanes = sum(at_.CreateShuffleVector(lanes, low), at_.CreateShuffleVector(lanes, high));
    }
    return at_.CreateExtractElement(lanes, std::uint64_t{0});
  }
  llvm::Value* sum(llvm::Value* a, llvm::Value* b) {
    return a->getType()->isFPOrFPVectorTy() ? at_.CreateFAdd(a, b) : at_.CreateAdd(a, b);
  }

  llvm::Value* called(const Value& call) {
    std::vector<llvm::Value*> inputs;
    for (const std::size_t input : call.inputs) inputs.push_back(values_[input].known);
    return at_.CreateCall(call.function, inputs);
  }

  // ---- Blocks and memory ----

  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(context_, name, function_); }

  llvm::PHINode* begin_loop() {
    llvm::BasicBlock* const before = at_.GetInsertBlock();
    llvm::BasicBlock* const loop = block("loop");
    at_.CreateBr(loop);
    at_.SetInsertPoint(loop);
    llvm::PHINode* const index = at_.CreatePHI(at_.getInt64Ty(), 2, "i");
    index->addIncoming(at_.getInt64(0), before);
    return index;
  }
  llvm::BranchInst* end_loop(llvm::PHINode* index, unsigned step, llvm::Value* end) {
    llvm::BasicBlock* const after = block("after");
    llvm::Value* const next = at_.CreateAdd(index, at_.getInt64(step), "next", true, true);
    index->addIncoming(next, at_.GetInsertBlock());
    llvm::BranchInst* const back = at_.CreateCondBr(at_.CreateICmpSLT(next, end), index->getParent(), after);
    at_.SetInsertPoint(after);
    return back;
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
    if (group_ != nullptr) access->setMetadata(llvm::LLVMContext::MD_access_group, group_);
    return access;
  }
  llvm::Value* get(llvm::Type* type, llvm::Value* address) {
    llvm::Value* const loaded = grouped(at_.CreateLoad(in_memory(type), address));
    return type->isIntegerTy(1) ? at_.CreateTrunc(loaded, type) : loaded;
  }
  void put(llvm::Value* value, llvm::Value* address) {
    if (value->getType()->isIntegerTy(1)) value = at_.CreateZExt(value, at_.getInt8Ty());
    grouped(at_.CreateStore(value, address));
  }
  llvm::Value* element(const Value& of, llvm::Value* index) {
    return at_.CreateInBoundsGEP(in_memory(of.type), of.address, index);
  }
  /// The address as one that LLVM does not know. Otherwise the next loop reuses the first element that a sum has
  /// loaded, begins at the second one, and its vectors lie across the vectors that were stored.
  llvm::Value* hidden(llvm::Value* address) {
    auto* const type = llvm::FunctionType::get(address->getType(), {address->getType()}, false);
    return at_.CreateCall(llvm::InlineAsm::get(type, "", "=r,0", false), {address});
  }
  llvm::Type* in_memory(llvm::Type* type) { return type->isIntegerTy(1) ? at_.getInt8Ty() : type; }
  llvm::Type* byte_pointer() { return llvm::PointerType::getUnqual(at_.getInt8Ty()); }

  llvm::Module& module_;
  const llvm::Module& functions_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> at_;
  llvm::Function* function_ = nullptr;
  llvm::MDNode* group_ = nullptr;  // of the accesses of a loop that is being written
  std::vector<Value> values_;
  std::vector<Store> stores_;
  std::size_t row_ = 0;   // elements of a row; 0: no rows
  std::size_t last_ = 0;  // the last stage
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
    function.addFnAttr("no-builtins");  // no calls of memcpy and memset, which an object cannot make
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
  RegionWriter(module, **functions).write(text);
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
