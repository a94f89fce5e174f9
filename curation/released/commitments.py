"""A hidden test set: CATs whose gold labels are published later, with a proof of no change.

Two levels: *labels* publishes the texts, *all* (a sealed test set) does not.

The scheme, which docs/release.md describes for readers of a release:

* A hidden CAT gets a random id of 128 bits, and so does each of its options. The CATs are in the
  order of these ids, and so are the options of each CAT. So no id and no order says anything.
* The commitment of a CAT is HMAC-SHA256. The key is a random nonce of 32 bytes, a new one for each
  CAT. The message is a JSON text with the CAT's id, kind, domain, target, context, and its options
  in the public order with their gold labels (``message``).
* The commitments are published, the nonces and gold labels are not. To reveal the gold labels is to
  publish messages and nonces.

A commitment binds the team: it cannot find another message and nonce with the same commitment. It
hides the labels, because nobody can try the six possible messages of a CAT without its nonce. With
one secret for all CATs, or none, six attempts would be enough. It does not prove that the labels
are right, or that the team shared them with nobody.
"""

import hmac
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import orjson
from pydantic import StringConstraints, ValidationError

from curation.files import CurationError, read_bytes
from curation.kinds import Gold, Kind, find_item_kind
from curation.records import SIZE, Cat, Id, Record, SplitName, Text
from curation.released.contents import (
    Contents,
    PublishedCat,
    PublishedOption,
    SealedCat,
    Texts,
    texts,
)

Draw = Callable[[int], bytes]
"""A source of random bytes: ``secrets.token_bytes``, unless a test needs a certain result."""
PublicId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
_HASH = re.compile(r"[0-9a-f]{64}")


class HiddenOption(Record):
    """An option of a hidden CAT: its public id, its gold label, and its id in the campaign."""

    id: PublicId
    sentence: Text
    gold_label: Gold
    original: Id


class HiddenGold(Record):
    """A line of ``gold-VERSION.jsonl``: a hidden CAT with its gold labels and its nonce.

    It is an item in StereoSet's form with the public ids, so every command can read the file as a
    gold file. ``original`` is the id in the campaign. ``sealed`` says that the texts are hidden,
    too; it is the same in all lines. The file is private.
    """

    id: PublicId
    kind: Kind
    target: Text
    target_original: Text | None = None
    bias_type: Id
    context: Text
    sentences: Annotated[tuple[HiddenOption, ...], SIZE]
    original: Id
    nonce: Hash
    commitment: Hash
    sealed: bool

    @property
    def texts(self) -> Texts:
        """What makes it the same CAT for a reader as another, as of a ``PublishedCat``."""
        return texts(self.kind, self.context, (option.sentence for option in self.sentences))


def message(gold: HiddenGold) -> str:
    """The text whose HMAC is a CAT's commitment: JSON with these keys, without spaces.

    It is what ``json.dumps(..., ensure_ascii=False, separators=(",", ":"))`` gives.
    """
    content = {
        "id": gold.id,
        "kind": gold.kind,
        "domain": gold.bias_type,
        "target": gold.target,
        "context": gold.context,
        "options": [option.model_dump(exclude={"original"}) for option in gold.sentences],
    }
    return _written(content)


