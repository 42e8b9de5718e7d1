// Layers of neural networks. A layer has its variables and the function that uses them, so that the code of a network
// reads like its description.
//
//     nn::Parameters parameters(g);
//     const nn::Conv conv(parameters, "conv", 3, 32, {5, 5}, {.sliding = {.padding = same_padding(5)}});
//     const nn::Dense out(parameters, "out", 32 * 16 * 16, 10);
//     const Value logits = out(nn::flatten(nn::max_pool(relu(conv(images)), {2, 2})));
//     const Value loss = mean(softmax_cross_entropy(logits, labels));
//     Values updates = momentum(loss, parameters.trained(), 0.1);
//
// Make a layer once, and call it in every entry of the graph that uses it. Its variables are named "LAYER/weights",
// "LAYER/bias", … within the enclosing name scopes, and are placed by the enclosing scopes. They are public, so that
// you can lay them out (`dense.weights.laid({split(1)})`). They have the dtype of the Parameters, and are cast to the
// dtype of a layer's input. With a float16 input, the layer computes in float16, and the gradients have the variables'
// own dtype.
//
// Errors: all functions throw Error(plan), with the caller's line, if a name exists already or if shapes or dtypes do
// not fit.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/source_location.hpp"
#include "graph/graph.hpp"
#include "graph/op/attrs.hpp"
#include "graph/value.hpp"
#include "ops/image/conv.hpp"
#include "ops/nn/attention.hpp"
#include "ops/nn/recurrent.hpp"

#pragma GCC visibility push(default)
namespace ferry::nn {

/// The facts about a variable that its initializer gets.
struct Initial {
  std::int64_t inputs = 1;       ///< fan-in: the number of inputs that a result is a sum over
  std::int64_t outputs = 1;      ///< fan-out: the number of results to which an input contributes
  Shape shape = {};              ///< of the variable
  DType dtype = DType::float32;  ///< of the variable
};
using Initializer = std::function<Value(Graph&, const Initial&)>;

/// Normal distribution with standard deviation sqrt(2 / inputs), for layers before a relu (He et al., "Delving deep
/// into rectifiers", 2015).
///
///     nn::Parameters parameters(g);
///     nn::Dense hidden(parameters, "hidden", 784, 100, {.initializer = nn::he()});
[[nodiscard]] Initializer he();

/// Uniform distribution over [-a, a) with a = sqrt(6 / (inputs + outputs)) (Glorot and Bengio, "Understanding the
/// difficulty of training deep feedforward neural networks", 2010).
///
///     nn::Parameters parameters(g);
///     nn::Dense hidden(parameters, "hidden", 784, 100, {.initializer = nn::xavier()});
[[nodiscard]] Initializer xavier();

/// Normal distribution with mean 0 and standard deviation `deviation`.
///
///     nn::Parameters parameters(g);
///     nn::Embedding words(parameters, "words", 50000, 64, nn::gaussian(0.02));
[[nodiscard]] Initializer gaussian(double deviation);

/// The same number for all elements.
///
///     nn::Parameters parameters(g);
///     parameters.add("gate", "bias", nn::constant(1), {.shape = {3}});  // [1 1 1]
[[nodiscard]] Initializer constant(double number);

/// Whether a network is trained or used for inference: batch norm and dropout depend on it.
enum class Phase { train, eval };

/// The variables of a network, in the order in which its layers are made. It must outlive the layers, and cannot be
/// copied. Thread-safe as its graph.
///
///     nn::Parameters parameters(g);
///     const nn::Dense out(parameters, "out", 3, 10);
///     Values updates = sgd(mean(square(out(x))), parameters.trained(), 0.1);
class Parameters {
 public:
  /// `dtype` is the dtype of the variables, which is floating-point.
  explicit Parameters(Graph& graph, DType dtype = DType::float32) : graph_(&graph), dtype_(dtype) {}
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  /// The graph of the variables.
  [[nodiscard]] Graph& graph() const { return *graph_; }
  /// The dtype of the variables.
  [[nodiscard]] DType dtype() const { return dtype_; }
  /// The variables to train, for the optimizer.
  [[nodiscard]] const Values& trained() const { return trained_; }
  /// Updates to run together with the optimizer's updates: each call of a batch norm with Phase::train adds one for
  /// each of its running statistics.
  [[nodiscard]] const Values& updates() const { return updates_; }

