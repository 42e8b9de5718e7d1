// What the generated code of .proto files shows of itself, read before it. The command may load a library that is
// linked with libferry.so. By this symbol each file's table is one for both; protobuf ends a program that registers a
// file twice.
#pragma once

namespace google::protobuf::internal {
struct DescriptorTable;
}

extern const google::protobuf::internal::DescriptorTable descriptor_table_ferry_5fgraph_2eproto
    [[gnu::visibility("default")]];
extern const google::protobuf::internal::DescriptorTable descriptor_table_ferry_5fonnx_2eproto
    [[gnu::visibility("default")]];
extern const google::protobuf::internal::DescriptorTable descriptor_table_ferry_5fcluster_2eproto
    [[gnu::visibility("default")]];
