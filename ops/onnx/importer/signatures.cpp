#include "ops/onnx/importer/signatures.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "ops/math/logic.hpp"
#include "ops/onnx/context.hpp"

namespace ferry::onnx {
namespace {

/// Ops with the same signature, and the version of the operator set from which it holds. ONNX's own ops that are not in
/// this table have "T>T".
struct Signature {
  std::string_view text;
  std::string_view ops;
  std::int64_t since = 1;
};
constexpr Signature kSignatures[] = {
    {"?>?",
     "Bernoulli BitCast BlackmanWindow Cast ConcatFromSequence Constant ConstantOfShape EyeLike HammingWindow "
     "HannWindow Identity If Loop MelWeightMatrix Multinomial Optional OptionalGetElement RandomNormal "
     "RandomNormalLike RandomUniform RandomUniformLike Scan SequenceAt SequenceConstruct SequenceEmpty SequenceErase "
     "SequenceInsert SequenceLength SequenceMap SplitToSequence"},
    {"?>b", "And IsInf IsNaN Not OptionalHasElement Or Xor"},
    {"TT>b", "Equal Greater GreaterOrEqual Less LessOrEqual"},
    {"?>f", "TfIdfVectorizer"},
    {"?>i", "ArgMax ArgMin NonMaxSuppression NonZero Shape Size"},
    {"?>j", "ConvInteger MatMulInteger"},
    {"?>ufu", "DynamicQuantizeLinear"},
    {"?T>T", "CastLike"},
    {"?TT>T", "Where"},
    {"??T>T", "OneHot QuantizeLinear"},
    {"T?>T",
     "AffineGrid CenterCropPad Col2Im Compress CumProd CumSum DFT Expand Gather GatherElements GatherND GridSample "
     "MaxUnpool "
     "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
     "ReduceSumSquare Reshape Resize ReverseSequence Slice Split Squeeze Tile Trilu Unsqueeze Upsample "
     "ai.onnx.ml.ArrayFeatureExtractor"},
    {"T?T>T", "NegativeLogLikelihoodLoss Scatter ScatterElements ScatterND SoftmaxCrossEntropyLoss"},
    {"T?T?>T", "Pad STFT"},
    {"TT?>T", "RoiAlign TensorScatter"},
    {"TTT?>T", "RotaryEmbedding"},
    {"TTTT?T>T", "GRU LSTM RNN"},
    {"T>Ti", "MaxPool Unique"},
    {"T?>Ti", "TopK"},
    {"T>T?", "LayerNormalization"},
    {"?T>T", "RMSNormalization"},
    {"???????T?>T", "QLinearConv"},
    {"???????T>T", "QLinearMatMul"},
    {"TTU?TU?>TTUT", "Attention"},
    {"TTTUTT>TU", "LinearAttention"},
    {"T>T", "BatchNormalization"},
    {"TTTUU>TUU", "BatchNormalization", 14},
    {"T??UU>TUU", "BatchNormalization", 15},
    {"?>f", "DequantizeLinear", 10},
    {"?T?>T", "DequantizeLinear", 19},
    {"?>?", "DequantizeLinear", 23},
    {"T>T", "Dropout"},
    {"T?>Tb", "Dropout", 10},
    {"T>T", "Pow"},
    {"T?>T", "Pow", 12},
    {"T>T", "ai.onnx.ml.Binarizer"},
};

/// Ops with the same limit of inputs or outputs, and the version of the operator set from which it holds. Ops that are
/// not in a table have one.
struct Most {
  std::size_t most;
  std::string_view ops;
  std::int64_t since = 1;
};
constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
constexpr Most kMostInputs[] = {
    {0, "Constant RandomNormal RandomUniform SequenceEmpty"},
    {1, "Split", 2},
    {2,
     "Add AffineGrid And BitShift BitwiseAnd BitwiseOr BitwiseXor CastLike CenterCropPad Compress CumProd CumSum "
     "DFT Div Equal Expand Gather GatherElements GatherND Greater GreaterOrEqual GridSample Less LessOrEqual "
     "MatMul Mod Mul Or PRelu Pow RMSNormalization Resize ReverseSequence SequenceAt SequenceErase Split "
     "SplitToSequence Sub SwiGLU Trilu Xor ai.onnx.ml.ArrayFeatureExtractor"},
    {2, "Reshape", 5},
    {2, "Tile", 6},
    {2, "Upsample", 9},
    {2, "TopK", 10},
    {2, "ReduceSum Split Squeeze Unsqueeze", 13},
    {2, "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSumSquare", 18},
    {3,
     "Col2Im Conv ConvTranspose DequantizeLinear Gemm GroupNormalization InstanceNormalization "
     "LayerNormalization MaxUnpool NegativeLogLikelihoodLoss OneHot QuantizeLinear Range RoiAlign Scatter "
     "ScatterElements ScatterND SequenceInsert SoftmaxCrossEntropyLoss TensorScatter Tile Where "
     "ai.onnx.preview.FlexAttention"},
    {3, "Clip Pad", 11},
    {3, "Dropout", 12},
    {3, "DFT", 20},
    {4, "CausalConvWithState ConvInteger MatMulInteger RotaryEmbedding STFT"},
    {4, "Resize", 11},
    {4, "Pad", 18},
    {5, "BatchNormalization DeformConv MelWeightMatrix NonMaxSuppression"},
    {5, "Slice", 10},
    {6, "Attention GRU LinearAttention RNN"},
    {7, "Attention", 24},
    {8, "LSTM QLinearMatMul"},
    {9, "QLinearConv"},
    {12, "com.microsoft.DynamicQuantizeLSTM"},
    {kAny,
     "Concat Einsum Loop Max Mean Min Scan SequenceConstruct SequenceMap Sum ai.onnx.preview.training.Adagrad "
     "ai.onnx.preview.training.Adam ai.onnx.preview.training.Momentum"},
};
constexpr Most kMostOutputs[] = {
    {2,
     "CausalConvWithState Dropout GRU LinearAttention RNN SoftmaxCrossEntropyLoss TopK "
     "ai.onnx.ml.TreeEnsembleClassifier"},
    {2, "MaxPool", 8},
    {3, "DynamicQuantizeLinear LSTM LayerNormalization com.microsoft.DynamicQuantizeLSTM"},
    {3, "BatchNormalization", 14},
    {4, "Attention Unique"},
    {5, "BatchNormalization"},
    {kAny,
     "If Loop Scan SequenceMap Split ai.onnx.preview.training.Adagrad ai.onnx.preview.training.Adam "
     "ai.onnx.preview.training.Momentum"},
};

/// Rows of a table of this file, by op and version.
template <class Row>
class Table {
 public:
  explicit Table(std::span<const Row> rows) {
    for (const Row& row : rows)
      for (const std::string_view op : split(row.ops, ' ')) rows_.emplace(std::pair(op, row.since), &row);
  }
  /// The row of the newest version of the op that is not newer than `opset`; null if the op is not in the table.
  [[nodiscard]] const Row* find(std::string_view op, std::int64_t opset) const {
    const auto after = rows_.upper_bound({op, opset});
    return after != rows_.begin() && std::prev(after)->first.first == op ? std::prev(after)->second : nullptr;
  }

