#include "executor/watch/pulse.hpp"

namespace ferry {

void add(const Pulse& pulse, BlobWriter& to) {
  to.add(pulse.task)
      .add(static_cast<int>(pulse.doing))
      .add(pulse.busy)
      .add(pulse.steps)
      .add(pulse.progress_tag)
      .add(pulse.age.count())
      .add(pulse.collective_key)
      .add(pulse.call_key)
      .add(pulse.awaited)
      .add(pulse.text);
}

Pulse read_pulse(BlobReader& from) {
  Pulse pulse;
  pulse.task = static_cast<int>(from.number());
  pulse.doing = static_cast<Pulse::Doing>(from.number());
  pulse.busy = from.number() != 0;
  pulse.steps = from.number();
  pulse.progress_tag = static_cast<std::uint64_t>(from.number());
  pulse.age = Duration(from.number());
  pulse.collective_key = static_cast<std::uint64_t>(from.number());
  pulse.call_key = static_cast<std::uint64_t>(from.number());
  pulse.awaited = from.numbers();
  pulse.text = from.text();
  return pulse;
}

}  // namespace ferry
