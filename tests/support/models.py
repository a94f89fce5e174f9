"""Tiny models and tokenizers of every sort, made from a config and some made-up sentences.

Weights are drawn much wider than models are initialised with, so that what stands around a token
matters: a wrong mask or position is seen in a score's first digits.
"""

import importlib
import json
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

WINDOW = 96  # tokens, of those models that have one
_HF: Any = importlib.import_module("transformers")
_HF.utils.logging.disable_progress_bar()
_XLNET = ("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>")
Make = Callable[[Path], Path]


# --- tokenizers ---------------------------------------------------------------------------------


def _trained(tokenizer: Tokenizer, trainer: Any) -> Any:
    """What a tokenizer has learnt from the texts, as its file says it."""
    tokenizer.train_from_iterator(TEXTS, trainer)
    return json.loads(tokenizer.to_str())["model"]


@cache
def _byte_bpe(*special: str) -> dict[str, Any]:
    """Vocabulary and merges of a byte-level BPE in GPT-2's manner."""
    tokenizer = Tokenizer(algorithms.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters = pre_tokenizers.ByteLevel.alphabet()
    told = {"vocab_size": 420, "special_tokens": list(special), "initial_alphabet": letters}
    learnt = _trained(tokenizer, trainers.BpeTrainer(**told, show_progress=False))
    return {"vocab": learnt["vocab"], "merges": [tuple(pair) for pair in learnt["merges"]]}


@cache
def _metaspace_bpe(*special: str) -> dict[str, Any]:
    """Vocabulary and merges in Llama's manner: rare characters fall back to their bytes."""
    tokenizer = Tokenizer(algorithms.BPE(byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    first = [*special, *(f"<0x{byte:02X}>" for byte in range(256))]
    told = {"vocab_size": 520, "limit_alphabet": 60, "special_tokens": first}
    learnt = _trained(tokenizer, trainers.BpeTrainer(**told, show_progress=False))
    return {"vocab": learnt["vocab"], "merges": [tuple(pair) for pair in learnt["merges"]]}


@cache
def _word_pieces(*, lower: bool) -> dict[str, int]:
    """Vocabulary of a WordPiece in BERT's manner."""
    tokenizer = Tokenizer(algorithms.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lower)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    told = {"vocab_size": 300, "special_tokens": special, "show_progress": False}
    found: dict[str, int] = _trained(tokenizer, trainers.WordPieceTrainer(**told))["vocab"]
    return found


@cache
def _unigram(*special: str, last: tuple[str, ...] = ()) -> list[tuple[str, float]]:
    """Pieces and their log-probabilities in SentencePiece's manner, special tokens around them."""
    tokenizer = Tokenizer(algorithms.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=True)
    told = {"vocab_size": 300, "special_tokens": ["<unk>"], "unk_token": "<unk>"}
    learnt = _trained(tokenizer, trainers.UnigramTrainer(**told, show_progress=False))["vocab"]
    edge = [[(piece, 0.0) for piece in pieces] for pieces in (special, last)]
    return [*edge[0], *((piece, float(score)) for piece, score in learnt[1:]), *edge[1]]


# --- models -------------------------------------------------------------------------------------


def _save(folder: Path, name: str, tokenizer: Any, spare: int = 0, **settings: Any) -> Path:
    """Make a model of a class of transformers and save it beside its tokenizer.

    ``spare`` are rows of the vocabulary that no token has, as many a published model has some.
    """
    kind = getattr(_HF, name)
    ids = {
        f"{part}_token_id": getattr(tokenizer, f"{part}_token_id")
        for part in ("bos", "eos", "pad")
        if getattr(tokenizer, f"{part}_token_id", None) is not None
    }
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
    return {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": WINDOW,
        **other,
    }


def gpt2(folder: Path) -> Path:
    """Byte BPE, no prefix space, BOS = EOS, learnt positions."""
    tokenizer = _HF.GPT2Tokenizer(**_byte_bpe("<|endoftext|>"))
    return _save(
        folder, "GPT2LMHeadModel", tokenizer, n_embd=32, n_layer=2, n_head=4, n_positions=WINDOW
    )


def llama(folder: Path) -> Path:
    """Metaspace BPE with bytes to fall back to; adds BOS by itself; rotary, grouped heads."""
    tokenizer = _HF.LlamaTokenizer(**_metaspace_bpe("<unk>", "<s>", "</s>"), add_bos_token=True)
    settings = _deep(num_key_value_heads=2)
    return _save(folder, "LlamaForCausalLM", tokenizer, spare=8, **settings)


def qwen2(folder: Path) -> Path:
    """No BOS, but a token for the end of a text."""
    tokenizer = _HF.Qwen2Tokenizer(**_byte_bpe("<|endoftext|>"))
    tokenizer.bos_token = None
    return _save(folder, "Qwen2ForCausalLM", tokenizer, **_deep(num_key_value_heads=2))


def neox(folder: Path) -> Path:
    """Neither a token for the beginning nor one for the end of a text."""
    learnt = _byte_bpe("<pad>")
    made = Tokenizer(algorithms.BPE(**learnt))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer = _HF.PreTrainedTokenizerFast(tokenizer_object=made, pad_token="<pad>")
    settings = _deep(bos_token_id=None, eos_token_id=None)
    return _save(folder, "GPTNeoXForCausalLM", tokenizer, **settings)


def mistral(folder: Path) -> Path:
    """A sliding window of eight tokens: what lies further back is not seen."""
    tokenizer = _HF.LlamaTokenizer(**_metaspace_bpe("<unk>", "<s>", "</s>"), add_bos_token=True)
    settings = _deep(num_key_value_heads=2, sliding_window=8)
    return _save(folder, "MistralForCausalLM", tokenizer, **settings)


def bloom(folder: Path) -> Path:
    """ALiBi: positions are no input; adds nothing by itself."""
    made = Tokenizer(algorithms.BPE(**_byte_bpe("<unk>", "<s>", "</s>", "<pad>")))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    names = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    tokenizer = _HF.PreTrainedTokenizerFast(tokenizer_object=made, **names)
    return _save(folder, "BloomForCausalLM", tokenizer, hidden_size=32, n_layer=2, n_head=4)


def mamba(folder: Path) -> Path:
    """No attention at all: what is masked is not hidden."""
    tokenizer = _HF.GPT2Tokenizer(**_byte_bpe("<|endoftext|>"))
    settings = {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}
    return _save(folder, "MambaForCausalLM", tokenizer, **settings)


def bert(folder: Path, *, lower: bool = False, name: str = "BertForMaskedLM") -> Path:
    """WordPiece, segments, learnt positions; without a next-sentence head."""
    tokenizer = _HF.BertTokenizer(vocab=_word_pieces(lower=lower), do_lower_case=lower)
    return _save(folder, name, tokenizer, **_deep())


def bert_uncased(folder: Path) -> Path:
    """The same, lower-casing and without accents."""
    return bert(folder, lower=True)


def bert_pretrained(folder: Path) -> Path:
    """BERT as it was published: with the next-sentence head beside the other."""
    return bert(folder, name="BertForPreTraining")


def distilbert(folder: Path) -> Path:
    """BERT without segments."""
    tokenizer = _HF.BertTokenizer(vocab=_word_pieces(lower=False), do_lower_case=False)
    settings = {"dim": 32, "hidden_dim": 64, "n_layers": 2, "n_heads": 4}
    settings["max_position_embeddings"] = WINDOW
    return _save(folder, "DistilBertForMaskedLM", tokenizer, **settings)


def electra(folder: Path) -> Path:
    """Embeddings narrower than the layers."""
    tokenizer = _HF.BertTokenizer(vocab=_word_pieces(lower=True), do_lower_case=True)
    return _save(folder, "ElectraForMaskedLM", tokenizer, **_deep(embedding_size=16))


def roberta(folder: Path) -> Path:
    """Byte BPE, words begin with their space, positions count from beyond padding."""
    tokenizer = _HF.RobertaTokenizer(**_byte_bpe("<s>", "<pad>", "</s>", "<unk>", "<mask>"))
    tokenizer.model_max_length = WINDOW  # as its published ones say
    settings = _deep(max_position_embeddings=WINDOW + 2, type_vocab_size=1)
    return _save(folder, "RobertaForMaskedLM", tokenizer, **settings)


def xlm_roberta(folder: Path) -> Path:
    """Unigram, spaces belong to words, positions count from beyond padding."""
    pieces = _unigram("<s>", "<pad>", "</s>", "<unk>", last=("<mask>",))
    tokenizer = _HF.XLMRobertaTokenizer(vocab=pieces)
    settings = _deep(max_position_embeddings=WINDOW + 2, type_vocab_size=1)
    return _save(folder, "XLMRobertaForMaskedLM", tokenizer, **settings)


def albert(folder: Path) -> Path:
    """One layer's weights used twice; lower-casing Unigram."""
    pieces = _unigram("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
    tokenizer = _HF.AlbertTokenizer(vocab=pieces)
    return _save(folder, "AlbertForMaskedLM", tokenizer, **_deep(embedding_size=16))


def deberta(folder: Path) -> Path:
    """Positions are relative and enter the attention itself."""
    pieces = _unigram("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    tokenizer = _HF.DebertaV2Tokenizer(vocab=pieces)
    settings = _deep(relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=16)
    settings |= {"max_relative_positions": WINDOW, "position_biased_input": False}
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
    tokenizer = _HF.BartTokenizer(**_byte_bpe("<s>", "<pad>", "</s>", "<unk>", "<mask>"))
    sizes = {f"{side}_{what}": n for side in ("encoder", "decoder") for what, n in _SIDES}
    settings = {
        "d_model": 32,
        "max_position_embeddings": WINDOW,
        "decoder_start_token_id": 2,
        **sizes,
    }
    return _save(folder, "BartForConditionalGeneration", tokenizer, **settings)


def mbart(folder: Path) -> Path:
    """Texts end with the token of their language, and the decoder starts with it."""
    pieces = _unigram("<s>", "<pad>", "</s>", "<unk>")
    tokenizer = _HF.MBartTokenizer(vocab=pieces, src_lang="en_XX", tgt_lang="en_XX")
    settings = {"d_model": 32, "max_position_embeddings": WINDOW}
    settings |= {f"{side}_{what}": n for side in ("encoder", "decoder") for what, n in _SIDES}
    return _save(folder, "MBartForConditionalGeneration", tokenizer, **settings)


_SIDES = (("layers", 2), ("attention_heads", 4), ("ffn_dim", 64))
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
