"""The card of a release: what it is, what it contains and how it was made."""

import re
from collections.abc import Sequence

from curation.formats.markdown import inline, paragraphs
from curation.records import KINDS
from curation.release.contents import SPLITS, DataFile
from curation.release.facts import Author, Facts
from curation.release.layout import ERRATA, SUMS, WHOLE
from curation.release.texts import card_made, card_trust
from curation.release.texts import card_results as results
from curation.release.texts.card_header import header
from curation.release.texts.limits import limits
from curation.release.texts.questions import BY_KEY, QUESTIONS, open_question
from curation.release.texts.statement_file import HUB_ID
from curation.text.wording import amount, some

LEFT_OUT = "Left out for review."
_VALUES = 5  # values that the card names as left out


def card(facts: Facts, data: Sequence[DataFile]) -> bytes:
    """The release's README.md: the front matter of the Hub, then the card.

    Args:
        facts: what the release says about itself.
        data: the data files of the release.
    """
    parts = [
        header(facts, data),
        *_beginning(facts),
        *_section("Uses", _uses(facts)),
        *_section("Contents", card_made.sizes(facts)),
        *_section("How to load it", _loading(facts, data)),
        *_section("How it was made", _made(facts)),
        *_section(
            "Agreement of annotators", [*results.agreement(facts), *results.retention(facts)]
        ),
        *_section("Sentiment", results.sentiment(facts)),
        *_section("Known pitfalls", results.pitfalls(facts)),
        *_section("Baselines", results.baselines(facts)),
        *_section("Scores of models", results.scores(facts)),
        *_section("Limits", [*limits(), *_weaknesses(facts)]),
        *_section("The hidden test set", _hidden(facts)),
        *_section("Near-duplicates", results.near(facts)),
        *_section("Trust report", card_trust.trust(facts)),
        *_section("Changes", results.changes(facts)),
        *_section("Licence", _licence(facts)),
        *_section("Contact", _contact(facts)),
        *_section("How to cite", _citation(facts)),
        *_section("Check the files", _checks(facts)),
    ]
    return "\n".join(parts).encode()


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"## {title}", "", *lines] if lines else []


def answer(facts: Facts, key: str, given: Sequence[str]) -> list[str]:
    """The lines of an answer; an open question if there is none; or why it is left out."""
    if given:
        return list(given)
    if facts.anonymous and key not in facts.open:
        return [LEFT_OUT, ""]
    return [open_question(BY_KEY[key].text), ""]


def _beginning(facts: Facts) -> list[str]:
    statement = facts.statement
    opened = sum(key in BY_KEY for key in facts.open)
    lines = [
        f"# {inline(facts.name)} {inline(facts.version)}",
        "",
        f"> **{inline(facts.warning)}**",
    ]
    if facts.anonymous:
        lines += ["", "This release is for review; names are left out."]
    if opened:
        lines += [
            "",
            f"**The team has not answered {opened} of {len(QUESTIONS)} questions about this "
            "dataset.** They are marked here and in [STATEMENT.md](STATEMENT.md).",
        ]
    total = sum(size.cats for size in facts.sizes)
    terms = sum(count.terms for count in facts.terms)
    return [
        *lines,
        "",
        f"Context Association Tests (CATs) in the style of StereoSet, language "
        f"`{re.sub(r'[^A-Za-z0-9-]', '', facts.language)}`: {amount(total, 'CAT')}"
        + (f" on {amount(terms, 'target term')}" if facts.terms else "")
        + f". Published on {inline(facts.date)}.",
        "",
        *answer(facts, "description", paragraphs(statement.description)),
        "Each CAT has a context about a target term and three associations: a stereotype, an "
        "anti-stereotype, and one that is unrelated. In an intrasentence CAT, the associations "
        "fill the BLANK of a sentence. In an intersentence CAT, they are sentences that follow the "
        "context. Language models are scored by which association they find more likely.",
        "",
        "This card does not quote CATs. The data files do.",
        "",
    ]


def _uses(facts: Facts) -> list[str]:
    return [
        "Use it to measure how often a language model prefers stereotypes, together with lms, and "
        "to compare models. Do not train models on it, and do not take its sentences as claims "
        "about people.",
        "",
        *answer(facts, "uses", paragraphs(facts.statement.answers.get("uses", ""))),
    ]