 private:
  std::map<std::pair<std::string_view, std::int64_t>, const Row*> rows_;
};

/// Throws Error(file) if the node has more of `values`, its inputs or outputs, than the table allows.
void check_count(std::string_view what, const std::vector<std::string>& values, const Table<Most>& table,
                 const std::string& op, std::int64_t opset) {
  const Most* row = table.find(op, opset);
  const std::size_t most = row == nullptr ? 1 : row->most;
  if (values.size() > most)
    Context::fail(formatted("it has {} {}, and {} of operator set {} has at most {}; remove {:?}", values.size(), what,
                            op, opset, most, values[most]));
}

char letter(std::string_view letters, std::size_t i) {
  return letters.empty() ? '?' : letters[std::min(i, letters.size() - 1)];
}
std::string_view letters_of_inputs(std::string_view signature) {
  return signature.substr(0, signature.find('>'));
}
std::string_view letters_of_outputs(std::string_view signature) {
  return signature.substr(signature.find('>') + 1);
}
bool is_variable(char letter) {
  return letter >= 'A' && letter <= 'Z';
}

/// The dtype of input i; nothing if the input is absent or is not a tensor.
std::optional<DType> dtype_of_input(const ModelNode& node, std::size_t i, const Frame& frame) {
  if (node.inputs[i].empty()) return std::nullopt;
  const Out& item = frame.get(node.inputs[i]);
  return item.absent() || item.list != nullptr ? std::nullopt : std::optional(item.type().dtype);
}

/// The index of the first input that has the letter `wanted` and a dtype.
std::optional<std::size_t> input_of(char wanted, std::string_view signature, const ModelNode& node,
                                    const Frame& frame) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (letter(letters_of_inputs(signature), i) == wanted && dtype_of_input(node, i, frame)) return i;
  return std::nullopt;
}

std::optional<DType> dtype_of(char letter, std::string_view signature, const ModelNode& node, const Frame& frame) {
  if (is_variable(letter)) {
    const auto input = input_of(letter, signature, node, frame);
    return input ? dtype_of_input(node, *input, frame) : std::nullopt;
  }
  constexpr std::pair<char, DType> kFixed[] = {
      {'b', DType::boolean}, {'f', DType::float32}, {'i', DType::int64}, {'j', DType::int32}, {'u', DType::uint8}};
  for (const auto& [name, dtype] : kFixed)
    if (name == letter) return dtype;
  return std::nullopt;
}

}  // namespace

std::string_view signature_of(const ModelNode& node, std::int64_t opset) {
  static const Table<Signature> kTable(kSignatures);
  if (const Signature* row = kTable.find(node.full_op(), opset)) return row->text;
  return node.domain.empty() ? "T>T" : "?>?";
}

void check_counts(const ModelNode& node, std::int64_t opset) {
  static const Table<Most> kInputs(kMostInputs), kOutputs(kMostOutputs);
  const std::string op = node.full_op();
  check_count("inputs", node.inputs, kInputs, op, opset);
  check_count("outputs", node.outputs, kOutputs, op, opset);
}

void check_inputs(std::string_view signature, const ModelNode& node, const Frame& frame) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const char wanted = letter(letters_of_inputs(signature), i);
    const auto dtype = dtype_of_input(node, i, frame);
    if (!is_variable(wanted) || !dtype) continue;
    const std::size_t first = *input_of(wanted, signature, node, frame);
    const DType other = *dtype_of_input(node, first, frame);
    if (other != *dtype)
      Context::fail(formatted("inputs {:?} ({}) and {:?} ({}) must have one dtype; insert a Cast", node.inputs[first],
                              name_of(other), node.inputs[i], name_of(*dtype)));
  }
}

void set_dtypes(std::string_view signature, const ModelNode& node, const Frame& frame, Graph& graph, Outs& outs) {
  for (std::size_t i = 0; i < std::min(outs.size(), node.outputs.size()); ++i) {
    Out& out = outs[i];
    const auto wanted = dtype_of(letter(letters_of_outputs(signature), i), signature, node, frame);
    if (!wanted || out.absent() || out.list != nullptr || out.type().dtype == *wanted) continue;
    out.value = cast(out.known.defined() ? graph.constant(out.known) : out.value, *wanted);
    out.known = Tensor();
  }
}

}  // namespace ferry::onnx
