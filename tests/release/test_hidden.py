"""Attacks on a hidden test set: search the public folder, try to win with all that is public."""

import csv
import hashlib
import hmac
import io
import json
import random
import re
import secrets
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from curation.campaign.manifest import Results
from curation.campaign.store import Campaign
from curation.campaign.versions import History, gold_file
from curation.catsets.stereoset import FileSettings
from curation.files import dump_line
from curation.kinds import GOLDS
from curation.records import Annotation
from curation.release import data_files
from curation.release import hiding as hidden
from curation.release.texts.card import card, statement
from curation.released import commitments as scheme
from curation.released import numbers
from curation.released.commitments import HiddenGold
from curation.released.contents import Contents, PublishedCat, PublishedOption
from curation.released.facts import Baseline, Facts, ScoreRow, SentimentShare, Size
from curation.work.reporter import QUIET
from support import releases
from support.expected import fails
from support.labelled import Desk, answer
from support.written import files, lines

ALLOWED = {
    *("id", "kind", "split", "domain", "bias_type", "target", "target_original", "context"),
    *("tier", "options", "sentences", "commitment"),
}
"""The fields that a hidden CAT may have in a file."""
OPTION = {"id", "sentence", "labels", "gold_label"}


# --- what is made up ------------------------------------------------------------------------------


def made(count: int = 40, *, seed: int = 0) -> Contents:
    """CATs of both splits, whose options are always in the same order, with annotations."""
    rng = random.Random(seed)
    cats, rows = [], []
    for n in range(count):
        split = "test" if n % 2 else "dev"
        texts = [(f"o-{n:04}-{k}", f"The {n} is w{n}{k}.", gold) for k, gold in enumerate(GOLDS)]
        options = [PublishedOption(*text) for text in texts]
        cats.append(
            PublishedCat(
                f"i-{n:04}", "intrasentence", "profession", f"t{n // 4}", None, split,
                f"The {n} is BLANK.", rng.choice([3, 4, 5]), (options[0], options[1], options[2]),
            )  # type: ignore[arg-type]
        )  # fmt: skip
        for option in options:
            rows += [(f"i-{n:04}", option.id, f"p{k}", option.gold, "v", True, 5) for k in range(5)]
    table = pd.DataFrame(rows, columns=list(Annotation.model_fields))
    return Contents("1", tuple(cats), table, (), FileSettings(), frozenset({"i-0001", "i-0002"}))


def drawn(seed: int) -> Callable[[int], bytes]:
    return random.Random(seed).randbytes


def hide(contents: Contents, seed: int = 0) -> tuple[Contents, list[HiddenGold]]:
    golds = scheme.assign(contents.part("test"), drawn(seed), sealed=False)
    return scheme.conceal(contents, golds, "test"), golds


