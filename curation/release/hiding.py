"""Hidden test sets: what may be hidden or published, and how many values about hidden labels."""

import secrets
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from curation.campaign.manifest import Results
from curation.campaign.settings import Hide, write_setting
from curation.campaign.store import SETTINGS, Campaign
from curation.campaign.versions import (
    LEDGER,
    REVEALED,
    BuiltVersion,
    History,
    gold_file,
    values_of,
)
from curation.files import CurationError
from curation.released import commitments, numbers
from curation.released.commitments import Draw, HiddenGold
from curation.released.contents import Contents, PublishedCat
from curation.released.facts import Facts, TrustFacts
from curation.released.numbers import ONE, GivenOut, fingerprint
from curation.text.wording import amount, some
from curation.work.reporter import Reporter

_VALUES_SHOWN = 5  # values that a message names


def _affordable(
    history: History,
    facts: Facts,
    golds: Sequence[HiddenGold],
    results: Results,
    reporter: Reporter,
) -> Facts:
    """The facts with no more values about the hidden CATs than their budget; stages the ledger.

    Values that were given out before stay. Then come those that ``show`` in ``[release]`` names, in
    its order; if it is empty, those of models.
    """
    version = history.release.version
    every = {**history.hidden, version: golds}
    found = values_of(facts, version, golds)
    wanted = _wanted(found, history.release.show, reporter)
    given, dev = history.given(every), numbers.dev_cats(facts)
    room = numbers.values_left(version, every, given, dev=dev)
    shown, left_out = numbers.share_out(wanted, given, room)
    new = [value for value in shown if value not in history.ledger]
    results.records(LEDGER, [*history.ledger, *new], private=True)
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
    return numbers.drop_values(facts, [value.name for value in found if value not in shown])


def _wanted(values: Sequence[GivenOut], show: Sequence[str], reporter: Reporter) -> list[GivenOut]:
    """The values that the team wants to publish, the most important first."""
    if not show:
        return [value for value in values if value.name.startswith("model ")]
    named = {name: [value for value in values if _is_named(name, value.name)] for name in show}
    if values and (unknown := [name for name in show if not named[name]]):
        reporter.warn(
            "show in [release] names what has no values on hidden CATs: "
            f"{some(unknown, _VALUES_SHOWN)}; "
            "name models or baselines as in the card, sentiment, or trust"
        )
    return list(dict.fromkeys(value for name in show for value in named[name]))


def _is_named(given: str, value: str) -> bool:
    """Whether a name in ``show`` is that of a value, such as "model gpt2 (default)"."""
    sort, _, rest = value.partition(" ")
    return given in (sort if sort in ("sentiment", "trust") else rest, rest.rpartition(" (")[0])


def board_rows(history: History, facts: Facts) -> int:
    """How many rows a board of a version with hidden labels may show.

    Args:
        history: with the version itself.
        facts: those of the version.
    """
    dev, golds = numbers.dev_cats(facts), history.hidden
    return numbers.board_rows_left(facts.version, golds, history.given(golds), dev=dev)


IN_VAIN = "hidden_in_vain"
PUBLISHED = "publishes_hidden"
CODES = (IN_VAIN, PUBLISHED)
"""The codes in ``accept`` that let a release hide or publish such gold labels all the same."""
_SHOWN = 3  # CATs that an error names


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
    return campaign.reload()


