"""Train a next-sentence head, and the body below it, on pairs of sentences.

As StereoSet does (ACL §6, arXiv §6.2): pairs of at most 256 tokens, batches of 80, learning rate
1e-5 that warms up and then falls to nothing in a straight line, ten epochs, mixed precision on a
GPU. Ours, where the paper is silent: AdamW with weight decay 0.01 on matrices, gradients clipped at
norm 1, dropout 0.1 before the head's logits, warm-up over a tenth of the steps but at least 50 and
at most 500 (and never more than half).

Whatever is drawn comes from the seed and the number of the epoch, and a checkpoint holds weights,
optimiser and the state of torch's random numbers. So a run that was killed goes on at its last
checkpoint and ends as if it had not been killed; on a CPU to the last bit.
"""

import math
from dataclasses import asdict, replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import torch

from curation.files import CurationError, dump_json, now, read_json, writing
from curation.models.corpus import Corpus, Pairs, divide, pairs
from curation.models.forward import free_memory, out_of_memory
from curation.models.loading import Loaded, called, load, versions
from curation.models.nsp import (
    POOLS,
    SETTINGS,
    TRAINED_NEXT,
    Head,
    NextSentenceModel,
    PairRunner,
    save_next_sentence,
)
from curation.models.packing import Row, Text
from curation.models.pairing import frame_of, texts
from curation.models.training_folder import (
    CHECKPOINT,
    REPORT,
    alone,
    ended,
    read_checkpoint,
    write_checkpoint,
)
from curation.models.training_settings import (
    PAPER,
    Tell,
    Told,
    Training,
    check,
    rate_at,
    warmup_steps,
)

_DECAY, _CLIP = 0.01, 1.0
_POOL = 100  # batches among which pairs of like length are put together: less padding
_HELD = 10_000  # held-out pairs laid out at once
_HELD_SEED = 1_000_000  # no epoch has this number


def train(
    wanted: Training,
    corpus: Corpus,
    out: Path,
    *,
    restart: bool = False,
    tell: Tell = lambda _: None,
) -> dict[str, Any]:
    """Train, or go on where a run of the same settings and corpus ended.

    Args:
        wanted: the settings.
        corpus: sentences of articles.
        out: a folder for the trained model; new, empty, or of an earlier run.
        restart: throw away what an earlier run left there.
        tell: told of progress.

    Returns:
        What ``training.json`` says: settings, versions, corpus, counts, losses and accuracies.

    Raises:
        CurationError: the folder holds something else, or a run of other settings; the model or
            the corpus does not serve; memory ran out; the loss is not finite.
    """
    check(wanted)
    out.mkdir(parents=True, exist_ok=True)
    with alone(out), torch.random.fork_rng():
        torch.manual_seed(wanted.seed)  # before loading, which may draw weights that nothing reads
        loaded, base = _model(wanted)
        says = {
            "settings": asdict(replace(wanted, model=called(wanted.model))),
            "base": base,
            "corpus": corpus.identity,
        }
        if ended(out, says, restart=restart):
            return dict(read_json(out / REPORT))
        with writing(out / SETTINGS) as file:
            file.write(dump_json(says))
        try:
            return Run(wanted, corpus, out, loaded, base, tell).run()
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            free_memory()
            raise CurationError(
                f"{wanted.model}: no memory for {wanted.batch} pairs in {wanted.accumulate} parts",
                f"give --accumulate {2 * wanted.accumulate} and --restart, or a shorter --length",
            ) from None


def _model(wanted: Training) -> tuple[Loaded, dict[str, Any]]:
    """The model with a fresh head, and what it was before."""
    loaded = load(
        wanted.model,
        head="none",
        dtype="float32",
        device=wanted.device,
        revision=wanted.revision,
        trust_remote_code=wanted.trust_remote_code,
    )
    if loaded.family not in POOLS:
        raise CurationError(
            f"{wanted.model}: an encoder-decoder model gets no next-sentence head",
            "take a causal or masked model, or XLNet",
        )
    body = loaded.model.requires_grad_(not wanted.freeze)
    head = Head(body.config.get_text_config().hidden_size).to(body.device)
    model = NextSentenceModel(body, head, pool=POOLS[loaded.family], follows=TRAINED_NEXT)
    base = {"model": loaded.about["model"], "revision": loaded.about["revision"]}
    return Loaded(loaded.name, loaded.family, model, loaded.tokenizer, loaded.about), base


def _precision(name: str, device: Any) -> str:
    cuda = device.type == "cuda"
    if name == "auto":
        if not cuda:
            return "float32"
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
    if name == "float16" and not cuda:
        raise CurationError("float16 trains on a GPU only", "take --precision bfloat16 or float32")
    return name


