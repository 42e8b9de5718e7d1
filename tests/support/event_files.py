"""A reader of TensorBoard's event files: records with checksums, each a protocol buffer `Event`."""
import struct

POLYNOMIAL = 0x82F63B78  # CRC-32C, reflected


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (POLYNOMIAL if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked_crc(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """The records of a file: length, its checksum, that many bytes, their checksum."""
    while data:
        (length,), (of_length,) = struct.unpack("<Q", data[:8]), struct.unpack("<I", data[8:12])
        record, (of_record,) = data[12:12 + length], struct.unpack("<I", data[12 + length:16 + length])
        assert of_length == masked_crc(data[:8]) and of_record == masked_crc(record), "a checksum is wrong"
        yield record
        data = data[16 + length:]


def varint(data, at):
    number = shift = 0
    while True:
        byte, at = data[at], at + 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at


def fields(data):
    """(number, value) of each field of a message: an int, or the bytes of what is fixed or has a length."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            length = {1: 8, 5: 4}.get(key & 7)
            if length is None:
                assert key & 7 == 2, f"a field of type {key & 7}"
                length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            assert len(value) == length, "a message ends within a field"
        yield key >> 3, value


def scalars(files):
    """tag -> [(step, value)] of the files of one run, in the order of their names. What a file's restart makes void is left out."""
    found = {}
    for file in sorted(files):
        events = [dict(fields(record)) for record in records(file.read_bytes())]
        assert events[0][3] == b"brain.Event:2", events[0]
        for event in events:
            assert struct.unpack("<d", event[1])[0] > 0, "an event has no time"
            step = event.get(2, 0)
            if 7 in event and dict(fields(event[7])) == {1: 1}:  # session_log, START
                found = {tag: [pair for pair in pairs if pair[0] < step] for tag, pairs in found.items()}
            for number, summary in fields(event.get(5, b"")):
                assert number == 1, "a summary has values alone"
                value = dict(fields(summary))
                found.setdefault(value[1].decode(), []).append((step, struct.unpack("<f", value[2])[0]))
    return found
