// The control plane of three tasks on a network that the test moves: words are delivered one by one, in every order.
#include "comm/control.hpp"

#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/failure.hpp"
#include "tests/support/manual_clock.hpp"

namespace ferry {
namespace {

constexpr int kTasks = 3;
constexpr std::chrono::seconds kDeadline{60};

enum class Act { exchange, fail, close, renew, leave };
using Script = std::vector<Act>;
using Scripts = std::array<Script, kTasks>;

/// The result of a task's exchange.
struct Outcome {
  std::vector<std::string> texts;
  std::optional<Error> error;
  std::set<int> had;  ///< the tasks whose texts had been delivered
};

struct Network;

/// One task. `history` has all that happened at it, in order: its state is a function of that.
struct Node final : public ControlSender, public Losses {
  Node(Network& all, int number);
  void post(std::span<const int> tasks, Word word, std::string_view body) override;
  [[nodiscard]] bool forwards_failures() const override;
  std::vector<Loss> found_lost() override { return {}; }
  void lost(const Loss& loss) override { told_lost.push_back(loss.task); }

  Network& network;
  const int task;
  ControlPlane control;
  std::size_t next = 0;  ///< of its script
  std::optional<ControlPlane::TextExchange> exchange;
  bool unseen = false;  ///< something happened since it last looked at its exchange
  int generation = 0, exchanges = 0;
  std::set<int> had;
  std::set<int> cut;  ///< connections that have ended
  std::vector<Outcome> outcomes;
  std::vector<int> told_lost;
  std::string history;
};

struct Event {
  enum Kind { script, deliver, cut, look, later } kind;
  int task = 0, from = 0;
};

struct Network {
  struct Letter {
    Word word;
    std::string body;
    int generation;
  };
  explicit Network(const Scripts& all, bool passes_on) : scripts(all), forwards_failures(passes_on) {
    for (int task = 0; task < kTasks; ++task) nodes.push_back(std::make_unique<Node>(*this, task));
  }

  Scripts scripts;
  bool forwards_failures;
  bool in_time = false;        ///< the deadline comes only when nothing else can happen
  bool looks_at_once = false;  ///< a task looks at its exchange after each event; else that is an event of its own
  test::ManualClock clock;
  int laters = 0;
  bool left = false;  ///< task 2 is gone, without a goodbye
  std::vector<std::unique_ptr<Node>> nodes;
  std::array<std::array<std::deque<Letter>, kTasks>, kTasks> letters;  // by sender and receiver

  [[nodiscard]] std::vector<Event> events() const;
  void happen(const Event& event);
  [[nodiscard]] std::string state() const;
  void spare_last();

