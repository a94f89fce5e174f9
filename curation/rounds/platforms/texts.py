"""The texts of a campaign's rounds: its own ones, what its annotators see, what they agreed to.

The consent text of a round that was opened here names a licence. Answers of people who never saw
such a text, such as published answers, are not compared with the licence of the release: only the
team knows their licence.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from curation.campaign.dataset import Dataset
from curation.campaign.store import Campaign
from curation.files import CurationError, read_text, shipped, writing
from curation.formats.table_words import (
    FIRST,
    Words,
    languages,
    nearest,
    read_shipped,
    round_words,
    shipped_words,
)
from curation.formats.toml_files import comment, read_toml, toml_value
from curation.kinds import KINDS, ROUNDS, RoundKindName
from curation.records import Round, Task
from curation.rounds.platforms import pages
from curation.rounds.platforms.pages import (
    TrainingExample,
    consent_text,
    consent_version,
    read_training,
)
from curation.terms.steps import selection
from curation.text.rules import licence_name
from curation.text.wording import amount, earned, money
from curation.work.reporter import Reporter

NEEDED_FACTS = ("institution", "contact")
"""The facts of the study without which nobody can consent."""


def own_texts(campaign: Campaign) -> Path:
    """The file in which a team changes texts that annotators see."""
    return campaign.folder("rounds") / "text.toml"


OWN_TEXTS: Dataset[pages.Own] = Dataset(
    "own texts",
    lambda campaign: [own_texts(campaign)],
    lambda campaign: pages.read_own(campaign.settings.campaign.language, own_texts(campaign)),
)


def new_texts(campaign: Campaign, pay: float, *, typing: bool = False) -> dict[str, Any]:
    """Every string that annotators of a new round see: shipped texts, and the team's own file.

    Args:
        campaign: the campaign.
        pay: the pay for one task of the round; 0 if people are not paid.
        typing: whether the consent says that it is counted how texts come about.

    Raises:
        CurationError: a file of texts is damaged, or has a key that is not known.
    """
    settings = campaign.settings
    study = {"licence": settings.release.licence}
    amount = money(earned(pay, 1)) if pay else ""
    return pages.texts(
        settings.campaign.language,
        campaign[OWN_TEXTS],
        study=study,
        pay=(amount, settings.rounds.currency),
        typing=typing,
    )


def shown_texts(campaign: Campaign, round: Round) -> dict[str, Any]:
    """Every string that the annotators of a round see, as it was planned.

    All its people read the same, whatever changes in the campaign.

    Raises:
        CurationError: a file of texts is damaged, or has a key that is not known.
    """
    frozen = campaign.texts[round.name]
    return new_texts(campaign, round.pay) if frozen is None else frozen


def read_words(campaign: Campaign, name: str) -> Words:
    """What words in the tables of a round mean; those of the shipped languages if it has no texts.

    Raises:
        CurationError: the texts of the round are damaged.
    """
    texts = campaign.texts[name]
    return shipped_words() if texts is None else round_words(texts)


def training(campaign: Campaign, kind: RoundKindName) -> tuple[TrainingExample, ...]:
    """The examples that people try before their tasks; empty if there are none.

    Raises:
        CurationError: the campaign's own ``2-rounds/training.csv`` is damaged.
    """
    own, language = campaign.folder("rounds") / "training.csv", campaign.settings.campaign.language
    return read_training(own, language, kind)


def task_data(campaign: Campaign, round: Round, tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """What leaves the campaign for each task: what people need to answer it, and nothing else."""
    shown = shown_texts(campaign, round)
    descriptions = _descriptions(campaign, tasks) if ROUNDS[round.kind].work == "review" else {}
    names = {term.id: term.text for term in campaign.terms.values()}
    return [
        pages.task_data(
            task,
            round.kind,
            texts=shown,
            info=descriptions.get(task.term, ""),
            choices=[(id, names[id]) for id in task.choices if id in names],
        )
        for task in tasks
    ]


def _descriptions(campaign: Campaign, tasks: Sequence[Task]) -> dict[str, str]:
    """By term id what a reviewer reads of it: its description, its number of statements."""
    terms = {task.term for task in tasks}
    descriptions = {}
    for candidate in selection(campaign).candidates:
        if candidate.id in terms:
            counted = amount(candidate.rolled, "statement") if candidate.item else ""
            descriptions[candidate.id] = "; ".join(filter(None, [candidate.description, counted]))
    return descriptions


def before_rounds(campaign: Campaign) -> str:
    """What the team has to write before a round can be opened; empty if nothing is missing."""
    language = campaign.settings.campaign.language
    command, place = f"curation rounds texts {language}", campaign.relative(own_texts(campaign))
    try:
        lacks = pages.lacking(language, campaign[OWN_TEXTS])
        if lacks.left:
            left = f"{amount(len(lacks.left), 'text')} that {place} still lacks"
            return f"write the {left} ({command} shows them)" if lacks.begun else command
        missing = pages.missing_facts(new_texts(campaign, 0))
    except CurationError as error:
        return f"{error.what}; {error.fix}"
    names = [name for name in NEEDED_FACTS if name in missing]
    if names and campaign.settings.rounds.consent:
        return f"write {' and '.join(names)} into [study] of {place}"
    return ""


def preview_texts(campaign: Campaign, to: Path) -> tuple[pages.Lacking, list[Path]]:
    """Write the texts of each kind of round, with English where a text lacks.

    Args:
        campaign: the campaign.
        to: the folder of the pages.

    Returns:
        The texts that are still to be written, and the pages.

    Raises:
        CurationError: the campaign's own texts are damaged, or have a key that is not known.
    """
    language, own = campaign.settings.campaign.language, campaign[OWN_TEXTS]
    made = []
    shown = pages.texts(language, own, english=True)
    for kind in ROUNDS:
        made.append(to / f"texts-{kind}.html")
        with writing(made[-1]) as file:
            file.write(pages.preview(kind, shown, language=language).encode())
    return pages.lacking(language, own), made


# --- a new language -----------------------------------------------------------------------------

KEPT = {"page", "study"}  # sections whose values are no texts
KEPT_KEYS = {("consent", "version"), ("writing", "blank")}
WORDS = "_words"  # how the names of sections end that list words that are read
HEAD = """\
# The texts that annotators read, in «{language}». Write each text in your language; the English
# text is beside it. What is in braces or brackets, such as {{contact}} or [n], stays as it is, at
# any place. **two stars** make bold, *one star* italics. Sections whose names end in _words list
# further words that are read in tables, and may stay empty. Change [writing] blank: it must be no
# ordinary word of a sentence. «curation rounds open» names the texts that are still missing.

