// ResNet-50 (25,557,032 parameters), trained in 16 bits with float32 master weights, data-parallel over all tasks: see
// docs/samples/resnet50.md. Without --data the images are synthetic.
//
//     mpirun -np 2 build/samples/resnet50 --size 64 --batch 16 --steps 40 --print-every 10
//     mpirun -np 2 build/samples/resnet50 --data SHARDS --size 224 --batch 256 --epochs 90 --print-every 50 --save
//     model
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

#include <array>
#include <filesystem>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

namespace {

using ferry::DType;
using ferry::Value;
namespace nn = ferry::nn;

constexpr std::int64_t kClasses = 1000;

// ---- The network: He et al., "Deep residual learning for image recognition", 2016 ----

/// A convolution without bias, padded so that only its stride shrinks the image, and a batch norm.
class NormedConv {
 public:
  NormedConv(nn::Parameters& parameters, const std::string& name, std::int64_t inputs, std::int64_t outputs,
             std::int64_t window, std::int64_t stride, double scale = 1)
      : conv_(parameters, name, inputs, outputs, {window, window},
              {.sliding = {.strides = {stride, stride}, .padding = ferry::same_padding(window)}, .bias = false}),
        norm_(parameters, name + "/norm", outputs, {.scale = scale}) {}

  Value operator()(const Value& x, nn::Phase phase) const { return norm_(conv_(x), phase); }

 private:
  nn::Conv conv_;
  nn::BatchNorm norm_;
};

/// Convolutions of 1 x 1 to `width` channels, 3 x 3 (with the stride), and 1 x 1 to four times as many channels. The
/// result is added to the input, which goes through its own convolution if the sizes differ. The last norm begins with
/// scale 0, so that at first only the input passes (Goyal et al., "Accurate, large minibatch SGD", 2017).
class Bottleneck {
 public:
  Bottleneck(nn::Parameters& parameters, const std::string& name, std::int64_t inputs, std::int64_t width,
             std::int64_t stride)
      : reduce_(parameters, name + "/reduce", inputs, width, 1, 1),
        spatial_(parameters, name + "/spatial", width, width, 3, stride),
        expand_(parameters, name + "/expand", width, 4 * width, 1, 1, 0) {
    if (inputs != 4 * width) shortcut_.emplace(parameters, name + "/shortcut", inputs, 4 * width, 1, stride);
  }

  Value operator()(const Value& x, nn::Phase phase) const {
    const Value reduced = ferry::relu(reduce_(x, phase));
    const Value spatial = ferry::relu(spatial_(reduced, phase));
    const Value expanded = expand_(spatial, phase);
    return ferry::relu(expanded + (shortcut_ ? (*shortcut_)(x, phase) : x));
  }

 private:
  NormedConv reduce_, spatial_, expand_;
  std::optional<NormedConv> shortcut_;
};

/// The network, from images to logits.
class Network {
 public:
  explicit Network(nn::Parameters& parameters)
      : first_(parameters, "first", 3, 64, 7, 2),
        blocks_(blocks(parameters)),
        last_(parameters, "last", 2048, kClasses, {.initializer = nn::gaussian(0.01)}) {}

  /// images: uint8 [n,3,h,w], red, green, blue. Computes in `dtype`, except for the sums of the norms. Returns float32
  /// [n,classes].
  Value operator()(const Value& images, DType dtype, nn::Phase phase) const {
    const Value x = ferry::cast(normal(images), dtype);
    const Value seen = ferry::relu(first_(x, phase));
    Value y = ferry::max_pool(seen, {.size = {3, 3}, .sliding = {.strides = {2, 2}, .padding = {1, 1}}});
    for (const Bottleneck& block : blocks_) y = block(y, phase);
    return ferry::cast(last_(nn::mean_pool(y)), DType::float32);
  }

 private:
  /// Normalises by the means and standard deviations of ImageNet's colours. Returns float32.
  static Value normal(const Value& images) {
    ferry::Graph& g = images.graph();
    const Value means = ferry::expand_dims(g.constant({123.675, 116.28, 103.53}), {1, 2});
    const Value deviations = ferry::expand_dims(g.constant({58.395, 57.12, 57.375}), {1, 2});
    return (ferry::cast(images, DType::float32) - means) / deviations;
  }