def _written(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def commitment(message: str, nonce: str) -> str:
    """HMAC-SHA256 of a message in UTF-8 under a nonce in hex, in hex."""
    return hmac.digest(bytes.fromhex(nonce), message.encode(), "sha256").hex()


def holds(gold: HiddenGold) -> bool:
    """Whether the commitment of a CAT is that of its gold labels and its nonce."""
    return hmac.compare_digest(gold.commitment, commitment(message(gold), gold.nonce))


# --- hide -------------------------------------------------------------------------------------


def assign(cats: Iterable[PublishedCat], draw: Draw, *, sealed: bool) -> list[HiddenGold]:
    """Random ids, nonces and commitments for CATs that are to be hidden.

    Args:
        cats: the CATs with their gold labels.
        draw: gives that many random bytes.
        sealed: whether their texts are to be hidden, too.

    Returns:
        One line per CAT, in the order of the public ids.
    """
    golds = []
    for cat in cats:
        options = [
            HiddenOption.model_validate(
                {
                    "id": draw(16).hex(),
                    "sentence": option.sentence,
                    "gold_label": option.gold,
                    "original": option.id,
                }
            )
            for option in cat.options
        ]
        open_ = HiddenGold(
            id=draw(16).hex(),
            kind=cat.kind,
            target=cat.target,
            target_original=cat.target_original,
            bias_type=cat.domain,
            context=cat.context,
            sentences=tuple(sorted(options, key=lambda option: option.id)),
            original=cat.id,
            nonce=draw(32).hex(),
            commitment="0" * 64,
            sealed=sealed,
        )
        made = commitment(message(open_), open_.nonce)
        golds.append(open_.model_copy(update={"commitment": made}))
    return sorted(golds, key=lambda gold: gold.id)


def conceal(contents: Contents, golds: Sequence[HiddenGold], split: SplitName) -> Contents:
    """The public side: a release in which these CATs are hidden.

    They come after the other CATs, in the order of their public ids. Their annotations, tiers, and
    the note that they have no votes are left out.

    Args:
        contents: the release with all gold labels.
        golds: all CATs of the split.
        split: the split that is hidden.
    """
    public = _without(contents, golds)
    concealed = (published_gold(gold, split) for gold in sorted(golds, key=lambda gold: gold.id))
    return replace(public, cats=(*public.cats, *concealed))


def seal(contents: Contents, golds: Sequence[HiddenGold], *, hide_terms: bool) -> Contents:
    """The public side: a release without the texts of these CATs.

    Also left out are other names of their targets, and, with ``hide_terms``, their terms.

    Args:
        contents: the release with all texts and gold labels.
        golds: all CATs of the test set.
        hide_terms: whether to leave out the terms of the test set.
    """
    public = _without(contents, golds)
    targets = {(cat.domain, cat.target) for cat in public.cats}
    names = {
        domain: {target: own for target, own in of.items() if (domain, target) in targets}
        for domain, of in contents.settings.names.items()
    }
    return replace(
        public,
        terms=tuple(t for t in contents.terms if not (hide_terms and t.split == "test")),
        settings=contents.settings.model_copy(update={"names": names}),
        sealed=tuple(
            SealedCat(gold.id, gold.kind, gold.bias_type, gold.commitment)
            for gold in sorted(golds, key=lambda gold: gold.id)
        ),
    )


def _without(contents: Contents, golds: Iterable[HiddenGold]) -> Contents:
    """A release without these CATs and what is known of them."""
    hidden = {gold.original for gold in golds}
    table = contents.annotations
    return replace(
        contents,
        cats=tuple(cat for cat in contents.cats if cat.id not in hidden),
        annotations=table[~table["cat_id"].isin(list(hidden))].reset_index(drop=True),
        without_votes=contents.without_votes - hidden,
    )


def published_gold(gold: HiddenGold, split: SplitName, **others: Any) -> PublishedCat:
    """A hidden CAT as it is published: without its gold labels, unless ``others`` replace them.

    Args:
        gold: the CAT.
        split: the split that is hidden.
        others: fields of ``PublishedCat`` with another value.
    """
    own: dict[str, Any] = {
        "id": gold.id,
        "kind": gold.kind,
        "domain": gold.bias_type,
        "target": gold.target,
        "target_original": gold.target_original,
        "split": split,
        "context": gold.context,
        "tier": None,
        "options": tuple(PublishedOption(o.id, o.sentence, None) for o in gold.sentences),
        "commitment": gold.commitment,
    }
    return PublishedCat(**own | others)


def differences(cats: Iterable[PublishedCat], golds: Iterable[HiddenGold]) -> list[str]:
    """The original ids of CATs that are not the same in a gold file: changed, added or removed."""
    now = {cat.id: _content(cat) for cat in cats}
    before = {gold.original: _content(gold) for gold in golds}
    return sorted(id for id in now.keys() | before.keys() if now.get(id) != before.get(id))


def _content(cat: PublishedCat | HiddenGold) -> tuple[object, ...]:
    """What must stay the same of a CAT, with its ids in the campaign."""
    fields = (cat.kind, cat.target, cat.target_original, cat.context)
    if isinstance(cat, PublishedCat):
        return *fields, cat.domain, frozenset((o.id, o.sentence, o.gold) for o in cat.options)
    options = frozenset((o.original, o.sentence, o.gold_label) for o in cat.sentences)
    return *fields, cat.bias_type, options


# --- verify -----------------------------------------------------------------------------------


def public_rows(content: Any) -> list[dict[str, Any]]:
    """The hidden CATs of a release's ``test.json`` as rows for ``verify``.

    Raises:
        ValueError: it is not such a file.
    """
    try:
        return [
            {
                "id": item["id"],
                "kind": kind,
                "domain": item["bias_type"],
                "target": item["target"],
                "context": item["context"],
                "options": [{"id": s["id"], "sentence": s["sentence"]} for s in item["sentences"]],
                "commitment": item["commitment"],
            }
            for kind, items in content["data"].items()
            for item in items
            if "commitment" in item
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"not the test.json of a release with hidden gold labels: {error}"
        ) from None


def verify(public: Iterable[Mapping[str, Any]], revealed: Iterable[Mapping[str, Any]]) -> list[str]:
    """What is wrong with revealed gold labels; nothing if all commitments hold.

    Args:
        public: the hidden CATs of the release: id, kind, domain, target, context, options (each
            with id and sentence) and commitment, as in ``cats/KIND-test.jsonl``; or the lines of
            ``sealed.jsonl``, whose texts the messages have.
        revealed: the lines of ``reveal.jsonl``: id, message, nonce and commitment.

    Returns:
        One sentence for each CAT that is not proved, with its id.
    """
    by_id: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in (row for row in revealed if isinstance(row, Mapping)):
        by_id[str(row.get("id"))].append(row)
    problems = []
    for cat in (cat for cat in public if isinstance(cat, Mapping)):
        rows = by_id.pop(str(cat.get("id")), [])
        problems += [f"CAT {cat.get('id')}: {problem}" for problem in _problems(cat, rows)]
    return problems + [f"CAT {id}: is revealed, but it is not a hidden CAT" for id in by_id]


def _problems(cat: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if len(rows) != 1:
        yield "is not revealed" if not rows else "is revealed more than once"
        return
    nonce, text = rows[0].get("nonce"), rows[0].get("message")
    if not (isinstance(nonce, str) and _HASH.fullmatch(nonce)):
        yield "the nonce is not 64 hexadecimal digits"
        return
    try:
        made = commitment(str(text), nonce)
    except UnicodeEncodeError:  # half of a surrogate pair
        made = ""
    if not made or made != cat.get("commitment"):
        yield "message and nonce do not give its commitment"
        return
    try:
        content = json.loads(str(text))
        written = _written(content)
        golds = [option.pop("gold_label") for option in content["options"]]
    except (ValueError, KeyError, TypeError, AttributeError):
        yield "the message is not that of a CAT"
        return
    kind = find_item_kind(cat.get("kind"))
    shown = _KEYS if "options" in cat else {"id", "kind", "domain"}
    whole = set(content) == _KEYS and all(set(o) == _OPTION for o in content["options"])
    if not whole or any(content[name] != cat.get(name) for name in shown):
        yield "the message is about other texts"
    elif written != text:  # such as a key that is there twice, so that readers see other labels
        yield "the message is not written in the form that the scheme asks for"
    elif not kind or sorted(map(str, golds)) != sorted(kind.roles):
        yield "the gold labels are not one of each"


def find_unlike(cats: Iterable[Cat], revealed: Iterable[Mapping[str, Any]]) -> list[str]:
    """What ``test.json`` says otherwise than the proofs: one sentence for each CAT.

    Args:
        cats: the CATs of a revealed ``test.json``.
        revealed: the lines of ``reveal.jsonl``.
    """
    texts, parts = ("kind", "domain", "target", "context"), ("id", "sentence", "gold_label")
    shown = {
        cat.id: [
            *(getattr(cat, name) for name in texts),
            *((a.id, a.sentence, a.gold) for a in cat.associations),
        ]
        for cat in cats
    }
    problems = []
    for row in revealed:
        with suppress(ValueError, KeyError, TypeError, AttributeError):  # verify() names these
            cat = json.loads(row["message"])
            options = (tuple(o[name] for name in parts) for o in cat["options"])
            if shown.pop(row["id"], None) != [*(cat[name] for name in texts), *options]:
                problems.append(
                    f"CAT {row['id']}: test.json has other texts or gold labels than the proof"
                )
    return problems + [f"CAT {id}: is in test.json, and has no proof" for id in shown]


_KEYS = {"id", "kind", "domain", "target", "context", "options"}
_OPTION = {"id", "sentence"}


def reveal_rows(golds: Iterable[HiddenGold]) -> list[dict[str, str]]:
    """The lines of ``reveal.jsonl``: id, message, nonce and commitment of each hidden CAT."""
    return [
        {"id": g.id, "message": message(g), "nonce": g.nonce, "commitment": g.commitment}
        for g in golds
    ]


# --- the private file -----------------------------------------------------------------------

_RESTORE = (
    "restore the file from a backup; without its gold labels and nonces this version cannot be "
    "revealed, and you have to publish a new one"
)


def read_golds(path: Path) -> list[HiddenGold]:
    """The lines of a gold file, each proved by its commitment.

    Raises:
        CurationError: a line is damaged, occurs twice, or does not match its commitment; the
            message names the line and the CAT.
    """
    golds: list[HiddenGold] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(read_bytes(path).splitlines(), 1):
        where = f"{path} line {number}"
        gold = _gold(where, line)
        for id in (gold.id, gold.original):
            if (first := seen.setdefault(id, number)) != number:
                why = f"the id {id} is already in line {first}"
                raise CurationError(f"{where} (CAT {gold.original}): {why}", _RESTORE)
        golds.append(gold)
    if not golds:
        raise CurationError(f"{path}: is empty", _RESTORE)
    return golds


def _gold(where: str, line: bytes) -> HiddenGold:
    try:
        content = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise CurationError(f"{where}: not a JSON record; it may be cut off", _RESTORE) from None
    own = content.get("original") if isinstance(content, dict) else None
    shown = f" (CAT {str(own)[:80]})" if own else ""
    try:
        gold = HiddenGold.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise CurationError(f"{where}{shown}, field {field!r}: {first['msg']}", _RESTORE) from None
    if not holds(gold):
        why = "gold labels, texts and nonce do not match the commitment: one of them was changed"
        raise CurationError(f"{where}{shown}: {why}", _RESTORE)
    return gold
