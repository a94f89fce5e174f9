"""Measure the speed and memory of scoring CATs with language models, here and with other tools.

Makes a model of the shape of GPT-2 small and one of the shape of BERT base, with seeded random
weights and tokenizers trained on the given CATs. Then scores a fixed random part of the CATs with
curation and with the other tools (peers), in turns and each in its own process. The peers have an
environment of their own, which is made at the first run (about 1 GB). Times are the median of three
passes; tokenisation counts, opening the model does not.

=================== ================================== ==============================
row                 ours                               compared with
=================== ================================== ==============================
sentence            ll-bos, intrasentence              lm-eval and minicons, batch 32
sentence-public     the same, public calls only        lm-eval
conditional         conditional, intersentence         lm-eval and minicons, batch 32
attribute           attribute-code, intrasentence      one at a time, as StereoSet
pll                 pll, intrasentence                 minicons, batch 8
nsp                 nsp, intersentence                 one at a time, as StereoSet
=================== ================================== ==============================

The columns:

* «limit/s» is the rate of the smallest computation that any exact scorer needs, at the best rate at
  which these cores multiply matrices of the models' shapes (the better of torch and oneDNN). For
  each CAT that is its prefix tree, or for masked models its different rows, through all linear
  layers and the attention (2 FLOPs per multiplication and addition), with the vocabulary only where
  it is read. «of limit» is our rate as a share of it. We may compute less if CATs begin alike.
* «tokens» is the number of tokens that we give the model for a CAT, «least» that of the limit.
* «differs» is the largest relative difference between our scores and the peer's.
* «MB» is the peak memory of each process, including weights that are mapped from their file.
* «by CPU» is the ratio of CPU seconds. Times on a busy machine are noise: the row then has a star,
  and «by CPU» says more than «ratio».
* «aim» is the ratio that was reached on a machine where oneDNN was 2.2 times as fast as torch's own
  library; the first line of the output has that factor for this machine.
* The last column says whether our layers used oneDNN.

    python benchmarks/scoring.py [FILE] [--cats 100] [--rows sentence,pll] [--passes 3] [--quick]

FILE is JSON lines with ``id, bias_type, target, context, stereotype, anti-stereotype, unrelated``,
with a BLANK in the context of intrasentence CATs. The default is StereoSet's development set, if it
is in ``../shared/realdata``.
"""

import argparse
import importlib.util
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, NamedTuple

from curation.models.rules import ScoringRequest

ROOT = Path(__file__).parents[1]
REAL = ROOT.parent / "shared" / "realdata" / "stereoset" / "dev_cats.jsonl"
GOLDS = ("stereotype", "anti-stereotype", "unrelated")
BLANK = "BLANK"
BUSY = 0.1  # share of the cores that other programs use, from which on times are noise
SHARDS = {"pll": 32, "nsp": 32}  # CATs scored in one go, as «curation scores models» does
SHARD = 128
WIDTH, DEPTH = 768, 12
VOCABULARY = {"causal": 50_257, "masked": 30_522}


class Cat(NamedTuple):
    """A CAT's context, and the scoring requests of its three associations."""

    context: str
    asks: list[ScoringRequest]


class Row(NamedTuple):
    """A row: our rule, the model's family, the kind, peers with the ratio aimed at.

    ``part`` is the share of --cats that this row scores.
    """

    rule: str
    family: str
    kind: str
    peers: dict[str, float | None]
    part: float = 1.0
    private: bool = True


ROWS = {
    "sentence": Row("ll-bos", "causal", "intrasentence", {"lm-eval": 4.5, "minicons": None}),
    "sentence-public": Row("ll-bos", "causal", "intrasentence", {"lm-eval": 2.0}, private=False),
    "conditional": Row(
        *("conditional", "causal", "intersentence"), {"lm-eval": 3.5, "minicons-conditional": None}
    ),
    "attribute": Row(
        *("attribute-code", "masked", "intrasentence"), {"stereoset-attribute": 20.0}, part=0.4
    ),
    "pll": Row("pll", "masked", "intrasentence", {"minicons-pll": 3.5}, part=0.2),
    "nsp": Row("nsp", "masked", "intersentence", {"stereoset-nsp": 5.0}, part=0.4),
}


# --- texts and models -----------------------------------------------------------------------------


def read(path: Path) -> dict[str, list[Cat]]:
    """Read CATs by kind."""
    from curation.records import Cat as Record
    from curation.records import CatAssociation
    from curation.scores.asking import questions

    found: dict[str, list[Cat]] = {"intrasentence": [], "intersentence": []}
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        kind = "intrasentence" if BLANK in row["context"] else "intersentence"
        if row["context"].count(BLANK) > 1:  # StereoSet's code reads these differently
            continue
        options = tuple(
            CatAssociation(id=f"{row['id']}-{gold}", sentence=row[gold], gold=gold)
            for gold in GOLDS
        )
        record = Record(
            id=row["id"], kind=kind, domain=row["bias_type"], term=row["target"],
            target=row["target"], family=row["target"], split="dev", context=row["context"],
            associations=options,
        )  # fmt: skip
        asks = [question.ask for question in questions(record)]
        found[kind].append(Cat(record.context, asks))
    return found