  static std::vector<Bottleneck> blocks(nn::Parameters& parameters) {
    constexpr std::array<std::int64_t, 4> kBlocks{3, 4, 6, 3};
    std::vector<Bottleneck> made;
    std::int64_t channels = 64;
    for (std::int64_t stage = 0; stage < 4; ++stage) {
      const std::int64_t width = 64 << stage;
      for (std::int64_t b = 0; b < kBlocks[stage]; ++b) {
        const std::string name = "stage" + std::to_string(stage + 1) + "/block" + std::to_string(b + 1);
        made.emplace_back(parameters, name, channels, width, stage > 0 && b == 0 ? 2 : 1);
        channels = 4 * width;
      }
    }
    return made;
  }

  NormedConv first_;
  std::vector<Bottleneck> blocks_;
  nn::Dense last_;
};

// ---- Images ----

/// The program's own options.
struct Settings {
  std::int64_t size = 224, batch = 32;
  std::string dtype = "float16";
};

/// A batch of images, uint8 [batch,3,size,size], and their labels, int32 [batch].
struct Batch {
  Value images, labels;
  std::int64_t count = 0;  ///< the number of images in the data set
};

/// The number of labels in a folder's files.
std::int64_t labels_in(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder))
    throw ferry::Error(ferry::Code::file, "--data: there is no folder " + folder.string())
        .hint("docs/samples/resnet50.md says what shards are; samples/image_shards.py makes some");
  std::uintmax_t bytes = 0;
  for (const auto& shard : std::filesystem::directory_iterator(folder)) bytes += shard.file_size();
  return static_cast<std::int64_t>(bytes / sizeof(std::int32_t));
}

/// A batch from shards in a folder below --data (docs/samples/resnet50.md): FOLDER/images/ and FOLDER/labels/.
Batch shards(ferry::Graph& g, const std::string& data, const std::string& folder, const Settings& settings,
             bool shuffle) {
  const std::int64_t count = labels_in(std::filesystem::path(data) / folder / "labels");
  const Value images = ferry::read_raw(g, folder + "/images/", DType::uint8, {count, 3, settings.size, settings.size});
  const Value labels = ferry::read_raw(g, folder + "/labels/", DType::int32, {count});
  const ferry::Values rows = ferry::batch({images, labels}, settings.batch, {shuffle});
  return {ferry::identity(rows[0]).laid({ferry::split(0)}), rows[1], count};
}

/// 0, 1, … in float32.
Value counted(ferry::Graph& g, std::int64_t count) {
  ferry::Tensor tensor(DType::float32, {count});
  float next = 0;
  for (float& element : tensor.mutable_data<float>()) element = next++;
  return g.constant(tensor);
}

/// A batch of images of waves: ten kinds, across or down, with a random phase for each colour and noise in every step.
Batch synthetic(ferry::Graph& g, const Settings& settings) {
  constexpr std::int64_t kKinds = 10;
  const std::int64_t n = settings.batch, size = settings.size, count = kKinds * n;
  const Value kinds = ferry::mod(counted(g, count), kKinds);
  const Value kind = ferry::batch({kinds}, n)[0].laid({ferry::split(0)});
  const Value down = ferry::expand_dims(ferry::mod(kind, 2), {1, 2, 3});
  const Value waves = ferry::expand_dims(ferry::floor(kind / 2) + 1, {1, 2, 3});
  const Value place = counted(g, size) / static_cast<double>(size);
  const Value across = place * (1 - down);
  const Value along = ferry::expand_dims(place, {1}) * down + across;
  const Value phase = ferry::uniform(g, {n, 3, 1, 1});
  const Value noise = ferry::uniform(g, {n, 3, size, size}, -30, 30);
  const Value bright = ferry::sin((along * waves + phase) * (2 * std::numbers::pi)) * 64 + noise + 128;
  return {ferry::cast(bright, DType::uint8), ferry::cast(kind, DType::int32), count};
}