  /// Adds a trained variable "LAYER/NAME" of dtype dtype(). It has the shape of `like` and is initialized for the
  /// inputs and outputs of `like`. Use this function and the next two for your own layers.
  Value add(std::string_view layer, std::string_view name, const Initializer& initializer, Initial like,
            source_location at = source_location::current());
  /// Adds a variable "LAYER/NAME" that is not trained; its elements start as `number`.
  Value keep(std::string_view layer, std::string_view name, double number, const Shape& shape,
             source_location at = source_location::current());
  /// Adds an update to updates().
  void add_update(const Value& update);

 private:
  Graph* graph_;
  DType dtype_;
  Values trained_, updates_;
};

struct DenseOptions {
  bool bias = true;                ///< false: no bias is added
  Initializer initializer = he();  ///< of the weights
};

/// x W + b, for x [...,inputs]: every output is a sum over all inputs. b starts as 0.
///
///     nn::Parameters parameters(g);
///     const nn::Dense out(parameters, "out", 3, 10);
///     out(x);  // float32[2,10]
struct Dense {
  /// Makes the layer `name`, for rows of `inputs` numbers, with rows of `outputs` numbers as results.
  Dense(Parameters& parameters, std::string_view name, std::int64_t inputs, std::int64_t outputs,
        const DenseOptions& options = {}, source_location at = source_location::current());
  Value operator()(const Value& x, source_location at = source_location::current()) const;

  Value weights;  ///< [inputs,outputs]
  Value bias;     ///< [outputs]; undefined: none
};

struct ConvOptions {
  Sliding sliding = {};            ///< strides, padding and dilations of the window
  std::int64_t groups = 1;         ///< number of blocks of channels, as for conv2d()
  bool bias = true;                ///< false: no bias is added
  Initializer initializer = he();  ///< of the weights
};

/// conv() of x [n,inputs,d1,…] with a window of as many dims, plus a bias for each channel, which starts as 0.
///
///     nn::Parameters parameters(g);
///     const nn::Conv conv(parameters, "conv", 3, 16, {5, 5}, {.sliding = {.padding = same_padding(5)}});
///     conv(images);  // float32[8,16,32,32]
struct Conv {
  /// Makes the layer `name`, with these numbers of channels, and with the sizes of its window.
  Conv(Parameters& parameters, std::string_view name, std::int64_t inputs, std::int64_t outputs, const Ints& window,
       const ConvOptions& options = {}, source_location at = source_location::current());
  Value operator()(const Value& x, source_location at = source_location::current()) const;

  Value weights;        ///< [outputs,inputs/groups,window…]
  Value bias;           ///< [outputs]; undefined: none
  Sliding sliding;      ///< of ConvOptions
  std::int64_t groups;  ///< of ConvOptions
};

struct BatchNormOptions {
  double momentum = 0.9;  ///< of the running means
  double epsilon = 1e-5;  ///< added to the variance
  /// The start value of the variable `scale`. 0 is for a residual branch, which then contributes nothing at first.
  double scale = 1;
};

/// batch_norm() of the channels of x [n,channels,…] (Ioffe and Szegedy, "Batch normalization", 2015). In training, it
/// normalises by the mean and variance of the batch. It keeps running means of both in variables (Parameters::updates):
/// r := momentum r + (1 - momentum) batch, with the batch's biased variance (divided by n). With Phase::eval, it
/// normalises by these running means. A batch that is split over tasks is one batch.
///
///     nn::Parameters parameters(g);
///     const nn::BatchNorm norm(parameters, "norm", 3);
///     norm(images, nn::Phase::train);  // float32[8,3,32,32]
struct BatchNorm {
  /// Makes the layer `name`, for images of `channels` channels.
  BatchNorm(Parameters& parameters, std::string_view name, std::int64_t channels, const BatchNormOptions& options = {},
            source_location at = source_location::current());
  Value operator()(const Value& x, Phase phase, source_location at = source_location::current()) const;

  Value scale, offset;       ///< [channels]: they start as the option `scale` and as 0
  Value mean, variance;      ///< [channels]: running means, which start as 0 and 1; not trained
  double momentum, epsilon;  ///< of BatchNormOptions

 private:
  Parameters* parameters_;
};

/// layer_norm() over the last dim of x [...,width].
///
///     nn::Parameters parameters(g);
///     const nn::LayerNorm norm(parameters, "norm", 3);
///     norm(x);  // float32[2,3]
struct LayerNorm {
  /// Makes the layer `name`, for a last dim of `width` numbers. `epsilon` is added to the variance.
  LayerNorm(Parameters& parameters, std::string_view name, std::int64_t width, double epsilon = 1e-5,
            source_location at = source_location::current());
  Value operator()(const Value& x, source_location at = source_location::current()) const;

