"""Warns of targets and annotators of an import that differ only in case or spaces."""

from collections.abc import Collection, Iterable, Sequence

from curation.campaign import Campaign
from curation.files import read_records
from curation.records import Person
from curation.steps.reporter import Reporter
from curation.steps.rounds import round_files
from curation.text.rules import same_text

SHOWN = 5  # examples in a warning
_FIX = (
    "exclude one of the ids with «curation rounds exclude», and import its rows with the other id"
)


def warn_of_targets(
    new: Collection[tuple[str, str]], known: Iterable[tuple[str, str]], reporter: Reporter
) -> None:
    """Warn of targets that differ from another one of their domain only in case or spaces.

    Args:
        new: pairs (domain, target) of an import that the campaign did not have as terms.
        known: pairs (domain, text) of the campaign's terms, other names included.
        reporter: where the warning goes.
    """
    domains = dict.fromkeys(domain for domain, _ in new)
    groups = []
    for domain in domains:
        texts = [text for of, text in new if of == domain]
        groups += _alike(texts, [text for of, text in known if of == domain])
    if groups:
        reporter.warn(
            f"targets that differ only in case or spaces: {_examples(groups)}. They are different "
            "terms; if they are one, merge one into the other in 1-terms/edits.csv"
        )


def warn_of_people(
    campaign: Campaign, named: Iterable[str], reporter: Reporter, *, fix: str = ""
) -> None:
    """Warn of new annotators whose ids differ from another one only in case or spaces.

    Call it before the answers are archived.

    Args:
        campaign: the campaign.
        named: the ids of the people in a table, as they are in it.
        reporter: where the warning goes.
        fix: what to do if they are one person; by default, what to do about their answers.
    """
    from curation.rounds import people

    path = campaign.rounds / "people.jsonl"
    known = {person.id for person in read_records(path, Person)} if path.exists() else set()
    pseudonym = people.pseudonyms(people.read_key(campaign.settings.campaign.id))
    # Ids with an @ are the same in capitals and in small letters.
    new = [p for p in dict.fromkeys(named) if p and "@" not in p and pseudonym(p) not in known]
    groups = _alike(new, _archived(campaign) if known and new else ())
    if groups:
        reporter.warn(
            f"annotators whose ids differ only in case or spaces: {_examples(groups)}. They count "
            f"as different people; if they are one person, {fix or _FIX}"
        )


def _archived(campaign: Campaign) -> Iterable[str]:
    """The ids of all people who sent answers."""
    from curation.rounds.answers import archive
    from curation.rounds.answers.interpret import person_of

    return {
        person
        for round in campaign.round_names()
        for words in [round_files.read_words(campaign, round)]
        for _, event in archive.read(campaign.rounds / round / "raw")
        if (person := person_of(event, words))
    }


def _alike(new: Sequence[str], known: Iterable[str]) -> list[list[str]]:
    """Groups of different texts with the same normalised form; each has a new text."""
    groups: dict[str, list[str]] = {_key(text): [] for text in new}
    for text in dict.fromkeys((*known, *new)):
        if (own := groups.get(_key(text))) is not None:
            own.append(text)
    return [group for group in groups.values() if len(group) > 1]


def _key(text: str) -> str:
    return same_text(text).replace(" ", "")


def _examples(groups: Sequence[Sequence[str]]) -> str:
    shown = [" and ".join(map(repr, group)) for group in groups[:SHOWN]]
    more = f"; and {len(groups) - SHOWN} more" if len(groups) > SHOWN else ""
    return "; ".join(shown) + more
