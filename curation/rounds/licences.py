"""The licences that annotators agreed to, compared with the licence of the release.

The consent text of a round that was opened here names a licence. Answers of people who never saw
such a text, such as published answers, are not compared: only the team knows their licence.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from curation.campaign.store import Campaign
from curation.files import CurationError
from curation.rounds.pages import consent_text, consent_version
from curation.text.rules import licence_name
from curation.work.reporter import Reporter

DIFFERS = "licence_differs"
"""The code in ``accept`` that lets a release have another licence."""


class Agreed(NamedTuple):
    """A licence, the people who agreed to it, and the rounds that these people answered in."""

    licence: str
    people: set[str]
    rounds: set[str]


def agreed(campaign: Campaign, answered: Iterable[tuple[str, str]]) -> list[Agreed]:
    """The licences that people agreed to.

    Their last consent counts. Somebody without one, as with ``consent = false``, is counted under
    the licence in the text of the rounds that they answered.

    Args:
        campaign: the campaign.
        answered: person and round of the answers that are compared.

    Returns:
        The licences, the most frequent first. One that is empty has the people whose consent text
        does not name a licence.

    Raises:
        CurationError: the texts of a round are damaged.
    """
    of_round, of_version = _named(campaign)
    consents = {person.id: person.consent for person in campaign.people}
    by_licence: dict[str, Agreed] = {}
    for person, round in answered:
        licence = of_version.get(consents.get(person) or "", of_round.get(round))
        if licence is not None:
            group = by_licence.setdefault(licence_name(licence), Agreed(licence, set(), set()))
            group.people.add(person)
            group.rounds.add(round)
    return sorted(by_licence.values(), key=lambda group: (-len(group.people), group.licence))


def warn_of_other(campaign: Campaign, licence: str, reporter: Reporter) -> None:
    """Warn if people are about to be asked for another licence than that of the release."""
    own = campaign.settings.release.licence
    if licence.strip() and licence_name(licence) != licence_name(own):
        reporter.warn(
            f"the texts for annotators name the licence {licence!r}, and [release] names {own!r}; "
            f"a release needs the licence that people agreed to ({DIFFERS})"
        )


def others(
    campaign: Campaign, answered: Iterable[tuple[str, str]], reporter: Reporter
) -> dict[str, int]:
    """How many people agreed to each licence that is not that of the release.

    Args:
        campaign: the campaign.
        answered: person and round of the answers in the release.
        reporter: where it warns of consent texts without a licence.

    Raises:
        CurationError: somebody agreed to another licence, and ``accept`` does not allow it.
    """
    settings = campaign.settings.release
    licences = agreed(campaign, answered)
    for group in licences:
        if not group.licence:
            reporter.warn(
                f"{_rounds(group.rounds)}: the consent text does not name the licence in [study], "
                f"so it is not compared with the release's, {settings.licence!r}"
            )
    named = [group for group in licences if group.licence]
    different = {
        group.licence: len(group.people)
        for group in named
        if licence_name(group.licence) != licence_name(settings.licence)
    }
    if different and DIFFERS not in settings.accept:
        raise CurationError(
            f"{DIFFERS}: the licence of the release is {settings.licence!r}, but annotators agreed "
            f"to {_listed(named)}",
            "set licence in [release] to the licence that they agreed to, or ask them again; if "
            f'you may publish under the other one, add "{DIFFERS}" to accept in [release]',
        )
    return different


def _listed(licences: Sequence[Agreed]) -> str:
    return "; ".join(
        f"{group.licence!r} ({_people(len(group.people))}, {_rounds(group.rounds)})"
        for group in licences
    )


def _people(count: int) -> str:
    return f"{count} {'person' if count == 1 else 'people'}"


def _rounds(names: set[str]) -> str:
    return f"{'round' if len(names) == 1 else 'rounds'} {', '.join(sorted(names))}"


def _named(campaign: Campaign) -> tuple[dict[str, str], dict[str, str]]:
    """The licence that a consent text names: by round, and by version of the text."""
    of_round, of_version = {}, {}
    for name in campaign.round_names():
        texts = campaign.texts[name]
        if texts is None:
            continue
        try:
            licence = _licence(texts)
            of_version[consent_version(dict(texts))] = licence
        except (AttributeError, KeyError, TypeError, ValueError):
            path = campaign.folder("rounds") / name / "texts.json"
            raise CurationError(
                f"{path}: not the texts of a round", "put the file back as it was"
            ) from None
        of_round[name] = licence
    return of_round, of_version


def _licence(texts: Mapping[str, Any]) -> str:
    """The licence in ``[study]`` if the consent text shows it; else empty."""
    licence = str(texts["study"]["licence"]).strip()
    return licence if licence_name(licence) in licence_name(consent_text(dict(texts))) else ""
