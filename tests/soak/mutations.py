"""Damage of the kinds that find faults: flipped bits, cut and repeated parts, numbers at the edges of their types,
deep nesting, foreign parts."""

import re
import struct

EDGES = [0, 1, -1, 127, 128, 255, 256, 32767, 65535, 2**31 - 1, -2**31, 2**32 - 1, 2**53, 2**63 - 1, -2**63, 2**64 - 1]
WORDS = ["null", "true", "nan", "inf", "-inf", "1e999", "-0", "1e-400", "0x10", "007", '""', "[]", "{}", "''", "~",
         "!!binary x", "&a *a", "<<: {}", "../../etc/passwd", "/dev/zero", "\u202e", "\ud7ff", "\x1b[31m", "a" * 5000,
         "9" * 400, "[" * 2000, "{a: " * 300, "\\u0000", '"\\ud800"', ",", ":", "\t", "\r", "\0"]


def position(chance, content):
    return chance.randint(0, len(content))


def span(chance, content):
    begin = position(chance, content)
    return begin, min(len(content), begin + chance.choice([1, 2, 4, 8, 64, 1024]))


def flip_bit(chance, content, _):
    if not content:
        return content
    at = chance.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << chance.randrange(8)]) + content[at + 1:]


def any_bytes(chance, content, _):
    begin, end = span(chance, content)
    return content[:begin] + chance.randbytes(end - begin) + content[end:]


def cut_end(chance, content, _):
    return content[:position(chance, content)]


def remove_part(chance, content, _):
    begin, end = span(chance, content)
    return content[:begin] + content[end:]


def repeat_part(chance, content, _):
    begin, end = span(chance, content)
    return content[:end] + content[begin:end] * chance.choice([1, 2, 100]) + content[end:]


def edge_number(chance, content, _):
    value = chance.choice(EDGES)
    size, letter = chance.choice([(1, "B"), (2, "H"), (4, "I"), (8, "Q")])
    number = struct.pack(chance.choice("<>") + letter, value % 2**(8 * size))
    at = chance.randint(0, max(0, len(content) - size))
    return content[:at] + number + content[at + size:]


def mix(chance, content, other):
    return content[:position(chance, content)] + other[position(chance, other):]


def other_word(chance, content, _):
    words = list(re.finditer(rb"[A-Za-z0-9_.+-]+", content))
    if not words:
        return content
    word = chance.choice(words)
    return content[:word.start()] + chance.choice(WORDS).encode("utf-8", "surrogatepass") + content[word.end():]


def other_number(chance, content, _):
    numbers = list(re.finditer(rb"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?", content))
    if not numbers:
        return content
    number = chance.choice(numbers)
    return content[:number.start()] + str(chance.choice(EDGES)).encode() + content[number.end():]


def swap_lines(chance, content, _):
    lines = content.split(b"\n")
    a, b = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


def insert_word(chance, content, _):
    at = position(chance, content)
    return content[:at] + chance.choice(WORDS).encode("utf-8", "surrogatepass") + content[at:]


BYTES = [flip_bit, flip_bit, any_bytes, cut_end, remove_part, repeat_part, edge_number, edge_number, mix]
TEXT = BYTES + [other_word, other_word, other_number, other_number, swap_lines, insert_word]


def of_bytes(chance, content, other):
    return chance.choice(BYTES)(chance, content, other)


def of_text(chance, content, other):
    return chance.choice(TEXT)(chance, content, other)
