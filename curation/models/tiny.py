"""Make a tiny language model from a few texts, for the demo and for tests, never for results."""

import importlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel

from curation.records import Fields
from curation.work.run_folder import disk_errors

_HF: Any = importlib.import_module("transformers")  # its types are not all there
END, PAD, CLS, SEP, MASK, UNKNOWN = "<|end|>", "[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"
_HIDDEN = 0.15  # share of tokens that are masked in training


def make(
    folder: Path,
    texts: Sequence[str],
    *,
    family: Literal["causal", "masked"] = "causal",
    steps: int = 60,
    width: int = 32,
    layers: int = 2,
    vocabulary: int = 500,
    seed: int = 1,
) -> Path:
    """Train a tokenizer and a GPT-2 or BERT of a few thousand weights, and save both.

    Args:
        folder: the folder to save them in; transformers can load it.
        texts: the texts to learn from.
        family: causal (GPT-2, byte-level BPE) or masked (BERT, WordPiece).
        steps: steps of AdamW on batches of 32 texts; 0 leaves the weights random.
        width: the width of the hidden states.
        layers: the number of layers.
        vocabulary: the largest number of tokens.
        seed: the seed of weights and batches.

    Returns:
        The folder.
    """
    _HF.utils.logging.disable_progress_bar()
    _HF.utils.logging.set_verbosity_error()
    torch.manual_seed(seed)
    tokenizer = (_bpe if family == "causal" else _wordpiece)(texts, vocabulary)
    model = _model(family, len(tokenizer), width, layers)
    encoded = tokenizer(list(texts))["input_ids"]
    if family == "causal":
        end = tokenizer.eos_token_id
        encoded = [[end, *ids, end] for ids in encoded]
    with one_thread():
        _train(model, encoded, tokenizer, steps=steps)
    with disk_errors(folder):
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def _bpe(texts: Sequence[str], vocabulary: int) -> Any:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return _HF.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=END, eos_token=END, pad_token=END
    )


def _wordpiece(texts: Sequence[str], vocabulary: int) -> Any:
    # The vocabulary is the letters and the commonest words: WordPiece's own trainer would number
    # them differently each time.
    split = pre_tokenizers.BertPreTokenizer()
    words = Counter(word for text in texts for word, _ in split.pre_tokenize_str(text))
    letters = sorted({letter for word in words for letter in word})
    common = sorted(words, key=lambda word: (-words[word], word))
    special = [PAD, UNKNOWN, CLS, SEP, MASK]
    pieces = dict.fromkeys([*special, *letters, *(f"##{letter}" for letter in letters), *common])
    known = {piece: number for number, piece in enumerate(list(pieces)[:vocabulary])}
    tokenizer = Tokenizer(models.WordPiece(known, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = split
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{CLS} $A {SEP}",
        pair=f"{CLS} $A {SEP} $B:1 {SEP}:1",
        special_tokens=[(CLS, special.index(CLS)), (SEP, special.index(SEP))],
    )
    return _HF.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        unk_token=UNKNOWN,
        cls_token=CLS,
        sep_token=SEP,
        mask_token=MASK,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def _model(family: str, vocabulary: int, width: int, layers: int) -> Any:
    if family == "causal":
        ends: Fields = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
        shape: Fields = {"n_embd": width, "n_layer": layers, "n_head": 2, "n_positions": 128}
        return GPT2LMHeadModel(GPT2Config(vocab_size=vocabulary, **shape, **ends))
    return BertForMaskedLM(
        BertConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            num_hidden_layers=layers,
            num_attention_heads=2,
            intermediate_size=4 * width,
            max_position_embeddings=128,
        )
    )


@contextmanager
def one_thread() -> Iterator[None]:
    """Make and run tiny models on one thread, also on a busy machine.

    Several threads would only wait for each other, and the weights would depend on their number.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _train(model: Any, encoded: list[list[int]], tokenizer: Any, *, steps: int) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    # The rate falls to 0 in the second half: otherwise the end depends on the processor.
    falling = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: min(1, 2 - 2 * n / (steps or 1))
    )
    model.train()
    for _ in range(steps):
        chosen = [encoded[n] for n in torch.randint(len(encoded), (32,)).tolist()]
        length = max(map(len, chosen))
        pad = tokenizer.pad_token_id
        ids = torch.tensor([row + [pad] * (length - len(row)) for row in chosen])
        seen = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in chosen])
        labels = ids.masked_fill(seen == 0, -100)
        if tokenizer.mask_token_id is not None:
            hidden = (torch.rand(ids.shape) < _HIDDEN) & (seen == 1)
            labels = ids.masked_fill(~hidden, -100)
            ids = ids.masked_fill(hidden, tokenizer.mask_token_id)
            if not hidden.any():
                continue
        loss = model(input_ids=ids, attention_mask=seen, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        falling.step()
    model.eval()
