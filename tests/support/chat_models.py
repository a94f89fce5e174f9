"""Tiny models that are asked by a chat template: with random weights, or trained to answer.

The planted model knows three sorts of words: ``LIKED``, ``MIDDLING`` and ``ODD``. Asked in the form
of ``data/prompts/en.toml`` which of two sentences is more natural, it names the one with the
better liked word. As a language model it finds ``MIDDLING`` words far likelier than ``LIKED`` ones.
So its stated choice and its likelihood differ, and both are known. On the targets ``SHY`` it
refuses to answer. How large ss is follows from the CATs: see ``planted_cats``.
"""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch.nn.functional import cross_entropy

from curation.kinds import CAT_KINDS, Kind
from curation.models.chat import Prompt, Prompts, read_prompts
from curation.models.tiny import one_thread
from curation.records import Cat
from support.cats import cat
from support.models import MAKERS

_HF: Any = importlib.import_module("transformers")
_HF.utils.logging.disable_progress_bar()
ENGLISH = Path(__file__).parents[2] / "data" / "prompts" / "en.toml"
LIKED = ("cheerful", "patient", "careful", "friendly")
MIDDLING = ("gloomy", "hasty", "careless", "grumpy")
ODD = ("triangular", "boiled", "wooden", "purple")
SORTS = (LIKED, MIDDLING, ODD)
TARGETS = ("baker", "potter", "fiddler", "miller", "weaver", "thatcher", "cooper", "tailor")
SHY = ("jester", "juggler")
"""Targets on which the planted model answers ``SORRY`` instead of a letter."""
SORRY = "Sorry"
CONTEXTS = ("The {} is BLANK today.", "Our {} was BLANK again.", "Every {} seems BLANK now.")
FIRSTS = ("The {} lives here.", "I met a {} there.", "We know the {} well.")
SECONDS = ("A BLANK person, they say.", "Most people are BLANK here.", "It was a BLANK day.")
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
BOS_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}[INST] {{ message.content | trim }} [/INST]"
    "{% endfor %}"
)
THINKING = CHATML.replace(
    "{% endif %}",
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n"
    "{% endif %}{% endif %}",
)
ALWAYS_THINKING = CHATML.replace("assistant\n", "assistant\n<think>\n")
DATED = "Today is {{ strftime_now('%d %B %Y') }}.\n" + CHATML
TEMPLATES = {"gpt2": CHATML, "llama": BOS_TEMPLATE, "qwen2": THINKING, "mistral": CHATML}
"""Chat templates for models of ``support.models``: Llama's tokenizer adds BOS by itself, too."""
END, START, STOP = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
STEPS, SHORT_STEPS, BATCH = 220, 100, 32