 private:
  [[nodiscard]] bool can_go_on(const Node& node) const;
  void go_on(Node& node);
  void deliver(int from, Node& to);
  void changed(Node& node) const;
  static void look(Node& node);
};

Node::Node(Network& all, int number) : network(all), task(number), control(*this, all.clock, kTasks, {number, 1}) {}

void Node::post(std::span<const int> tasks, Word word, std::string_view body) {
  for (const int to : tasks)
    if (!cut.contains(to)) network.letters[task][to].push_back({word, std::string(body), generation});
}

bool Node::forwards_failures() const {
  return network.forwards_failures;
}

bool Network::can_go_on(const Node& node) const {
  const Script& script = scripts[node.task];
  if (node.exchange || node.next == script.size()) return false;
  const Act act = script[node.next];
  if (act == Act::renew) return node.control.failure().has_value();
  return act != Act::exchange || node.generation == 0 || node.control.not_renewed().empty();
}

std::vector<Event> Network::events() const {
  std::vector<Event> all;
  bool waits = false;
  for (const auto& node : nodes) {
    if (left && node->task == 2) continue;
    if (can_go_on(*node)) all.push_back({Event::script, node->task});
    if (node->exchange && node->unseen) all.push_back({Event::look, node->task});
    waits = waits || node->exchange;
    for (int from = 0; from < kTasks; ++from) {
      const bool empty = letters[from][node->task].empty();
      if (!empty && !node->cut.contains(from)) all.push_back({Event::deliver, node->task, from});
      if (empty && left && from == 2 && !node->cut.contains(2)) all.push_back({Event::cut, node->task, 2});
    }
  }
  if (waits && (all.empty() || (laters == 0 && !in_time))) all.push_back({Event::later});
  return all;
}

void Network::happen(const Event& event) {
  if (event.kind == Event::later) {
    ++laters;
    clock.advance(2 * kDeadline);
    for (const auto& node : nodes) {
      node->history += 'L';
      changed(*node);
    }
    return;
  }
  Node& node = *nodes[event.task];
  node.history += std::to_string(event.kind) + std::to_string(event.from);
  if (event.kind == Event::look) return look(node);
  if (event.kind == Event::script) go_on(node);
  if (event.kind == Event::deliver) deliver(event.from, node);
  if (event.kind == Event::cut) {
    node.cut.insert(event.from);
    node.control.disconnected(event.from, {event.from, Code::peer_lost, "gone"});
  }
  changed(node);
}

void Network::changed(Node& node) const {
  node.unseen = true;
  if (looks_at_once && node.exchange) look(node);
}

void Network::go_on(Node& node) {
  switch (scripts[node.task][node.next++]) {
    case Act::exchange:
      node.had.insert(node.task);
      node.exchange = node.control.start_exchange(
          node.task, std::string(1, static_cast<char>('a' + node.exchanges++)) + std::to_string(node.task),
          Deadline(clock, kDeadline));
      return;
    case Act::fail:
      return node.control.fail({node.task, Code::numeric, "NaN of " + std::to_string(node.task)});
    case Act::close:
      return node.control.close(node.task);
    case Act::renew:
      ++node.generation;
      return node.control.restart();
    case Act::leave:
      left = true;
  }
}

/// As comm/tcp does: a failure or loss of another job does not count, but a task that restarts gives the reason.
void Network::deliver(int from, Node& to) {
  auto& queue = letters[from][to.task];
  const Letter letter = std::move(queue.front());
  queue.pop_front();
  if (letter.word == Word::renewed && letter.generation > to.generation)
    to.control.handle_word(from, Word::failure, letter.body);
  const bool of_job = letter.word == Word::failure || letter.word == Word::lost;
  if (of_job && letter.generation != to.generation) return;
  if (letter.word == Word::text) to.had.insert(from);
  to.control.handle_word(from, letter.word, letter.body);
}

void Network::look(Node& node) {
  node.unseen = false;
  try {
    const auto texts = node.control.finish_exchange(*node.exchange);
    if (texts == nullptr) return;
    node.outcomes.push_back({*texts, {}, node.had});
  } catch (const Error& error) {
    node.outcomes.push_back({{}, error, node.had});
  }
  node.exchange.reset();
}

std::string Network::state() const {
  std::string all;
  for (const auto& node : nodes) all += node->history + ';';
  return all;
}

/// All tasks agree that the job can do without the last one.
void Network::spare_last() {
  constexpr int kLast = kTasks - 1;
  for (const auto& node : nodes) CHECK(node->control.begin_sparing({&kLast, 1}, *node));
  scripts = {Script{Act::exchange}, Script{Act::exchange}, Script{Act::exchange}};
  for (auto now = events(); !now.empty(); now = events()) happen(now.front());
  for (const auto& node : nodes) {
    REQUIRE(node->outcomes.size() == 1);
    node->outcomes.clear();
    node->control.end_sparing();
    node->next = 0;
  }
}

struct Play {
  Scripts scripts;
  bool forwards_failures = false;
  bool spares_last = false;
  bool in_time = false;