def _weaknesses(facts: Facts) -> list[str]:
    """The weaknesses that the team names."""
    given = paragraphs(facts.statement.answers.get("limits", ""))
    return [
        *(["Weaknesses of this dataset:", ""] if given else []),
        *answer(facts, "limits", given),
    ]


# --- how to load it -------------------------------------------------------------------------


def _loading(facts: Facts, data: Sequence[DataFile]) -> list[str]:
    hub = facts.statement.hub.id
    place = hub if HUB_ID.fullmatch(hub) else "path/to/this/folder"
    hidden = facts.hidden.split if facts.hidden and not facts.is_sealed else ""
    splits = {size.split for size in facts.sizes}
    private = {facts.hidden.split} if facts.hidden else set()
    public = next((split for split in SPLITS if split in splits - private), "")
    kinds = [kind for kind in KINDS if any(size.kind == kind for size in facts.sizes if size.cats)]
    has_labels = facts.annotations > 0
    lines = [
        "With the library `datasets`:",
        "",
        "```python",
        "from datasets import load_dataset",
        "",
        f'cats = load_dataset("{place}", "cats"' + (f', split="{public}")' if public else ")"),
        *([f'labels = load_dataset("{place}", "annotations", split="{WHOLE}")'] * has_labels),
        f'terms = load_dataset("{place}", "terms", split="{WHOLE}")',
        *([f'hidden = load_dataset("{place}", "hidden", split="{hidden}")'] if hidden else []),
        "```",
        "",
        f"The {'part' if len(kinds) == 1 else 'parts'} {' and '.join(f'`{k}`' for k in kinds)} "
        f"{'has' if len(kinds) == 1 else 'have'} the fields and label order of "
        "`McGill-NLP/stereoset`. There, the split dev is called `validation`"
        + (", and a hidden gold label is -1." if hidden else "."),
        "",
    ]
    lines += [
        "With lm-evaluation-harness: `lm-eval/` has tasks and a `README.md` with the command.",
        "",
    ]
    if public:
        lines += [
            "With curation:",
            "",
            "```sh",
            f"curation scores models MODEL --gold {public}.json",
            "```",
            "",
        ]
    errata = ["- `errata.jsonl`: what changed since the version before."]
    return [
        *lines,
        f"- {'`dev.json`' if facts.is_sealed else '`dev.json` and `test.json`'}: StereoSet's format"
        + (", with `hidden` for a hidden gold label." if hidden else "."),
        *(["- `sealed.jsonl`: a commitment for each test CAT."] if facts.is_sealed else []),
        "- `cats/`: one CAT per row, with its tier, as JSON Lines and as Parquet.",
        f"- `annotations.csv`: {_labels(facts)}.",
        "- `terms.jsonl`: the target terms with their ids, numbers of CATs, and Wikidata items as "
        "far as they are known.",
        "- `release.json`: every number of this card.",
        "- `croissant.json` and `datapackage.json`: metadata for programs.",
        *(errata if any(file.path == ERRATA for file in data) else []),
        "",
    ]


def _labels(facts: Facts) -> str:
    if not facts.annotations:
        return "a header only, because there are no labels"
    imported = any(made.kind == "import" for made in facts.rounds)
    before = " (or the ids with which their labels were published before)" if imported else ""
    return (
        f"{amount(facts.annotations, 'label')} by {amount(facts.annotators, 'annotator')} under "
        f"pseudonyms{before}; `counted` marks the {facts.counted:,} that decided gold labels"
    )


def _made(facts: Facts) -> list[str]:
    return [
        *card_made.rounds(facts),
        "[STATEMENT.md](STATEMENT.md) has what people read, what is known about them and their "
        "pay, and the questions of ethics and maintenance.",
        "",
        *card_made.translated(facts),
        *card_made.decided(facts),
        *card_made.split_and_versions(facts),
    ]


# --- the rest --------------------------------------------------------------------------------


_COMMITMENT = (
    "`commitment` of a hidden CAT is the HMAC-SHA256 of its content and gold labels. The key "
    "is a secret random number of 32 bytes, another one for each CAT. If the team opens the "
    "test set, it publishes these keys with the labels. Then anyone can compute the "
    "commitments again and see that nothing was changed. Nobody can guess labels from them."
)


