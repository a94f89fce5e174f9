"""Hidden test sets: private gold files, the ledger of values given out, and what hiding needs."""

import secrets
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from curation.campaign import SETTINGS, Campaign, open_campaign
from curation.files import CurationError, read_bytes, read_json, read_records
from curation.release.contents import FACTS, SEALED, Contents, PublishedCat
from curation.release.facts import Facts
from curation.release.hidden import commitments as hidden
from curation.release.hidden import numbers
from curation.release.hidden.commitments import Draw, HiddenGold, holds
from curation.release.hidden.numbers import ONE, GivenOut, fingerprint
from curation.settings import Hide, write_setting
from curation.steps.release.versions import (
    ANONYMOUS,
    REVEALED,
    built_versions,
    is_hidden_item,
    items_of,
    texts_of_item,
)
from curation.steps.step import Reporter
from curation.text.wording import amount, some
from curation.work.manifest import Results

_RESTORE = (
    "restore the file from a backup; without its gold labels and nonces this version cannot be "
    "revealed, and you have to publish a new one"
)


def gold_file(campaign: Campaign, version: str) -> Path:
    """The private file with the hidden gold labels of a version."""
    return campaign.releases / f"gold-{version}.jsonl"


def hidden_versions(campaign: Campaign) -> Iterator[tuple[str, Path]]:
    """The versions that have a gold file, with the file."""
    for path in sorted(campaign.releases.glob("gold-*.jsonl")):
        yield path.stem.removeprefix("gold-"), path


def is_revealed(campaign: Campaign, version: str) -> bool:
    """Whether a version was revealed: its folder VERSION-revealed is there."""
    return (campaign.releases / f"{version}{REVEALED}").is_dir()


def read_golds(path: Path) -> list[HiddenGold]:
    """The lines of a gold file, each proved by its commitment.

    Raises:
        CurationError: a line is damaged, occurs twice, or does not match its commitment; the
            message names the line and the CAT.
    """
    golds: list[HiddenGold] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(read_bytes(path).splitlines(), 1):
        gold = _gold(f"{path} line {number}", line)
        for id in (gold.id, gold.original):
            if seen.setdefault(id, number) != number:
                raise CurationError(
                    f"{path} line {number} (CAT {gold.original}): the id {id} is already in line "
                    f"{seen[id]}",
                    _RESTORE,
                )
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
        raise CurationError(
            f"{where}{shown}: gold labels, texts and nonce do not match the commitment: one of "
            "them was changed",
            _RESTORE,
        )
    return gold


LEDGER = "given-out.jsonl"
_VALUES_SHOWN = 5  # values that a message names


def affordable(
    campaign: Campaign,
    facts: Facts,
    golds: Sequence[HiddenGold],
    results: Results,
    reporter: Reporter,
) -> Facts:
    """The facts with no more values about the hidden CATs than their budget; stages the ledger.

    Values that were given out before stay. Then come those that ``show`` in ``[release]`` names, in
    its order; if it is empty, those of models.

    Args:
        campaign: the campaign.
        facts: the facts, as from ``numbers.coarse``.
        golds: the hidden CATs of the version whose gold labels nobody knows, as from ``secret``.
        results: where the ledger is staged.
        reporter: receives the values that are left out.
    """
    release = campaign.settings.release
    every = {**hidden_golds(campaign), release.version: golds}
    found = _values(facts, release.version, golds)
    wanted = _wanted(found, release.show, reporter)
    given = _standing(campaign, every)
    dev = numbers.dev_cats(facts)
    room = numbers.room(release.version, every, given, dev=dev)
    shown, left_out = numbers.shared_out(wanted, given, room)
    before = read_ledger(campaign)
    new = [value for value in shown if value not in before]
    results.records(LEDGER, [*before, *new], private=True)
    if left_out:
        names = some([value.name for value in left_out], _VALUES_SHOWN)
        allowed = amount(numbers.budget(len(golds), dev), "value")
        reporter.warn(
            f"{amount(len(left_out), 'value')} about hidden gold labels cannot be published, "
            f"because too many give the labels away: {names}. {len(golds):,} hidden and {dev:,} "
            f"dev CATs allow {allowed}; {LEDGER} has those given out. lms is published all the "
            "same; docs/release.md, What hidden labels protect"
        )
    if others := [value.name for value in found if value not in wanted]:
        reporter.note(
            "not published of hidden gold labels, because show in [release] does not name them: "
            f"{some(others, _VALUES_SHOWN)}"
        )
    return numbers.without(facts, [value.name for value in found if value not in shown])