def masked(content: bytes) -> bytes:
    """A file without commitments, checksums and GUIDs, which are different for other labels."""
    content = re.sub(rb"[0-9a-f]{64}", b"SHA", content)
    return re.sub(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", b"GUID", content)


# --- contents -------------------------------------------------------------------------------------


def test_nothing_of_a_hidden_cat_is_left_in_the_contents() -> None:
    contents = made()
    public, golds = hide(contents)
    own = {gold.original for gold in golds}
    assert own == {cat.id for cat in contents.part("test")}
    assert any(cat.commitment for cat in public.cats)
    assert not own & {cat.id for cat in public.cats}
    assert not own & set(public.annotations["cat_id"])
    assert set(public.annotations["cat_id"]) == {cat.id for cat in contents.part("dev")}
    assert public.without_votes == {"i-0002"}
    assert public.part("dev") == contents.part("dev")
    for cat in public.part("test"):
        assert cat.tier is None
        assert [option.gold for option in cat.options] == [None] * 3
        assert re.fullmatch("[0-9a-f]{32}", cat.id)
    ids = [cat.id for cat in public.part("test")]
    assert ids == sorted(ids)


def test_other_labels_give_the_same_public_bytes_but_for_commitments() -> None:
    contents = made()
    rng = random.Random(5)
    test = []
    for cat in contents.part("test"):
        golds = rng.sample(GOLDS, 3)
        options = (o._replace(gold=gold) for o, gold in zip(cat.options, golds, strict=True))
        test.append(cat._replace(tier=rng.choice([3, 4, 5, None]), options=tuple(options)))
    table = contents.annotations.copy()
    table.loc[table["cat_id"].isin({cat.id for cat in test}), "label"] = "related"
    cats = tuple(sorted((*contents.part("dev"), *test)))
    other = Contents("1", cats, table, (), FileSettings(), frozenset({"i-0002", "i-0005"}))
    before, after = (dict(data_files.stereoset_files(hide(each)[0])) for each in (contents, other))
    assert before != after
    assert {name: masked(data) for name, data in before.items()} == {
        name: masked(data) for name, data in after.items()
    }


def test_there_must_be_cats_to_hide(campaign: Campaign) -> None:
    contents = made()
    dev = replace(contents, cats=tuple(contents.part("dev")))
    history = History(hidden.set_hide(campaign, "labels", QUIET))
    with fails("there are no test CATs to hide"):
        hidden.hide(history, dev, Results(campaign.folder("release")), QUIET)


# --- try to win -----------------------------------------------------------------------------------


def test_six_permutations_and_guessed_nonces_do_not_give_a_commitment() -> None:
    public, golds = hide(made(200))
    known = {gold.commitment for gold in golds}
    nonces = {gold.nonce for gold in golds}
    assert len(nonces) == len(known) == 100
    for gold in golds[:20]:
        for order in permutations(GOLDS):
            pairs = zip(gold.sentences, order, strict=True)
            options = [o.model_copy(update={"gold_label": label}) for o, label in pairs]
            text = scheme.message(gold.model_copy(update={"sentences": tuple(options)})).encode()
            guessed = [
                *(b"", b"0", bytes(16), bytes(32), b"\xff" * 32, b"1", b"secret"),
                *(gold.id.encode(), bytes.fromhex(gold.id), bytes.fromhex(gold.id) * 2),
                *(hashlib.sha256(gold.id.encode()).digest(), hashlib.sha256(text).digest()),
                *(o.id.encode() for o in gold.sentences),
                *(bytes.fromhex(other.commitment) for other in golds[:20]),
                # One known nonce says nothing of other CATs.
                *(bytes.fromhex(other.nonce) for other in golds[:20] if other is not gold),
            ]
            made_up = {hmac.new(key, text, hashlib.sha256).hexdigest() for key in guessed}
            made_up |= {hashlib.sha256(text).hexdigest(), hashlib.sha256(text * 2).hexdigest()}
            assert not made_up & known
    assert any(cat.commitment for cat in public.cats)


def chi_square(counts: np.ndarray[Any, Any]) -> float:
    """The statistic of independence of rows and columns, over its degrees of freedom."""
    expected = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
    degrees = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    return float(((counts - expected) ** 2 / expected).sum() / degrees)


def test_neither_position_nor_id_of_an_option_says_its_label() -> None:
    contents = made(60)
    positions, digits = np.zeros((3, 3)), np.zeros((3, 16))
    for seed in range(40):
        for gold in hide(contents, seed)[1]:
            for at, option in enumerate(gold.sentences):
                label = GOLDS.index(option.gold_label)
                positions[label, at] += 1
                digits[label, int(option.id[-1], 16)] += 1
    assert positions.sum() == 40 * 30 * 3
    # Beyond 4 with these degrees of freedom, p is below 0.003; the draws are always the same.
    assert chi_square(positions) < 4
    assert chi_square(digits) < 2
    # The test sees an order that is not random.
    assert chi_square(np.diag([400.0, 400, 400]) + 1) > 100


def test_the_order_of_ids_is_not_that_of_the_campaign() -> None:
    contents = made(400)
    correlations = []
    for seed in range(20):
        golds = hide(contents, seed)[1]
        ranks = np.argsort(np.argsort([gold.original for gold in golds]))
        correlations.append(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1])
    assert abs(float(np.mean(correlations))) < 0.05
    assert max(map(abs, correlations)) < 0.25


