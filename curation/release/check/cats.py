"""Checks the CATs: whole, with unique ids, the same in every form, and split by terms."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from curation.release.check.findings import Finding, finding, named
from curation.release.check.folder import Release
from curation.release.check.forms import Form, Seen
from curation.release.layout import TERMS
from curation.text.rules import same_text


def findings(release: Release) -> Iterator[Finding]:
    """What is wrong with the CATs of a release."""
    for form, cats in release.forms.items():
        yield from _whole(cats)
        yield from _ids(form, cats, ours=release.ours)
    yield from _same(release)
    yield from _splits(release)
    yield from _terms(release)


def _whole(cats: Form) -> Iterator[Finding]:
    bad = [cat for cat in cats if not (cat.hidden or cat.whole)]
    bad += [cat for cat in cats if cat.hidden and len(cat.options) != 3]
    by_file: dict[str, list[str]] = defaultdict(list)
    for cat in bad:
        by_file[_file(cat)].append(f"{_place(cat)} (id {cat.id})")
    for name, places in by_file.items():
        yield finding("not_a_cat", name, f"{len(places)}: {named(places)}")


def _file(cat: Seen) -> str:
    return cat.where.partition(",")[0].partition(" line ")[0].partition(" ")[0]


def _place(cat: Seen) -> str:
    return cat.where.removeprefix(_file(cat)).lstrip(", ") or cat.where


def _ids(form: str, cats: Form, *, ours: bool) -> Iterator[Finding]:
    places: dict[str, list[Seen]] = defaultdict(list)
    options: dict[str, list[Seen]] = defaultdict(list)
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
    if both:
        yield finding("cat_in_both", form, f"{len(both)}: {named(both)}")
    if twice:
        yield finding("id_twice", form, f"ids of CATs: {named(twice)}")
    for files_, count in repeated.items():
        yield finding("file_repeated", files_, f"{count} CATs are in both")
    names = [n for n, group in options.items() if len(group) > len({c.id for c in group})]
    shared = [n for n, group in options.items() if len({c.id for c in group}) > 1]
    if names and not repeated and not twice:
        yield finding("id_twice", form, f"ids of associations: {named(names)}")
    if shared:
        yield finding("id_twice", form, f"ids of associations in several CATs: {named(shared)}")


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
            if only:
                detail = f"only in {name}: {len(only)}, such as {named(sorted(only))}"
                yield finding("forms_differ", where, detail, severity=release.lacking)
        unlike = [name for name, cat in base.items() if name in cats and _differ(cat, cats[name])]
        if unlike:
            yield finding("forms_differ", where, f"CATs that differ: {named(unlike)}")


def _differ(cat: Seen, other: Seen) -> bool:
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
    if both:
        of = sum("test" in splits for splits in terms.values())
        detail = f"{len(both)} of {of} terms of test: {named(both)}"
        yield finding("term_in_both", "dev and test", detail, severity=release.lacking)
    copies = [str(content[3]) for content, splits in texts.items() if {"dev", "test"} <= splits]
    if copies:
        detail = f"{len(copies)} with the same texts: {named(copies)}"
        yield finding("cat_in_both", "dev and test", detail)


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
    if missing := [
        f"{target} ({domain})" for domain, target in splits if (domain, target) not in rows
    ]:
        yield finding("term_unknown", TERMS, f"lacks terms of CATs: {named(missing)}")
    is_public = {key for key, row in rows.items() if release.sealed and row.get("split") == "test"}
    if unused := [f"{key[1]} ({key[0]})" for key in rows if key not in splits.keys() | is_public]:
        yield finding("term_unknown", TERMS, f"terms without CATs: {named(unused)}")
    wrong = []
    families: dict[str, set[str]] = defaultdict(set)
    for (domain, text), row in rows.items():
        own = splits.get((domain, text), set())
        counts = all(
            row.get(kind, tally[domain, text, kind]) == tally[domain, text, kind]
            for kind in ("intrasentence", "intersentence")
        )
        if own and (not counts or ("split" in row and own != {str(row["split"])})):
            wrong.append(f"{text} ({domain})")
        if isinstance(row.get("family"), str):
            families[row["family"]] |= own
    if wrong:
        yield finding("term_unknown", TERMS, f"split or number of CATs: {named(wrong)}")
    if both := [name for name, own in families.items() if {"dev", "test"} <= own]:
        yield finding("family_in_both", TERMS, named(both))
