"""Graph files without annotations, for tests of placement by itself."""
import pathlib

OP_ANNOTATIONS = {7, 8, 9}  # Op.device, mesh and layout (graph/ferry_graph.proto)


def varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


def varint_bytes(number):
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes(found + bytes([number]))


def fields(data):
    """The fields of a protobuf message: number, all bytes, and the bytes of a nested message."""
    at = 0
    while at < len(data):
        begin = at
        tag, at = varint(data, at)
        inner = b""
        if tag & 7 == 0:
            _, at = varint(data, at)
        elif tag & 7 == 2:
            size, at = varint(data, at)
            inner, at = data[at:at + size], at + size
        else:
            at += 8 if tag & 7 == 1 else 4
        yield tag >> 3, data[begin:at], inner


def nested(number, data):
    return varint_bytes(number << 3 | 2) + varint_bytes(len(data)) + data


def without_annotations(data):
    """The bytes of a .pb graph file without the devices, meshes and layouts of its ops, and without its hash."""
    def graph(message):
        return b"".join(nested(2, b"".join(raw for field, raw, _ in fields(op) if field not in OP_ANNOTATIONS))
                        if number == 2 else raw for number, raw, op in fields(message))

    return b"".join(nested(4, graph(inner)) if number == 4 else raw
                    for number, raw, inner in fields(data) if number != 2)


def write_without_annotations(graph, folder):
    """Writes the graph file without annotations into the folder, and links the data beside it. Returns its path."""
    graph, stripped = pathlib.Path(graph), pathlib.Path(folder) / pathlib.Path(graph).name
    stripped.write_bytes(without_annotations(graph.read_bytes()))
    beside = graph.with_suffix(".safetensors")
    if beside.exists():
        (pathlib.Path(folder) / beside.name).symlink_to(beside)
    return stripped
