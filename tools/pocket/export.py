"""Step 5: checkpoint to GGUF (architecture qwen35, F16).

    python3 export.py CKPT OUT.gguf [--tokenizer FILE] [--template FILE] [--gguf-py DIR]

Then `llama-quantize OUT.gguf holdfast-pocket-q8_0.gguf q8_0` makes the shipped file. Needs numpy
and gguf-py, llama.cpp's Python package: installed, or from a llama.cpp checkout by --gguf-py.
"""

import argparse
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import shape
from workdir import CHAT_TEMPLATE, SHIPPED_TOKENIZER

NAME = "holdfast-pocket"
DESCRIPTION = ("Tiny Gated DeltaNet + gated attention hybrid with an MTP head,"
               " trained from scratch as a test model")

# Special tokens that end or frame messages; llama.cpp does not print them. The others, such as
# <think>, are part of an answer's text.
CONTROL_TOKENS = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}

# A block's weights in the order of the file: name in the checkpoint, name in GGUF.
TENSORS = {
    "n1": "attn_norm.weight",
    "n2": "post_attention_norm.weight",
    "wqkv": "attn_qkv.weight",
    "wz": "attn_gate.weight",
    "wb": "ssm_beta.weight",
    "wa": "ssm_alpha.weight",
    "conv": "ssm_conv1d.weight",
    "alog": "ssm_a",
    "dtb": "ssm_dt.bias",
    "gn": "ssm_norm.weight",
    "wq": "attn_q.weight",
    "wk": "attn_k.weight",
    "wv": "attn_v.weight",
    "qn": "attn_q_norm.weight",
    "kn": "attn_k_norm.weight",
    "wo": "attn_output.weight",  # of a DeltaNet block: ssm_out.weight
    "wg": "ffn_gate.weight",
    "wu": "ffn_up.weight",
    "wd": "ffn_down.weight",
    "eh": "nextn.eh_proj.weight",
    "en": "nextn.enorm.weight",
    "hn": "nextn.hnorm.weight",
    "sn": "nextn.shared_head_norm.weight",
}


