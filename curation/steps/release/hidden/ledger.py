"""The private ledger ``7-release/given-out.jsonl``: the values about hidden gold labels given out.

The budget belongs to the hidden CATs, so all versions of a campaign have one ledger. A build adds
the values that it publishes. Nothing is ever taken out.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from curation.campaign import SETTINGS, Campaign, open_campaign
from curation.files import CurationError, read_json, read_records
from curation.release.contents import FACTS
from curation.release.facts import Facts
from curation.release.hidden import numbers
from curation.release.hidden.commitments import HiddenGold
from curation.release.hidden.numbers import GivenOut
from curation.steps.release.hidden.golds import (
    gold_file,
    hidden_versions,
    is_revealed,
    read_golds,
)
from curation.steps.release.versions import (
    ANONYMOUS,
    built,
    is_hidden_item,
    items_of,
    texts_of_item,
)
from curation.steps.reporter import Reporter
from curation.text.wording import amount, some
from curation.work.manifest import Results

LEDGER = "given-out.jsonl"
_SHOWN = 5  # values that a message names


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
        names = some([value.name for value in left_out], _SHOWN)
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
            f"{some(others, _SHOWN)}"
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
            f"show in [release] names what has no values on hidden CATs: {some(unknown, _SHOWN)}; "
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
        version: secret(campaign, read_golds(path))
        for version, path in hidden_versions(campaign)
        if not is_revealed(campaign, version)
    }


def secret(campaign: Campaign, golds: Sequence[HiddenGold]) -> list[HiddenGold]:
    """The hidden CATs whose gold labels no other version has published or revealed."""
    public: set[object] = set()
    for version, path in hidden_versions(campaign):
        if is_revealed(campaign, version):
            public |= numbers.names(read_golds(path))
    for place in built(campaign):
        for item in items_of(place):
            if not is_hidden_item(item):
                public |= {str(item.get("id")), texts_of_item(item)}
    return [gold for gold in golds if not public & numbers.names([gold])]


def _standing(campaign: Campaign, golds: Mapping[str, Sequence[HiddenGold]]) -> list[GivenOut]:
    """The values that were given out about gold labels that are still hidden.

    They are those of the ledger, and those of built versions, in case the ledger was lost.
    """
    found = [f for f in read_ledger(campaign) if not is_revealed(campaign, f.version)]
    for place in built(campaign):
        version = place.name.removesuffix(ANONYMOUS)
        if not is_revealed(campaign, version) and (place / FACTS).is_file():
            found += _values(_facts(place / FACTS), version, golds.get(version, ()))
    return found


def _facts(path: Path) -> Facts:
    return Facts.model_validate(read_json(path))