def _values(facts: Facts, version: str, golds: Sequence[HiddenGold]) -> list[GivenOut]:
    cats = numbers.fingerprint(golds)
    return [
        GivenOut(version=version, cats=cats, name=name, value=value)
        for name, value in numbers.values(facts).items()
    ]


def _wanted(values: Sequence[GivenOut], show: Sequence[str], reporter: Reporter) -> list[GivenOut]:
    """The values that the team wants to publish, the most important first."""
    if not show:
        return [value for value in values if value.name.startswith("model ")]
    named = {name: [value for value in values if _names(name, value.name)] for name in show}
    if values and (unknown := [name for name in show if not named[name]]):
        reporter.warn(
            "show in [release] names what has no values on hidden CATs: "
            f"{some(unknown, _VALUES_SHOWN)}; "
            "name models or baselines as in the card, sentiment, or trust"
        )
    return list(dict.fromkeys(value for name in show for value in named[name]))


def _names(given: str, value: str) -> bool:
    """Whether a name in ``show`` is that of a value, such as "model gpt2 (default)"."""
    sort, _, rest = value.partition(" ")
    return given in (sort if sort in ("sentiment", "trust") else rest, rest.rpartition(" (")[0])


def remaining(path: Path) -> str:
    """How many values about the CATs of a private gold file may still be given out, in words.

    Args:
        path: a gold file. The text is empty if it is not that of a hidden version of a campaign.

    Raises:
        CurationError: the ledger or a gold file is damaged.
    """
    version, folder = path.stem.removeprefix("gold-"), path.resolve().parent
    if version == path.stem or not (folder.parent / SETTINGS).is_file():
        return ""
    campaign = open_campaign(folder.parent)
    golds = hidden_golds(campaign)
    if version not in golds or gold_file(campaign, version).resolve() != path.resolve():
        return ""
    if golds[version][0].sealed:  # all results may be published
        return ""
    folders = (campaign.releases / f"{version}{end}" / FACTS for end in ("", ANONYMOUS))
    facts = next((_facts(path) for path in folders if path.is_file()), None)
    if facts is None:  # it was not built, or its folder was deleted
        return ""
    dev = numbers.dev_cats(facts)
    left = max(numbers.room(version, golds, _standing(campaign, golds), dev=dev), 0)
    allowed = amount(numbers.budget(len(golds[version]), dev), "value")
    return (
        f"{path.name} has hidden gold labels: {left} of {allowed} about them may still be given "
        "out, each the overall ss and icat of one model, rounded to one decimal; lms does not "
        "count. More would give the labels away (docs/release.md, What hidden labels protect)"
    )


def read_ledger(campaign: Campaign) -> list[GivenOut]:
    """The lines of the ledger; none if there is no such file.

    Raises:
        CurationError: a line is damaged.
    """
    path = campaign.releases / LEDGER
    try:
        return read_records(path, GivenOut) if path.exists() else []
    except CurationError as error:
        fix = "correct the line (docs/release.md, How many values), or restore the file"
        raise CurationError(error.what, fix) from None


def hidden_golds(campaign: Campaign) -> dict[str, Sequence[HiddenGold]]:
    """The CATs of each version that is not revealed whose gold labels nobody knows."""
    return {
        version: secret_golds(campaign, read_golds(path))
        for version, path in hidden_versions(campaign)
        if not is_revealed(campaign, version)
    }


