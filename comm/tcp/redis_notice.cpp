// A notice in Redis. It needs only a few commands of the protocol RESP2:
// https://redis.io/docs/reference/protocol-spec
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <initializer_list>
#include <span>

#include "base/format.hpp"
#include "base/text.hpp"
#include "comm/tcp/notice.hpp"

namespace ferry::tcp {
namespace {

constexpr int kRedisPort = 6379;
constexpr std::size_t kLongestLine = 4096;
constexpr std::chrono::seconds kAfterDeadline{5};  // until Redis deletes a notice that no task has removed
/// Compares and deletes in one step, since task 0 of another job may publish its notice at any moment.
constexpr std::string_view kRemove =
    "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end return 0";

struct RedisPlace {
  std::string host, password, key;
  int port = kRedisPort;
};

/// A reply of Redis. `text`: nothing if Redis has no value.
struct RedisReply {
  char kind = 0;  // '+', ':' or '$', as in the protocol
  std::optional<std::string> text;
};

class RedisNotice final : public Notice {
 public:
  explicit RedisNotice(RedisPlace place) : place_(std::move(place)) {}

  [[nodiscard]] std::string where() const override { return formatted("redis://{}/{}", host_and_port(), place_.key); }

  [[nodiscard]] Address here(const Deadline& deadline) override {
    connect(deadline);
    Address address = net::local_address(socket_);
    address.set_port(0);
    return address;
  }

  [[nodiscard]] bool put(const std::string& text, const Deadline& deadline) override {
    const auto left = std::chrono::ceil<std::chrono::seconds>(deadline.remaining()) + kAfterDeadline;
    // If the key exists, the reply is no value ('$').
    return call("+$", {"SET", place_.key, text, "EX", std::to_string(left.count()), "NX"}, deadline).has_value();
  }

  [[nodiscard]] std::optional<std::string> get(const Deadline& deadline) override {
    return call("$", {"GET", place_.key}, deadline);
  }

  void remove(const std::string& text, const Deadline& deadline) override {
    call(":", {"EVAL", kRemove, "1", place_.key, text}, deadline);
  }

 private:
  using Words = std::initializer_list<std::string_view>;

  [[nodiscard]] std::string host_and_port() const {
    const bool six = place_.host.find(':') != std::string::npos;
    return (six ? "[" + place_.host + "]" : place_.host) + ":" + std::to_string(place_.port);
  }
  [[nodiscard]] Error failed(Code code, const std::string& what) const {
    return {code, "rendezvous by " + where() + ": " + what};
  }

  void connect(const Deadline& deadline) {
    int error = 0;
    for (const Address& address : net::resolve(place_.host, place_.port, "rendezvous by " + where())) {
      error = net::connect_to(address, deadline, socket_);
      if (error == 0) break;
    }
    if (error != 0) {
      socket_.close();
      throw net::system_error(error == ETIMEDOUT ? Code::stalled : Code::usage,
                              failed(Code::usage, "Redis cannot be reached").text(), error)
          .hint("see whether Redis runs there, listens to other hosts, and no firewall is between");
    }
    if (place_.password.empty()) return;
    const auto reply = exchange({"AUTH", place_.password}, deadline);
    if (!reply) throw ended();
    require("+", *reply);
  }

  /// The reply to a command, of one of these kinds. If Redis has closed an idle connection, it is opened again.
  std::optional<std::string> call(std::string_view kinds, Words words, const Deadline& deadline) {
    std::optional<RedisReply> reply;
    if (socket_.open()) reply = exchange(words, deadline);
    if (!reply) {
      connect(deadline);
      reply = exchange(words, deadline);
    }
    if (!reply) throw ended();
    require(kinds, *reply);
    return std::move(reply->text);
  }

  void require(std::string_view kinds, const RedisReply& reply) const {
    if (reply.kind == '-') throw refused(*reply.text);
    if (kinds.find(reply.kind) == std::string_view::npos) throw no_redis();
  }

  [[nodiscard]] Error refused(const std::string& text) const {
    const auto says = [&](std::string_view part) { return text.find(part) != std::string::npos; };
    if (says("NOAUTH"))
      return failed(Code::usage, "Redis wants a password").hint("redis://:PASSWORD@" + host_and_port() + "/KEY");
    if (says("WRONGPASS") || says("invalid password"))
      return failed(Code::usage, "Redis has another password")
          .hint("redis://:PASSWORD@" + host_and_port() + "/KEY, where %40 is @, %2F is / and %25 is %");
    if (says("without any password") || says("no password is set"))
      return failed(Code::usage, "Redis has no password").hint("leave out :PASSWORD@");
    if (says("WRONGTYPE"))
      return failed(Code::usage, "the key holds no text, so no notice of ferry").hint("choose another KEY");
    return failed(Code::usage, formatted("Redis answers: {:.300}", text))
        .hint("see the settings of Redis, and its log");
  }
  [[nodiscard]] Error no_redis() const {
    return failed(Code::usage, "the server there is not Redis").hint("check HOST and PORT of the Redis server");
  }
  [[nodiscard]] Error ended() const {
    return failed(Code::usage, "Redis closes the connection").hint("see whether its log says why");
  }

