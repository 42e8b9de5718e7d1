#include "executor/watch/pulse.hpp"

namespace ferry {

void add(const Pulse& pulse, BlobWriter& to) {
  to.add(pulse.task)
      .add(static_cast<int>(pulse.doing))
      .add(pulse.busy)
      .add(pulse.steps)
      .add(pulse.spot)
      .add(pulse.age.count())
      .add(pulse.where)
      .add(pulse.place)
      .add(pulse.awaited)
      .add(pulse.text);
}

Pulse read_pulse(BlobReader& from) {
  Pulse pulse;
  pulse.task = static_cast<int>(from.number());
  pulse.doing = static_cast<Pulse::Doing>(from.number());
  pulse.busy = from.number() != 0;
  pulse.steps = from.number();
  pulse.spot = static_cast<std::uint64_t>(from.number());
  pulse.age = Duration(from.number());
  pulse.where = static_cast<std::uint64_t>(from.number());
  pulse.place = static_cast<std::uint64_t>(from.number());
  pulse.awaited = from.numbers();
  pulse.text = from.text();
  return pulse;
}

}  // namespace ferry
