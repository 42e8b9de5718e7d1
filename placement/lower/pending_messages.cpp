#include "placement/lower/pending_messages.hpp"

namespace ferry {
namespace {

/// Maximum numbers of messages in Started::leaving and Started::collected. More messages under way would keep more
/// buffers from being reused.
constexpr std::size_t kLeaving = 16, kCollected = 8;

Opcode wait_of(Opcode start) {
  switch (start) {
    case Opcode::send:
      return Opcode::send_wait;
    case Opcode::receive:
      return Opcode::receive_wait;
    default:
      return Opcode::collective_wait;
  }
}

}  // namespace

void PendingMessages::start(std::vector<Start> chunks, std::span<const PValueId> brings) {
  for (const Start& chunk : chunks) class_.push(chunk.instruction, chunk.in, chunk.out);
  const Opcode what = chunks[0].instruction.what;
  if (what == Opcode::send) wait_for_answered();
  Started& started = started_[class_.region()];
  Messages& list = brings.empty() ? started.leaving : what == Opcode::receive ? started.received : started.collected;
  list.push_back({std::move(chunks), {brings.begin(), brings.end()}});
  for (PValueId value : brings) {
    is_pending_[value] = true;
    places_[value] = {class_.region(), &list, std::prev(list.end())};
  }
  if (started.leaving.size() > kLeaving) wait(started.leaving, started.leaving.begin());
  if (started.collected.size() > kCollected) wait(started.collected, started.collected.begin());
}

void PendingMessages::add_view(PValueId view, PValueId value) {
  const Place place = places_.at(value);
  place.message->brings.push_back(view);
  is_pending_[view] = true;
  places_[view] = place;
}

void PendingMessages::wait_for(PValueId value) {
  const Place place = places_.at(value);
  const std::uint32_t outer = class_.enter(place.region);
  wait(*place.list, place.message);
  class_.enter(outer);
}

void PendingMessages::wait_for_all() {
  Started& started = started_[class_.region()];
  for (Messages* list : {&started.received, &started.collected, &started.leaving})
    while (!list->empty()) wait(*list, list->begin());
}

void PendingMessages::wait(Messages& list, Messages::iterator message) {
  for (const Start& chunk : message->chunks) {
    Instruction wait = chunk.instruction;
    wait.what = wait_of(wait.what);
    class_.push(wait, chunk.in, chunk.out);
  }
  const Instruction waited_for = message->chunks[0].instruction;
  for (PValueId value : message->brings) {
    is_pending_[value] = false;
    places_.erase(value);
  }
  list.erase(message);
  if (waited_for.what != Opcode::receive) return;
  for (Message& other : started_[class_.region()].leaving)
    other.answered = other.answered || is_answered(other.chunks[0].instruction, waited_for);
}

void PendingMessages::wait_for_answered() {
  Messages& leaving = started_[class_.region()].leaving;
  for (auto message = leaving.begin(); message != leaving.end();) {
    const auto next = std::next(message);
    if (message->answered) wait(leaving, message);
    message = next;
  }
}

/// Whether `received` proves that `sent` has arrived: `received` comes from the receiver of `sent`, which sends it only
/// after it has used the value of `sent`.
bool PendingMessages::is_answered(const Instruction& sent, const Instruction& received) const {
  return sent.what == Opcode::send && plan_.channels[sent.channel()].to == plan_.channels[received.channel()].from &&
         messages_.spans[sent.channel()].used <= messages_.spans[received.channel()].made;
}

}  // namespace ferry