def hide(
    history: History,
    contents: Contents,
    results: Results,
    reporter: Reporter,
    *,
    draw: Draw | None = None,
) -> tuple[Contents, list[HiddenGold]]:
    """The contents as they are published: with ``hide`` in ``[release]``, test is hidden.

    All that forbids it is checked first. The private gold file is staged. It comes to its place
    before the folder of the version does. If it is there already, its ids and nonces are used
    again. So the same CATs give the same bytes.

    Args:
        history: what was hidden and published before.
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
    release = history.release
    if not history.hide:
        check_published(history, contents.cats)
        return contents, []
    cats, public = contents.part("test"), contents.part("dev")
    if not cats:
        raise CurationError(
            "there are no test CATs to hide",
            'set hide = "" in [release], or collect CATs on more terms for test',
        )
    if history.hide == "all" and not public:
        raise CurationError(
            "there are no dev CATs, so a release without the test CATs would be empty",
            'set hide = "labels" in [release], or set dev in [split]',
        )
    if not contents.in_stereoset:
        raise CurationError(
            "gold labels are revealed in StereoSet's format, and it cannot have all kinds of these "
            "CATs",
            'set hide = "" in [release], or use CATs of other kinds',
        )
    check_published(history, public)
    check_published(history, cats, history.hide)
    path, is_sealed = gold_file(history.campaign, release.version), history.hide == "all"
    if path.exists():
        golds = history.golds(release.version)
        _check_same(path, history.hide, cats, golds)
    else:
        _check_not_lost(history, path)
        _check_in_vain(history, cats, reporter)

        golds = commitments.assign(cats, draw or secrets.token_bytes, sealed=is_sealed)
    results.records(path.name, golds, private=True)
    if is_sealed:
        return commitments.seal(contents, golds, hide_terms=release.hide_terms), golds
    return commitments.conceal(contents, golds, "test"), golds


def check_trust(history: History, trust: TrustFacts | None, contents: Contents) -> None:
    """Check that the trust report does not name CATs that are to be hidden.

    Raises:
        CurationError: it does.
    """
    text = trust.model_dump_json() if trust and history.hide else ""
    if named := [cat.id for cat in contents.part("test") if f'"{cat.id}"' in text]:
        raise CurationError(
            f"6-trust/report.json names {amount(len(named), 'CAT')} whose gold labels are to be "
            f"hidden, such as {some(named, _SHOWN)}",
            "delete 6-trust/report.json to go on without it, and report this: it is an error of "
            "curation",
        )


def public_facts(
    history: History,
    facts: Facts,
    contents: Contents,
    golds: Sequence[HiddenGold],
    results: Results,
    reporter: Reporter,
) -> Facts:
    """The facts as they are published: without numbers that give away hidden gold labels.

    Args:
        history: what was hidden and published before.
        facts: the facts of the whole release.
        contents: what is published, as from ``hide``.
        golds: the hidden CATs, as from ``hide``.
        results: where the ledger of published values is staged.
        reporter: where it warns that numbers are left out.
    """
    if not history.hide:
        return facts
    if contents.sealed:
        return numbers.sealed_facts(facts, contents)
    secret = history.secret(golds)
    enough = len(secret) >= numbers.FEW
    for version, count in nearly_the_same(history, history.release.version, secret):
        enough = False
        reporter.warn(
            f"the hidden CATs differ from those of version {version} in "
            f"{amount(count, 'CAT')}: numbers that depend on their gold labels are left out, "
            "because the difference to that version would be about few CATs"
        )
    public = numbers.coarse(facts, contents, split="test", numbers=enough)
    return _affordable(history, public, secret, results, reporter)


def nearly_the_same(
    history: History, version: str, secret: Iterable[HiddenGold]
) -> Iterator[tuple[str, int]]:
    """Other versions whose hidden CATs are nearly these of a version, and in how many they differ.

    Values about both versions would tell a value about these few CATs.
    """
    own = {fingerprint([gold]) for gold in secret}
    for other, golds in history.hidden.items():
        count = len(own ^ {fingerprint([gold]) for gold in golds})
        if other != version and 0 < count < ONE:
            yield other, count


# --- what must not happen -------------------------------------------------------------------------


def _check_same(
    path: Path, now: Hide, cats: Sequence[PublishedCat], golds: Sequence[HiddenGold]
) -> None:
    was = "all" if golds[0].sealed else "labels"
    if was != now:
        raise CurationError(
            f'{path}: is of a version with hide = "{was}" in [release], which is "{now}" now',
            f'set hide = "{was}", or raise version; or, if nobody has this version, delete this '
            "file and the folder of the version",
        )
    if changed := commitments.differences(cats, golds):
        raise CurationError(
            f"{path}: is about other CATs: {amount(len(changed), 'hidden CAT')} changed or "
            f"were added or removed since, such as {some(changed, _SHOWN)}",
            "raise version in [release]; or, if nobody has this version, delete this file and the "
            "folder of the version",
        )


def _check_not_lost(history: History, path: Path) -> None:
    """Check that a version without a gold file was not built yet."""
    for place in history.built:
        if place.version != history.release.version:
            continue
        where = f"{place.folder.parent.name}/{place.folder.name}"
        if place.is_sealed or not all(cat.labelled for cat in place.cats):
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


def check_published(history: History, cats: Iterable[PublishedCat], hide: Hide = "") -> None:
    """Check that no gold label that is hidden in a version would be published or given away.

    All scores on a sealed test set are public, so together with texts they give away gold labels.
    So no CAT may be sealed in one version and have its texts in another.

    Args:
        history: what was hidden before.
        cats: the CATs that are to be published, with the ids of the campaign.
        hide: what is to be hidden of them.

    Raises:
        CurationError: some are hidden in another way in a version that is not revealed, and
            ``accept`` does not allow it.
    """
    others = list(_unrevealed(history))
    names = _names(cats if others else ())
    for version, level, hidden_cats in others:
        known = {id for id, texts in hidden_cats if names & {id, texts}}
        other = level != hide and not (hide and version == history.release.version)
        if known and other:
            why = f', with hide = "{level}" there and "{hide}" here: texts and scores tell them'
            why = why if hide else ""
            raise CurationError(
                f"{PUBLISHED}: the gold labels of {amount(len(known), 'CAT')} would be published "
                f"that are hidden in version {version}, such as {some(sorted(known), _SHOWN)}"
                f"{why}",
                f"build with «curation release build --hide {level}» (or hide in [release]); or "
                f"reveal them with «curation release reveal {version}»; or, if you want to publish "
                f'them without a proof, add "{PUBLISHED}" to accept in [release]',
            )


def check_upload(campaign: Campaign, folder: Path) -> None:
    """Check that a built version has no gold labels that are hidden in another one.

    Raises:
        CurationError: it has some, and ``accept`` does not allow it.
    """
    every = BuiltVersion(folder).cats
    for version, level, hidden_cats in _unrevealed(History(campaign)):
        # With the texts of a sealed test set, its scores give away gold labels.
        names = _names(cat for cat in every if level == "all" or cat.labelled)
        if known := [id for id, texts in hidden_cats if names & {id, texts}]:
            raise CurationError(
                f"{PUBLISHED}: {folder.name} has the gold labels of {amount(len(known), 'CAT')} "
                f"that are hidden in version {version}, such as {some(sorted(known), _SHOWN)}",
                f"upload a version that hides them; or reveal them with «curation release reveal "
                f'{version}»; or, if they may be known, add "{PUBLISHED}" to accept in [release]',
            )


def _names(cats: Iterable[PublishedCat]) -> set[object]:
    """By what CATs are recognised: their ids and their texts."""
    return {name for cat in cats for name in (cat.id, cat.texts)}


def _unrevealed(history: History) -> Iterator[tuple[str, Hide, list[tuple[str, object]]]]:
    """The versions that hide gold labels, with the level, and id and texts of each hidden CAT.

    The ids are those of the campaign; if the gold file is lost, they are the public ones. There are
    none if ``accept`` says that they may be published.
    """
    if PUBLISHED in history.release.accept:
        return
    for version in history.files:
        if not history.revealed(version):
            golds = history.golds(version)
            known: list[tuple[str, object]] = [(gold.original, gold.texts) for gold in golds]
            yield version, "all" if golds[0].sealed else "labels", known
    for place in history.built:
        version = place.version
        if version in history.files or history.revealed(version):
            continue
        if place.is_sealed and version != history.release.version:
            raise CurationError(
                f"{gold_file(history.campaign, version)}: is lost, so nobody knows which CATs "
                f"{place.folder.name} seals, and which must not be published",
                f'restore the file from a backup; or, if they may be known, add "{PUBLISHED}" to '
                "accept in [release]",
            )
        cats: list[PublishedCat] = []
        with suppress(CurationError):  # a damaged version is reported when it is compared
            cats = [cat for cat in place.cats if not cat.labelled]
        yield version, "labels", [(cat.id, cat.texts) for cat in cats]


def warn_of_export(campaign: Campaign, ids: Container[str], reporter: Reporter) -> None:
    """Warn that CATs with these ids have gold labels that are hidden in a version."""
    history = History(campaign)
    for version in history.files:
        golds = history.golds(version)
        count = sum(gold.original in ids for gold in golds)
        if count and not history.revealed(version):
            texts = "texts and " if golds[0].sealed else ""
            reporter.warn(
                f"the {texts}gold labels of {amount(count, 'CAT')} are hidden in version "
                f"{version}, and the export has them: do not publish it"
            )


def _check_in_vain(history: History, cats: Sequence[PublishedCat], reporter: Reporter) -> None:
    """Check that the gold labels that are to be hidden are not in another built version."""
    own = {name: cat.id for cat in cats for name in (cat.texts, cat.id)}
    version = history.release.version
    for place in history.built:
        if place.version in (version, f"{version}{REVEALED}"):
            continue
        labelled = [cat for cat in place.cats if cat.labelled]
        known = {own.get(cat.id) or own.get(cat.texts, "") for cat in labelled} - {""}
        if not known:
            continue
        says = (
            f"the gold labels of {len(known)} of {amount(len(cats), 'CAT')} to hide are in "
            f"{place.folder.parent.name}/{place.folder.name}"
        )
        if IN_VAIN not in history.release.accept:
            raise CurationError(
                f"{IN_VAIN}: {says}, such as {some(sorted(known), _SHOWN)}",
                "if that version was never published, delete its folder; else collect new CATs for "
                'the test set, or set hide = "" in [release] to publish them, or add '
                f'"{IN_VAIN}" to accept there',
            )
        reporter.warn(f"{says}; everybody who has that version knows them ({IN_VAIN})")
