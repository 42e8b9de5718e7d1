// A transformer that learns to write a text, character by character, data- and tensor-parallel on a mesh of two axes.
// Windows of the text are split along `dp`; the attention heads and the hidden units are split along `tp` (two tasks).
// See docs/samples/charlm.md. The text is the GNU General Public License, which every Debian machine has:
//
//     mpirun -np 4 build/ferry run build/samples/charlm.pb --data /usr/share/common-licenses --epochs 30 --save model
//     build/ferry run build/samples/charlm.pb --entry write --tasks 2 --model model --out written
//     tail -c 300 written/text.npy
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace {

using ferry::DType;
using ferry::replicated;
using ferry::split;
using ferry::Value;
namespace nn = ferry::nn;

constexpr std::int64_t kText = 35149, kWindow = 64, kWindows = kText / kWindow;
constexpr std::int64_t kCharacters = 128, kWidth = 64, kHeads = 4, kBlocks = 2, kWritten = 300;
constexpr std::string_view kBegun = "  You may convey a covered work to others, if you do this under ";
static_assert(kBegun.size() == kWindow);

/// A transformer block: causal attention, then two dense layers on each character, both with a residual connection.
class Block {
 public:
  Block(nn::Parameters& parameters, const std::string& name)
      : first_norm_(parameters, name + "/first_norm", kWidth),
        attention_(parameters, name + "/attention", kWidth, kHeads),
        second_norm_(parameters, name + "/second_norm", kWidth),
        up_(parameters, name + "/up", kWidth, 4 * kWidth),
        down_(parameters, name + "/down", 4 * kWidth, kWidth) {
    for (const Value& heads :
         {attention_.queries, attention_.keys, attention_.values, attention_.out, up_.bias, down_.weights})
      heads.laid({replicated(), split(0)});
    up_.weights.laid({replicated(), split(1)});
  }

  /// x and the result: float32 [n,window,width].
  Value operator()(const Value& x) const {
    const Value attended = x + attention_(first_norm_(x), {.causal = true});
    return attended + down_(ferry::gelu(up_(second_norm_(attended))));
  }

 private:
  nn::LayerNorm first_norm_;
  nn::Attention attention_;
  nn::LayerNorm second_norm_;
  nn::Dense up_, down_;
};

class Network {
 public:
  explicit Network(nn::Parameters& parameters)
      : characters_(parameters, "characters", kCharacters, kWidth),
        places_(parameters, "places", kWindow, kWidth),
        blocks_(blocks(parameters)),
        norm_(parameters, "norm", kWidth),
        out_(parameters, "out", kWidth, kCharacters) {}

  /// characters: int32 [n,window]. Returns the logits of the character after each one, float32 [n,window,characters].
  Value operator()(const Value& characters) const {
    Value x = characters_(characters) + places_.table;
    for (const Block& block : blocks_) x = block(x);
    return out_(norm_(x));
  }

 private:
  static std::vector<Block> blocks(nn::Parameters& parameters) {
    std::vector<Block> made;
    for (std::int64_t i = 1; i <= kBlocks; ++i) made.emplace_back(parameters, "block" + std::to_string(i));
    return made;
  }

  nn::Embedding characters_, places_;
  std::vector<Block> blocks_;
  nn::LayerNorm norm_;
  nn::Dense out_;
};

/// The text from character `from` on, as consecutive windows: int32 [windows,window].
Value windows(const Value& text, std::int64_t from) {
  const std::int64_t count = kWindows - 1;
  const Value part = ferry::slice(text, 0, from, from + count * kWindow);
  return ferry::cast(ferry::reshape(part, {count, kWindow}), DType::int32);
}

/// The text that the network writes after `kBegun`. Each character is drawn by its probability at a temperature of 0.7.
Value write(ferry::Graph& g, const Network& network) {
  ferry::Tensor begun(DType::int32, {1, kWindow});
  std::copy(kBegun.begin(), kBegun.end(), begun.mutable_data<std::int32_t>().begin());
  const Value first = g.constant(begun);
  const Value blank = g.constant(ferry::Tensor(DType::int32, {kWritten}));
  const Value places = ferry::cumsum(ferry::ones_like(blank), 0) - 1;
  const auto more = [](const ferry::Values& c) { return c[0] < kWritten; };
  const auto next = [&](const ferry::Values& c) {
    const Value logits = ferry::reshape(ferry::slice(network(c[1]), 1, kWindow - 1), {1, kCharacters});
    const Value drawn = ferry::uniform(g, {1, kCharacters}, 1e-6, 1);
    const Value noise = -ferry::log(-ferry::log(drawn));
    const Value character = ferry::cast(ferry::argmax(logits / 0.7 + noise), DType::int32);
    const Value moved = ferry::concat({ferry::slice(c[1], 1, 1), ferry::expand_dims(character, {1})}, 1);
    return ferry::Values{c[0] + 1, moved, ferry::select(ferry::equal(places, c[0]), character, c[2])};
  };
  const Value none = ferry::cast(g.constant(0.0), DType::int32);
  return ferry::cast(ferry::while_loop({none, first, blank}, more, next)[2], DType::uint8);
}

/// The program's own options.
struct Settings {
  std::int64_t batch = 16, tp = 2;
};

void make(ferry::Graph& g, const Settings& settings) {
  auto everywhere = g.on(g.mesh({{"dp", ferry::Mesh::kOpen}, {"tp", settings.tp}}));
  nn::Parameters parameters(g);
  const Network network(parameters);

  const Value text = ferry::read_raw(g, "GPL-3", DType::uint8, {kText});
  const ferry::Values batch = ferry::batch({windows(text, 0), windows(text, 1)}, settings.batch);
  const Value logits = network(ferry::identity(batch[0]).laid({split(0), replicated()}));
  const Value loss = ferry::mean(ferry::softmax_cross_entropy(logits, batch[1]));
  const ferry::Gradients gradients = ferry::clip_by_norm(ferry::gradients_of(loss, parameters.trained()), 1);
  for (const Value& update : ferry::adamw(gradients, 0.003)) g.target("train", update);
  g.fetch("train", "loss", loss);

  g.fetch("write", "text", write(g, network));
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  ferry::ProgramOptions own;
  own.number("--batch", settings.batch, "Windows of a step, of all tasks together");
  own.number("--tp", settings.tp, "Tasks that share the heads and hidden units: 1, 2 or 4");
  return ferry::run_main(argc, argv, own, [&](ferry::Graph& g, const std::string&) { make(g, settings); });
}