def secret_golds(campaign: Campaign, golds: Sequence[HiddenGold]) -> list[HiddenGold]:
    """The hidden CATs whose gold labels no other version has published or revealed."""
    public: set[object] = set()
    for version, path in hidden_versions(campaign):
        if is_revealed(campaign, version):
            public |= numbers.names(read_golds(path))
    for place in built_versions(campaign):
        for item in items_of(place):
            if not is_hidden_item(item):
                public |= {str(item.get("id")), texts_of_item(item)}
    return [gold for gold in golds if not public & numbers.names([gold])]


def _standing(campaign: Campaign, golds: Mapping[str, Sequence[HiddenGold]]) -> list[GivenOut]:
    """The values that were given out about gold labels that are still hidden.

    They are those of the ledger, and those of built versions, in case the ledger was lost.
    """
    found = [f for f in read_ledger(campaign) if not is_revealed(campaign, f.version)]
    for place in built_versions(campaign):
        version = place.name.removesuffix(ANONYMOUS)
        if not is_revealed(campaign, version) and (place / FACTS).is_file():
            found += _values(_facts(place / FACTS), version, golds.get(version, ()))
    return found


def _facts(path: Path) -> Facts:
    return Facts.model_validate(read_json(path))


IN_VAIN = "hidden_in_vain"
PUBLISHED = "publishes_hidden"
CODES = (IN_VAIN, PUBLISHED)
"""The codes in ``accept`` that let a release hide or publish such gold labels all the same."""
_SHOWN = 3  # CATs that an error names


def with_hide(campaign: Campaign, level: Hide) -> Campaign:
    """The campaign as if ``hide`` in ``[release]`` were this level."""
    release = campaign.settings.release.model_copy(update={"hide": level})
    return replace(campaign, settings=campaign.settings.model_copy(update={"release": release}))


def set_hide(campaign: Campaign, level: Hide, reporter: Reporter) -> Campaign:
    """Write ``hide`` into ``campaign.toml``, so that no later command publishes what it hides.

    Call it before anything that can fail, and so before the lock is taken: what stops the build
    must not be followed by a command that publishes them.

    Returns:
        The campaign with this setting.

    Raises:
        CurationError: the file cannot be changed; the message has the line to add.
    """
    if campaign.settings.release.hide != level:
        write_setting(campaign.root / SETTINGS, "release", "hide", level)
        reporter.note(f'{SETTINGS}: hide = "{level}" in [release], for later commands, too')
    return with_hide(campaign, level)


def as_built(campaign: Campaign) -> Campaign:
    """The campaign, with the test set hidden if the version that it names was built so.

    A built version is never rewritten, so it stays hidden, also if ``hide`` was removed since. If
    ``hide`` names another level, the build is an error.
    """
    version = campaign.settings.release.version
    folders = [campaign.releases / f"{version}{end}" for end in ("", ANONYMOUS)]
    is_built = gold_file(campaign, version).is_file() and any(map(Path.is_dir, folders))
    if is_built and not campaign.settings.release.hide:
        is_sealed = any((folder / SEALED).is_file() for folder in folders)
        return with_hide(campaign, "all" if is_sealed else "labels")
    return campaign


