// Exports the descriptor tables of the generated code of .proto files. The compiler reads this header before that code.
// The ferry command may load a library that is linked with libferry.so. With exported tables, the command and the
// library share one table for each file. Protobuf ends a program that registers a file twice.
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
