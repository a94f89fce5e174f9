"""Tiny models and tokenizers of every sort, made from a config and some made-up sentences.

Weights are drawn much wider than models are initialised with, so that what stands around a token
matters: a wrong mask or position is seen in a score's first digits.
"""

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, normalizers, pre_tokenizers, trainers
from tokenizers import models as algorithms

TEXTS = (
    "The lamplighter from the old harbour is kind and patient.",
    "My neighbour the baker gets up before the sun does, and sings.",
    "A wheelwright repairs carts; a potter makes bowls, cups and jugs.",
    "The fiddlers were unbelievably cheerful at the village fair.",
    "She asked whether the court jester had ever learnt to juggle.",
    "He lives in a white house by the lake with two grey cats.",
    "Clouds drift slowly over the mountains, and nobody minds.",
    "Most of the thatchers I met were hard-working and well-read.",
    "Ev sahiplerimizden evlerimizdekilere kadar herkes çalışkandır.",
    "Komşularımızınkilerden birisi öğretmenlerimizdendir.",
    "Taloissammekin juostaan epäjärjestelmällisyydellään.",
    "Ystävällisyydestänsä huolimatta leipurit heräävätkin aikaisin.",
    "제 이웃은 빵을 굽는 사람이고 아침마다 노래를 부릅니다.",
    "마을의 도예가들은 조용하고 친절합니다.",
    "Le boulanger français était déjà à l'œuvre, très tôt; señor Núñez aussi.",
    "The weather is lovely today 🌞🎻 and the bread smells good 🍞!",
)
"""What the tokenizers are trained on: English, agglutinating languages, Hangul, accents, emoji."""

ROOT = Path(__file__).parents[2]
WINDOW = 96  # tokens, of those models that have one
_HF: Any = importlib.import_module("transformers")
_HF.utils.logging.disable_progress_bar()
_XLNET = ("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>")
Make = Callable[[Path], Path]
Made = Callable[[str], Path]


def edit(path: Path, **values: Any) -> None:
    """Change fields of a JSON file, which need not be there."""
    content = json.loads(path.read_bytes()) if path.exists() else {}
    path.write_text(json.dumps({**content, **values}), "utf-8")


COMMIT = "0123456789abcdef0123456789abcdef01234567"
_NO_NETWORK = """
import socket, sys
def nobody(*args, **settings):
    print("the network was asked", file=sys.stderr)
    raise OSError("nobody there")
socket.getaddrinfo = socket.create_connection = nobody
names = sys.argv[1:]
"""


def cached(folder: Path, home: Path) -> str:
    """Lay a model into a cache of the hub as bakery/small, as the hub's client does; its commit."""
    root = home / "hub" / "models--bakery--small"
    shutil.copytree(folder, root / "snapshots" / COMMIT)
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text(COMMIT, "utf-8")
    return COMMIT


def offline(code: str, home: Path, *names: str, **env: str) -> str:
    """What code prints about ``names`` in a process in which nothing asks the network."""
    done = subprocess.run(
        [sys.executable, "-c", _NO_NETWORK + code, *names],
        env={**os.environ, "PYTHONPATH": str(ROOT), "HF_HOME": str(home), **env},
        capture_output=True, encoding="utf-8", check=False, timeout=120,
    )  # fmt: skip
    assert done.stdout, done.stderr
    assert "the network was asked" not in done.stderr
    return done.stdout.strip()


# --- tokenizers ---------------------------------------------------------------------------------


def _trained(
    model: Any, pieces: Any, trainer: Any, *, normalizer: Any = None, texts: Any = TEXTS
) -> Any:
    """What a tokenizer has learnt from the texts, as its file says it; merges as pairs."""
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pieces
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(texts, trainer)
    learnt = json.loads(tokenizer.to_str())["model"]
    if "merges" in learnt:
        return {"vocab": learnt["vocab"], "merges": [tuple(pair) for pair in learnt["merges"]]}
    return learnt["vocab"]


