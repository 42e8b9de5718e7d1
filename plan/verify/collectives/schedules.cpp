// Schedules: the check plays each schedule with symbols instead of numbers. A place (a part of the output, or a staging
// slot) holds a term: the contribution of a member, or a fold of two terms. Results are the same bit for bit exactly if
// their terms are equal. Nothing is buffered: a receive ends when its send has started, and a send ends when its
// receive has started.
//
// If the steps are the same for all members except for a shift of peers and parts, only member 0 plays. The message
// that it gets from distance n - d equals its own message to distance d, with the part shifted likewise. So the check
// costs one member's steps, as for schedules in which all members flip the same bits (flips.cpp).
//
// If the steps repeat after `period` members (Schedule::period), members 0 to period - 1 play. Each of them represents
// the members whose numbers differ by a multiple of the period. Their messages and parts are shifted by this multiple.
//
// All members play all other schedules.
#include <algorithm>
#include <deque>
#include <numeric>
#include <span>
#include <unordered_map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "plan/verify/collectives/fold_terms.hpp"
#include "plan/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

using Kind = ScheduleStep::Kind;

bool folds(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::reduce;
}

bool has_root(CollectiveKind kind) {
  return kind == CollectiveKind::broadcast || kind == CollectiveKind::scatter || kind == CollectiveKind::gather ||
         kind == CollectiveKind::reduce;
}

/// The parts of the vector that a member has.
struct Holding {
  enum class What : std::uint8_t { nothing, own, all } what = What::nothing;
  [[nodiscard]] bool has(int member, int part) const {
    return what == What::all || (what == What::own && part == member);
  }
};

Holding input_of(const Schedule& s, int member) {
  const bool at_root = member == s.root;
  switch (s.kind) {
    case CollectiveKind::reduce:
      return {at_root && s.guest_root ? Holding::What::nothing : Holding::What::all};
    case CollectiveKind::all_gather:
    case CollectiveKind::gather:
      return {Holding::What::own};
    case CollectiveKind::broadcast:
    case CollectiveKind::scatter:
      return {at_root ? Holding::What::all : Holding::What::nothing};
    default:
      return {Holding::What::all};
  }
}

Holding output_of(const Schedule& s, int member) {
  const bool at_root = member == s.root;
  switch (s.kind) {
    case CollectiveKind::broadcast:
      return {at_root && s.guest_root ? Holding::What::nothing : Holding::What::all};
    case CollectiveKind::scatter:
      return {at_root && s.guest_root ? Holding::What::nothing : Holding::What::own};
    case CollectiveKind::reduce_scatter:
      return {Holding::What::own};
    case CollectiveKind::gather:
    case CollectiveKind::reduce:
      return {at_root ? Holding::What::all : Holding::What::nothing};
    default:
      return {Holding::What::all};
  }
}

/// The number of parts that a member may name.
int parts_of(const Schedule& s) {
  const bool one = s.kind == CollectiveKind::broadcast || s.kind == CollectiveKind::reduce;
  return one || s.whole ? 1 : s.members;
}

/// The content of a place or of a message: a term for a part. In an all-to-all the term is always a leaf: the block of
/// one member.
struct Piece {
  std::uint32_t term = FoldTerms::kNothing;
  int part = 0;
  bool operator==(const Piece&) const = default;
};

/// A place in memory, with the number of sends that read it, and whether a receive writes it.
struct PiecePlace {
  Piece piece;
  std::uint32_t sending = 0;
  bool arriving = false;
};

/// The messages from one member to another, in order.
struct Wire {
  std::vector<Piece> sent;
  std::uint32_t received = 0;  ///< receives that have started
};

/// A receive that has started, and that the player has not waited for yet.
struct PendingReceive {
  std::uint64_t wire = 0;
  std::uint32_t number = 0;  ///< of the wire's messages
  PiecePlace* to = nullptr;
  Piece wanted;  ///< the part that the receiver expects; in an all-to-all also its sender
  std::size_t step = 0;
  int peer = 0;
};

/// A send that has started and may still read its place.
struct PendingSend {
  std::uint64_t wire = 0;
  std::uint32_t number = 0;
  PiecePlace* from = nullptr;  ///< null for a part of the input, which nothing writes
};

