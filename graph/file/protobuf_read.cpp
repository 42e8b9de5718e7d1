#include "graph/file/protobuf_read.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

namespace ferry {

bool read_message(std::span<const std::byte> content, int depth, google::protobuf::MessageLite& out) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(content.data()),
                                            static_cast<int>(content.size()));
  in.SetTotalBytesLimit(static_cast<int>(content.size()));
  in.SetRecursionLimit(depth);
  const google::protobuf::LogSilencer quiet;
  return out.ParseFromCodedStream(&in) && in.ConsumedEntireMessage();
}

}  // namespace ferry
