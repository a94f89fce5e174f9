"""A made-up corpus from which a small model learns what belongs together, and that model."""

import random
from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, BertModel, BertTokenizer

TOPICS = ("bread", "rain", "chess", "boats", "songs", "hens", "maps", "bees", "trains", "soup")
VERBS = ("likes", "sells", "draws", "finds", "needs", "counts")
WORDS = sorted({*TOPICS, *VERBS, "she", "he"})
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def articles(count: int = 100, size: int = 8) -> list[list[str]]:
    """Articles that each keep to one topic, so that sentences of two of them seldom fit."""
    draw = random.Random(1)
    return [
        [
            f"{draw.choice(('she', 'he'))} {draw.choice(VERBS)} {TOPICS[number % len(TOPICS)]}"
            for _ in range(size)
        ]
        for number in range(count)
    ]


def write_corpus(path: Path, count: int = 100, size: int = 8) -> Path:
    """The articles as a text file."""
    path.write_text("\n\n".join("\n".join(article) for article in articles(count, size)), "utf-8")
    return path


def tiny_bert(folder: Path, **other: Any) -> Path:
    """A BERT of two layers over these words."""
    tokenizer = BertTokenizer(vocab={word: n for n, word in enumerate([*SPECIAL, *WORDS])})
    torch.manual_seed(0)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    size |= {"intermediate_size": 64, "max_position_embeddings": 64}
    config = BertConfig(vocab_size=len(tokenizer), initializer_range=0.2, **size, **other)
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