def main() -> None:
    command_line = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command_line.add_argument("checkpoint", type=Path)
    command_line.add_argument("out", type=Path)
    command_line.add_argument("--tokenizer", type=Path, default=SHIPPED_TOKENIZER,
                              help="default: tokenizer.json beside this script")
    command_line.add_argument("--template", type=Path, default=CHAT_TEMPLATE,
                              help="default: chat_template.jinja beside this script")
    command_line.add_argument("--gguf-py", type=Path, metavar="DIR",
                              help="folder gguf-py of a llama.cpp checkout")
    options = command_line.parse_args()
    gguf = import_gguf(options.gguf_py)
    writer = gguf.GGUFWriter(str(options.out), "qwen35")
    add_description(writer, gguf)
    add_shape(writer)
    add_tokenizer(writer, gguf, json.loads(options.tokenizer.read_text(encoding="utf-8")))
    writer.add_chat_template(options.template.read_text(encoding="utf-8"))
    parameters = add_tensors(writer, dict(np.load(options.checkpoint)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print(f"{options.out}: {options.out.stat().st_size} bytes, {parameters} parameters")


def import_gguf(checkout: Path | None) -> ModuleType:
    if checkout:
        sys.path.insert(0, str(checkout))
    import gguf
    return gguf


def add_description(writer: Any, gguf: ModuleType) -> None:
    writer.add_type("model")
    writer.add_name(NAME)
    writer.add_basename(NAME)
    writer.add_size_label("14M")
    writer.add_description(DESCRIPTION)
    writer.add_languages(["en"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)


def add_shape(writer: Any) -> None:
    writer.add_block_count(shape.BLOCKS)
    writer.add_context_length(shape.CONTEXT)
    writer.add_embedding_length(shape.WIDTH)
    writer.add_feed_forward_length(shape.FFN_WIDTH)
    writer.add_head_count(shape.HEADS)
    writer.add_head_count_kv(shape.KV_HEADS)
    writer.add_key_length(shape.HEAD_DIM)
    writer.add_value_length(shape.HEAD_DIM)
    writer.add_layer_norm_rms_eps(shape.NORM_EPS)
    writer.add_rope_freq_base(shape.ROPE_BASE)
    writer.add_rope_dimension_count(shape.ROTARY_DIMS)
    writer.add_rope_dimension_sections(shape.ROPE_SECTIONS)
    writer.add_ssm_conv_kernel(shape.CONV_WIDTH)
    writer.add_ssm_inner_size(shape.GDN_HEADS * shape.GDN_DIM)
    writer.add_ssm_state_size(shape.GDN_DIM)
    writer.add_ssm_time_step_rank(shape.GDN_HEADS)
    writer.add_ssm_group_count(shape.GDN_HEADS)
    writer.add_full_attention_interval(shape.ATTENTION_INTERVAL)
    writer.add_nextn_predict_layers(shape.BLOCKS - shape.TRUNK_LAYERS)


# ---- tokenizer


class Vocabulary(NamedTuple):
    tokens: list[str]  # by id
    added: dict[str, int]
    merges: list[str]


def read_vocabulary(tokenizer: dict[str, Any]) -> Vocabulary:
    """Unassigned ids get the name [PADn], as llama.cpp's own converter does it."""
    added = {token["content"]: token["id"] for token in tokenizer["added_tokens"]}
    tokens = [f"[PAD{i}]" for i in range(shape.VOCAB)]
    for token, i in (tokenizer["model"]["vocab"] | added).items():
        tokens[i] = token
    merges = [merge if isinstance(merge, str) else " ".join(merge)
              for merge in tokenizer["model"]["merges"]]
    return Vocabulary(tokens, added, merges)


def add_tokenizer(writer: Any, gguf: ModuleType, tokenizer: dict[str, Any]) -> None:
    vocabulary = read_vocabulary(tokenizer)
    known = tokenizer["model"]["vocab"].keys() | vocabulary.added.keys()

    def kind(token: str) -> int:
        if token in CONTROL_TOKENS:
            return gguf.TokenType.CONTROL
        if token in vocabulary.added:
            return gguf.TokenType.USER_DEFINED
        return gguf.TokenType.NORMAL if token in known else gguf.TokenType.UNUSED

    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types([kind(token) for token in vocabulary.tokens])
    writer.add_token_merges(vocabulary.merges)
    writer.add_eos_token_id(vocabulary.added["<|im_end|>"])
    writer.add_eot_token_id(vocabulary.added["<|im_end|>"])
    writer.add_pad_token_id(vocabulary.added["<|endoftext|>"])
    writer.add_add_bos_token(False)


# ---- tensors


def add_tensors(writer: Any, parameters: dict[str, np.ndarray]) -> int:
    """Returns the number of parameters."""
    names = tensor_names(parameters)
    for name, gguf_name in names.items():
        writer.add_tensor(gguf_name, stored(name, parameters[name].astype(np.float32)))
    return sum(parameters[name].size for name in names)


def tensor_names(parameters: dict[str, np.ndarray]) -> dict[str, str]:
    """Parameter, such as "blocks.3.wq", to tensor, in the order of the file."""
    names = {"embd": "token_embd.weight", "out_norm": "output_norm.weight"}
    for block in range(shape.BLOCKS):
        for weight, tensor in TENSORS.items():
            if weight == "wo" and not shape.is_attention(block):
                tensor = "ssm_out.weight"
            if f"blocks.{block}.{weight}" in parameters:
                names[f"blocks.{block}.{weight}"] = f"blk.{block}.{tensor}"
    return names


def stored(name: str, value: np.ndarray) -> np.ndarray:
    """Matrices in float16; vectors and the convolution in float32; ssm_a = -exp(alog)."""
    if name.endswith("alog"):
        value = -np.exp(value)
    narrow = value.ndim == 2 and not name.endswith("conv")
    return np.ascontiguousarray(value.astype(np.float16 if narrow else np.float32))


if __name__ == "__main__":
    main()
