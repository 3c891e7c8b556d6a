"""Step 2: tokenizer and token stream.

Reads corpus.txt and wordnet.json from the work folder and writes

    tokenizer.json    the shipped tokenizer, or with --train-tokenizer a new one
    stream.npy        the documents in random order, uint16, each followed by <|endoftext|>
    validation.npy    the last 400,000 tokens of that stream, kept out of it

    python3 prep.py [--work DIR] [--train-tokenizer]

Needs numpy and tokenizers. A new tokenizer makes a new model: GGUF files of the two cannot share
token ids.
"""

import random
import shutil

import numpy as np
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from chats.mix import short_chat
from chats.render import SPECIAL_TOKENS, render
from chats.sampler import Sampler
from chats.tokens import END_OF_DOCUMENT
from shape import VOCAB
from workdir import SHIPPED_TOKENIZER, WorkDir, parser

# llama.cpp's pre-tokenizer "qwen2", which the GGUF file names: one token per digit.
PRE_TOKENIZER = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

# The tokenizer learns from a third of the documents (about 28 MB) and 9 MB of chats.
TOKENIZER_DOCUMENT_SHARE = 3
TOKENIZER_CHAT_CHARS = 9e6

VALIDATION_TOKENS = 400_000

DOCUMENTS_PER_BATCH = 1000


def main() -> None:
    command_line = parser(__doc__)
    command_line.add_argument("--train-tokenizer", action="store_true",
                              help="train a tokenizer instead of using the shipped one")
    options = command_line.parse_args()
    work: WorkDir = options.work
    documents = read_documents(work)
    print(f"{len(documents)} documents, {sum(map(len, documents)) / 1e6:.1f} MB", flush=True)
    if options.train_tokenizer:
        train_tokenizer(documents, work).save(str(work.tokenizer))
    else:
        shutil.copyfile(SHIPPED_TOKENIZER, work.tokenizer)
    tokenizer = Tokenizer.from_file(str(work.tokenizer))
    stream = token_stream(documents, tokenizer)
    np.save(work.stream, stream[:-VALIDATION_TOKENS])
    np.save(work.validation, stream[-VALIDATION_TOKENS:])
    chars_per_token = sum(map(len, documents)) / len(stream)
    print(f"{len(stream) / 1e6:.1f}M tokens, {chars_per_token:.2f} characters per token")


def read_documents(work: WorkDir) -> list[str]:
    """The documents without their header lines."""
    return [document.partition("\n")[2] for document in work.read_corpus().split("\x00")]


def train_tokenizer(documents: list[str], work: WorkDir) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PRE_TOKENIZER), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False, trim_offsets=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    sample = random.Random(0).sample(documents, len(documents) // TOKENIZER_DOCUMENT_SHARE)
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB, special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(sample + chat_texts(work), trainer)
    return tokenizer


def chat_texts(work: WorkDir) -> list[str]:
    """Chats without their special tokens, which are never merged with text."""
    s = Sampler(7, work.read_corpus(), work.read_wordnet())
    texts: list[str] = []
    total = 0
    while total < TOKENIZER_CHAT_CHARS:
        text = render(s, short_chat(s)).text
        for token in SPECIAL_TOKENS:
            text = text.replace(token, "\n")
        texts.append(text)
        total += len(text)
    return texts


def token_stream(documents: list[str], tokenizer: Tokenizer) -> np.ndarray:
    shuffled = documents[:]
    random.Random(3).shuffle(shuffled)
    end = np.array([END_OF_DOCUMENT], np.uint16)
    pieces: list[np.ndarray] = []
    for first in range(0, len(shuffled), DOCUMENTS_PER_BATCH):
        for encoding in tokenizer.encode_batch(shuffled[first:first + DOCUMENTS_PER_BATCH]):
            pieces += [np.array(encoding.ids, np.uint16), end]
    return np.concatenate(pieces)


if __name__ == "__main__":
    main()