// ---- Training, as Goyal et al. did it ----

bool is_matrix(const ferry::Gradient& gradient) {
  return gradient.variable.rank() > 1;
}

/// Momentum, with weight decay except for biases and norms. `beside`: updates of running statistics and the step count.
ferry::Values updates(const ferry::Gradients& gradients, const Value& rate, const ferry::Values& beside) {
  ferry::Gradients decayed, others;
  for (const ferry::Gradient& gradient : gradients) (is_matrix(gradient) ? decayed : others).push_back(gradient);
  ferry::Values all = ferry::momentum(ferry::weight_decay(decayed, 1e-4), rate, 0.9);
  for (const Value& update : ferry::momentum(others, rate, 0.9)) all.push_back(update);
  all.insert(all.end(), beside.begin(), beside.end());
  return all;
}

/// In five epochs the rate grows to 0.1 for each 256 images of a batch; after epochs 30, 60 and 80 it falls to a tenth.
Value learning_rate(const Batch& batch, const Settings& settings, const Value& steps) {
  const std::int64_t epoch = batch.count / settings.batch;
  const double most = 0.1 * static_cast<double>(settings.batch) / 256;
  const Value falling = ferry::milestone_decay(most, steps, {30 * epoch, 60 * epoch, 80 * epoch});
  return ferry::warm_up(falling, steps, 5 * epoch);
}

void train(ferry::Graph& g, const Network& network, const nn::Parameters& parameters, const Batch& batch,
           const Settings& settings) {
  const DType dtype = ferry::dtype_named(settings.dtype);
  const Value moved = ferry::random_crop(ferry::random_flip(batch.images, 2), settings.size / 8, 2);
  const Value logits = network(moved, dtype, nn::Phase::train);
  const Value loss = ferry::mean(ferry::softmax_cross_entropy(logits, batch.labels));
  const ferry::StepCount count = ferry::count_steps(g);
  const Value rate = learning_rate(batch, settings, count.steps);
  const ferry::LossScale scale = ferry::loss_scale(g);
  const ferry::Gradients gradients = ferry::gradients_of(loss * scale.value, parameters.trained());
  const auto apply = [&](const ferry::Gradients& whole) {
    ferry::Values beside = parameters.updates();
    beside.push_back(count.update);
    return updates(whole, rate, beside);
  };
  for (const Value& update : ferry::unscaled(ferry::on_wire(gradients, dtype), scale, apply)) g.target("train", update);
  g.fetch("train", "loss", loss);
  g.fetch("train", "accuracy", nn::accuracy(logits, batch.labels));
  g.fetch("train", "rate", rate);
  g.fetch("train", "scale", scale.value);
}

void make(ferry::Graph& g, const std::string& data, const Settings& settings) {
  auto everywhere = g.on(g.mesh("dp"));
  nn::Parameters parameters(g);
  const Network network(parameters);
  train(g, network, parameters, data.empty() ? synthetic(g, settings) : shards(g, data, "train", settings, true),
        settings);

  const Batch tested = data.empty() ? synthetic(g, settings) : shards(g, data, "test", settings, false);
  g.fetch("eval", "accuracy", nn::accuracy(network(tested.images, DType::float32, nn::Phase::eval), tested.labels));

  const Value asked = g.input("images", DType::uint8, {"n", 3, settings.size, settings.size});
  const Value logits = network(asked, DType::float32, nn::Phase::eval);
  g.fetch("predict", "classes", ferry::argmax(logits));
  g.fetch("predict", "logits", logits);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  ferry::ProgramOptions own;
  own.number("--size", settings.size, "Height and width of the images");
  own.number("--batch", settings.batch, "Images of a step, of all tasks together");
  own.word("--dtype", settings.dtype, {"float16", "bfloat16", "float32"}, "What the forward and backward pass are in");
  return ferry::run_main(argc, argv, own, [&](ferry::Graph& g, const std::string& data) { make(g, data, settings); });
}
