"""Checks the CATs, the annotations that their gold labels follow from, and the checksums."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import eq

from curation.campaign.manifest import is_inside
from curation.files import CurationError, read_text
from curation.kinds import CAT_KINDS
from curation.records import VALUES
from curation.released.contents import ANNOTATIONS, CARD, FACTS, SUMS, TERMS, PublishedCat
from curation.released.findings import Finding, finding, listed, named
from curation.released.folder import Release, Table, load
from curation.text.rules import FULL, same_text


def check_cats(release: Release) -> Iterator[Finding]:
    """What is wrong with the CATs of a release."""
    for form, cats in release.forms.items():
        yield from _whole(cats)
        yield from _ids(form, cats, ours=release.ours)
    yield from _same(release)
    yield from _splits(release)
    yield from _terms(release)


def _whole(cats: list[PublishedCat]) -> Iterator[Finding]:
    bad = [cat for cat in cats if not (cat.hidden or cat.whole)]
    bad += [cat for cat in cats if cat.hidden and not cat.has_all_options]
    by_file: dict[str, list[str]] = defaultdict(list)
    for cat in bad:
        place = cat.where.removeprefix(_file(cat)).lstrip(", ") or cat.where
        by_file[_file(cat)].append(f"{place} (id {cat.id})")
    for name, places in by_file.items():
        yield from listed("not_a_cat", name, places)


def _file(cat: PublishedCat) -> str:
    return cat.where.partition(",")[0].partition(" line ")[0].partition(" ")[0]


def _ids(form: str, cats: list[PublishedCat], *, ours: bool) -> Iterator[Finding]:
    places: dict[str, list[PublishedCat]] = defaultdict(list)
    options: dict[str, list[PublishedCat]] = defaultdict(list)
    for cat in cats:
        places[cat.id].append(cat)
        for option in cat.options:
            if option.id:
                options[option.id].append(cat)
    repeated, twice, both = Counter[str](), [], []
    for name, group in places.items():
        if len(group) < 2 or not name:
            continue
        if {cat.split for cat in group} >= {"dev", "test"}:
            both.append(name)
        same_content = len({cat.content for cat in group}) == 1
        files = {_file(cat) for cat in group}
        if not ours and same_content and len(files) == len(group):
            repeated[" and ".join(sorted(files))] += 1
        else:
            twice.append(name)
    yield from listed("cat_in_both", form, both)
    yield from listed("id_twice", form, twice, "ids of CATs: {places}")
    for files_, count in repeated.items():
        yield finding("file_repeated", files_, f"{count} CATs are in both")
    names = [n for n, group in options.items() if len(group) > len({c.id for c in group})]
    shared = [n for n, group in options.items() if len({c.id for c in group}) > 1]
    if not (repeated or twice):
        yield from listed("id_twice", form, names, "ids of associations: {places}")
    yield from listed("id_twice", form, shared, "ids of associations in several CATs: {places}")


def _same(release: Release) -> Iterator[Finding]:
    """Compare every form of the data with the first."""
    forms = {name: cats for name, cats in release.forms.items() if cats}
    if len(forms) < 2:
        return
    first, *others = sorted(forms, key=lambda name: forms[name] is not release.main)
    base = {cat.id: cat for cat in forms[first]}
    for other in others:
        cats = {cat.id: cat for cat in forms[other]}
        if not release.ours and not base.keys() & cats.keys():
            continue  # other data, or ids that were made up
        where = f"{first} and {other}"
        for only, name in ((base.keys() - cats.keys(), first), (cats.keys() - base.keys(), other)):
            says = f"only in {name}: {{n}}, such as {{places}}"
            ids = sorted(only)
            yield from listed("forms_differ", where, ids, says, severity=release.lacking)
        unlike = [name for name, cat in base.items() if name in cats and _differ(cat, cats[name])]
        yield from listed("forms_differ", where, unlike, "CATs that differ: {places}")


def _differ(cat: PublishedCat, other: PublishedCat) -> bool:
    if cat.content != other.content or (cat.split and other.split and cat.split != other.split):
        return True
    if {"tier"} <= cat.fields & other.fields and cat.tier != other.tier:
        return True
    ids = [{o.id: o.sentence for o in c.options if o.id} for c in (cat, other)]
    return all(ids) and ids[0] != ids[1]


def _splits(release: Release) -> Iterator[Finding]:
    terms: dict[tuple[str, str], set[str]] = defaultdict(set)
    texts: dict[tuple[object, ...], set[str]] = defaultdict(set)
    for cat in release.main:
        terms[cat.domain, same_text(cat.target)].add(cat.split)
        if not cat.hidden:
            texts[cat.content].add(cat.split)
    both = [f"{target} ({domain})" for (domain, target), s in terms.items() if {"dev", "test"} <= s]
    of, where = sum("test" in splits for splits in terms.values()), "dev and test"
    says = f"{{n}} of {of} terms of test: {{places}}"
    yield from listed("term_in_both", where, both, says, severity=release.lacking)
    copies = [str(content[3]) for content, splits in texts.items() if {"dev", "test"} <= splits]
    yield from listed("cat_in_both", where, copies, "{n} with the same texts: {places}")


def _terms(release: Release) -> Iterator[Finding]:
    """Compare terms.jsonl with the CATs: the same terms, splits and numbers of CATs."""
    if release.terms is None:
        return
    if release.repeated_terms not in (None, release.terms):
        yield finding("forms_differ", "terms.jsonl and terms/", "do not have the same terms")
    tally: Counter[tuple[str, str, str]] = Counter()
    splits: dict[tuple[str, str], set[str]] = defaultdict(set)
    for cat in release.main:
        tally[cat.domain, cat.target, cat.kind] += 1
        splits[cat.domain, cat.target].add(cat.split)
    rows = {(str(row.get("domain")), str(row.get("text"))): row for row in release.terms}
    if twice := len(release.terms) - len(rows):
        yield finding("term_unknown", TERMS, f"{twice} terms are there twice")
    missing = [f"{key[1]} ({key[0]})" for key in splits if key not in rows]
    yield from listed("term_unknown", TERMS, missing, "lacks terms of CATs: {places}")
    is_public = {key for key, row in rows.items() if release.sealed and row.get("split") == "test"}
    unused = [f"{key[1]} ({key[0]})" for key in rows if key not in splits.keys() | is_public]
    yield from listed("term_unknown", TERMS, unused, "terms without CATs: {places}")
    wrong = []
    families: dict[str, set[str]] = defaultdict(set)
    for (domain, text), row in rows.items():
        own = splits.get((domain, text), set())
        counts = all(
            row.get(kind, tally[domain, text, kind]) == tally[domain, text, kind]
            for kind in CAT_KINDS
        )
        if own and (not counts or ("split" in row and own != {str(row["split"])})):
            wrong.append(f"{text} ({domain})")
        if isinstance(row.get("family"), str):
            families[row["family"]] |= own
    yield from listed("term_unknown", TERMS, wrong, "split or number of CATs: {places}")
    both = [name for name, own in families.items() if {"dev", "test"} <= own]
    yield from listed("family_in_both", TERMS, both, "{places}")


_TRUE = frozenset({"true", "1", "yes", "none"})  # none: there is no such column


def check_labels(release: Release) -> Iterator[Finding]:
    """What is wrong with the labels of a release."""
    if release.annotations is not None:
        yield from _annotations(release)
    elif release.ours:
        yield finding("part_missing", ANNOTATIONS, "is not there")
    if not release.ours:
        yield from _outvoted(release)


def _annotations(release: Release) -> Iterator[Finding]:
    gold = {option.id: (cat.id, option.gold) for cat in release.main for option in cat.options}
    unknown, foreign = [], []
    counted: dict[str, list[tuple[str, str]]] = defaultdict(list)
    known: dict[tuple[str, str], tuple[str, str]] = {}  # one pair in memory for equal ones
    table = release.annotations or Table()
    names = ("association_id", "label", "cat_id", "annotator", "counted")
    columns = (map(str, table.column(name)) for name in names)
    for number, (option, label, cat, annotator, is_counted) in enumerate(
        zip(*columns, strict=True), 1
    ):
        if gold.get(option, ("", ""))[0] != cat:
            unknown.append(f"row {number}: {cat} {option}")
        elif label not in VALUES:
            foreign.append(f"row {number}: {label!r}")
        if is_counted.lower() in _TRUE:
            pair = annotator, label
            counted[option].append(known.setdefault(pair, pair))
    yield from listed("annotation_unknown", ANNOTATIONS, unknown)
    yield from listed("annotation_unknown", ANNOTATIONS, foreign, "not a label: {places}")
    if release.forms.get("StereoSet") and release.ours:
        options = (option for cat in release.forms["StereoSet"] for option in cat.options)
        differ = [o.id for o in options if sorted(o.labels) != sorted(counted.get(o.id, ()))]
        where = f"{ANNOTATIONS} and the StereoSet files"
        yield from listed("labels_differ", where, differ, "{n} associations: {places}")
    yield from _decided(release, counted)
    yield from _parquet(release)


def _parquet(release: Release) -> Iterator[Finding]:
    """The Parquet table of annotations has the rows of the CSV."""
    table, again = release.annotations, release.repeated
    if table is None or again is None or not table.rows:
        return
    if table.rows == again.rows and all(
        all(map(eq, map(_cell, table.column(name)), map(_cell, again.column(name))))
        for name in table.columns
    ):
        return
    ours, theirs = (
        Counter(zip(*(map(_cell, each.column(name)) for name in table.columns), strict=True))
        for each in (table, again)
    )
    if unlike := (ours - theirs) + (theirs - ours):
        detail = f"{unlike.total()} rows differ: {named([' '.join(row) for row in unlike])}"
        yield finding("forms_differ", f"{ANNOTATIONS} and annotations/", detail)


def _cell(value: object) -> str:
    return "" if value is None else str(value)


def _decided(
    release: Release, counted: Mapping[str, Sequence[tuple[str, str]]]
) -> Iterator[Finding]:
    """A gold label needs as many votes as release.json says."""
    facts = release.facts
    if facts is None or not isinstance(facts.decisions.get("needed"), int):
        return
    # The writer's intent may count as a label, and is not published.
    complete = not facts.decisions.get("count_writer")
    needed = facts.decisions["needed"] - (not complete)
    without, wrong, tiers = 0, [], []
    for cat in release.main:
        if cat.hidden:
            continue
        own = [_count(counted.get(option.id, ())) for option in cat.options]
        if not any(own):
            without += 1
            continue
        wrong += [
            f"{option.id} ({counts[option.gold]} of {counts.total()} votes)"
            for option, counts in zip(cat.options, own, strict=True)
            if counts[option.gold] < needed
        ]
        lowest = min(counts[option.gold] for option, counts in zip(cat.options, own, strict=True))
        full = all(counts.total() == FULL for counts in own)
        if "tier" in cat.fields and complete and cat.tier != (lowest if full else None):
            tiers.append(f"{cat.id} has {cat.tier}")
    says = "tiers that are not the smallest number of votes: {places}"
    yield from listed("gold_undecided", ANNOTATIONS, tiers, says)
    says = f"{{n}} with fewer than {needed} votes: {{places}}"
    yield from listed("gold_undecided", ANNOTATIONS, wrong, says)
    if without > facts.without_votes:
        detail = f"{without} CATs have no votes; release.json says {facts.without_votes}"
        yield finding("gold_undecided", ANNOTATIONS, detail)


def _count(labels: Iterable[tuple[str, str]]) -> Counter[str | None]:
    """How often each label was given; ``labels`` are (annotator, label)."""
    return Counter(label for _, label in labels)


def _outvoted(release: Release) -> Iterator[Finding]:
    """Another's release does not say how labels were decided, so only majorities are compared."""
    outvoted, of = [], 0
    for cat in release.main:
        for option in cat.options:
            counts = _count(option.labels)
            of += bool(counts)
            if counts and max(counts.values()) > counts[option.gold]:
                outvoted.append(option.id or cat.id)
    yield from listed(
        "gold_outvoted", "the labels", outvoted, f"{{n}} of {of} associations: {{places}}"
    )


