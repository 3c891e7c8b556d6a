"""The shape of the pocket model, shared by the trainer and the GGUF export.

14.35M parameters. One recurrent snapshot (0.64 MiB) weighs as much as the attention KV of 657
tokens, a ratio like that of the large hybrid models.
"""

VOCAB = 4096
WIDTH = 320
FFN_WIDTH = 896
NORM_EPS = 1e-6
CONTEXT = 32768  # the longest training sequence

# The trunk: layers 0-2 and 4-6 are Gated DeltaNet, 3 and 7 gated attention. One more attention
# block, numbered TRUNK_LAYERS, is the MTP head that drafts tokens.
TRUNK_LAYERS = 8
ATTENTION_INTERVAL = 4
MTP_BLOCK = TRUNK_LAYERS
BLOCKS = TRUNK_LAYERS + 1

# Gated attention.
HEADS = 6
KV_HEADS = 2
HEAD_DIM = 64
ROTARY_DIMS = 32
ROPE_BASE = 1e6
ROPE_SECTIONS = [6, 5, 5, 0]  # of ROTARY_DIMS / 2 pairs; text uses the same position in all

# Gated DeltaNet: as many key as value heads.
GDN_HEADS = 6
GDN_DIM = 64
CONV_WIDTH = 4


def is_attention(block: int) -> bool:
    """True for the attention layers of the trunk and for the MTP block."""
    return block == MTP_BLOCK or (block + 1) % ATTENTION_INTERVAL == 0