"""
PROMPTS_HEAD = """\

# --- what chat models are asked -------------------------------------------------------------------
# Only for scores of chat models; if you need none, delete all below. docs/chat.md has the rules.

"""


def write_skeleton(
    campaign: Campaign, language: str, *, like: str = "", to: Path | None = None
) -> Path:
    """Write the file in which a team translates the texts for annotators into a new language.

    Facts of the study in ``2-rounds/text.toml`` are kept, if that is all that is in the file.

    Args:
        campaign: the campaign.
        language: the code of the language.
        like: a shipped language whose texts are filled in, because it is near.
        to: the file to write; None for the campaign's own ``2-rounds/text.toml``.

    Raises:
        CurationError: the file exists, or ``like`` is not shipped.
    """
    path, study = to or own_texts(campaign), dict[str, str]()
    if path.exists():
        if to or read_toml(path, fix="see docs/rounds.md").keys() - {pages.STUDY}:
            raise CurationError(f"{path}: exists already", "give another file with --to FILE")
        study = dict(pages.read_own(language, path).texts.get(pages.STUDY, {}))
    if like and nearest(like) is None:
        raise CurationError(
            f"no texts in the language {like!r} are shipped", f"use one of {', '.join(languages())}"
        )
    text = skeleton(language, like=like, study=study)
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path) as file:
        file.write(text.encode())
    return path


def skeleton(language: str, *, like: str = "", study: Mapping[str, str] | None = None) -> str:
    """The texts of forms, pages and tables, and the prompts of chat models, to be translated.

    Args:
        language: the code of the new language. Texts that are shipped in it or in its base, such
            as ``id`` of ``id-ID``, are filled in.
        like: a shipped language whose texts are filled in instead, because it is near.
        study: the facts of the study that are known.

    Returns:
        A TOML file. Texts that are not filled in are empty.
    """
    near = nearest(like or language)
    parts = [_translated(folder, near, study or {}) for folder in ("text", "tables")]
    return HEAD.format(language=language) + "\n".join(parts) + _prompts(near)


def _translated(folder: Any, near: str | None, study: Mapping[str, str]) -> str:
    """A shipped English file with the texts of another language, or with none."""
    import tomlkit  # most commands do not need it

    text = read_text(shipped("annotation_configs", folder, f"{FIRST}.toml"))
    document = tomlkit.parse(text[text.index("\n[") + 1 :])
    own = read_shipped(folder, near) if near else {}
    for section, keys in read_shipped(folder, FIRST).items():
        table: Any = document[section]
        for key, english in keys.items():
            given = own.get(section, {}).get(key)
            is_kept = section in KEPT or (section, key) in KEPT_KEYS
            if section == "study" and study.get(key):
                table[key] = study[key]
            elif is_kept:
                table[key] = english if given is None else given
            elif isinstance(english, str):
                table[key] = given or ""
                table[key].comment(english)
            elif section.endswith(WORDS):
                table[key] = _list(given or [])
                table[key].comment(", ".join(english))
            else:
                table[key] = _list(given or [""] * len(english), english)
    return tomlkit.dumps(document)


def _list(values: list[str], english: list[str] | None = None) -> Any:
    """A list of texts; with the English text beside each, if it is given."""
    import tomlkit

    array: Any = tomlkit.array()
    if english is None:
        array.extend(values)
        return array
    for value, text in zip(values, english, strict=True):
        array.add_line(value, comment=text)
    array.add_line(indent="")
    return array


def _prompts(near: str | None) -> str:
    """The section of prompts; empty if the language has prompts."""
    if near and shipped("data", "prompts", f"{near}.toml").exists():
        return ""
    prompts = tomllib.loads(read_text(shipped("data", "prompts", f"{FIRST}.toml")))
    lines = [PROMPTS_HEAD, "[prompts]\n", f"letters = {toml_value(prompts['letters'])}\n"]
    lines.append(f'again = ""  # {prompts["again"]}\n')
    for name in ("answers", "refusals"):
        lines += [comment(f"such as: {'; '.join(prompts[name])}"), f"{name} = []\n"]
    for kind in KINDS:
        for prompt in prompts[kind]:
            lines.append(f"\n[[prompts.{kind}]]\nname = {toml_value(prompt['name'])}\n")
            lines += [f"# {line}".rstrip() + "\n" for line in prompt["text"].strip().split("\n")]
            lines.append('text = ""\n')
    return "".join(lines)


# --- licences -----------------------------------------------------------------------------------

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


def other_licences(
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