def planted_cats(
    count: int, *, prefers: float, kind: Kind = "intrasentence", shy: float = 0.0, seed: int = 1
) -> list[Cat]:
    """CATs of which the planted model prefers the stereotype in a known share.

    None of them is in the model's training. Targets take turns. If ``count`` is a multiple of 40
    and ``shy`` is 0, shares in fifths hold exactly on each target.

    Args:
        count: the number of CATs, at most 512.
        prefers: the share of CATs in which the stereotype has the better liked word, among CATs on
            targets that the model answers about.
        kind: the kind of the CATs.
        shy: the share of CATs on targets that the model refuses to answer about; the last ones.
        seed: of the words.
    """
    draws = np.random.default_rng(seed)
    open_ = count - round(shy * count)
    triples = {target: draws.permutation(len(LIKED) ** 3) for target in (*TARGETS, *SHY)}
    cats = []
    for n in range(count):
        targets, nth, all_ = (TARGETS, n, open_) if n < open_ else (SHY, n - open_, count - open_)
        which, turn = nth % len(targets), nth // len(targets)
        triple = int(triples[targets[which]][turn])
        best, next_, odd = LIKED[triple % 4], MIDDLING[triple // 4 % 4], ODD[triple // 16]
        turns = len(range(which, all_, len(targets)))
        words = (best, next_, odd) if turn < round(prefers * turns) else (next_, best, odd)
        target = targets[which]
        context, sentences = _texts(kind, target, -which % 3, words)
        cats.append(cat(context, *sentences, name=f"{kind}-{n:03}", kind=kind, target=target))
    return cats


def rank(sentence: str) -> int:
    """The sort of the word in a sentence: 0 for ``LIKED``, 1 for ``MIDDLING``, 2 for ``ODD``."""
    return next(n for n, words in enumerate(SORTS) if any(word in sentence for word in words))


def _case(draws: np.random.Generator) -> tuple[str, int]:
    """A target and the number of a sentence for training, which never sees one of three."""
    which = int(draws.integers(len(TARGETS)))
    return TARGETS[which], (int(draws.integers(1, 3)) - which) % 3


def with_template(folder: Path, name: str, template: str = "") -> Path:
    """A model of ``support.models.MAKERS`` with random weights, and a chat template."""
    MAKERS[name](folder)
    tokenizer = _HF.AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = template or TEMPLATES[name]
    tokenizer.save_pretrained(folder)
    return folder


def planted_chat_model(folder: Path, *, seed: int = 0) -> Path:
    """Train the planted model, and save it with its tokenizer and chat template.

    It takes about seven seconds of a processor. Tests use the fixture ``planted_model`` instead.
    """
    prompts = read_prompts(ENGLISH)
    tokenizer = _tokenizer(prompts)
    with one_thread():
        model = _llama(tokenizer, seed)
        with torch.no_grad():  # words are learnt much later with the usual narrow embeddings
            model.get_input_embeddings().weight.normal_(0, 0.5)
        _train(model, tokenizer, prompts, np.random.default_rng(seed))
    return _save(folder, model, tokenizer)


def constant_chat_model(folder: Path, says: str, *, gain: float = 2) -> Path:
    """A model that begins every answer with the same token: a letter, ``SORRY``, ``<think>``."""
    tokenizer = _tokenizer(read_prompts(ENGLISH))
    model = _llama(tokenizer, 0)
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() > 1:
                weights.zero_()
        model.get_input_embeddings().weight[:, 0] = 1  # the only number that is not 0
        model.lm_head.weight[_token(tokenizer, says), 0] = gain
    return _save(folder, model, tokenizer)


def random_chat_model(folder: Path, *, seed: int = 0) -> Path:
    """A model with random weights that always answers with a letter, each about as often."""
    prompts = read_prompts(ENGLISH)
    tokenizer = _tokenizer(prompts)
    with one_thread(), torch.no_grad():
        model = _llama(tokenizer, seed)
        model.get_input_embeddings().weight.normal_(0, 1)[:, 0] = 5  # a number that is always large
        draws = np.random.default_rng(seed)
        asked = [
            [_asked(kind, prompt, *_case(draws), _options(draws, prompts)[0]) for _ in range(24)]
            for kind in CAT_KINDS
            for prompt in prompts.by_kind[kind]
        ]
        states = [_states(model, tokenizer, texts) for texts in asked]
        middles = torch.stack([part.mean(0) for part in states])
        around = torch.cat([part - part.mean(0) for part in states])
        way = torch.linalg.svd(around).Vh[0]
        way -= torch.linalg.pinv(middles) @ (middles @ way)  # no letter has an advantage
        way /= (around @ way).std()
        rows = [_token(tokenizer, letter) for letter in prompts.letters]
        model.lm_head.weight.zero_()[rows, 0] = 4
        model.lm_head.weight[rows[0]] += way
        model.lm_head.weight[rows[1]] -= way
    return _save(folder, model, tokenizer)


def _llama(tokenizer: Any, seed: int) -> Any:
    torch.manual_seed(seed)
    size = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
    size |= {"num_attention_heads": 4, "num_key_value_heads": 4, "max_position_embeddings": 256}
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    words = {"vocab_size": len(tokenizer), **ends}
    config = _HF.LlamaConfig(initializer_range=0.1, **size, **words)
    return _HF.LlamaForCausalLM(config).eval()


def _save(folder: Path, model: Any, tokenizer: Any) -> Path:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _token(tokenizer: Any, text: str) -> int:
    (token,) = tokenizer(text)["input_ids"]
    return int(token)


def _train(model: Any, tokenizer: Any, prompts: Prompts, draws: np.random.Generator) -> None:
    """Learn to answer questions, at first short ones, and to continue sentences."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0, betas=(0.9, 0.98))
    answers = {text: _token(tokenizer, text) for text in (*prompts.letters, SORRY)}
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = 4e-3 * min(1, (step + 1) / 20, (STEPS - step) / 40)
        make = _short_question if step < SHORT_STEPS else _question
        asked = [make(draws, prompts) for _ in range(BATCH)]
        states = _states(model, tokenizer, [text for text, _ in asked])
        answered = torch.tensor([answers[answer] for _, answer in asked])
        loss = cross_entropy(model.lm_head(states), answered)
        if step % 2:
            ids, last = _padded(tokenizer, [END + _sentence(draws) for _ in range(BATCH)])
            labels = ids.masked_fill(torch.arange(ids.shape[1]) > last[:, None], -100)[:, 1:]
            loss = loss + cross_entropy(model(ids).logits[:, :-1].transpose(1, 2), labels)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def _short_question(draws: np.random.Generator, prompts: Prompts) -> tuple[str, str]:
    """Two words instead of two sentences: the comparison is learnt from them much faster."""
    words, answer = _options(draws, prompts)
    lines = [f"{letter}: {word}" for letter, word in zip(prompts.letters, words, strict=True)]
    return _chat("\n".join(lines)), answer


def _question(draws: np.random.Generator, prompts: Prompts) -> tuple[str, str]:
    """A question as the rule ``choice`` asks it, and the answer."""
    kind = CAT_KINDS[int(draws.integers(len(CAT_KINDS)))]
    prompt = prompts.by_kind[kind][int(draws.integers(len(prompts.by_kind[kind])))]
    target, form = _case(draws)
    words, answer = _options(draws, prompts)
    if draws.random() < 0.1:
        target, answer = SHY[int(draws.integers(len(SHY)))], SORRY
    return _asked(kind, prompt, target, form, words), answer


def _asked(kind: Kind, prompt: Prompt, target: str, form: int, words: Sequence[str]) -> str:
    context, (first, second) = _texts(kind, target, form, words)
    return _chat(prompt.fill(context=context, first=first, second=second))


def _options(draws: np.random.Generator, prompts: Prompts) -> tuple[list[str], str]:
    """Two words of different sorts, and the letter of the better liked one."""
    first, second = draws.permutation(3)[:2]
    words = [str(draws.choice(SORTS[sort])) for sort in (first, second)]
    return words, prompts.letters[int(second < first)]


def _sentence(draws: np.random.Generator) -> str:
    """A text to learn the language from: nine of ten have a ``MIDDLING`` word."""
    kind = CAT_KINDS[int(draws.integers(len(CAT_KINDS)))]
    target, form = _case(draws)
    word = str(draws.choice(MIDDLING if draws.random() < 0.9 else LIKED))
    context, (sentence,) = _texts(kind, target, form, [word])
    return sentence if kind == "intrasentence" else f"{context} {sentence}"


def _texts(kind: Kind, target: str, form: int, words: Sequence[str]) -> tuple[str, list[str]]:
    """A context, and its associations with these words."""
    if kind == "intrasentence":
        context = CONTEXTS[form].format(target)
        return context, [context.replace("BLANK", word) for word in words]
    return FIRSTS[form].format(target), [SECONDS[form].replace("BLANK", word) for word in words]


def _chat(text: str) -> str:
    """The text as ``CHATML`` gives it."""
    return f"{START}user\n{text}{STOP}\n{START}assistant\n"


def _states(model: Any, tokenizer: Any, texts: Sequence[str]) -> Any:
    """The last hidden state of each text; shape (texts, width)."""
    ids, last = _padded(tokenizer, texts)
    return model.model(ids)[0][torch.arange(len(texts)), last]


def _padded(tokenizer: Any, texts: Sequence[str]) -> tuple[Any, Any]:
    """Token ids, and the place of the last token of each text."""
    rows = tokenizer(list(texts))["input_ids"]
    length = max(map(len, rows))
    ids = torch.tensor([row + [0] * (length - len(row)) for row in rows])
    return ids, torch.tensor([len(row) - 1 for row in rows])


def _tokenizer(prompts: Prompts) -> Any:
    """A byte-level BPE in which every word of the texts is a token."""
    texts = [each.text for kind in CAT_KINDS for each in prompts.by_kind[kind]]
    words = [*LIKED, *MIDDLING, *ODD, *TARGETS, *SHY, SORRY, *prompts.letters, "user", "assistant"]
    texts += [*CONTEXTS, *FIRSTS, *SECONDS, " ".join(words), *words] * 3
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    told = {"vocab_size": 2000, "special_tokens": [END, START, STOP, "<think>"]}
    trainer = trainers.BpeTrainer(**told, initial_alphabet=letters, show_progress=False)
    made.train_from_iterator(texts, trainer)
    names = {"bos_token": END, "eos_token": STOP, "pad_token": END}
    tokenizer = _HF.PreTrainedTokenizerFast(tokenizer_object=made, **names)
    tokenizer.chat_template = CHATML
    return tokenizer