def test_two_versions_have_nothing_in_common_but_texts() -> None:
    contents = made(400)
    (_, first), (_, second) = hide(contents, 1), hide(contents, 2)
    for field in ("id", "nonce", "commitment"):
        assert not {getattr(g, field) for g in first} & {getattr(g, field) for g in second}
    orders = {g.original: [o.original for o in g.sentences] for g in first}
    same = sum(orders[g.original] == [o.original for o in g.sentences] for g in second)
    assert 15 < same < 55  # a sixth of 200


# --- verify ---------------------------------------------------------------------------------------


def sealed() -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """The hidden CATs as they are published, and as they are revealed."""
    public, golds = hide(made(8))
    content = json.loads(dict(data_files.stereoset_files(public))["test.json"])
    return scheme.public_rows(content), scheme.reveal_rows(golds)


def resealed(row: dict[str, str], message: str) -> dict[str, str]:
    return row | {"message": message, "commitment": scheme.commitment(message, row["nonce"])}


def test_what_is_revealed_is_verified_against_what_is_public() -> None:
    public, revealed = sealed()
    assert len(public) == 4
    assert scheme.verify(public, revealed) == []
    assert scheme.verify(reversed(public), reversed(revealed)) == []
    first, id = revealed[0], revealed[0]["id"]
    place = next(n for n, cat in enumerate(public) if cat["id"] == id)

    def problems(row: Any, **cat: Any) -> list[str]:
        changed = [*public[:place], public[place] | cat, *public[place + 1 :]]
        return scheme.verify(changed, [row, *revealed[1:]])

    wrong = [f"CAT {id}: message and nonce do not give its commitment"]
    assert problems(first | {"nonce": "0" * 64}) == wrong
    assert problems(first | {"message": first["message"] + " "}) == wrong
    assert problems(first | {"message": None}) == wrong
    assert problems(first | {"message": "\ud800"}) == wrong
    assert problems(first, commitment="0" * 64) == wrong
    assert problems(first, commitment=None) == wrong
    for nonce in ("", "0" * 63, first["nonce"].upper() + "0", 5, None):
        says = f"CAT {id}: the nonce is not 64 hexadecimal digits"
        assert problems(first | {"nonce": nonce}) == [says]
    for cat in ({"context": "Other."}, {"target": "t"}, {"kind": "intersentence"}, {"options": 5}):
        assert problems(first, **cat) == [f"CAT {id}: the message is about other texts"]
    # Commitments to something else: the team's own mistake, or that of a foreign release.
    content = json.loads(first["message"])
    for changed, says in (
        ([1], "the message is not that of a CAT"),
        (content | {"options": 5}, "the message is not that of a CAT"),
        (content | {"more": 5}, "the message is about other texts"),
        (
            content | {"options": [o | {"gold_label": "unrelated"} for o in content["options"]]},
            "the gold labels are not one of each",
        ),
    ):
        row = resealed(first, json.dumps(changed, ensure_ascii=False, separators=(",", ":")))
        assert problems(row, commitment=row["commitment"]) == [f"CAT {id}: {says}"]
    label = re.search(r'"gold_label":"[a-z-]+"', first["message"])
    assert label
    twice = first["message"].replace(label[0], f'"gold_label":"none",{label[0]}')
    for text in (twice, first["message"].replace('"options":', '"options": ')):
        row = resealed(first, text)
        assert problems(row, commitment=row["commitment"]) == [
            f"CAT {id}: the message is not written in the form that the scheme asks for"
        ]
    assert scheme.verify(public, revealed[1:]) == [f"CAT {id}: is not revealed"]
    assert scheme.verify(public, [*revealed, first]) == [f"CAT {id}: is revealed more than once"]
    other = "is revealed, but it is not a hidden CAT"
    assert scheme.verify(public, [*revealed, {"id": "x"}]) == [f"CAT x: {other}"]
    assert scheme.verify([5, *public], [None, *revealed]) == []  # type: ignore[list-item]