def hide(
    campaign: Campaign,
    contents: Contents,
    results: Results,
    reporter: Reporter,
    *,
    draw: Draw | None = None,
) -> tuple[Contents, list[HiddenGold]]:
    """The contents as they are published: with ``hide`` in ``[release]``, test is hidden.

    The private gold file is staged. It comes to its place before the folder of the version does.
    If it is there already, its ids and nonces are used again. So the same CATs give the same bytes.

    Args:
        campaign: the campaign.
        contents: the release with all gold labels and the ids of the campaign.
        results: where the gold file is staged.
        reporter: where it warns that nothing is hidden.
        draw: gives that many random bytes; by default the system's secret ones.

    Returns:
        The public contents, and the lines of the gold file.

    Raises:
        CurationError: the gold file is damaged, lost, or about other CATs or another level; or
            hidden gold labels would be published, or published ones hidden, and ``accept`` does not
            allow it.
    """
    release = campaign.settings.release
    if not release.hide:
        check_published(campaign, contents.cats)
        return contents, []
    cats, public = contents.part("test"), contents.part("dev")
    if not cats:
        raise CurationError(
            "there are no test CATs to hide",
            'set hide = "" in [release], or collect CATs on more terms for test',
        )
    if release.hide == "all" and not public:
        raise CurationError(
            "there are no dev CATs, so a release without the test CATs would be empty",
            'set hide = "labels" in [release], or set dev in [split]',
        )
    check_published(campaign, public)
    check_published(campaign, cats, release.hide)
    path = gold_file(campaign, release.version)
    if path.exists():
        golds = read_golds(path)
        _check_same(campaign, path, cats, golds)
    else:
        _check_not_lost(campaign, path)
        _check_in_vain(campaign, cats, reporter)
        is_sealed = release.hide == "all"
        golds = hidden.assign(cats, draw or secrets.token_bytes, sealed=is_sealed)
    results.records(path.name, golds, private=True)
    if release.hide == "all":
        return hidden.seal(contents, golds, hide_terms=release.hide_terms), golds
    return hidden.conceal(contents, golds, "test"), golds


def public_facts(
    campaign: Campaign,
    facts: Facts,
    before: Contents,
    after: Contents,
    golds: Sequence[HiddenGold],
    results: Results,
    reporter: Reporter,
) -> Facts:
    """The facts as they are published: without numbers that give away hidden gold labels.

    Args:
        campaign: the campaign.
        facts: the facts of the whole release.
        before: its contents, as given to ``hide``.
        after: its contents, as from ``hide``.
        golds: the hidden CATs, as from ``hide``.
        results: where the ledger of published values is staged.
        reporter: where it warns that numbers are left out.

    Raises:
        CurationError: the trust report names hidden CATs.
    """
    if not campaign.settings.release.hide:
        return facts
    trust = facts.trust.model_dump_json() if facts.trust else ""
    if named := [cat.id for cat in before.part("test") if f'"{cat.id}"' in trust]:
        raise CurationError(
            f"6-trust/report.json names {amount(len(named), 'CAT')} whose gold labels are to be "
            f"hidden, such as {some(named, _SHOWN)}",
            "delete 6-trust/report.json to go on without it, and report this: it is an error of "
            "curation",
        )
    if after.sealed:
        return numbers.sealed_facts(facts, after)
    secret = secret_golds(campaign, golds)
    few = _nearly_the_same(campaign, secret)
    for version, count in few.items():
        reporter.warn(
            f"the hidden CATs differ from those of version {version} in {amount(count, 'CAT')}: "
            "numbers that depend on their gold labels are left out, because the difference to that "
            "version would be about few CATs"
        )
    enough = not few and len(secret) >= numbers.FEW
    public = numbers.coarse(facts, after, split="test", numbers=enough)
    return affordable(campaign, public, secret, results, reporter)


def _nearly_the_same(campaign: Campaign, golds: Sequence[HiddenGold]) -> dict[str, int]:
    """By version with hidden CATs, in how many CATs these differ, if in few."""
    own = {fingerprint([gold]) for gold in golds}
    return {
        version: count
        for version, others in hidden_golds(campaign).items()
        if version != campaign.settings.release.version
        and 0 < (count := len(own ^ {fingerprint([gold]) for gold in others})) < ONE
    }


# --- what must not happen -------------------------------------------------------------------------


