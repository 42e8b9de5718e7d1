// Control flow: bodies of ONNX become bodies of ferry's.
#include "ops/control.hpp"

#include "ops/onnx/converters.hpp"
#include "ops/reshape.hpp"

namespace ferry::onnx {
namespace {

/// The outputs of a body as values that the body itself gives.
Values results(Context& c, const GraphDef& body) {
  Values values;
  for (const Out& out : c.build(body, {})) values.push_back(identity(c.value(out)));
  return values;
}

Outs to_if(Context& c) {
  const GraphDef& yes = c.body("then_branch");
  const GraphDef& no = c.body("else_branch");
  if (const Tensor known = c.constant_if(0); known.defined()) {
    Outs outs{};
    for (const Out& out : c.build(known.integer(0) != 0 ? yes : no, {})) outs.push_back(out);
    return outs;
  }
  const Value predicate = c.rank(0) == 0 ? c.in(0) : reshape(c.in(0), {});
  return cond(
      predicate, [&] { return results(c, yes); }, [&] { return results(c, no); });
}

constexpr Converter kControl[] = {
    {"If", 1, to_if},
};

}  // namespace

std::span<const Converter> control_converters() {
  return kControl;
}

}  // namespace ferry::onnx