struct Player {
  int self = 0;
  std::size_t common = 0, own = 0;  ///< index of the next step in common_, and in the member's own list
  std::vector<PiecePlace> outputs, slots;
  std::vector<PendingReceive> coming;
  std::vector<PendingSend> leaving;
  bool done = false, queued = false;
};

class ScheduleSimulation {
 public:
  /// The first `players` members play for all members.
  ScheduleSimulation(const Schedule& schedule, std::string what, int players)
      : s_(schedule),
        what_(std::move(what)),
        terms_(schedule.members, schedule.members - (schedule.guest_root ? 1 : 0)),
        own_begin_(static_cast<std::size_t>(schedule.scripts()) + 1, 0),
        players_(static_cast<std::size_t>(players)) {}

  /// Returns which blocks of an all-to-all arrive: member i's block for member j is at i * members + j. All other
  /// blocks must be empty.
  std::vector<bool> check() {
    share_steps();
    wires_.reserve(2 * static_cast<std::size_t>(s_.members));
    for (std::size_t m = 0; m < players_.size(); ++m) set_up(players_[m], static_cast<int>(m));
    for (std::size_t m = 0; m < players_.size(); ++m) wake(static_cast<int>(m));
    while (!ready_.empty()) {
      Player& player = players_[ready_.front()];
      ready_.pop_front();
      player.queued = false;
      run(player);
    }
    for (const Player& player : players_)
      if (!player.done) reject_stall(player);
    for (const auto& [route, wire] : wires_)
      if (wire.sent.size() != wire.received) reject(what_ + ": not as many messages are received as are sent");
    for (const Player& player : players_) check_result(player);
    return std::move(arrived_);
  }

 private:
  // ---- Setting up ----

  /// Puts the steps of all members into one list, and the steps of each script into a list of its own.
  void share_steps() {
    for (const ScheduleStep& step : s_.steps)
      if (step.only != ScheduleStep::kAll) ++own_begin_[static_cast<std::size_t>(step.only) + 1];
    std::partial_sum(own_begin_.begin(), own_begin_.end(), own_begin_.begin());
    own_.resize(own_begin_.back());
    std::vector<std::size_t> next = own_begin_;
    for (std::size_t k = 0; k < s_.steps.size(); ++k) {
      const ScheduleStep& step = s_.steps[k];
      if (step.only == ScheduleStep::kAll)
        common_.push_back(k);
      else
        own_[next[step.only]++] = k;
    }
  }

  void set_up(Player& player, int self) const {
    player.self = self;
    const Holding::What held = output_of(s_, self).what;
    const int parts = held == Holding::What::all ? parts_of(s_) : (held == Holding::What::own ? 1 : 0);
    player.outputs.resize(static_cast<std::size_t>(parts));
  }

  // ---- Playing ----

  void run(Player& player) {
    for (;;) {
      const std::size_t k = next_step(player);
      if (k == s_.steps.size()) break;
      const ScheduleStep& step = s_.steps[k];
      if (s_.concerns(step, player.self)) {
        if (step.kind == Kind::wait && !finish_receives(player)) return;
        if (step.kind == Kind::wait_sends && !finish_sends(player)) return;
        execute(player, step, k);
      }
      pass(player, k);
    }
    player.done = finish_receives(player) && finish_sends(player);
  }

  [[nodiscard]] std::size_t next_step(const Player& player) const {
    const std::size_t common = player.common < common_.size() ? common_[player.common] : s_.steps.size();
    const std::span<const std::size_t> own = own_steps(player.self);
    return std::min(common, player.own < own.size() ? own[player.own] : s_.steps.size());
  }
  [[nodiscard]] std::span<const std::size_t> own_steps(int member) const {
    const auto m = static_cast<std::size_t>(member % s_.scripts());
    return std::span(own_).subspan(own_begin_[m], own_begin_[m + 1] - own_begin_[m]);
  }
  static void pass_one(std::span<const std::size_t> list, std::size_t& at, std::size_t k) {
    if (at < list.size() && list[at] == k) ++at;
  }
  void pass(Player& player, std::size_t k) const {
    pass_one(common_, player.common, k);
    pass_one(own_steps(player.self), player.own, k);
  }

