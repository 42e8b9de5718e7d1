// Gradient-boosted trees over all tasks, as XGBoost grows them. The rows of a LibSVM file are split over the tasks, and
// ferry's all-reduce, called directly and without a graph, sums the histograms of their gradients.
//
//     build/samples/boost samples/data --depth 2 --eta 1 --rounds 2 --save model.txt
//     mpirun -np 2 build/samples/boost samples/data
//     build/samples/boost samples/data --model model.txt
//     build/samples/boost mine.libsvm more.libsvm.gz
//
// See docs/samples/boost.md.
#include <ferry/base/text.hpp>
#include <ferry/ferry.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "samples/boost/model.hpp"
#include "samples/boost/train.hpp"

namespace {

constexpr const char* kUsage =
    R"(Gradient-boosted trees over all tasks: trains on rows of a LibSVM file, and tells how well the trees fit.

    boost FOLDER                 trains on FOLDER/agaricus.train.gz, tests on FOLDER/agaricus.test.gz
    boost TRAIN [TEST]           LibSVM files, plain or compressed; labels are 0 and 1
    boost FOLDER|TEST --model M  trains nothing: tests the trees of file M

  --depth N      of a tree at most, 1 to 16; 6
  --eta X        share of each tree, 1e-6 to 1; 0.3
  --rounds N     trees, 1 to 10000; 10
  --save FILE    where task 0 writes the trees
  --times N      trains so often, and prints the median in milliseconds
and of the options of `ferry run`: --deadline, --threads, --transport. More tasks: mpirun -np N.
)";

struct Options {
  std::string train, test;  ///< LibSVM files; either may be empty
  std::string model;        ///< a file to load; if given, nothing is trained
  std::string save;
  int times = 0;  ///< if not 0, the number of timed trainings, for `ferry bench boost`
  boost_sample::Settings settings;
};

[[noreturn]] void refuse(const std::string& why) {
  throw ferry::Error(ferry::Code::usage, why).hint("boost --help");
}

template <class T>
T number(const std::string& option, const std::string& text, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most))
    refuse(option + " " + text + ": not a number from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

/// Sets `train` and `test` from the arguments: one or two files, or the folder that has both.
void set_files(Options& options, const std::vector<std::string>& files) {
  if (files.empty()) refuse("no folder or file with data is given");
  if (files.size() > 2) refuse(ferry::formatted("one file more than to train and to test: {:?}", files[2]));
  const bool is_folder = std::filesystem::is_directory(files[0]);
  if (files.size() == 2 && (is_folder || !options.model.empty()))
    refuse(ferry::formatted("one file more than needed: {:?}", files[1]));
  if (is_folder) {
    options.train = files[0] + "/agaricus.train.gz";
    options.test = files[0] + "/agaricus.test.gz";
  } else if (!options.model.empty()) {
    options.test = files[0];
  } else {
    options.train = files[0];
    options.test = files.size() == 2 ? files[1] : "";
  }
}

Options options_of(int argc, char** argv) {
  Options options;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    std::string option = argv[i];
    if (!option.starts_with("--")) {
      files.push_back(option);
      continue;
    }
    std::string text;
    if (const std::size_t equals = option.find('='); equals != std::string::npos) {
      text = option.substr(equals + 1);
      option.resize(equals);
    } else {
      if (i + 1 == argc) refuse(option + " lacks its value");
      text = argv[++i];
    }
    if (option == "--depth")
      options.settings.depth = number(option, text, 1, 16);
    else if (option == "--eta")
      options.settings.eta = number(option, text, 1e-6F, 1.0F);
    else if (option == "--rounds")
      options.settings.rounds = number(option, text, 1, 10000);
    else if (option == "--times")
      options.times = number(option, text, 1, 100000);
    else if (option == "--save")
      options.save = text;
    else if (option == "--model")
      options.model = text;
    else
      refuse("unknown option " + option);
  }
  set_files(options, files);
  return options;
}

/// The errors of a model on the rows of all tasks.
struct Fit {
  std::int64_t wrong = 0, rows = 0;
  double log_loss = 0;
};

Fit fit_of(const boost_sample::Model& model, const boost_sample::Rows& rows, const ferry::Cluster& cluster) {
  constexpr double kUnit = 1099511627776.0;  // 2^40: integers, so that the number of tasks does not change the sum
  std::int64_t sums[2] = {0, 0};
  const std::vector<float> margins = boost_sample::margins(model, rows.part);
  for (std::size_t row = 0; row < margins.size(); ++row) {
    const double p = boost_sample::probability(margins[row]);
    const bool is_one = rows.part.labels[row] == 1;
    sums[0] += (p > 0.5) != is_one ? 1 : 0;
    sums[1] += std::llrint(-std::log(std::max(is_one ? p : 1 - p, 1e-16)) * kUnit);
  }
  cluster.all_reduce(std::span<std::int64_t>(sums));
  return {sums[0], rows.all, static_cast<double>(sums[1]) / kUnit / static_cast<double>(rows.all)};
}

boost_sample::Model trained(const boost_sample::Rows& rows, const Options& options, const ferry::Cluster& cluster) {
  return boost_sample::train(rows, boost_sample::make_cuts(rows.part, cluster), options.settings, cluster);
}

/// The median time of several trainings, in milliseconds.
double median_ms(const boost_sample::Rows& rows, const Options& options, const ferry::Cluster& cluster) {
  std::vector<double> times;
  for (int i = 0; i < options.times; ++i) {
    cluster.barrier();
    const auto begin = std::chrono::steady_clock::now();
    static_cast<void>(trained(rows, options, cluster));
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void print(const char* what, const Fit& fit) {
  std::printf("%s: %lld of %lld wrong, log loss %.5f\n", what, static_cast<long long>(fit.wrong),
              static_cast<long long>(fit.rows), fit.log_loss);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--help" && std::string_view(argv[i]) != "-h") continue;
    std::fputs(kUsage, stdout);
    return 0;
  }
  const auto cluster = ferry::Cluster::connect(argc, argv);
  const Options options = options_of(argc, argv);
  const bool first = cluster.rank() == 0;
  boost_sample::Model model;
  if (options.model.empty()) {
    const boost_sample::Rows rows = boost_sample::read_rows(options.train, cluster);
    if (options.times > 0) {
      const double ms = median_ms(rows, options, cluster);
      if (first) std::printf("%.4f\n", ms);
      return 0;
    }
    model = trained(rows, options, cluster);
    if (first && !options.save.empty()) boost_sample::save(model, ferry::local_files(), options.save);
    const Fit fit = fit_of(model, rows, cluster);
    if (first) print("train", fit);
  } else {
    model = boost_sample::load(ferry::local_files(), options.model);
  }
  if (options.test.empty()) return 0;
  const Fit fit = fit_of(model, boost_sample::read_rows(options.test, cluster), cluster);
  if (first) print("test", fit);
}