class Run:
    """One training, begun or gone on with."""

    def __init__(
        self,
        wanted: Training,
        corpus: Corpus,
        out: Path,
        loaded: Loaded,
        base: dict[str, Any],
        tell: Tell,
    ) -> None:
        self.wanted, self.corpus, self.out, self.tell = wanted, corpus, out, tell
        self.loaded, self.base, self.model = loaded, base, loaded.model
        window, least = loaded.window or 10**9, frame_of(loaded).size + 2
        if not least <= wanted.length <= window:
            raise CurationError(
                f"{wanted.model}: pairs of {wanted.length} tokens do not do",
                f"give a --length from {least} to {min(window, 10**6)}",
            )
        self.learnt, held = divide(corpus, share=wanted.held_out, seed=wanted.seed)
        self.held = pairs(corpus, held, seed=[wanted.seed, _HELD_SEED], limit=wanted.limit)
        self.sides = {"articles_held_out": len(held), "pairs_held_out": len(self.held.first)}
        self.pairs = len(self._drawn(0).first)
        self.per_epoch = -(-self.pairs // wanted.batch)
        self.steps = self.per_epoch * wanted.epochs
        self.warmup = warmup_steps(self.steps) if wanted.warmup is None else wanted.warmup
        self.warmup = min(self.warmup, self.steps - 1)
        self.precision = _precision(wanted.precision, self.model.device)
        parts = [part for part in self.model.parameters() if part.requires_grad]
        groups = [
            {"params": [part for part in parts if part.dim() > 1], "weight_decay": _DECAY},
            {"params": [part for part in parts if part.dim() < 2], "weight_decay": 0.0},
        ]
        self.optimizer = torch.optim.AdamW(groups, lr=wanted.lr)
        self.scaler = torch.amp.GradScaler(
            self.model.device.type, enabled=self.precision == "float16"
        )
        self._mode(learning=False)
        self.runner = PairRunner(loaded)
        self.step, self.history, self.losses = 0, list[dict[str, Any]](), [0.0, 0.0]
        self.seconds, self.continued = 0.0, 0

    def run(self) -> dict[str, Any]:
        """Train to the end and write everything."""
        self._go_on()
        begun = monotonic() - self.seconds
        self.tell(Told(self.step, self.steps, self.step // self.per_epoch + 1))
        while self.step < self.steps:
            epoch, done = divmod(self.step, self.per_epoch)
            drawn = self._drawn(epoch)
            for batch in self._order(drawn, epoch)[done:]:
                loss = self._learn([part[batch] for part in drawn])
                self.step += 1
                self.losses = [self.losses[0] + loss, self.losses[1] + 1]
                self.seconds = monotonic() - begun
                self.tell(Told(self.step, self.steps, epoch + 1, loss))
                if self.step % self.per_epoch and not self.step % self.wanted.checkpoint_every:
                    self._save()
            self._end_of_epoch(epoch + 1)
        return self._finish()

    # --- pairs ----------------------------------------------------------------------------------

    def _drawn(self, epoch: int) -> Pairs:
        seed = [self.wanted.seed, epoch]
        return pairs(self.corpus, self.learnt, seed=seed, limit=self.wanted.limit)

    def _order(self, drawn: Pairs, epoch: int) -> list[Any]:
        """Batches in the epoch's order, pairs of like length together."""
        draw, batch = np.random.default_rng([self.wanted.seed, epoch, 3]), self.wanted.batch
        sizes = self.corpus.sizes(drawn.first) + self.corpus.sizes(drawn.second)
        shuffled = draw.permutation(len(sizes))
        batches = []
        for start in range(0, len(shuffled), _POOL * batch):
            some = shuffled[start : start + _POOL * batch]
            some = some[np.argsort(sizes[some], kind="stable")]
            batches += [some[at : at + batch] for at in range(0, len(some), batch)]
        return [batches[n] for n in draw.permutation(len(batches))]

    def _texts(self, first: Any, second: Any, label: Any) -> list[Text]:
        sentence = self.corpus.sentence
        both = [(sentence(a), sentence(b)) for a, b in zip(first, second, strict=True)]
        made = texts(
            self.loaded, both, labels=label.tolist(), window=self.wanted.length, shorten=True
        )
        return [text for text in made if isinstance(text, Text)]

    # --- learning -------------------------------------------------------------------------------

    def _mode(self, *, learning: bool) -> None:
        self.model.body.train(learning and not self.wanted.freeze)
        self.model.head.train(learning)

    def _cast(self) -> Any:
        return torch.autocast(
            self.model.device.type,
            getattr(torch, self.precision),
            enabled=self.precision != "float32",
        )

    def _learn(self, batch: list[Any]) -> float:
        """One step; the batch's mean loss."""
        self._mode(learning=True)
        whole = [_row(text) for text in self._texts(*batch)]
        total = 0.0
        for part in np.array_split(np.arange(len(whole)), self.wanted.accumulate):
            rows = sorted((whole[n] for n in part), key=len, reverse=True)
            if not rows:
                continue
            labels = torch.tensor([row.reads[0][1] for row in rows], device=self.model.place)
            with self._cast():
                logits = self.runner.logits(rows).float()
            lost: Any = torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
            loss = lost / len(whole)
            self.scaler.scale(loss).backward()
            total += float(loss.detach())
        if not whole:
            return 0.0  # sentences without a token: nothing to learn
        if not math.isfinite(total):
            raise CurationError(
                f"step {self.step + 1}: the loss is {total}",
                "take a lower --lr, or --precision float32; with --restart",
            )
        share = rate_at(self.step, steps=self.steps, warmup=self.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = self.wanted.lr * share
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(
            [part for group in self.optimizer.param_groups for part in group["params"]], _CLIP
        )
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        return total

    def _accuracy(self) -> float:
        """Of the held-out pairs, the percentage that the head tells rightly."""
        self._mode(learning=False)
        right = count = 0
        for start in range(0, len(self.held.first), _HELD):
            some = self._texts(*(part[start : start + _HELD] for part in self.held))
            with self._cast():
                found = self.runner.log_probs(some)
            right += sum(math.exp(value[0]) > 0.5 for value in found)
            count += len(some)
        return 100 * right / max(count, 1)

    def _end_of_epoch(self, epoch: int) -> None:
        accuracy, loss = self._accuracy(), self.losses[0] / self.losses[1]
        self.history.append({"epoch": epoch, "loss": loss, "held_out_accuracy": accuracy})
        self.losses = [0.0, 0.0]
        self.tell(Told(self.step, self.steps, epoch, loss, accuracy))
        self._save()

    # --- on disk --------------------------------------------------------------------------------

    def _save(self) -> None:
        part = self.model.head if self.wanted.freeze else self.model
        cuda = self.model.device.type == "cuda"
        state = {
            "step": self.step,
            "weights": part.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
            "random": torch.get_rng_state(),
            "random_cuda": torch.cuda.get_rng_state_all() if cuda else [],
            "history": self.history,
            "losses": self.losses,
            "seconds": self.seconds,
            "continued": self.continued,
        }
        write_checkpoint(self.out, state)

    def _go_on(self) -> None:
        state = read_checkpoint(self.out, self.model.device)
        if state is None:
            return
        part = self.model.head if self.wanted.freeze else self.model
        part.load_state_dict(state["weights"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        torch.set_rng_state(state["random"].cpu())
        if self.model.device.type == "cuda" and state["random_cuda"]:
            torch.cuda.set_rng_state_all([part.cpu() for part in state["random_cuda"]])
        self.step, self.history = state["step"], state["history"]
        self.losses, self.seconds = state["losses"], state["seconds"]
        self.continued = state["continued"] + 1

    def _finish(self) -> dict[str, Any]:
        report = {
            "settings": asdict(replace(self.wanted, model=called(self.wanted.model))),
            "base": self.base,
            "family": self.loaded.family,
            "pool": self.model.pool,
            "steps": self.steps,
            "warmup_steps": self.warmup,
            "precision": self.precision,
            "device": str(self.model.device),
            "corpus": self.corpus.files,
            "articles": self.corpus.articles,
            "articles_of_one_sentence": self.corpus.single,
            "articles_repeated": self.corpus.repeated,
            "sentences": self.corpus.sentences,
            "pairs_an_epoch": self.pairs,
            **self.sides,
            "epochs": self.history,
            "held_out_accuracy": self.history[-1]["held_out_accuracy"],
            "paper_held_out_accuracy": list(PAPER),
            "seconds": round(self.seconds, 1),
            "continued": self.continued,
            "versions": versions(),
            "finished": now(),
        }
        with writing(self.out / REPORT) as file:
            file.write(dump_json(report))
        save_next_sentence(self.out, self.loaded, base=self.base)
        (self.out / CHECKPOINT).unlink(missing_ok=True)
        return report


def _row(text: Text) -> Row:
    """A text as a row of its own."""
    places = [(place, label, 0) for place, label in text.reads]
    ids = list(text.ids)
    return Row(ids, list(range(len(ids))), list(text.types), starts=[0], reads=places)