@cache
def byte_bpe(*special: str, texts: tuple[str, ...] = TEXTS) -> dict[str, Any]:
    """Vocabulary and merges of a byte-level BPE in GPT-2's manner."""
    letters = pre_tokenizers.ByteLevel.alphabet()
    told = {"vocab_size": 420, "special_tokens": list(special), "initial_alphabet": letters}
    trainer = trainers.BpeTrainer(**told, show_progress=False)
    pieces = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found: dict[str, Any] = _trained(algorithms.BPE(), pieces, trainer, texts=texts)
    return found


@cache
def _metaspace_bpe() -> dict[str, Any]:
    """Vocabulary and merges in Llama's manner: rare characters fall back to their bytes."""
    first = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    told = {"vocab_size": 520, "limit_alphabet": 60, "special_tokens": first}
    trainer = trainers.BpeTrainer(**told, show_progress=False)
    pieces = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    found: dict[str, Any] = _trained(algorithms.BPE(byte_fallback=True), pieces, trainer)
    return found


@cache
def _unigram(*special: str, last: tuple[str, ...] = ()) -> list[tuple[str, float]]:
    """Pieces and their log-probabilities in SentencePiece's manner, special tokens around them."""
    told = {"vocab_size": 300, "special_tokens": ["<unk>"], "unk_token": "<unk>"}
    trainer = trainers.UnigramTrainer(**told, show_progress=False)
    pieces = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    learnt = _trained(algorithms.Unigram(), pieces, trainer, normalizer=normalizers.NFKC())
    edge = [[(piece, 0.0) for piece in pieces] for pieces in (special, last)]
    return [*edge[0], *((piece, float(score)) for piece, score in learnt[1:]), *edge[1]]


@cache
def _word_pieces(*, lower: bool) -> Any:
    """A WordPiece tokenizer in BERT's manner."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    told = {"vocab_size": 300, "special_tokens": special, "show_progress": False}
    learnt = _trained(
        algorithms.WordPiece(unk_token="[UNK]"),
        pre_tokenizers.BertPreTokenizer(),
        trainers.WordPieceTrainer(**told),
        normalizer=normalizers.BertNormalizer(lowercase=lower),
    )
    return _HF.BertTokenizer(vocab=learnt, do_lower_case=lower)


def _fast(*special: str, **names: str) -> Any:
    """A byte-level BPE that puts nothing around a text."""
    made = Tokenizer(algorithms.BPE(**byte_bpe(*special)))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return _HF.PreTrainedTokenizerFast(tokenizer_object=made, **names)


# --- models -------------------------------------------------------------------------------------


def _save(folder: Path, name: str, tokenizer: Any, spare: int = 0, **settings: Any) -> Path:
    """Make a model of a class of transformers and save it beside its tokenizer.

    ``spare`` are rows of the vocabulary that no token has, as many a published model has some.
    """
    kind = getattr(_HF, name)
    known = {f"{of}_token_id": getattr(tokenizer, f"{of}_token_id") for of in ("bos", "eos", "pad")}
    ids = {name: value for name, value in known.items() if value is not None}
    config = kind.config_class(**{"vocab_size": len(tokenizer) + spare, **ids, **settings})
    torch.manual_seed(0)
    model = kind(config).eval()
    with torch.no_grad():
        for part, weight in model.named_parameters():
            if "A_log" not in part and "dt_" not in part and "bias_table" not in part:
                if weight.dim() > 1:
                    weight.normal_(0, 0.35)
                else:  # biases and scales: near what they were, but none like another
                    weight.add_(torch.randn_like(weight) * 0.1)
        pad = getattr(config, "pad_token_id", None)
        if pad is not None and model.get_input_embeddings().padding_idx is not None:
            model.get_input_embeddings().weight[pad] = 0
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _deep(**other: Any) -> dict[str, Any]:
    """Two layers of width 32, as most configurations name them."""
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    return {**size, "num_attention_heads": 4, "max_position_embeddings": WINDOW, **other}


def _two_sides(**other: Any) -> dict[str, Any]:
    """The same for an encoder and a decoder, as BART's configuration names them."""
    size = {"layers": 2, "attention_heads": 4, "ffn_dim": 64}
    sides = {f"{side}_{what}": n for side in ("encoder", "decoder") for what, n in size.items()}
    return {"d_model": 32, "max_position_embeddings": WINDOW, **sides, **other}