@pytest.mark.parametrize(
    "content", [None, [], 5, {}, {"data": []}, {"data": {"k": [{"commitment": 1}]}}]
)
def test_a_file_that_is_no_release_is_a_value_error(content: Any) -> None:
    with pytest.raises(ValueError, match=r"not the test.json"):
        scheme.public_rows(content)


def test_the_message_is_what_the_page_says() -> None:
    (gold, *_) = hide(made(4))[1]
    gold = gold.model_copy(update={"context": '«Ü» "\\\n\t\u001f\u2028 BLANK'})
    content = json.loads(scheme.message(gold))
    assert list(content) == ["id", "kind", "domain", "target", "context", "options"]
    assert [list(o) for o in content["options"]] == [["id", "sentence", "gold_label"]] * 3
    again = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    assert again == scheme.message(gold)
    key = bytes.fromhex(gold.nonce)
    expected = hmac.new(key, again.encode(), hashlib.sha256).hexdigest()
    assert scheme.commitment(again, gold.nonce) == expected


# --- the whole folder -----------------------------------------------------------------------------


def records(value: Any) -> Iterator[dict[str, Any]]:
    """All objects in JSON, at any depth."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from records(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from records(inner)


def decoded(name: str, data: bytes) -> list[Any]:
    """What is in a file of data, as JSON would have it."""
    if name.endswith(".json"):
        return [json.loads(data)]
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in data.splitlines()]
    if name.endswith(".csv"):
        return list(csv.DictReader(io.StringIO(data.decode())))
    return rows_of(data) if name.endswith(".parquet") else []


def rows_of(data: bytes) -> list[Any]:
    """The rows of a Parquet file."""
    parquet = pytest.importorskip("pyarrow.parquet")
    return list(parquet.read_table(io.BytesIO(data)).to_pylist())


def test_every_byte_is_searched_for_what_is_secret(hidden: Desk) -> None:
    golds = lines(hidden.gold)
    secret = {gold[key] for gold in golds for key in ("original", "nonce")}
    secret |= {option["original"] for gold in golds for option in gold["sentences"]}
    assert len(secret) == 5 * len(golds)
    assert {"dev.json", "test.json", "SHA256SUMS"} <= files(hidden.first).keys()
    for name, data in files(hidden.first).items():
        data += json.dumps(decoded(name, data)).encode()
        assert not [text for text in secret if text.encode() in data], name
        assert hidden.gold.name.encode() not in data
        assert "gold" not in name


def test_a_hidden_cat_has_no_field_but_its_texts(hidden: Desk) -> None:
    golds = lines(hidden.gold)
    ids = {gold["id"] for gold in golds}
    options = {option["id"] for gold in golds for option in gold["sentences"]}
    texts = {gold["context"] for gold in golds}
    texts |= {option["sentence"] for gold in golds for option in gold["sentences"]}
    seen: Counter[str] = Counter()
    for name, data in files(hidden.first).items():
        for record in records(decoded(name, data)):
            values = {value for value in record.values() if isinstance(value, str)}
            if values & (ids | options) or (values & texts):
                seen[name] += 1
                if record.get("id") in options:
                    assert set(record) <= OPTION, (name, record)
                    assert record.get("gold_label", "hidden") in ("hidden", -1)
                    assert _votes(record.get("labels")) == 0
                else:
                    assert record.get("id") in ids, (name, record)
                    assert set(record) <= ALLOWED, (name, record)
                    assert record.get("tier") is None
    assert seen["test.json"] == 4 * len(golds)
    assert not [name for name in seen if "dev" in name or "validation" in name or "annot" in name]


def _votes(labels: Any) -> int:
    return len(labels.get("label", ())) if isinstance(labels, dict) else len(labels or ())


def test_other_labels_give_the_same_folder_but_for_commitments(
    unlabelled: Any, labelled: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything public at once: if a file said anything of the labels, it would differ here."""
    before, after = labelled.copy(tmp_path / "before"), unlabelled[0].copy(tmp_path / "after")
    test = labelled.cats("test")
    hidden = {association.sentence for cat in test for association in cat.associations}
    turned = dict(zip(GOLDS, (*GOLDS[1:], GOLDS[0]), strict=True))
    golds = {s: turned[gold] if s in hidden else gold for s, gold in before.golds().items()}
    answer(after, unlabelled[1], golds)
    after.done("decisions", "split")
    folders, labels = [], []
    for desk in (before, after):
        monkeypatch.setattr(secrets, "token_bytes", drawn(7))
        monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=4))
        desk.build("--hide", "labels")
        desk.set(version="0.2.0", leave_out=[test[0].id])
        desk.build("--hide", "labels")
        rows = {row["context"]: row["sentences"] for row in lines(desk.gold)}
        labels.append(
            {
                context: {s["sentence"]: s["gold_label"] for s in own}
                for context, own in rows.items()
            }
        )
        every = files(desk.releases)
        folders.append({name: every[name] for name in every if name.startswith("0.")})
    assert {name.split("/")[0] for name in folders[0]} == {"0.1.0", "0.2.0"}
    assert labels[0].keys() == labels[1].keys()
    assert not [context for context in labels[0] if labels[0][context] == labels[1][context]]
    assert folders[0].keys() == folders[1].keys()
    for name in folders[0]:
        one, other = (readable(name, folder[name]) for folder in folders)
        assert one == other, name