_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
_LARGEST = 16 << 20  # bytes of SHA256SUMS


def check_sums(release: Release) -> Iterator[Finding]:
    """What is wrong with the checksums of the files."""
    if SUMS not in release.files:
        yield finding("no_checksums", SUMS, "is not there", severity=release.lacking)
        return
    text, problems = load(release, SUMS, read_text, most=_LARGEST)
    yield from problems
    if text is None:
        return
    sums: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.fullmatch(line)
        where = f"{SUMS} line {number}"
        if not match:
            yield finding("sums_malformed", where, f"is not a checksum and a path: {line[:80]!r}")
        elif not is_inside(match[2]):
            yield finding("sums_malformed", where, f"{match[2][:80]!r} leaves the folder")
        elif match[2] in sums:
            yield finding("sums_malformed", where, f"names {match[2][:80]!r} again")
        else:
            sums[match[2]] = match[1]
    if missing := [name for name in sums if name not in release.files]:
        yield finding("file_missing", named(missing), f"in {SUMS}, but not in the folder")
    changed = "is not the file that the checksums were computed from"
    for name in (name for name in sums if name in release.files):
        try:
            if release.digest(name) != sums[name]:
                yield finding("file_changed", name, changed)
        except OSError as error:
            yield finding("unreadable", name, error.strerror or "may not be read")
    unlisted = [name for name in release.files if name not in {*sums, SUMS}]
    if unlisted := [name for name in unlisted if release.ours or not name.startswith(".")]:
        yield finding("file_unlisted", named(unlisted), f"not in {SUMS}", severity=release.lacking)


def check_canonical(release: Release) -> Iterator[Finding]:
    """The canonical hash is sha256 of the files in ``cats/``, one after the other by name."""
    names = sorted(n for n in release.files if n.startswith("cats/") and n.endswith(".jsonl"))
    if not release.ours or not release.facts:
        return
    whole = hashlib.sha256()
    for name in names:
        try:
            whole.update(release.content(name))
        except CurationError:
            return  # reported as unreadable
    actual = whole.hexdigest()
    if names and release.facts.canonical != actual:
        stated = release.facts.canonical[:12] or "nothing"
        yield finding("canonical_hash", FACTS, f"has {stated}…; cats/*.jsonl has {actual}")
    if names and release.card and actual not in release.card.text:
        yield finding("canonical_hash", CARD, f"does not have the hash {actual}")