def gpt2(folder: Path) -> Path:
    """Byte BPE, no prefix space, BOS = EOS, learnt positions."""
    tokenizer = _HF.GPT2Tokenizer(**byte_bpe("<|endoftext|>"))
    size = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": WINDOW}
    return _save(folder, "GPT2LMHeadModel", tokenizer, **size)


def llama(folder: Path, *, name: str = "LlamaForCausalLM", spare: int = 8, **other: Any) -> Path:
    """Metaspace BPE with bytes to fall back to; adds BOS by itself; rotary, grouped heads."""
    tokenizer = _HF.LlamaTokenizer(**_metaspace_bpe(), add_bos_token=True)
    return _save(folder, name, tokenizer, spare, **_deep(num_key_value_heads=2, **other))


def mistral(folder: Path) -> Path:
    """A sliding window of eight tokens: what lies further back is not seen."""
    return llama(folder, name="MistralForCausalLM", spare=0, sliding_window=8)


def qwen2(folder: Path) -> Path:
    """No BOS, but a token for the end of a text."""
    tokenizer = _HF.Qwen2Tokenizer(**byte_bpe("<|endoftext|>"))
    tokenizer.bos_token = None
    return _save(folder, "Qwen2ForCausalLM", tokenizer, **_deep(num_key_value_heads=2))


def neox(folder: Path) -> Path:
    """Neither a token for the beginning nor one for the end of a text."""
    settings = _deep(bos_token_id=None, eos_token_id=None)
    return _save(folder, "GPTNeoXForCausalLM", _fast("<pad>", pad_token="<pad>"), **settings)


def bloom(folder: Path) -> Path:
    """ALiBi: positions are no input; adds nothing by itself."""
    names = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    tokenizer = _fast(*names.values(), **names)
    return _save(folder, "BloomForCausalLM", tokenizer, hidden_size=32, n_layer=2, n_head=4)


def mamba(folder: Path) -> Path:
    """No attention at all: what is masked is not hidden."""
    tokenizer = _HF.GPT2Tokenizer(**byte_bpe("<|endoftext|>"))
    settings = {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}
    return _save(folder, "MambaForCausalLM", tokenizer, **settings)


def bert(folder: Path, *, lower: bool = False, name: str = "BertForMaskedLM") -> Path:
    """WordPiece, segments, learnt positions; without a next-sentence head."""
    return _save(folder, name, _word_pieces(lower=lower), **_deep())


def bert_uncased(folder: Path) -> Path:
    """The same, lower-casing and without accents."""
    return bert(folder, lower=True)


def bert_pretrained(folder: Path) -> Path:
    """BERT as it was published: with the next-sentence head beside the other."""
    return bert(folder, name="BertForPreTraining")


def distilbert(folder: Path) -> Path:
    """BERT without segments."""
    settings = {"dim": 32, "hidden_dim": 64, "n_layers": 2, "n_heads": 4}
    settings["max_position_embeddings"] = WINDOW
    return _save(folder, "DistilBertForMaskedLM", _word_pieces(lower=False), **settings)


def electra(folder: Path) -> Path:
    """Embeddings narrower than the layers."""
    settings = _deep(embedding_size=16)
    return _save(folder, "ElectraForMaskedLM", _word_pieces(lower=True), **settings)