  void execute(Player& player, const ScheduleStep& step, std::size_t k) {
    if (step.kind == Kind::wait || step.kind == Kind::wait_sends) return;
    const int peer = step.peer.resolve(player.self, s_.members);
    const int part = step.part.resolve(player.self, s_.members);
    if (part >= parts_of(s_)) fail(player, k, "there is no part " + std::to_string(part));
    switch (step.kind) {
      case Kind::send_input:
        if (!input_of(s_, player.self).has(player.self, part)) fail(player, k, "sends a part that it does not have");
        return send(player, peer, {terms_.leaf(player.self, part), part}, nullptr, k);
      case Kind::send_output: {
        if (s_.kind == CollectiveKind::all_to_all) fail(player, k, "forwards a block of another member");
        PiecePlace& spot = output(player, part, k);
        if (spot.arriving || spot.piece.term == FoldTerms::kNothing)
          fail(player, k, "sends a part of its output that is not there yet");
        ++spot.sending;
        return send(player, peer, spot.piece, &spot, k);
      }
      case Kind::receive_output:
        return receive(player, peer, part, output(player, part, k), k);
      case Kind::receive_slot:
        if (s_.kind == CollectiveKind::all_to_all || !input_of(s_, peer).has(peer, part))
          fail(player, k, "receives a contribution that member " + std::to_string(peer) + " does not have");
        return receive(player, peer, part, slot(player, peer, step.slot, k), k);
      case Kind::send_slot: {
        PiecePlace& spot = slot(player, peer, step.slot, k);
        if (spot.arriving || spot.piece.term == FoldTerms::kNothing || spot.piece.part != part)
          fail(player, k, "sends a slot that does not hold part " + std::to_string(part));
        ++spot.sending;
        return send(player, peer, spot.piece, &spot, k);
      }
      case Kind::copy:
      case Kind::fold:
        return combine(player, step, part, k);
      case Kind::join:
        return join(player, step, peer, part, k);
      case Kind::wait:
      case Kind::wait_sends:
        return;
    }
  }

  void combine(Player& player, const ScheduleStep& step, int part, std::size_t k) {
    const bool into_slot = step.slot != ScheduleStep::kOfPeer;
    PiecePlace& to = into_slot ? slot(player, player.self, step.slot, k) : output(player, part, k);
    must_be_free(player, to, k);
    if (s_.kind == CollectiveKind::all_to_all && (part != player.self || into_slot))
      fail(player, k, "copies a part of another size");
    const std::uint32_t term = contribution(player, step, part, k);
    if (into_slot) slots_full_of_ = -1;
    if (step.kind == Kind::copy) {
      to.piece = {term, part};
      return;
    }
    if (!folds(s_.kind)) fail(player, k, "folds in a collective that adds nothing");
    if (to.piece.term == FoldTerms::kNothing || to.piece.part != part)
      fail(player, k, "folds into a place that does not hold part " + std::to_string(part));
    to.piece.term = terms_.fold(to.piece.term, term);
  }

  void join(Player& player, const ScheduleStep& step, int peer, int part, std::size_t k) {
    if (!folds(s_.kind)) fail(player, k, "folds in a collective that adds nothing");
    if (peer == player.self) fail(player, k, "joins with itself");
    PiecePlace& own = slot(player, peer, step.slot, k);
    PiecePlace& other = slot(player, peer, step.source, k);
    must_be_free(player, own, k);
    must_be_free(player, other, k);
    const std::uint32_t mine = content(player, own, part, k), theirs = content(player, other, part, k);
    own.piece.term = peer < player.self ? terms_.fold(theirs, mine) : terms_.fold(mine, theirs);
    other.piece = {};
    slots_full_of_ = -1;
  }

  PiecePlace& output(Player& player, int part, std::size_t k) {
    if (!output_of(s_, player.self).has(player.self, part)) fail(player, k, "has no such part of the output");
    return player.outputs[player.outputs.size() == 1 ? 0 : static_cast<std::size_t>(part)];
  }