def make_models(folder: Path, texts: Sequence[str]) -> dict[str, Path]:
    """Make the two models; return their folders."""
    import torch
    from transformers import BertConfig, BertForPreTraining, GPT2Config, GPT2LMHeadModel

    torch.manual_seed(1)
    causal = _byte_bpe(texts)
    end = causal.eos_token_id
    config = GPT2Config(vocab_size=VOCABULARY["causal"], bos_token_id=end, eos_token_id=end)
    models: dict[str, tuple[Any, Any]] = {
        "causal": (GPT2LMHeadModel(config), causal),
        "masked": (
            BertForPreTraining(BertConfig(vocab_size=VOCABULARY["masked"])),
            _word_pieces(texts),
        ),
    }
    for name, (model, tokenizer) in models.items():
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    return {name: folder / name for name in models}


def _byte_bpe(texts: Sequence[str]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    end = "<|endoftext|>"
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY["causal"], min_frequency=2, special_tokens=[end], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=end, eos_token=end, pad_token=end
    )


def _word_pieces(texts: Sequence[str]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=VOCABULARY["masked"], min_frequency=2, special_tokens=special,
        show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )  # fmt: skip
    names = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **{f"{name}_token": token for name, token in names.items()},
    )


# --- what runs in a process of its own ------------------------------------------------------------


def open_ours(request: dict[str, Any]) -> Callable[[list[Any]], list[float]]:
    """Our scorer for a request; for «rates», the function that measures this machine."""
    import torch

    torch.set_num_threads(request["threads"])
    if request["peer"] == "rates":
        return rates
    rule = request["rule"]
    if rule == "nsp":
        from curation.models import nsp

        head = nsp.load_next_sentence(request["model"], device="cpu")

        about = head.loaded.about

        def scored(asks: list[ScoringRequest]) -> list[Any]:
            return nsp.score(head, rule, asks)
    else:
        from curation.models import causal, masked
        from curation.models.faster import quicken
        from curation.models.forward import Runner
        from curation.models.loading import load

        loaded = load(request["model"], device="cpu")  # as the peers
        quicken(loaded, private=request["private"])
        runner, about = Runner(loaded), loaded.about
        module = causal if loaded.family == "causal" else masked

        def scored(asks: list[ScoringRequest]) -> list[Any]:
            return module.score(runner, rule, asks)

    def score(items: list[Any]) -> list[float]:
        asks = [ScoringRequest(*item[:-1], tuple(item[-1])) for item in items]
        size = 3 * SHARDS.get(rule, SHARD)
        return [
            float(value)
            for start in range(0, len(asks), size)
            for value in scored(asks[start : start + size])
        ]

    score.about = {"linear": about.get("linear", "torch")}
    return score


def rates(shapes: list[list[int]]) -> list[float]:
    """FLOPs per second of matrix products (rows, in, out), and the speed-up by oneDNN."""
    import torch

    from curation.models.faster import PackedLinear

    best, gains = [], []
    for rows, width, out in shapes:
        x, layer = torch.randn(rows, width), torch.nn.Linear(width, out)
        ways = [layer]
        with suppress(AttributeError, RuntimeError):  # some versions of torch lack the operation
            ways.append(PackedLinear(layer.weight.detach(), layer.bias.detach()))
        with torch.inference_mode():
            found = [2 * rows * width * out / _least(way, x) for way in ways]
        best.append(max(found))
        gains.append(found[-1] / found[0])
    return [*best, median(gains)]


def _least(layer: Any, x: Any) -> float:
    seconds, end = [], time.perf_counter() + 0.4
    while time.perf_counter() < end or len(seconds) < 5:
        start = time.perf_counter()
        layer(x)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


# --- the limit ------------------------------------------------------------------------------------


class Work(NamedTuple):
    """The FLOPs that any exact scorer needs, their tokens, and the tokens that we compute."""

    flops: float
    tokens: int
    ours: int