def _hidden(facts: Facts) -> list[str]:
    hidden = facts.hidden
    if hidden is None:
        return []
    address = facts.statement.contact
    send = f"Send it to {inline(address)}." if address else "Send it to the team."
    if hidden.sealed:
        return [
            f"The texts and gold labels of {amount(hidden.cats, 'CAT')} on "
            f"{amount(hidden.terms, 'target term')} (split {inline(hidden.split)}) are not public. "
            f"To have a model scored, ask {inline(address) or 'the team'}: the team runs the "
            "model, and computes lms, ss and icat.",
            "",
            "`sealed.jsonl` has a random id, the kind, the domain and a commitment of each of "
            "these CATs.",
            "",
            _COMMITMENT,
            "",
            "The sha256 of `sealed.jsonl` identifies this test set. Name it with each score: "
            f"`{re.sub(r'[^0-9a-f]', '', hidden.sealed)}`.",
            "",
        ]
    return [
        f"The gold labels of {amount(hidden.cats, 'CAT')} on {amount(hidden.terms, 'target term')} "
        f"(split {inline(hidden.split)}) are not public. Their options have random ids and are in "
        "random order, and their labels are not in `annotations.csv`.",
        "",
        "To have a model scored, write a file of predictions with a score for the id of each "
        f"option. {send} The team computes lms, ss and icat with the hidden labels.",
        "",
        "Only overall values on these CATs are published, and few values of ss and icat: anyone "
        "who runs the same models can compute gold labels from many of them."
        + (
            f" Left out: {inline(some(left_out, _VALUES))}."
            if (left_out := hidden.left_out)
            else ""
        ),
        "",
        _COMMITMENT,
        "",
    ]


def _licence(facts: Facts) -> list[str]:
    name = inline(facts.licence.name)
    url = facts.licence.url
    shown = f"[{name}]({url})" if re.fullmatch(r"https://[\w./-]+", url) else name
    lines = [f"Licence of the data: {shown}. [LICENSE](LICENSE) has its text.", ""]
    lines += [
        f"- Annotators who agreed to another licence, {inline(other)}: {people:,}."
        for other, people in facts.other_licences.items()
    ]
    return [*lines, ""] if facts.other_licences else lines


def _contact(facts: Facts) -> list[str]:
    statement = facts.statement
    contact = [f"Questions: {inline(statement.contact)}", ""] if statement.contact else []
    takedown = (
        [f"To have a text or your answers removed: {inline(statement.takedown)}", ""]
        if statement.takedown
        else []
    )
    links = [
        f"- {name}: {inline(value)}"
        for name, value in (
            ("Homepage", statement.homepage),
            ("Repository", statement.repository),
            ("Paper", statement.paper),
            ("On the Hugging Face Hub", statement.hub.id),
        )
        if value
    ]
    return [
        *answer(facts, "contact", contact),
        *answer(facts, "takedown", takedown),
        *([*links, ""] if links else []),
    ]


def _citation(facts: Facts) -> list[str]:
    statement = facts.statement
    if not statement.authors:
        return answer(facts, "authors", [])
    names = ", ".join(inline(author.name) for author in statement.authors)
    year = facts.date[:4]
    doi = f" doi:{inline(statement.doi)}." if statement.doi else ""
    return [
        f"{names} ({inline(year)}). {inline(facts.name)}, version {inline(facts.version)}.{doi}",
        "",
        *(f"- {author_line(author)}" for author in statement.authors),
        "",
        "[CITATION.cff](CITATION.cff) has the same for programs.",
        "",
    ]


def author_line(author: Author) -> str:
    """An author with affiliation, ORCID and address, as far as they are given."""
    orcid = f"ORCID {author.orcid}" if author.orcid else ""
    parts = (author.name, author.affiliation, orcid, author.email)
    return ", ".join(inline(part) for part in parts if part)


def _checks(facts: Facts) -> list[str]:
    lines = [
        "```sh",
        f"sha256sum -c {SUMS}          # every file",
        "cat cats/*.jsonl | sha256sum     # the CATs only: the canonical hash",
        "```",
        "",
    ]
    if facts.canonical:
        lines += [
            f"The canonical hash of this version is `{re.sub(r'[^0-9a-f]', '', facts.canonical)}`. "
            "Two versions with the same hash have the same CATs, whatever program wrote the other "
            "files.",
            "",
        ]
    return [
        *lines,
        "This data is a test. It should never be in the training data of a language model. If you "
        "collect texts for training, leave out documents with this GUID:",
        "",
        f"`canary GUID {re.sub(r'[^0-9A-Za-z-]', '', facts.canary)}`",
        "",
    ]