  /// The slot `number`, or the slot of `peer` if `number` is kOfPeer.
  PiecePlace& slot(Player& player, int peer, std::int32_t number, std::size_t k) {
    const bool of_peer = number == ScheduleStep::kOfPeer;
    if (of_peer) number = peer - (peer > player.self ? 1 : 0);
    if ((of_peer && peer == player.self) || number >= s_.slots)
      fail(player, k, "has no slot for the contribution of member " + std::to_string(peer));
    if (player.slots.empty()) player.slots.resize(static_cast<std::size_t>(s_.slots));
    return player.slots[number];
  }

  void must_be_free(const Player& player, const PiecePlace& spot, std::size_t k) const {
    if (spot.arriving) fail(player, k, "touches a place that a message is being received into");
    if (spot.sending > 0) fail(player, k, "writes a place that a message is being sent from");
  }

  // ---- Contributions ----

  std::uint32_t contribution(Player& player, const ScheduleStep& step, int part, std::size_t k) {
    if (step.source != ScheduleStep::kOfPeer)
      return content(player, slot(player, player.self, step.source, k), part, k);
    if (one_plays_for_all() && step.peer.by == MemberRef::By::number)
      return fixed_contribution(player, step.peer.value, part, k);
    return contribution_of(player, step.peer.resolve(player.self, s_.members), part, k);
  }

  std::uint32_t content(const Player& player, const PiecePlace& spot, int part, std::size_t k) const {
    if (spot.arriving || spot.piece.term == FoldTerms::kNothing || spot.piece.part != part)
      fail(player, k, "uses a contribution that is not there yet");
    return spot.piece.term;
  }

  std::uint32_t contribution_of(Player& player, int peer, int part, std::size_t k) {
    if (peer == player.self) {
      if (!input_of(s_, player.self).has(player.self, part)) fail(player, k, "has no such part of the input");
      return terms_.leaf(player.self, part);
    }
    return content(player, slot(player, peer, ScheduleStep::kOfPeer, k), part, k);
  }

  /// One player plays for all members, and the fixed member is at a different distance from each of them. So every slot
  /// must hold the contribution of its peer.
  std::uint32_t fixed_contribution(Player& player, int member, int part, std::size_t k) {
    if (slots_full_of_ != part) {
      for (int peer = 0; peer < s_.members; ++peer)
        if (contribution_of(player, peer, part, k) != terms_.leaf(peer, part))
          fail(player, k, "uses a contribution of member " + std::to_string(member) + " that is not in its slot");
      slots_full_of_ = part;
    }
    return terms_.fixed_leaf(member);
  }

  // ---- Messages ----

  /// The number of the player that plays for the member.
  [[nodiscard]] int player_of(int member) const { return member % static_cast<int>(players_.size()); }
  [[nodiscard]] bool one_plays_for_all() const { return players_.size() == 1 && s_.members > 1; }

  [[nodiscard]] std::uint64_t route(int from, int to) const {
    return static_cast<std::uint64_t>(from) * static_cast<std::uint64_t>(s_.members) + static_cast<std::uint64_t>(to);
  }

  void send(Player& player, int peer, Piece piece, PiecePlace* from, std::size_t k) {
    if (peer == player.self) fail(player, k, "sends to itself");
    const std::uint64_t wire = route(player.self, peer);
    std::vector<Piece>& sent = wires_[wire].sent;
    player.leaving.push_back({wire, static_cast<std::uint32_t>(sent.size()), from});
    sent.push_back(piece);
    wake(player_of(peer));
  }

  void receive(Player& player, int peer, int part, PiecePlace& to, std::size_t k) {
    if (peer == player.self) fail(player, k, "receives from itself");
    must_be_free(player, to, k);
    slots_full_of_ = -1;
    to.arriving = true;
    to.piece = {};
    // The player that plays for the peer sends this message to another member, from which the player's number differs
    // as the peer's number differs from its player's.
    const int sender = player_of(peer), shift = peer - sender;
    const std::uint64_t wire = route(sender, (player.self - shift + s_.members) % s_.members);
    player.coming.push_back({wire, wires_[wire].received++, &to, {terms_.leaf(peer, part), part}, k, peer});
    wake(sender);
  }

  void wake(int member) {
    Player& player = players_[member];
    if (player.queued || player.done) return;
    player.queued = true;
    ready_.push_back(member);
  }