def work(row: Row, folder: Path, cats: Sequence[Cat]) -> Work:
    """The work of a row's CATs, each CAT by itself."""
    if row.rule == "nsp":
        return _work_of_pairs(folder, cats)
    recorder = Recorder(folder, row.family)
    module = recorder.module
    flops, tokens = 0.0, 0
    for cat in cats:
        recorder.texts.clear()
        module.score(recorder, row.rule, cat.asks)
        seen, reads = _least_tokens(recorder.texts, tree=row.family == "causal")
        tokens += len(seen)
        flops += _body(seen) + reads * _head(row.family)
    recorder.texts.clear()
    module.score(recorder, row.rule, [ask for cat in cats for ask in cat.asks])
    from curation.models.forward import blocks, tries

    layout = (tries if row.family == "causal" else blocks)(recorder.texts)
    return Work(flops, tokens, sum(map(len, layout.rows)))


class Recorder:
    """Takes the place of a ``Runner``: keeps the texts, computes nothing."""

    def __init__(self, folder: Path, family: str) -> None:
        from transformers import AutoTokenizer

        from curation.models import causal, masked

        self.module: Any = causal if family == "causal" else masked
        self.loaded = SimpleNamespace(tokenizer=AutoTokenizer.from_pretrained(folder), window=512)
        self.texts: list[Any] = []

    def log_probs(self, texts: Sequence[Any], _tell: Any = None) -> list[Any]:
        """One zero for each read."""
        import numpy as np

        self.texts += texts
        return [np.zeros(len(text.reads)) for text in texts]


def _least_tokens(texts: Sequence[Any], *, tree: bool) -> tuple[list[int], int]:
    """How many tokens each distinct token sees, and at how many positions something is read."""
    seen: dict[tuple[Any, ...], int] = {}
    reads = set()
    for text in texts:
        ids = tuple(text.ids)
        if tree:  # a token is its prefix; tokens after the last read need no computation
            for place in range(max((place for place, _ in text.reads), default=-1) + 1):
                seen[ids[: place + 1]] = place + 1
            reads |= {ids[: place + 1] for place, _ in text.reads}
        else:
            seen |= {(ids, place): len(ids) for place in range(len(ids))}
            reads |= {(ids, place) for place, _ in text.reads}
    return list(seen.values()), len(reads)


def _work_of_pairs(folder: Path, cats: Sequence[Cat]) -> Work:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    sizes = [
        len(ids)
        for cat in cats
        for ids in {tuple(tokenizer(a.context, a.sentence)["input_ids"]) for a in cat.asks}
    ]
    flops = sum(_body([size] * size) for size in sizes) + 2.0 * WIDTH**2 * len(sizes)
    return Work(flops, sum(sizes), sum(sizes))


def _body(seen: Sequence[int]) -> float:
    """FLOPs of twelve layers: four square projections, two of four widths, and the attention."""
    return DEPTH * (2.0 * 12 * WIDTH**2 * len(seen) + 4.0 * WIDTH * sum(seen))


def _head(family: str) -> float:
    dense = WIDTH**2 if family == "masked" else 0
    return 2.0 * (dense + WIDTH * VOCABULARY[family])


# --- measuring ------------------------------------------------------------------------------------


def peer_items(peer: str, cats: Sequence[Cat]) -> list[Any]:
    """A peer's items, in the order of our requests."""
    asks = [(cat, ask) for cat in cats for ask in cat.asks]
    if peer == "lm-eval":
        return [("" if a.kind == "intrasentence" else a.context, a.sentence) for _, a in asks]
    if peer in ("minicons", "minicons-pll"):
        return [ask.text for _, ask in asks]
    if peer == "stereoset-attribute":
        return [(cat.context, ask.attribute) for cat, ask in asks]
    return [(ask.context, ask.sentence) for _, ask in asks]


def busy() -> float:
    """The share of the cores in use, measured for a second; 0 if it cannot be measured."""

    def ticks() -> tuple[int, int]:
        numbers = [int(n) for n in Path("/proc/stat").read_text("ascii").split("\n")[0].split()[1:]]
        return sum(numbers[:8]), numbers[3] + numbers[4]

    if not Path("/proc/stat").exists():
        return 0.0
    total, idle = ticks()
    time.sleep(1)
    after, idle_after = ticks()
    return 1 - (idle_after - idle) / max(1, after - total)


class Measured(NamedTuple):
    """Wall-clock and CPU seconds of the median pass, scores, and peak memory in MB."""

    seconds: float
    cpu: float
    values: list[float]
    peak: float


def by_turns(
    workers: dict[str, Any], items: dict[str, list[Any]], passes: int
) -> dict[str, Measured]:
    """Measure every worker; one works while the others wait."""
    answers: dict[str, list[Any]] = {name: [] for name in workers}
    for turn in range(passes + 1):
        for name, worker in workers.items():
            answer = worker.score(items[name] if turn else items[name][:12])  # the first warms up
            answers[name] += [answer] if turn else []
    return {
        name: Measured(
            median(a.seconds for a in all_),
            median(a.cpu for a in all_),
            all_[-1].values,
            all_[-1].peak,
        )
        for name, all_ in answers.items()
    }