def _check_same(
    campaign: Campaign, path: Path, cats: Sequence[PublishedCat], golds: Sequence[HiddenGold]
) -> None:
    was, now = "all" if golds[0].sealed else "labels", campaign.settings.release.hide
    if was != now:
        raise CurationError(
            f'{path}: is of a version with hide = "{was}" in [release], which is "{now}" now',
            f'set hide = "{was}", or raise version; or, if nobody has this version, delete this '
            "file and the folder of the version",
        )
    if changed := hidden.differences(cats, golds):
        raise CurationError(
            f"{path}: is about other CATs: {amount(len(changed), 'hidden CAT')} changed or "
            f"were added or removed since, such as {some(changed, _SHOWN)}",
            "raise version in [release]; or, if nobody has this version, delete this file and the "
            "folder of the version",
        )


def _check_not_lost(campaign: Campaign, path: Path) -> None:
    """Check that a version without a gold file was not built yet."""
    version = campaign.settings.release.version
    for place in (campaign.releases / f"{version}{end}" for end in ("", ANONYMOUS)):
        if not place.exists():
            continue
        where = f"{campaign.releases.name}/{place.name}"
        if _committed(place):
            raise CurationError(
                f"{path}: is lost, but {where} was built with it. Only this file has the hidden "
                "gold labels under the published ids, and the nonces that prove them",
                "restore the file from a backup. Without it this version can never be revealed or "
                "scored: raise version in [release], build again, and ask people to use the new "
                "version",
            )
        raise CurationError(
            f"{where} is built already with all gold labels, so it cannot be hidden now",
            "raise version in [release]; or, if nobody has this version, delete the folder; or set "
            'hide = "" in [release] to publish them',
        )


def _committed(place: Path) -> bool:
    """Whether a built version has hidden CATs."""
    return (place / SEALED).exists() or any(is_hidden_item(item) for item in items_of(place))


def check_published(campaign: Campaign, cats: Iterable[PublishedCat], hide: Hide = "") -> None:
    """Check that no gold label that is hidden in a version would be published or given away.

    All scores on a sealed test set are public, so together with texts they give away gold labels.
    So no CAT may be sealed in one version and have its texts in another.

    Args:
        campaign: the campaign.
        cats: the CATs that are to be published, with the ids of the campaign.
        hide: what is to be hidden of them.

    Raises:
        CurationError: some are hidden in another way in a version that is not revealed, and
            ``accept`` does not allow it.
    """
    by_id = {cat.id: cat for cat in cats}
    keys = {_texts(cat) for cat in by_id.values()}
    release = campaign.settings.release
    for version, level, hidden_cats in () if PUBLISHED in release.accept else _unrevealed(campaign):
        known = {id for id, texts in hidden_cats if id in by_id or texts in keys}
        other = level != hide and not (hide and version == release.version)
        if known and other:
            why = f', with hide = "{level}" there and "{hide}" here: texts and scores tell them'
            raise CurationError(
                f"{PUBLISHED}: the gold labels of {amount(len(known), 'CAT')} would be published "
                f"that are hidden in version {version}, such as {some(sorted(known), _SHOWN)}"
                f"{why * bool(hide)}",
                f"build with «curation release build --hide {level}» (or hide in [release]); or "
                f"reveal them with «curation release reveal {version}»; or, if you want to publish "
                f'them without a proof, add "{PUBLISHED}" to accept in [release]',
            )


def check_upload(campaign: Campaign, folder: Path) -> None:
    """Check that a built version has no gold labels that are hidden in another one.

    Raises:
        CurationError: it has some, and ``accept`` does not allow it.
    """
    if PUBLISHED in campaign.settings.release.accept:
        return
    every = items_of(folder)
    for version, level, hidden_cats in _unrevealed(campaign):
        # With the texts of a sealed test set, its scores give away gold labels.
        items = [item for item in every if level == "all" or not is_hidden_item(item)]
        ids = {str(item.get("id")) for item in items}
        keys = {texts_of_item(item) for item in items}
        known = [id for id, texts in hidden_cats if id in ids or texts in keys]
        if known:
            raise CurationError(
                f"{PUBLISHED}: {folder.name} has the gold labels of {amount(len(known), 'CAT')} "
                f"that are hidden in version {version}, such as {some(sorted(known), _SHOWN)}",
                f"upload a version that hides them; or reveal them with «curation release reveal "
                f'{version}»; or, if they may be known, add "{PUBLISHED}" to accept in [release]',
            )