  Value scale, offset;  ///< [width]: they start as 1 and 0
  double epsilon;       ///< added to the variance
};

/// A table of vectors: a call returns the row of each index (int32 or int64, of any shape), as [...,width].
///
///     nn::Parameters parameters(g);
///     const nn::Embedding words(parameters, "words", 50000, 64);
///     words(g.input("tokens", DType::int32, {8, 16}));  // float32[8,16,64]
struct Embedding {
  /// Makes the layer `name`, with `count` vectors of `width` numbers.
  Embedding(Parameters& parameters, std::string_view name, std::int64_t count, std::int64_t width,
            const Initializer& initializer = gaussian(0.02), source_location at = source_location::current());
  Value operator()(const Value& indices, source_location at = source_location::current()) const;

  Value table;  ///< [count,width]
};

/// Multi-head self-attention: x and the result are [n,steps,width]. Each of `heads` heads projects x to its own
/// queries, keys and values of width / heads numbers. attention() of these is projected back and summed over the heads.
/// All four variables may be split along dim 0, the heads: then each task computes its heads.
///
///     nn::Parameters parameters(g);
///     const nn::Attention attend(parameters, "attend", 64, 4);
///     attend(g.input("sequence", {8, 16, 64}), {.causal = true});  // float32[8,16,64]
struct Attention {
  /// Makes the layer `name`, for vectors of `width` numbers. `width` is a multiple of `heads`.
  Attention(Parameters& parameters, std::string_view name, std::int64_t width, std::int64_t heads,
            const Initializer& initializer = xavier(), source_location at = source_location::current());
  Value operator()(const Value& x, const Attending& attending = {},
                   source_location at = source_location::current()) const;

  Value queries, keys, values;  ///< [heads,width,width/heads]
  Value out;                    ///< [heads,width/heads,width]
};

/// lstm() of x [steps,n,inputs] in one direction. Biases start as 0, except biases of the forget gate, which start as 1
/// (Jozefowicz et al., "An empirical exploration of recurrent network architectures", 2015).
///
///     nn::Parameters parameters(g);
///     const nn::Lstm lstm(parameters, "lstm", 64, 128);
///     lstm(g.input("sequence", {16, 8, 64})).y;  // float32[16,8,128]
struct Lstm {
  /// Makes the layer `name`, with `inputs` features and a state of `hidden` numbers.
  Lstm(Parameters& parameters, std::string_view name, std::int64_t inputs, std::int64_t hidden,
       const Initializer& initializer = xavier(), source_location at = source_location::current());
  /// Starts with the state h, c [n,hidden] if it is given, else with zeros.
  Sequence operator()(const Value& x, const Value& h = {}, const Value& c = {},
                      source_location at = source_location::current()) const;

  Value input;  ///< [4 * hidden,inputs]
  Value state;  ///< [4 * hidden,hidden]
  Value bias;   ///< [4 * hidden]
};

/// In training, sets each element of x to 0 with probability `rate`, and divides the other elements by 1 - rate.
/// Otherwise returns x itself (Srivastava et al., "Dropout", 2014). 0 <= rate < 1.
///
///     nn::dropout(x, 0.5, nn::Phase::train);  // float32[2,3]
Value dropout(const Value& x, double rate, Phase phase, source_location at = source_location::current());

/// The largest element of each window of x [n,channels,d1,…]. The stride is the window's size, so windows do not
/// overlap.
///
///     nn::max_pool(images, {2, 2});  // float32[8,3,16,16]
Value max_pool(const Value& x, const Ints& window, source_location at = source_location::current());

/// The mean of each channel of x [n,channels,d1,…], as [n,channels] (Lin et al., "Network in network", 2014).
///
///     nn::mean_pool(images);  // float32[8,3]
Value mean_pool(const Value& x, source_location at = source_location::current());

/// x as [n, all other elements]; all its sizes except n must be known.
///
///     nn::flatten(images);  // float32[8,3072]
Value flatten(const Value& x, source_location at = source_location::current());

/// The fraction of rows of logits [n,classes] with the largest element (the first of equal elements) at the row's
/// label. `labels` are integers [n]. The result is a float32 scalar.
///
///     Value scores = g.constant({{0.1, 0.9}, {0.8, 0.2}});
///     nn::accuracy(scores, g.constant({1, 1}));  // 0.5
Value accuracy(const Value& logits, const Value& labels, source_location at = source_location::current());

}  // namespace ferry::nn
#pragma GCC visibility pop
