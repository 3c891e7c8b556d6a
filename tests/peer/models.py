#!/usr/bin/python3
"""Models that llama-server's tests need, made of another one: split into three files, and with
tokens that are said to be those of filling in.  models.py MODEL FOLDER GGUF_PY"""
import os
import sys

model, folder, gguf_package = sys.argv[1:]
sys.path.insert(0, gguf_package)
from gguf import GGUFReader, GGUFValueType, GGUFWriter  # noqa: E402

PARTS = 3
# Any three distinct tokens will do.
FILL_TOKENS = {"prefix": 4000, "suffix": 4001, "middle": 4002}

source = GGUFReader(model)
architecture = source.fields["general.architecture"].contents()


def copy_metadata(writer):
    for name, field in source.fields.items():
        if name.startswith(("GGUF.", "split.")) or name == "general.architecture":
            continue
        kind = field.types[0]
        inner = field.types[-1] if kind == GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), kind, sub_type=inner)


def write(path, tensors, set_keys, whole=True):
    writer = GGUFWriter(path, architecture)
    if whole:
        copy_metadata(writer)
    set_keys(writer)
    for tensor in tensors:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def set_fill_tokens(writer):
    for place, token in FILL_TOKENS.items():
        writer.add_uint32(f"tokenizer.ggml.fim_{place[:3]}_token_id", token)


def set_part(part):
    def set_keys(writer):
        writer.add_uint16("split.no", part)
        writer.add_uint16("split.count", PARTS)
        writer.add_int32("split.tensors.count", len(source.tensors))
    return set_keys


write(os.path.join(folder, "fill.gguf"), source.tensors, set_fill_tokens)
size = -(-len(source.tensors) // PARTS)
for part in range(PARTS):
    path = os.path.join(folder, f"split-{part + 1:05d}-of-{PARTS:05d}.gguf")
    write(path, source.tensors[part * size:(part + 1) * size], set_part(part), whole=part == 0)
