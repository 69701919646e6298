#!/usr/bin/env python3
"""Prints the scalars of the event files in a folder as JSON, {tag: [[step, value], ...]}: as the package tensorboard
reads them with --package (exit status 3: it is not installed), else with a reader of its own, written from the
description of the formats (TFRecord, protocol buffers) and not from what writes them.
"""
import json
import pathlib
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    at = 0
    while at < len(data):
        length, of_length = struct.unpack_from("<QI", data, at)
        assert masked(data[at:at + 8]) == of_length, "checksum of a length"
        payload = data[at + 12:at + 12 + length]
        assert masked(payload) == struct.unpack_from("<I", data, at + 12 + length)[0], "checksum of a record"
        yield payload
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif wire == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            assert wire == 2, wire
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        yield key >> 3, value


def own_scalars(folder):
    found = {}
    for path in sorted(pathlib.Path(folder).glob("*tfevents*")):
        events = [dict(fields(record)) for record in records(path.read_bytes())]
        assert events[0][3] == b"brain.Event:2", events[0]
        for event in events:
            assert event[1] > 1.5e9, "a time"
            if 7 in event:  # a session begins: what was said of this step and later ones is void
                found = {tag: [each for each in values if each[0] < event[2]] for tag, values in found.items()}
            for number, value in fields(event.get(5, b"")):
                assert number == 1
                parts = dict(fields(value))
                found.setdefault(parts[1].decode(), []).append([event[2], parts[2]])
    return found


def scalars_of_package(folder):
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        sys.exit(3)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    events = EventAccumulator(folder, size_guidance={"scalars": 0})
    events.Reload()
    return {tag: [[each.step, each.value] for each in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


if __name__ == "__main__":
    read = scalars_of_package if "--package" in sys.argv else own_scalars
    print(json.dumps(read(sys.argv[1])))