  /// Sends a command and reads the reply. Returns nothing if the connection closes first.
  std::optional<RedisReply> exchange(Words words, const Deadline& deadline) {
    std::string command = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string_view word : words)
      command.append("$").append(std::to_string(word.size())).append("\r\n").append(word).append("\r\n");
    if (!net::send_all(socket_, std::as_bytes(std::span(command)), deadline)) return unanswered(deadline);
    std::string line;
    while (!line.ends_with("\r\n")) {
      char byte = 0;
      if (!net::receive_all(socket_, std::as_writable_bytes(std::span(&byte, 1)), deadline))
        return unanswered(deadline);
      line += byte;
      if (line.size() > kLongestLine) throw no_redis();
    }
    const std::string rest = line.substr(1, line.size() - 3);
    if (line[0] == '+' || line[0] == '-' || line[0] == ':') return RedisReply{line[0], rest};
    if (line[0] != '$') throw no_redis();
    return value(rest, deadline);
  }

  std::optional<RedisReply> value(const std::string& length, const Deadline& deadline) {
    if (length == "-1") return RedisReply{'$', std::nullopt};
    std::size_t bytes = 0;
    const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), bytes);
    if (error != std::errc() || end != length.data() + length.size()) throw no_redis();
    if (bytes > kLongestNotice)
      throw failed(Code::usage, "the key holds no notice of ferry, but " + std::to_string(bytes) + " bytes")
          .hint("choose another KEY");
    std::string text(bytes + 2, '\0');
    if (!net::receive_all(socket_, std::as_writable_bytes(std::span(text)), deadline)) return unanswered(deadline);
    if (!text.ends_with("\r\n")) throw no_redis();
    text.resize(bytes);
    return RedisReply{'$', std::move(text)};
  }

  std::optional<RedisReply> unanswered(const Deadline& deadline) {
    socket_.close();
    if (deadline.expired())
      throw failed(Code::stalled, "Redis does not answer before the deadline")
          .hint("see whether it is stopped or busy");
    return std::nullopt;
  }

  RedisPlace place_;
  Socket socket_;
};

Error no_redis_place(std::string_view url, const std::string& why) {
  return Error(Code::usage, "FERRY_RENDEZVOUS={}: {}", without_password("redis://" + std::string(url)), as_is(why))
      .hint(
          "redis://[:PASSWORD@]HOST[:PORT]/KEY, the same for all tasks; in PASSWORD, %40 is @, %2F is / and %25 is %");
}

/// Replaces codes such as %40 by their characters (@). A URL can have some characters only as codes.
std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t at = 0; at < text.size(); ++at) {
    decoded += text[at];
    if (text[at] != '%') continue;
    const std::string_view digits = text.substr(at + 1, 2);
    unsigned char byte = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || error != std::errc() || end != digits.data() + 2) return std::nullopt;
    decoded.back() = static_cast<char>(byte);
    at += 2;
  }
  return decoded;
}

}  // namespace

std::unique_ptr<Notice> redis_notice(std::string_view url) {
  RedisPlace place;
  const std::size_t slash = std::min(url.find('/'), url.size());
  std::string_view server = url.substr(0, slash);
  place.key = url.substr(std::min(slash + 1, url.size()));
  if (place.key.empty()) throw no_redis_place(url, "the KEY is missing");
  if (const std::size_t at = server.rfind('@'); at != std::string_view::npos) {
    const auto password = percent_decoded(server.substr(0, at));
    if (!password || !password->starts_with(':')) throw no_redis_place(url, "no :PASSWORD before the @");
    place.password = password->substr(1);
    server.remove_prefix(at + 1);
  }
  const std::size_t colon = server.rfind(':');
  const bool has_port = colon != std::string_view::npos && !server.ends_with(']');
  if (has_port) {
    const std::string_view port = server.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), place.port);
    if (error != std::errc() || end != port.data() + port.size() || place.port < 1 || place.port > 65535)
      throw no_redis_place(url, "the PORT is no number from 1 to 65535");
    server = server.substr(0, colon);
  }
  if (server.starts_with('[') && server.ends_with(']')) server = server.substr(1, server.size() - 2);
  if (server.empty()) throw no_redis_place(url, "the HOST is missing");
  place.host = server;
  return std::make_unique<RedisNotice>(std::move(place));
}

}  // namespace ferry::tcp