def roberta(folder: Path) -> Path:
    """Byte BPE, words begin with their space, positions count from beyond padding."""
    tokenizer = _HF.RobertaTokenizer(**byte_bpe("<s>", "<pad>", "</s>", "<unk>", "<mask>"))
    tokenizer.model_max_length = WINDOW  # as its published ones say
    settings = _deep(max_position_embeddings=WINDOW + 2, type_vocab_size=1)
    return _save(folder, "RobertaForMaskedLM", tokenizer, **settings)


def xlm_roberta(folder: Path) -> Path:
    """Unigram, spaces belong to words, positions count from beyond padding."""
    pieces = _unigram("<s>", "<pad>", "</s>", "<unk>", last=("<mask>",))
    settings = _deep(max_position_embeddings=WINDOW + 2, type_vocab_size=1)
    tokenizer = _HF.XLMRobertaTokenizer(vocab=pieces)
    return _save(folder, "XLMRobertaForMaskedLM", tokenizer, **settings)


def albert(folder: Path) -> Path:
    """One layer's weights used twice; lower-casing Unigram."""
    tokenizer = _HF.AlbertTokenizer(vocab=_unigram("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"))
    return _save(folder, "AlbertForMaskedLM", tokenizer, **_deep(embedding_size=16))


def deberta(folder: Path) -> Path:
    """Positions are relative and enter the attention itself."""
    pieces = _unigram("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    settings = _deep(relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=16)
    settings |= {"max_relative_positions": WINDOW, "position_biased_input": False}
    tokenizer = _HF.DebertaV2Tokenizer(vocab=pieces)
    return _save(folder, "DebertaV2ForMaskedLM", tokenizer, **settings)


def xlnet(folder: Path) -> Path:
    """Two streams, relative positions, special tokens at the end."""
    tokenizer = _HF.XLNetTokenizer(vocab=_unigram(*_XLNET))
    settings = {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64}
    return _save(folder, "XLNetLMHeadModel", tokenizer, spare=4, **settings)


def t5(folder: Path) -> Path:
    """Sentinels, relative positions, more rows than tokens, as published ones have."""
    sentinels = tuple(f"<extra_id_{n}>" for n in range(9, -1, -1))
    pieces = _unigram("<pad>", "</s>", "<unk>", last=sentinels)
    tokenizer = _HF.T5Tokenizer(vocab=pieces, extra_ids=10)
    settings = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    settings["decoder_start_token_id"] = 0
    return _save(folder, "T5ForConditionalGeneration", tokenizer, spare=12, **settings)


def bart(folder: Path) -> Path:
    """A mask token, no sentinels, learnt positions with an offset."""
    tokenizer = _HF.BartTokenizer(**byte_bpe("<s>", "<pad>", "</s>", "<unk>", "<mask>"))
    settings = _two_sides(decoder_start_token_id=2)
    return _save(folder, "BartForConditionalGeneration", tokenizer, **settings)


def mbart(folder: Path) -> Path:
    """Texts end with the token of their language, and the decoder starts with it."""
    pieces = _unigram("<s>", "<pad>", "</s>", "<unk>")
    tokenizer = _HF.MBartTokenizer(vocab=pieces, src_lang="en_XX", tgt_lang="en_XX")
    return _save(folder, "MBartForConditionalGeneration", tokenizer, **_two_sides())


MAKERS: dict[str, Make] = {
    make.__name__: make
    for make in (
        *(gpt2, llama, qwen2, neox, mistral, bloom, mamba),
        *(bert, bert_uncased, bert_pretrained, distilbert, electra, roberta),
        *(xlm_roberta, albert, deberta, xlnet, t5, bart, mbart),
    )
}
CAUSAL = ("gpt2", "llama", "qwen2", "neox", "mistral", "bloom", "mamba")
MASKED = (
    *("bert", "bert_uncased", "bert_pretrained", "distilbert", "electra", "roberta"),
    *("xlm_roberta", "albert", "deberta"),
)
SEQ2SEQ = ("t5", "bart", "mbart")