  /// Ends all receives for which the send has started. Returns true if no receive is left.
  bool finish_receives(Player& player) {
    while (!player.coming.empty()) {
      const PendingReceive& coming = player.coming.back();
      const Wire& wire = wires_[coming.wire];
      if (wire.sent.size() <= coming.number) return false;
      Piece piece = wire.sent[coming.number];
      piece.part = (piece.part + coming.peer - player_of(coming.peer)) % s_.members;
      coming.to->arriving = false;
      coming.to->piece = placed(player, coming, piece);
      player.coming.pop_back();
    }
    return true;
  }

  /// The piece as the receiver stores it. Rejects the plan unless the piece has the size that the receiver expects: it
  /// must be for the same part, in an all-to-all the same block.
  Piece placed(const Player& player, const PendingReceive& coming, Piece piece) const {
    if (s_.kind == CollectiveKind::all_to_all) {
      const bool fits = piece.part == player.self && piece.term == terms_.leaf(coming.peer, player.self);
      if (!fits || coming.wanted.part != coming.peer)
        fail(player, coming.step, "receives a part of another size than is sent");
      return {piece.term, coming.wanted.part};
    }
    if (piece.part != coming.wanted.part && parts_of(s_) > 1)
      fail(player, coming.step,
           "receives part " + std::to_string(coming.wanted.part) + ", part " + std::to_string(piece.part) +
               " is sent: sizes differ");
    return piece;
  }

  /// Ends all sends for which the receive has started. Returns true if no send is left.
  bool finish_sends(Player& player) {
    while (!player.leaving.empty()) {
      const PendingSend& leaving = player.leaving.back();
      if (wires_[leaving.wire].received <= leaving.number) return false;
      if (leaving.from != nullptr) --leaving.from->sending;
      player.leaving.pop_back();
    }
    return true;
  }

  // ---- Results ----

  void check_result(const Player& player) {
    const Holding held = output_of(s_, player.self);
    for (int part = 0; part < parts_of(s_); ++part) {
      if (!held.has(player.self, part)) continue;
      const Piece& piece = player.outputs[player.outputs.size() == 1 ? 0 : static_cast<std::size_t>(part)].piece;
      const std::string where = what_ + ": member " + std::to_string(player.self) + " ends with ";
      if (s_.kind == CollectiveKind::all_to_all && !note_arrival(player.self, part, piece)) continue;
      if (piece.term == FoldTerms::kNothing)
        reject(where + "nothing in part " + std::to_string(part) + " of its output");
      if (!folds(s_.kind)) {
        if (piece.term != wanted(player.self, part)) reject(where + "another value in part " + std::to_string(part));
        continue;
      }
      if (!terms_.is_whole_fold(piece.term))
        reject(where + "part " + std::to_string(part) + " that is not the fold of each member's contribution once");
      // A member for which a player plays has the player's parts, shifted. So all members fold a part in the same order
      // if the players fold all parts in one order that a shift maps to each other.
      const auto [at, fresh] = folded_.try_emplace(player_of(part), piece.term);
      if (at->second != piece.term)
        reject(where + "part " + std::to_string(part) + " folded in another order than on other members");
    }
  }

  /// Notes that the block of member `from` has arrived at member `self`. Returns false if the piece is empty.
  bool note_arrival(int self, int from, const Piece& piece) {
    const auto n = static_cast<std::size_t>(s_.members);
    arrived_.resize(n * n);
    if (piece.term == FoldTerms::kNothing) return false;
    for (int shift = 0; shift < s_.members; shift += static_cast<int>(players_.size())) {
      const auto to = static_cast<std::size_t>((self + shift) % s_.members);
      arrived_[static_cast<std::size_t>((from + shift) % s_.members) * n + to] = true;
    }
    return true;
  }

  [[nodiscard]] std::uint32_t wanted(int self, int part) const {
    switch (s_.kind) {
      case CollectiveKind::broadcast:
      case CollectiveKind::scatter:
        return terms_.leaf(s_.root, part);
      case CollectiveKind::all_to_all:
        return terms_.leaf(part, self);
      default:
        return terms_.leaf(part, part);
    }
  }

  // ---- Refusals ----

  [[noreturn]] void fail(const Player& player, std::size_t k, const std::string& why) const {
    reject(what_ + ": step " + std::to_string(k) + ", member " + std::to_string(player.self) + " " + why);
  }