def _unrevealed(campaign: Campaign) -> Iterator[tuple[str, Hide, list[tuple[str, object]]]]:
    """The versions that hide gold labels, with the level, and id and texts of each hidden CAT.

    The ids are those of the campaign; if the gold file is lost, they are the public ones.
    """
    for version, path in hidden_versions(campaign):
        if not is_revealed(campaign, version):
            golds = read_golds(path)
            known: list[tuple[str, object]] = [(g.original, _texts_of_gold(g)) for g in golds]
            yield version, "all" if golds[0].sealed else "labels", known
    for place in built_versions(campaign):
        version = place.name.removesuffix(ANONYMOUS)
        if gold_file(campaign, version).exists() or is_revealed(campaign, version):
            continue
        if (place / SEALED).exists() and version != campaign.settings.release.version:
            raise CurationError(
                f"{gold_file(campaign, version)}: is lost, so nobody knows which CATs {place.name} "
                "seals, and which must not be published",
                f'restore the file from a backup; or, if they may be known, add "{PUBLISHED}" to '
                "accept in [release]",
            )
        items: list[dict[str, Any]] = []
        with suppress(CurationError):  # a damaged version is reported when it is compared
            items = [item for item in items_of(place) if is_hidden_item(item)]
        yield version, "labels", [(str(item.get("id")), texts_of_item(item)) for item in items]


def warn_of_export(campaign: Campaign, ids: Container[str], reporter: Reporter) -> None:
    """Warn that CATs with these ids have gold labels that are hidden in a version."""
    for version, path in hidden_versions(campaign):
        golds = read_golds(path)
        count = sum(gold.original in ids for gold in golds)
        if count and not is_revealed(campaign, version):
            texts = "texts and " if golds[0].sealed else ""
            reporter.warn(
                f"the {texts}gold labels of {amount(count, 'CAT')} are hidden in version "
                f"{version}, and the export has them: do not publish it"
            )


def _check_in_vain(campaign: Campaign, cats: Sequence[PublishedCat], reporter: Reporter) -> None:
    """Check that the gold labels that are to be hidden are not in another built version."""
    ids = {cat.id for cat in cats}
    keys = {_texts(cat): cat.id for cat in cats}
    version = campaign.settings.release.version
    own = {f"{version}{end}" for end in ("", ANONYMOUS, REVEALED)}
    for place in built_versions(campaign):
        if place.name in own:
            continue
        known = set()
        for item in items_of(place):
            if is_hidden_item(item):
                continue
            id = str(item.get("id"))
            known.add(id if id in ids else keys.get(texts_of_item(item), ""))
        known.discard("")
        if not known:
            continue
        says = (
            f"the gold labels of {len(known)} of {amount(len(cats), 'CAT')} to hide are in "
            f"{campaign.releases.name}/{place.name}"
        )
        if IN_VAIN not in campaign.settings.release.accept:
            raise CurationError(
                f"{IN_VAIN}: {says}, such as {some(sorted(known), _SHOWN)}",
                "if that version was never published, delete its folder; else collect new CATs for "
                'the test set, or set hide = "" in [release] to publish them, or add '
                f'"{IN_VAIN}" to accept there',
            )
        reporter.warn(f"{says}; everybody who has that version knows them ({IN_VAIN})")


def _texts(cat: PublishedCat) -> tuple[object, ...]:
    return hidden.texts(cat.kind, cat.context, (option.sentence for option in cat.options))


def _texts_of_gold(gold: HiddenGold) -> tuple[object, ...]:
    return hidden.texts(gold.kind, gold.context, (option.sentence for option in gold.sentences))