  [[nodiscard]] std::unique_ptr<Network> network() const {
    auto made = std::make_unique<Network>(scripts, forwards_failures);
    if (spares_last) made->spare_last();
    made->scripts = scripts;
    made->in_time = in_time;
    return made;
  }
};

using Check = std::function<void(const Network&)>;

/// Checks the end of the play. By then nothing can happen any more, so a task that still waits would wait for ever.
void check_end(const Network& network, const Check& check) {
  for (const auto& node : network.nodes)
    if (!network.left || node->task != 2) REQUIRE_FALSE(node->exchange.has_value());
  check(network);
}

/// Plays every order of events, except that orders which no task can tell apart are played once.
void play_all(const Play& play, const Check& check) {
  std::set<std::string> seen;
  std::vector<std::vector<Event>> open{{}};
  int ends = 0;
  while (!open.empty()) {
    const std::vector<Event> before = std::move(open.back());
    open.pop_back();
    const auto network = play.network();
    network->looks_at_once = true;
    for (const Event& event : before) network->happen(event);
    if (!seen.insert(network->state()).second) continue;
    const std::vector<Event> now = network->events();
    if (now.empty()) {
      check_end(*network, check);
      ++ends;
    }
    for (const Event& event : now) {
      open.push_back(before);
      open.back().push_back(event);
    }
  }
  CHECK(ends > 1);
}

/// Plays orders that `times` seeds choose.
void play_some(const Play& play, unsigned times, const Check& check) {
  for (unsigned seed = 0; seed < times; ++seed) {
    std::mt19937 random(seed);
    const auto network = play.network();
    for (auto now = network->events(); !now.empty(); now = network->events())
      network->happen(now[random() % now.size()]);
    check_end(*network, check);
  }
}

const Script kExchange{Act::exchange};

const std::vector<std::string> kFirstTexts{"a0", "a1", "a2"}, kSecondTexts{"b0", "b1", "b2"};

/// Whether the deadline has not come before the outcome.
bool in_time(const Outcome& outcome) {
  return !outcome.error || outcome.error->code() != Code::stalled;
}

/// A stalled exchange names the tasks whose texts had not come, and all of them.
void check_names(const Outcome& outcome) {
  std::vector<int> missing;
  for (int task = 0; task < kTasks; ++task)
    if (!outcome.had.contains(task)) missing.push_back(task);
  CHECK(outcome.error->text() == missing_error(missing, kTasks).text());
}

TEST_CASE("in every order of words, all tasks get the same texts, or name who is missing") {
  play_all({.scripts = {kExchange, kExchange, kExchange}}, [](const Network& network) {
    for (const auto& node : network.nodes) {
      REQUIRE(node->outcomes.size() == 1);
      if (in_time(node->outcomes[0]))
        CHECK(node->outcomes[0].texts == kFirstTexts);
      else
        check_names(node->outcomes[0]);
    }
  });
}

TEST_CASE("a task that is ahead mixes no exchanges up") {
  const Script two{Act::exchange, Act::exchange};
  play_some({.scripts = {two, two, two}, .in_time = true}, 2000, [](const Network& network) {
    for (const auto& node : network.nodes) {
      REQUIRE(node->outcomes.size() == 2);
      CHECK(node->outcomes[0].texts == kFirstTexts);
      CHECK(node->outcomes[1].texts == kSecondTexts);
    }
  });
}

TEST_CASE("in every order a failure ends the exchange, and the failed task is named") {
  for (const bool passes_on : {false, true})
    play_all({.scripts = {kExchange, kExchange, {Act::fail}}, .forwards_failures = passes_on, .in_time = passes_on},
             [](const Network& network) {
               for (const auto& node : network.nodes) {
                 REQUIRE(node->control.failure().has_value());
                 CHECK(node->control.failure()->text == "NaN of 2");
                 for (const Outcome& outcome : node->outcomes) {
                   REQUIRE(outcome.error.has_value());
                   if (in_time(outcome)) CHECK(outcome.error->text() == "task 2 failed first: NaN of 2");
                 }
               }
             });
}

TEST_CASE("in every order the first of two failures that a task hears of stays") {
  play_all({.scripts = {kExchange, {Act::fail}, {Act::fail}}}, [](const Network& network) {
    for (const auto& node : network.nodes) {
      REQUIRE(node->control.failure().has_value());
      const int first = node->control.failure()->task;
      const std::size_t heard_1 = node->history.find("11"), heard_2 = node->history.find("12");
      if (node->task == 0)
        CHECK(first == (heard_1 < heard_2 ? 1 : 2));
      else
        CHECK((first == node->task) == (node->history.find("00") < std::min(heard_1, heard_2)));
    }
  });
}

TEST_CASE("in every order an exchange does not wait for a task that has closed") {
  play_all({.scripts = {kExchange, kExchange, {Act::close}}}, [](const Network& network) {
    for (const int task : {0, 1}) {
      const Outcome& outcome = network.nodes[task]->outcomes.at(0);
      REQUIRE(outcome.error.has_value());
      if (in_time(outcome))
        CHECK(outcome.error->text().starts_with("exchange: task 2 has finished"));
      else
        check_names(outcome);
      CHECK_FALSE(network.nodes[task]->control.failure().has_value());
    }
  });
}

TEST_CASE("a task that closes after its exchange does not disturb the exchange of the others") {
  play_all({.scripts = {kExchange, kExchange, {Act::exchange, Act::close}}, .in_time = true},
           [](const Network& network) {
             for (const auto& node : network.nodes) CHECK(node->outcomes.at(0).texts == kFirstTexts);
           });
}

TEST_CASE("in every order the task that does not come is named at the deadline") {
  play_all({.scripts = {kExchange, kExchange, Script{}}}, [](const Network& network) {
    for (const int task : {0, 1}) {
      const Outcome& outcome = network.nodes[task]->outcomes.at(0);
      REQUIRE(outcome.error.has_value());
      CHECK(outcome.error->code() == Code::stalled);
      check_names(outcome);
    }
  });
}

TEST_CASE("in every order those that continue without a lost task get the same texts") {
  for (const Script& last : {Script{Act::leave}, Script{Act::exchange}})
    play_all({.scripts = {kExchange, kExchange, last}, .forwards_failures = true, .spares_last = true},
             [&](const Network& network) {
               const auto &first = *network.nodes[0], &second = *network.nodes[1];
               if (!in_time(first.outcomes.at(0)) || !in_time(second.outcomes.at(0))) return;
               CHECK(first.outcomes[0].texts == second.outcomes[0].texts);
               CHECK(first.outcomes[0].texts == std::vector<std::string>{"b0", "b1", network.left ? "" : "b2"});
               CHECK(first.control.is_lost(2) == network.left);
               CHECK(second.control.is_lost(2) == network.left);
               CHECK(first.told_lost == second.told_lost);
               CHECK_FALSE(second.control.failure().has_value());
             });
}

TEST_CASE("a job that restarts gets no texts of the failed job") {
  const Script again{Act::exchange, Act::renew, Act::exchange};
  play_some(
      {.scripts = {again, again, {Act::fail, Act::renew, Act::exchange}}, .forwards_failures = true, .in_time = true},
      2000, [](const Network& network) {
        for (const auto& node : network.nodes) {
          REQUIRE(!node->outcomes.empty());
          CHECK(node->outcomes.back().texts == std::vector<std::string>{"b0", "b1", "a2"});
        }
      });
}

}  // namespace
}  // namespace ferry