def readable(name: str, data: bytes) -> bytes:
    """A file without commitments, and without the sizes of tables that have them packed."""
    if name.endswith(".parquet"):
        return masked(json.dumps(rows_of(data)).encode())
    return re.sub(rb'("contentSize": "|"bytes": )\d+', rb"\1N", masked(data))


# --- numbers about hidden CATs --------------------------------------------------------------------


def row(split: str, cats: int) -> ScoreRow:
    return releases.score(split=split, cats=cats, terms=9)


ABOUT: dict[str, Any] = {"domain": "profession", "kind": "intrasentence", "terms": 9, "cats": 200}
SIZES = (Size(split="dev", **ABOUT), Size(split="test", **ABOUT))
PITFALLS = {"gold_conflict": "block", "negation_one_sided": "warn", "space_doubled": "warn"}


def facts() -> Facts:
    """The facts of a release, as far as they say something of labels."""
    beyond = ("lms 60.0 (52.0–70.0), intrasentence, test",)
    return releases.facts(
        sizes=SIZES, scores=(row("dev", 200), row("test", 200)), failed_checks="With them: 9 CATs.",
        pitfalls=tuple(releases.pitfall(code, severity=s) for code, s in PITFALLS.items()),
        baselines=(Baseline(model="b", beyond=beyond, rows=(row("dev", 9), row("test", 100))),),
    )  # fmt: skip


def test_numbers_about_many_hidden_cats_are_public_and_about_few_are_not() -> None:
    contents, public = made(400), hide(made(400))[0]
    many = numbers.coarse(facts(), public, split="test")
    assert [(r.split, r.cats) for r in many.scores] == [("dev", 200), ("test", 200)]
    assert [r.cats for r in many.baselines[0].rows] == [9, 100]
    assert (len(many.agreement), len(many.sentiment), many.failed_checks) == (1, 1, "")
    says = numbers.too_much(many.model_copy(update={"failed_checks": "With them: 9 CATs."}))
    assert says[0] == "failed_checks: more than overall numbers, or more decimals"
    assert many.hidden is not None
    assert (many.hidden.cats, many.hidden.split) == (200, "test")
    dev = Counter(str(cat.tier) for cat in contents.part("dev"))
    assert many.tiers == {**dev, "unknown": 0}
    assert (many.annotations, many.counted, many.annotators) == (3000, 3000, 5)
    few = numbers.coarse(facts(), hide(made(60))[0], split="test")
    same = numbers.coarse(facts(), public, split="test", numbers=False)
    for less in (few, same):
        assert [r.split for r in less.scores] == ["dev"]
        assert [r.split for r in less.baselines[0].rows] == ["dev"]
        assert (less.baselines[0].beyond, less.agreement, less.sentiment) == ((), (), ())
        for text in (card(less, ()), statement(less)):  # agreement, and sentiment
            assert b"too much about the hidden gold labels" in text
    for each in (many, few, same):
        counts = {p.code: p.count for p in each.pitfalls}
        assert counts == {"gold_conflict": None, "negation_one_sided": None, "space_doubled": 2}


