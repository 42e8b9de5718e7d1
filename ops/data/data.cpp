#include "ops/data/data.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/files/compress.hpp"
#include "base/files/csv.hpp"
#include "base/files/files.hpp"
#include "base/files/npy.hpp"
#include "base/format.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "graph/op/op_work.hpp"
#include "graph/types/batches.hpp"
#include "ops/build.hpp"

namespace ferry {
namespace {

void check_path(const OpFacts& facts) {
  const std::string& path = facts.attr<std::string>("path");
  if (path.empty() || path.front() == '/' || path.find('\0') != std::string::npos)
    OpFacts::fail(formatted("the path {:?} is not one beneath the data folder", path));
  for (std::string_view part : split(path, '/'))
    if (part == "..") OpFacts::fail(formatted("the path {:?} is not one beneath the data folder", path));
}

std::vector<Shape> file_shape(const OpFacts& facts) {
  check_path(facts);
  const Shape& shape = facts.attr<Shape>("shape");
  if (!shape.fixed())
    OpFacts::fail("the sizes of " + shape.str() +
                  " are not all known; csv_shape(), npy_shape() and raw_shape() return the sizes of a file");
  return {shape};
}

std::vector<Shape> table_shape(const OpFacts& facts) {
  std::vector<Shape> shapes = file_shape(facts);
  if (shapes[0].rank() != 2) OpFacts::fail("a table has two dims, not " + shapes[0].str());
  if (facts.attr<std::int64_t>("skip") < 0) OpFacts::fail("skip is negative");
  return shapes;
}

/// Checks that npy files have the declared dtype.
void check_npy_dtype(const OpFacts& facts) {
  const DType dtype = facts.attr<DType>("dtype");
  if (npy_descr_of(dtype).empty())
    OpFacts::fail(formatted("npy files have no {}; save the array as float32, read float32 and cast it to {}",
                            name_of(dtype), name_of(dtype)));
}

std::vector<Shape> npy_array_shape(const OpFacts& facts) {
  check_npy_dtype(facts);
  return file_shape(facts);
}

std::vector<Shape> rows_shape(const OpFacts& facts) {
  std::vector<Shape> shapes = file_shape(facts);
  if (shapes[0].rank() == 0) OpFacts::fail("a scalar has no rows");
  return shapes;
}

std::vector<Shape> tensor_shape(const OpFacts& facts) {
  if (facts.attr<std::string>("tensor").empty()) OpFacts::fail("the tensor's name is empty");
  return rows_shape(facts);
}

/// The formats with rows that can be read one by one (`format` of BatchFile), and the ops that read whole files of
/// them.
struct Streamable {
  std::string_view op, format;
  std::string_view part = {};  ///< the only output of the format that the op reads; empty: all
};
constexpr Streamable kStreamable[] = {
    {"ReadIdx", "idx"}, {"ReadNpy", "npy"},       {"ReadRaw", "raw"},       {"ReadSafetensors", "safetensors"},
    {"ReadCsv", "csv"}, {"ReadLibsvm", "libsvm"}, {"ReadImages", "images"}, {"ReadLibsvmWeights", "libsvm", "weights"}};

/// The outputs of formats with several outputs, in order. A BatchFile that streams an output has its name as `tensor`.
struct FilePart {
  std::string_view format, name;
  DType dtype;
  int rank;
};
constexpr FilePart kParts[] = {{"libsvm", "labels", DType::float32, 1}, {"libsvm", "values", DType::float32, 2},
                               {"libsvm", "indices", DType::int32, 2},  {"libsvm", "weights", DType::float32, 1},
                               {"images", "images", DType::uint8, 4},   {"images", "labels", DType::int32, 1}};

void check_features(std::int64_t features) {
  if (features < 1 || features > std::numeric_limits<std::int32_t>::max())
    OpFacts::fail(std::to_string(features) + " features, and there are 1 to 2147483647");
}

void check_images(const OpFacts& facts) {
  const auto classes = facts.attrs().get_or<std::int64_t>("classes", 0);
  if (classes < 1) OpFacts::fail(std::to_string(classes) + " classes");
  if (facts.attrs().get_or<std::int64_t>("resize", 0) < 0) OpFacts::fail("resize is negative");
}

/// Checks the attributes of text formats and of images.
void check_format(const OpFacts& facts, const std::string& format, const Shape& shape) {
  if (facts.attrs().get_or<std::int64_t>("skip", 0) < 0) OpFacts::fail("skip is negative");
  if (format == "csv" && shape.rank() != 2) OpFacts::fail("a table has two dims, not " + shape.str());
  if (format == "npy") check_npy_dtype(facts);
  if (format == "libsvm") check_features(facts.attrs().get_or<std::int64_t>("features", 0));
  if (format == "images") check_images(facts);
  const auto of_format = [&](const FilePart& part) { return part.format == format; };
  if (std::none_of(std::begin(kParts), std::end(kParts), of_format)) return;
  const std::string& name = facts.attr<std::string>("tensor");
  const auto part = std::find_if(std::begin(kParts), std::end(kParts),
                                 [&](const FilePart& p) { return of_format(p) && p.name == name; });
  if (part == std::end(kParts)) OpFacts::fail(formatted("{:?} has no {:?}", format, name));
  const Type declared{facts.attr<DType>("dtype"), shape};
  if (declared.dtype != part->dtype || shape.rank() != part->rank)
    OpFacts::fail(formatted("{} of {:?} are not {}", as_is(name), format, as_is(declared.str())));
}

/// The shapes of the outputs images and labels.
std::vector<Shape> image_shapes(const OpFacts& facts) {
  check_path(facts);
  check_images(facts);
  const Shape& shape = facts.attr<Shape>("shape");
  if (shape.rank() != 4 || !shape.fixed() || shape[3].size() != 3)
    OpFacts::fail("images are [n, height, width, 3], not " + shape.str());
  if (shape[1].size() < 1 || shape[2].size() < 1) OpFacts::fail("images of " + shape.str() + " have no pixels");
  static_cast<void>(checked_count(shape.sizes()));
  const auto resize = facts.attr<std::int64_t>("resize");
  if (resize > 0 && facts.attr<bool>("augment")) OpFacts::fail("resize is for images that are not augmented");
  if (resize > 0 && resize < std::max(shape[1].size(), shape[2].size()))
    OpFacts::fail("a resize of " + std::to_string(resize) + " leaves too little for " + shape.str());
  return {shape, Shape{shape[0]}};
}

/// The shapes of the outputs labels, values and indices.
std::vector<Shape> sparse_shapes(const OpFacts& facts) {
  check_path(facts);
  const auto rows = facts.attr<std::int64_t>("rows"), most = facts.attr<std::int64_t>("most"),
             features = facts.attr<std::int64_t>("features");
  if (rows < 0) OpFacts::fail(std::to_string(rows) + " rows");
  if (most < 1) OpFacts::fail("at most " + std::to_string(most) + " entries in a row");
  check_features(features);
  static_cast<void>(checked_count(Ints{rows, most}));
  return {Shape{rows}, Shape{rows, most}, Shape{rows, most}};
}

std::vector<Shape> weights_shape(const OpFacts& facts) {
  return {sparse_shapes(facts)[0]};
}

constexpr std::string_view kKeep = "keep";

/// The batches of an array with `rows` rows.
Batches batches_of(const OpFacts& facts, const Dim& rows) {
  Batches batches{.size = facts.attr<std::int64_t>("batch")};
  if (batches.size < 1) OpFacts::fail("a batch of " + std::to_string(batches.size));
  if (rows.size() < batches.size)
    OpFacts::fail("a batch of " + std::to_string(batches.size) + " of " + rows.str() + " rows");
  batches.rows = rows.size();
  if (const AttrValue* rest = facts.attrs().find("rest"); rest != nullptr) {
    const std::string& what = std::get<std::string>(*rest);
    if (what != kKeep) OpFacts::fail(formatted("the rest of an epoch is kept by \"keep\", not by {:?}", what));
    batches.keep = true;
  }
  return batches;
}

/// Dim 0 of the outputs of an op with these batches.
Dim rows_given(const OpFacts& facts, const Batches& batches) {
  const AttrValue* const given = facts.attrs().find("rows");
  if (given == nullptr) return batches.dim();
  const auto rows = std::get<std::int64_t>(*given);
  if (!batches.uneven() || (rows != batches.size && rows != batches.last()))
    OpFacts::fail("rows = " + std::to_string(rows) + " is no size of its batches");
  return rows;
}

Batches file_batches(const OpFacts& facts) {
  return batches_of(facts, facts.attr<Shape>("shape")[0]);
}

Batches array_batches(const OpFacts& facts) {
  return batches_of(facts, facts.shape(0)[0]);
}

std::vector<Shape> batch_file_shape(const OpFacts& facts) {
  constexpr std::int64_t kMostAhead = 1024;
  const auto ahead = facts.attr<std::int64_t>("prefetch");
  const std::string& format = facts.attr<std::string>("format");
  if (std::none_of(std::begin(kStreamable), std::end(kStreamable), [&](const auto& s) { return s.format == format; }))
    OpFacts::fail(formatted("there is no format {:?}", format));
  std::vector<Shape> shapes = rows_shape(facts);
  check_format(facts, format, shapes[0]);
  const Batches batches = file_batches(facts);
  if (ahead < 1 || ahead > kMostAhead)
    OpFacts::fail("a prefetch of " + std::to_string(ahead) + " batches, and there are 1 to 1024");
  shapes[0][0] = rows_given(facts, batches);
  return shapes;
}

std::string file_index(const OpFacts& facts) {
  return "->" + term(Letters().next(facts.attr<Shape>("shape").rank()));
}

std::vector<Shape> batch_shape(const OpFacts& facts) {
  if (facts.inputs() == 0) OpFacts::fail("takes at least one input");
  std::vector<Shape> shapes;
  for (int i = 0; i < facts.inputs(); ++i) {
    Shape shape = facts.shape(i);
    if (shape.rank() == 0) OpFacts::fail("input " + std::to_string(i) + " is a scalar and has no rows");
    if (!shape[0].fixed())
      OpFacts::fail("the number of rows of input " + std::to_string(i) + " " + shape.str() + " is not known");
    if (shape[0] != facts.shape(0)[0])
      OpFacts::fail("input " + std::to_string(i) + " has " + shape[0].str() + " rows, the first " +
                    facts.shape(0)[0].str());
    shape[0] = rows_given(facts, array_batches(facts));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

/// Returns index notation such as "[n]a,[n]->ra,r": rows of the batch may be split, but the arrays must be whole.
std::string batch_index(const OpFacts& facts) {
  Letters letters;
  const std::string all = whole(letters.next());
  const std::string rows = letters.next();
  std::string in, out;
  for (int i = 0; i < facts.inputs(); ++i) {
    const std::string rest = letters.next(facts.shape(i).rank() - 1);
    in += (i == 0 ? "" : ",") + all + rest;
    out += (i == 0 ? "" : ",") + rows + rest;
  }
  return in + "->" + out;
}

constexpr AttrDef kFileAttrs[] = {{"dtype", "dtype"}, {"path", "string"}, {"shape", "shape"}};
constexpr AttrDef kCsvAttrs[] = {{"dtype", "dtype"}, {"path", "string"}, {"shape", "shape"}, {"skip", "int"}};
constexpr AttrDef kTensorAttrs[] = {{"dtype", "dtype"}, {"path", "string"}, {"shape", "shape"}, {"tensor", "string"}};
constexpr AttrDef kSparseAttrs[] = {{"features", "int"}, {"most", "int"}, {"path", "string"}, {"rows", "int"}};
constexpr AttrDef kImageAttrs[] = {
    {"augment", "bool"}, {"classes", "int"}, {"path", "string"}, {"resize", "int"}, {"shape", "shape"}};
constexpr AttrDef kBatchFileAttrs[] = {
    {"augment", "bool", false}, {"batch", "int"},          {"classes", "int", false}, {"dtype", "dtype"},
    {"features", "int", false}, {"format", "string"},      {"path", "string"},        {"prefetch", "int"},
    {"resize", "int", false},   {"rest", "string", false}, {"rows", "int", false},    {"seed", "int"},
    {"shape", "shape"},         {"shuffle", "bool"},       {"skip", "int", false},    {"tensor", "string"}};
constexpr AttrDef kBatchAttrs[] = {
    {"batch", "int"}, {"rest", "string", false}, {"rows", "int", false}, {"seed", "int"}, {"shuffle", "bool"}};
constexpr std::string_view kNoInputs = "it has no inputs";

constexpr OpDef kReadIdx{.name = "ReadIdx",
                         .types = "->@dtype",
                         .attrs = kFileAttrs,
                         .index_of = file_index,
                         .infer = file_shape,
                         .flags = kStateful | kOnce,
                         .no_grad = kNoInputs};

constexpr OpDef kReadCsv{.name = "ReadCsv",
                         .types = "->@dtype",
                         .attrs = kCsvAttrs,
                         .index_of = file_index,
                         .infer = table_shape,
                         .flops = 100,
                         .flags = kStateful | kOnce,
                         .no_grad = kNoInputs};

constexpr OpDef kReadNpy{.name = "ReadNpy",
                         .types = "->@dtype",
                         .attrs = kFileAttrs,
                         .index_of = file_index,
                         .infer = npy_array_shape,
                         .flags = kStateful | kOnce,
                         .no_grad = kNoInputs};

constexpr OpDef kReadRaw{.name = "ReadRaw",
                         .types = "->@dtype",
                         .attrs = kFileAttrs,
                         .index_of = file_index,
                         .infer = rows_shape,
                         .flags = kStateful | kOnce,
                         .no_grad = kNoInputs};

constexpr OpDef kReadSafetensors{.name = "ReadSafetensors",
                                 .types = "->@dtype",
                                 .attrs = kTensorAttrs,
                                 .index_of = file_index,
                                 .infer = tensor_shape,
                                 .flags = kStateful | kOnce,
                                 .no_grad = kNoInputs};

constexpr OpDef kReadLibsvm{.name = "ReadLibsvm",
                            .types = "->float32,float32,int32",
                            .attrs = kSparseAttrs,
                            .index = "->r,rm,rm",
                            .infer = sparse_shapes,
                            .flops = 100,
                            .flags = kStateful | kOnce,
                            .no_grad = kNoInputs};

constexpr OpDef kReadLibsvmWeights{.name = "ReadLibsvmWeights",
                                   .types = "->float32",
                                   .attrs = kSparseAttrs,
                                   .index = "->r",
                                   .infer = weights_shape,
                                   .flops = 100,
                                   .flags = kStateful | kOnce,
                                   .no_grad = kNoInputs};

constexpr OpDef kReadImages{.name = "ReadImages",
                            .types = "->uint8,int32",
                            .attrs = kImageAttrs,
                            .index = "->nhwc,n",
                            .infer = image_shapes,
                            .flops = 100,
                            .flags = kStateful | kOnce,
                            .no_grad = kNoInputs};

constexpr OpDef kBatchFile{.name = "BatchFile",
                           .types = "->@dtype",
                           .attrs = kBatchFileAttrs,
                           .index_of = file_index,
                           .infer = batch_file_shape,
                           .batches = file_batches,
                           .flops = 0,
                           .flags = kRandom | kOnHost,
                           .no_grad = kNoInputs};

constexpr OpDef kBatch{.name = "Batch",
                       .types = "*...->*...",
                       .attrs = kBatchAttrs,
                       .index_of = batch_index,
                       .infer = batch_shape,
                       .batches = array_batches,
                       .flops = 0,
                       .bytes_of = moved_bytes,
                       .flags = kRandom | kMoves | kOnHost,
                       .no_grad = "which rows it takes is not differentiable"};

constexpr const OpDef* kDataOps[] = {&kReadIdx,    &kReadCsv,           &kReadNpy,    &kReadRaw, &kReadSafetensors,
                                     &kReadLibsvm, &kReadLibsvmWeights, &kReadImages, &kBatch,   &kBatchFile};

Value read(const OpDef& def, Graph& graph, std::string_view path, DType dtype, const Shape& shape,
           const SourceLine& line) {
  return graph.add(def, {}, {{"dtype", dtype}, {"path", std::string(path)}, {"shape", shape}}, line)[0];
}

/// Calls body(), which reads `file`. An Error that it throws gets the line.
template <class F>
Shape of_file(const std::string& file, const SourceLine& line, const F& body) {
  try {
    return body();
  } catch (Error& error) {
    error.at(line);
    // "/train.csv" is an empty data folder and "/train.csv", if the root has no folder or file of that name.
    if (file.starts_with('/') && !local_files().exists(file.substr(0, file.find('/', 1))))
      error.hint("if the path begins with an empty data folder: give the program --data DIR");
    throw;
  }
}

bool is_packed(const std::string& path) {
  return path.ends_with(".gz") || path.ends_with(".zst");
}

/// The bytes of all outputs of an op that reads a file.
std::int64_t bytes_of(const Op& op) {
  std::int64_t bytes = 0;
  for (int i = 0; i < op.outputs(); ++i) bytes += op.graph().type(op.output(i)).bytes();
  return bytes;
}

/// The format in which the array's file can be streamed. Null: the whole array is read into memory.
const Streamable* streamable(const Value& array, const BatchOptions& options) {
  if (!array.defined()) return nullptr;
  const Op op = array.op();
  const auto found = std::find_if(std::begin(kStreamable), std::end(kStreamable),
                                  [&](const Streamable& s) { return s.op == op.def().name; });
  if (found == std::end(kStreamable) || array.rank() == 0) return nullptr;
  if (bytes_of(op) < options.stream_from && !op.attrs().get_or<bool>("augment", false)) return nullptr;
  return is_packed(op.attrs().get<std::string>("path")) ? nullptr : &*found;
}

/// The attributes of an op that makes such batches of an array.
Attrs batch_attrs(const Value& array, std::int64_t size, const BatchOptions& options) {
  Attrs attrs{{"batch", size}, {"seed", options.seed}, {"shuffle", options.shuffle}};
  const bool rows_known = array.defined() && array.rank() > 0 && array.shape()[0].fixed();
  if (options.rest == Rest::keep && size > 0 && rows_known && array.shape()[0].size() % size != 0)
    attrs.set("rest", std::string(kKeep));
  return attrs;
}

/// Makes the op that reads batches from the file, on the devices of `array`.
Value batch_file(const Value& array, const Streamable& from, std::int64_t size, const BatchOptions& options,
                 const SourceLine& line) {
  const Op op = array.op();
  const Attrs& file = op.attrs();
  const auto* part =
      std::find_if(std::begin(kParts), std::end(kParts), [&](const FilePart& p) { return p.format == from.format; });
  Attrs attrs = batch_attrs(array, size, options);
  attrs.set("dtype", array.dtype());
  attrs.set("format", std::string(from.format));
  attrs.set("path", file.get<std::string>("path"));
  attrs.set("prefetch", options.prefetch);
  attrs.set("shape", array.shape());
  attrs.set("tensor", !from.part.empty()         ? std::string(from.part)
                      : part != std::end(kParts) ? std::string(part[array.id() - op.output(0)].name)
                                                 : file.get_or<std::string>("tensor", ""));
  for (const char* also : {"augment", "classes", "features", "resize", "skip"})
    if (const AttrValue* value = file.find(also); value != nullptr) attrs.set(also, *value);
  const Scope there = array.graph().annotated(op.annotation());
  return array.graph().add(kBatchFile, {}, std::move(attrs), line)[0];
}

}  // namespace

Value read_idx(Graph& graph, std::string_view path, DType dtype, const Shape& shape, source_location at) {
  return read(kReadIdx, graph, path, dtype, shape, at);
}

Value read_npy(Graph& graph, std::string_view path, DType dtype, const Shape& shape, source_location at) {
  return read(kReadNpy, graph, path, dtype, shape, at);
}

Value read_raw(Graph& graph, std::string_view path, DType dtype, const Shape& shape, source_location at) {
  return read(kReadRaw, graph, path, dtype, shape, at);
}

Value read_safetensors(Graph& graph, std::string_view path, std::string_view tensor, DType dtype, const Shape& shape,
                       source_location at) {
  return graph.add(kReadSafetensors, {},
                   {{"dtype", dtype}, {"path", std::string(path)}, {"shape", shape}, {"tensor", std::string(tensor)}},
                   at)[0];
}

SparseRows read_libsvm(Graph& graph, std::string_view path, std::int64_t rows, std::int64_t most, std::int64_t features,
                       source_location at) {
  const Values parts = graph.add(
      kReadLibsvm, {}, {{"features", features}, {"most", most}, {"path", std::string(path)}, {"rows", rows}}, at);
  return {parts[0], parts[1], parts[2]};
}

Value read_libsvm_weights(Graph& graph, std::string_view path, std::int64_t rows, std::int64_t most,
                          std::int64_t features, source_location at) {
  return graph.add(kReadLibsvmWeights, {},
                   {{"features", features}, {"most", most}, {"path", std::string(path)}, {"rows", rows}}, at)[0];
}

ImageRows read_images(Graph& graph, std::string_view path, const Shape& shape, std::int64_t classes,
                      const ImageOptions& options, source_location at) {
  const Values parts = graph.add(kReadImages, {},
                                 {{"augment", options.augment},
                                  {"classes", classes},
                                  {"path", std::string(path)},
                                  {"resize", options.resize},
                                  {"shape", shape}},
                                 at);
  return {parts[0], parts[1]};
}

Value read_csv(Graph& graph, std::string_view path, DType dtype, const Shape& shape, std::int64_t skip,
               source_location at) {
  return graph.add(kReadCsv, {}, {{"dtype", dtype}, {"path", std::string(path)}, {"shape", shape}, {"skip", skip}},
                   at)[0];
}

Values batch(std::span<const Value> arrays, std::int64_t size, const BatchOptions& options, source_location at) {
  Values rows(arrays.size());
  Values in_memory;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (const Streamable* from = streamable(arrays[i], options)) {
      rows[i] = batch_file(arrays[i], *from, size, options, at);
    } else {
      in_memory.push_back(arrays[i]);
      places.push_back(i);
    }
  }
  if (in_memory.empty() && !rows.empty()) return rows;
  const Values taken =
      make(kBatch, in_memory, batch_attrs(in_memory.empty() ? Value() : in_memory[0], size, options), at);
  for (std::size_t i = 0; i < places.size(); ++i) rows[places[i]] = taken[i];
  return rows;
}

Shape csv_shape(const std::string& file, std::int64_t skip, source_location at) {
  return of_file(file, at, [&] {
    const FileBytes text = maybe_decompress(local_files().read(file), kNoLimit, file);
    const CsvTable table = parse_csv(
        without_lines(text.text(), skip), file, {.first_line = skip + 1}, [](std::string_view field) -> std::string {
          double number = 0;
          return parse_real(field, number) == NumberFault::no_number ? "is not a number" : "";
        });
    return Shape{static_cast<std::int64_t>(table.rows), static_cast<std::int64_t>(table.columns)};
  });
}

Shape npy_shape(const std::string& file, source_location at) {
  return of_file(file, at, [&] {
    const std::vector<std::int64_t> sizes = npy_sizes(local_files(), file);
    return Shape(std::span<const std::int64_t>(sizes));
  });
}

Shape raw_shape(const std::string& file, DType dtype, const Shape& row, source_location at) {
  std::uint64_t row_bytes = size_of(dtype);
  for (int d = 0; d < row.rank(); ++d) row_bytes *= row[d].known() ? static_cast<std::uint64_t>(row[d].size()) : 0;
  if (row_bytes == 0)
    throw Error(Code::plan, "raw_shape: rows of {} have no known number of bytes", as_is(Type{dtype, row}.str()))
        .at(at)
        .hint("give rows of 1 or more elements");
  return of_file(file, at, [&] {
    FileSystem& files = local_files();
    std::vector<std::string> paths{file};
    if (file.ends_with('/')) {
      paths = files.list(file);
      for (std::string& name : paths) name.insert(0, file);
    }
    std::uint64_t rows = 0;
    for (const std::string& path : paths) {
      const std::uint64_t size = files.open(path)->size();
      if (size % row_bytes != 0)
        throw Error(Code::file, "{:?} has {} bytes, which are not whole rows of {}: {} bytes", path, size,
                    as_is(Type{dtype, row}.str()), row_bytes);
      rows += size / row_bytes;
    }
    std::vector<std::int64_t> sizes = row.sizes();
    sizes.insert(sizes.begin(), static_cast<std::int64_t>(rows));
    return Shape(std::span<const std::int64_t>(sizes));
  });
}

std::span<const OpDef* const> data_ops() {
  return kDataOps;
}

}  // namespace ferry