def measure(
    name: str, row: Row, folder: Path, cats: Sequence[Cat], options: Any, rate: float
) -> str:
    """Measure a row; return its lines of the table."""
    from support.peers import Worker, peers

    asks = [ask for cat in cats for ask in cat.asks]
    items = {"ours": [list(ask) for ask in asks]}
    with ExitStack() as stack:
        ours = Worker([sys.executable, __file__, "--serve"], threads=options.threads)
        workers = {"ours": stack.enter_context(ours)}
        linear = ours.open("ours", folder, rule=row.rule, private=row.private)["linear"]
        for peer in row.peers:
            workers[peer] = stack.enter_context(peers(threads=options.threads))
            workers[peer].open(peer, folder)
            items[peer] = peer_items(peer, cats)
        before = busy()  # all workers wait
        found = by_turns(workers, items, options.passes)
        noise = max(before, busy()) > BUSY
    todo = work(row, folder, cats)
    mine = found["ours"]
    limit = len(cats) * rate / todo.flops
    speed = len(cats) / mine.seconds
    lines = []
    for peer, aim in row.peers.items():
        other = found[peer]
        theirs = len(cats) / other.seconds
        differs = max(abs(a - b) / abs(b) for a, b in zip(mine.values, other.values, strict=True))
        lines.append(
            f"{name + ('*' if noise else ''):17}{peer:21}{len(cats):5}{speed:8.1f}{theirs:8.1f}"
            f"{speed / theirs:7.2f}{other.cpu / mine.cpu:8.2f}{aim or '–':>6}"
            f"{limit:8.1f}{speed / limit:9.0%}{todo.ours / len(cats):8.1f}"
            f"{todo.tokens / len(cats):8.1f}{mine.peak:8.0f}{other.peak:8.0f}{differs:9.0e}"
            f"  {linear}"
        )
    return "\n".join(lines)


HEAD = (
    f"{'row':17}{'compared with':21}{'CATs':>5}{'CATs/s':>8}{'peer/s':>8}{'ratio':>7}{'by CPU':>8}"
    f"{'aim':>6}{'limit/s':>8}{'of limit':>9}{'tokens':>8}{'least':>8}"
    f"{'MB':>8}{'peer MB':>8}{'differs':>9}  our linear layers"
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, default=REAL)
    parser.add_argument(
        "--cats", type=int, default=100, help="per row; slow rows use a part of them"
    )
    parser.add_argument("--rows", default=",".join(ROWS), help="separated by commas")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="10 CATs, one pass")
    parser.add_argument("--models", type=Path, help="the folder to keep the models in")
    options = parser.parse_args()
    if options.quick:
        options.cats, options.passes = 10, 1
    if not options.file.is_file():
        sys.exit(f"{options.file} does not exist: name a file of CATs")
    cats = read(options.file)
    wanted = options.rows.split(",")
    if "nsp" in wanted and not importlib.util.find_spec("curation.models.nsp"):
        wanted.remove("nsp")
    with tempfile.TemporaryDirectory() as name:
        root = options.models or Path(name)
        texts = [ask.text for of_kind in cats.values() for cat in of_kind for ask in cat.asks]
        folders = {family: root / family for family in VOCABULARY}
        if not all((folder / "config.json").exists() for folder in folders.values()):
            folders = make_models(root, texts)
        rate, gain = machine(options.threads)
        print(
            f"{options.threads} threads, median of {options.passes}; matrices at {rate / 1e9:.0f} "
            f"GFLOP/s, oneDNN {gain:.2f} times as fast as torch's own library\n\n{HEAD}",
            flush=True,
        )
        for chosen in wanted:
            row = ROWS[chosen]
            size = max(3, round(options.cats * row.part))
            drawn = random.Random(1).sample(cats[row.kind], min(size, len(cats[row.kind])))
            drawn.sort(key=lambda cat: cat.context)  # as «curation scores models» does
            print(measure(chosen, row, folders[row.family], drawn, options, rate), flush=True)
    print("* other programs used the machine: these times are noise")


def machine(threads: int) -> tuple[float, float]:
    """The best rate of matrix products in FLOPs per second, and oneDNN's speed-up over torch."""
    from support.peers import Worker

    shapes = [
        [rows, *shape]
        for rows in (128, 256, 512)
        for shape in ((WIDTH, 3 * WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH))
    ]
    shapes.append([256, WIDTH, VOCABULARY["causal"]])
    with Worker([sys.executable, __file__, "--serve"], threads=threads) as worker:
        worker.open("rates", Path())
        *found, gain = worker.score(shapes).values
    return max(found), gain


if __name__ == "__main__":
    if "--serve" in sys.argv:
        from peers.scores import serve

        serve(open_ours)
    else:
        sys.path.append(str(ROOT / "tests"))
        main()