  [[noreturn]] void reject_stall(const Player& player) const {
    const std::size_t k = next_step(player);
    const std::string where = k == s_.steps.size() ? "at its end" : "in step " + std::to_string(k);
    const bool receives = !player.coming.empty() && (k == s_.steps.size() || s_.steps[k].kind == Kind::wait);
    const int peer = receives ? player.coming.back().peer
                              : static_cast<int>(player.leaving.back().wire % static_cast<std::uint64_t>(s_.members));
    reject(what_ + ": member " + std::to_string(player.self) + " waits for ever " + where + " for member " +
           std::to_string(peer) + (receives ? " to send" : " to receive"));
  }

  const Schedule& s_;
  std::string what_;
  FoldTerms terms_;
  std::vector<std::size_t> common_;
  std::vector<std::size_t> own_, own_begin_;  // steps of one script, script by script
  std::vector<Player> players_;
  std::deque<int> ready_;
  std::unordered_map<std::uint64_t, Wire> wires_;
  std::unordered_map<int, std::uint32_t> folded_;  // by player_of(part): the fold of all these parts
  std::vector<bool> arrived_;
  int slots_full_of_ = -1;  // the part for which all slots hold the contributions of their peers, or -1
};

/// The number of members that play for all: 1 if all members do the same except for a shift, so that no step names a
/// member by number, except for contributions to fold; the period if members that far apart do the same except for a
/// shift; else all members.
int players_of(const Schedule& s) {
  if (has_root(s.kind) || s.whole) return s.members;
  using By = MemberRef::By;
  bool alone = false, fixed = false, by_peer = false, by_number = false;
  for (const ScheduleStep& step : s.steps) {
    alone = alone || step.only != ScheduleStep::kAll || step.except != ScheduleStep::kAll;
    if (step.kind == Kind::wait || step.kind == Kind::wait_sends) continue;
    const bool local = step.kind == Kind::copy || step.kind == Kind::fold;
    if (step.kind == Kind::join || step.part.by != By::shift) return s.members;
    if (step.peer.by != By::shift && !(local && step.peer.by == By::number)) return s.members;
    fixed = fixed || step.peer.by == By::number;
    const std::int32_t slot = local ? step.source : step.slot;
    const bool receives = step.kind == Kind::receive_slot;
    by_number = by_number || slot != ScheduleStep::kOfPeer || (local && step.slot != ScheduleStep::kOfPeer);
    by_peer =
        by_peer || (slot == ScheduleStep::kOfPeer && (receives || (local && step.peer != MemberRef{By::shift, 0})));
  }
  // A slot with one number belongs to peers at different distances.
  if (by_peer && by_number) return s.members;
  if (!alone) return 1;
  return s.period > 0 && !fixed && !by_peer ? s.period : s.members;
}

}  // namespace

void check_schedules(const Plan& plan) {
  std::vector<bool> checked(plan.schedules.size(), false);
  std::vector<std::vector<bool>> arriving(plan.schedules.size());  // of each all-to-all
  for (std::uint32_t c = 0; c < plan.collectives.size(); ++c) {
    const std::uint32_t number = plan.collectives[c].schedule;
    const Schedule& schedule = plan.schedules[number];
    if (schedule.library_does_all()) continue;  // check_gpu_groups() checks it
    check_sharing(plan, c);
    const std::string what = formatted("{}, {} {} of {} members", as_is(described(plan, c)), schedule.algorithm,
                                       name_of(schedule.kind), schedule.members);
    if (!checked[number]) {
      checked[number] = true;
      if (!check_flips(schedule, what))
        arriving[number] = ScheduleSimulation(schedule, what, players_of(schedule)).check();
      check_reach(schedule, what);
    }
    const std::vector<bool>& arrived = arriving[number];
    for (std::size_t block = 0; block < arrived.size(); ++block)
      if (!arrived[block] && plan.collectives[c].parts[block] > 0)
        reject(what + ": member " + std::to_string(block / static_cast<std::size_t>(schedule.members)) +
               " does not give member " + std::to_string(block % static_cast<std::size_t>(schedule.members)) +
               " its part");
  }
}

}  // namespace ferry::verifier