def test_only_overall_numbers_about_hidden_cats_are_public_and_rounded() -> None:
    contents = hide(made(400))[0]
    inter = {cat.id for cat in contents.part("test")[:3]}
    other = {"kind": "intersentence"}
    mixed = tuple(c._replace(**other) if c.id in inter else c for c in contents.cats)
    kinds = ("intrasentence", "intersentence", "both")
    exact = {"ss": 100 / 3, "ss_ci": (1 / 3, 200 / 3), "cats": 200}
    rows = tuple(releases.score(split=s, kind=k, **exact) for s in ("dev", "test") for k in kinds)
    about = {"label": "stereotype", "cats": 9, "share": 100 / 3, "ci": None}
    shares = tuple(SentimentShare(kind=kind, **about) for kind in kinds)
    beyond = tuple(f"ss 61.0 (52.0–70.0), {kind}, {split}" for split, kind in
                   (("dev", "both"), ("test", "both"), ("test", "intrasentence")))  # fmt: skip
    agreed = facts().agreement[0].model_copy(update={"value": 2 / 3, "ci": (1 / 3, 8 / 9)})
    about = {"scores": rows, "sentiment": shares, "agreement": (agreed,)}
    about["baselines"] = (Baseline(model="b", beyond=beyond, rows=rows),)
    both = (*SIZES, SIZES[1].model_copy(update={"kind": "intersentence"}))
    of = facts().model_copy(update={**about, "sizes": both})
    public = numbers.coarse(of, replace(contents, cats=mixed), split="test")
    for shown in (public.scores, public.baselines[0].rows):
        dev = [("dev", kind) for kind in kinds]
        assert [(r.split, r.kind) for r in shown] == [*dev, ("test", "both")]
        assert (shown[0].ss, shown[-1].ss) == (100 / 3, 33.3)
        assert shown[-1].ss_ci == (0.3, 66.7)
    assert public.baselines[0].beyond == beyond[:2]
    assert [(share.kind, share.share) for share in public.sentiment] == [("both", 33.3)]
    assert (public.agreement[0].value, public.agreement[0].ci) == (0.67, (0.33, 0.89))
    one = numbers.coarse(facts().model_copy(update=about), contents, split="test")
    assert [(r.split, r.kind) for r in one.scores][3:] == [("test", "intrasentence")]
    assert [share.kind for share in one.sentiment] == ["intrasentence"]


def test_cats_without_votes_are_counted_over_the_others() -> None:
    contents = made()
    of = facts().model_copy(update={"without_votes": len(contents.without_votes)})
    assert numbers.coarse(of, hide(contents)[0], split="test").without_votes == 1


def test_no_numbers_if_few_cats_differ_from_an_earlier_version(campaign: Campaign) -> None:
    contents = made(400)
    campaign.folder("release").mkdir()
    path = gold_file(campaign, "0.0.1")
    opened = hidden.set_hide(campaign, "labels", QUIET)

    def shown(golds: list[HiddenGold]) -> int:
        path.write_bytes(b"".join(map(dump_line, golds)))
        made = *hide(contents), Results(campaign.folder("release"))
        return len(hidden.public_facts(History(opened), facts(), *made, QUIET).agreement)

    golds = hide(contents)[1]
    assert shown(golds) == 1
    with pytest.warns(UserWarning, match=r"version 0.0.1 in 1 CAT: numbers that depend"):
        assert shown(golds[1:]) == 0
    with pytest.warns(UserWarning, match=r"version 0.0.1 in 176 CATs"):
        assert shown(golds[176:]) == 0
    assert shown(golds[177:]) == 1
    open_ = (contents, [], Results(path))  # nothing is hidden
    assert hidden.public_facts(History(campaign), facts(), *open_, QUIET) == facts()
