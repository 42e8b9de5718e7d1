// Frames: the format of data on a connection after the handshake. A frame is a head, followed for some kinds by a body.
//
// The sender sends short messages at once (eager), as long as the receiver has room for unexpected messages. When the
// receiver has delivered such a message, it gives the room back (credit). Other messages wait until their receive is
// posted. The receiving task then sends a grant: unasked if the receive is long, else when asked (want). After the
// grant, the sender sends the message in pieces (data), which the receiver reads directly into its buffer. So a message
// for which the receiver does not wait never blocks a message for which it waits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/control.hpp"

namespace ferry::tcp {

enum class Kind : std::uint32_t { eager = 1, want, grant, data, credit, text, failure, goodbye, renewed, lost };

struct FrameHead {
  static constexpr std::uint32_t kMark = 0x59524546;  // "FERY"

  std::uint32_t mark = kMark;
  Kind kind{};
  std::uint32_t generation = 0;  ///< how often the job was restarted
  std::uint32_t channel = 0;
  std::uint64_t number = 0;  ///< number of the message on its channel, or of the word between these tasks
  std::uint64_t bytes = 0;   ///< size of the body; for want, grant, credit: the bytes that they concern
};

/// Messages up to this size are sent at once.
inline constexpr std::size_t kEager = 64 << 10;
/// kRoom: bytes of unexpected messages that a task accepts from each other task. Each message counts with its size plus
/// kCost.
inline constexpr std::uint64_t kRoom = 4 << 20, kCost = 128;
/// The maximum number of bytes in a frame of `data`.
inline constexpr std::size_t kPiece = 128 << 10;

/// The kind of a word's frame is the word's number plus kWordKinds.
inline constexpr std::uint32_t kWordKinds = 5;
static_assert(static_cast<std::uint32_t>(Word::text) + kWordKinds == static_cast<std::uint32_t>(Kind::text));
static_assert(static_cast<std::uint32_t>(Word::lost) + kWordKinds == static_cast<std::uint32_t>(Kind::lost));
[[nodiscard]] inline Kind kind_of(Word word) {
  return static_cast<Kind>(static_cast<std::uint32_t>(word) + kWordKinds);
}
[[nodiscard]] inline Word word_of(Kind kind) {
  return static_cast<Word>(static_cast<std::uint32_t>(kind) - kWordKinds);
}

/// Whether a body of FrameHead::bytes bytes follows the head.
[[nodiscard]] inline bool has_body(Kind kind) {
  return kind == Kind::eager || kind == Kind::data || kind == Kind::text || kind == Kind::failure ||
         kind == Kind::renewed || kind == Kind::lost;
}

}  // namespace ferry::tcp
