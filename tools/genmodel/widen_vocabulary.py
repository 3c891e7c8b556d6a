"""Gives the pocket model a vocabulary of real size, for measurements of grammars.

    python3 widen_vocabulary.py IN.gguf OUT.gguf [--tokens 248320] [--seed 1]

The new tokens are pieces as real vocabularies have them: words with and without a blank, numbers,
punctuation, runs of blanks, pieces of JSON, other scripts. Their rows are small random numbers, so
the model rarely chooses one; a grammar has to look at all of them. Needs Python alone.
"""

import argparse
import random
import struct
from pathlib import Path

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY, INT32 = 8, 9, 5
NORMAL = 1
Q8_0 = 8
BLOCK, BLOCK_BYTES = 32, 34


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, form: str) -> int:
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]

    def text(self) -> bytes:
        return self.take(self.number("Q"))

    def skip_value(self, kind: int) -> None:
        if kind == STRING:
            self.text()
        elif kind == ARRAY:
            inner, count = self.number("I"), self.number("Q")
            for _ in range(count):
                self.skip_value(inner)
        else:
            self.take(SIZES[kind])


def byte_letters() -> dict[int, str]:
    """GPT-2's printable stand-ins for bytes, which such vocabularies spell tokens with."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(others)}}


def new_pieces(count: int, known: set[bytes], seed: int) -> list[bytes]:
    choose = random.Random(seed)
    letters = byte_letters()
    syllables = [a + b for a in "bcdfghklmnprstvwz" for b in ("a", "e", "i", "o", "u", "ar", "en", "st", "ing")]
    scripts = ["абвгдежзиклмно", "的一是不了人我在有他", "αβγδεζηθικ", "あいうえおかきく", "éèüöäßñç"]
    marks = ['"', '":', '",', '{"', '"}', "}", "]", ", ", "\n", "\n  ", "  ", "()", "->", "==", "//", "_"]

    def word() -> str:
        return "".join(choose.choice(syllables) for _ in range(choose.randint(1, 5)))

    makers = [word, lambda: " " + word(), lambda: word().capitalize(), lambda: word().upper(),
              lambda: str(choose.randrange(100_000)), lambda: choose.choice(marks) + word(),
              lambda: word() + choose.choice(marks), lambda: " " * choose.randint(1, 80) + word(),
              lambda: "".join(choose.choice(choose.choice(scripts)) for _ in range(choose.randint(1, 4)))]
    found: list[bytes] = []
    while len(found) < count:
        raw = choose.choice(makers)().encode()
        piece = "".join(letters[b] for b in raw).encode()
        if piece not in known:
            known.add(piece)
            found.append(piece)
    return found


def wider_array(reader: Reader, key: bytes, pieces: list[bytes]) -> bytes:
    """An array of the vocabulary, with its new elements."""
    inner, count = reader.number("I"), reader.number("Q")
    begin = reader.at
    for _ in range(count):
        reader.skip_value(inner)
    old = reader.data[begin:reader.at]
    if key == b"tokenizer.ggml.tokens":
        more = b"".join(struct.pack("<Q", len(p)) + p for p in pieces)
    else:
        more = struct.pack("<i", NORMAL) * len(pieces)
    return struct.pack("<IQ", inner, count + len(pieces)) + old + more


def random_rows(rows: int, width: int, seed: int) -> bytes:
    """Q8_0 rows: a small scale, then bytes."""
    choose = random.Random(seed)
    scale = struct.pack("<e", 0.0002)
    return b"".join(scale + choose.randbytes(BLOCK) for _ in range(rows * width // BLOCK))


def widen(data: bytes, tokens: int, seed: int) -> bytes:
    reader = Reader(data)
    head = reader.take(8)
    tensor_count, value_count = reader.number("Q"), reader.number("Q")
    first = Reader(data)
    first.at = reader.at
    known: set[bytes] = set()
    alignment = 32
    for _ in range(value_count):
        key, kind = first.text(), first.number("I")
        if key == b"tokenizer.ggml.tokens":
            inner, count = first.number("I"), first.number("Q")
            known = {first.text() for _ in range(count)}
        elif key == b"general.alignment":
            alignment = first.number("I")
        else:
            first.skip_value(kind)
    old_tokens = len(known)
    pieces = new_pieces(tokens - old_tokens, known, seed)

    out = bytearray(head + struct.pack("<QQ", tensor_count, value_count))
    for _ in range(value_count):
        begin = reader.at
        key, kind = reader.text(), reader.number("I")
        if key in (b"tokenizer.ggml.tokens", b"tokenizer.ggml.token_type"):
            out += data[begin:reader.at] + wider_array(reader, key, pieces)
        elif key.endswith(b".vocab_size"):
            out += data[begin:reader.at] + struct.pack("<I", tokens)
            reader.skip_value(kind)
        else:
            reader.skip_value(kind)
            out += data[begin:reader.at]

    tensors = []
    for _ in range(tensor_count):
        name = reader.text()
        dims = [reader.number("Q") for _ in range(reader.number("I"))]
        tensors.append([name, dims, reader.number("I"), reader.number("Q")])
    start = -(-reader.at // alignment) * alignment
    ends = sorted(t[3] for t in tensors) + [len(data) - start]
    blobs, at = [], 0
    for tensor in tensors:
        name, dims, kind, offset = tensor
        blob = data[start + offset:start + ends[ends.index(offset) + 1]]
        if len(dims) == 2 and dims[1] == old_tokens:
            if kind != Q8_0:
                raise SystemExit(f"{name.decode()} is not Q8_0.")
            blob = blob[:old_tokens * dims[0] // BLOCK * BLOCK_BYTES]
            blob += random_rows(tokens - old_tokens, dims[0], seed)
            dims[1] = tokens
        blob += bytes(-len(blob) % alignment)
        tensor[3] = at
        at += len(blob)
        blobs.append(blob)
    for name, dims, kind, offset in tensors:
        out += struct.pack("<Q", len(name)) + name + struct.pack("<I", len(dims))
        out += b"".join(struct.pack("<Q", d) for d in dims) + struct.pack("<IQ", kind, offset)
    out += bytes(-len(out) % alignment)
    return bytes(out) + b"".join(blobs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--tokens", type=int, default=248_320)
    parser.add_argument("--seed", type=int, default=1)
    wish = parser.parse_args()
    wish.target.write_bytes(widen(wish.source.read_bytes(), wish.tokens, wish.seed))


if __name__ == "__main__":
    main()
