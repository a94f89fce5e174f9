"""The card of a release: what it is, what it contains and how it was made."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import yaml

from curation.formats.markdown import inline, paragraphs, table
from curation.records import KINDS
from curation.release.contents import ERRATA, SPLITS, SUMS, WHOLE, DataFile
from curation.release.data_files import configs
from curation.release.facts import Author, Facts, Hub, TrustRow
from curation.release.texts import card_made
from curation.release.texts import card_results as results
from curation.release.texts.card_made import limits
from curation.release.texts.card_results import number
from curation.release.texts.questions import BY_KEY, HUB_ID, QUESTIONS, open_question
from curation.text.wording import amount, some

TAGS = ("stereoset", "stereotypes", "social-bias", "context-association-test")
SENSITIVE = "not-for-all-audiences"
"""The tag with which the Hub asks people before it shows rows of a dataset."""
_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
)
DEFAULT = "cats"


def header(facts: Facts, data: Sequence[DataFile]) -> str:
    """The front matter with its two lines of ``---``.

    Args:
        facts: what the release says about itself.
        data: the files of the release; their paths become the configurations of the Hub.
    """
    licence = facts.licence
    base = facts.language.split("-")[0]
    fields: dict[str, Any] = {
        "pretty_name": facts.name,
        "language": [base],
        **({"language_bcp47": [facts.language]} if base != facts.language else {}),
        "license": licence.hub,
    }
    if licence.hub == "other":
        fields["license_name"] = re.sub(r"[^a-z0-9.]+", "-", licence.name.casefold()).strip("-")
        fields["license_link"] = "LICENSE"
    fields |= {
        "size_categories": [_size(sum(size.cats for size in facts.sizes))],
        "task_categories": ["multiple-choice", "text-classification"],
        "tags": [*TAGS, SENSITIVE],
        **_gate(facts.statement.hub),
        "configs": _configs(data),
    }
    text = yaml.safe_dump(fields, allow_unicode=True, sort_keys=False, width=1000)
    return f"---\n{text}---\n"


def _size(cats: int) -> str:
    return next((name for bound, name in _SIZES if cats < bound), "n>1M")


def _gate(hub: Hub) -> dict[str, Any]:
    """The fields of a gated dataset; nothing if everybody may download it."""
    if not hub.gated:
        return {}
    return {
        "extra_gated_heading": "Ask for access to this dataset",
        **({"extra_gated_prompt": hub.prompt} if hub.prompt else {}),
        **({"extra_gated_fields": dict(hub.fields)} if hub.fields else {}),
    }


def _configs(data: Sequence[DataFile]) -> list[dict[str, Any]]:
    """The parts that ``datasets.load_dataset`` can load, each with its file for each split.

    They are the Parquet files, because ``datasets`` reads only one format in a dataset. Hidden
    CATs have other columns than public ones, so they are a part of their own.

    ``datasets`` keeps what it loaded from a folder under the folder's name and these values. The
    hashes in the descriptions are there so that it never takes another release for this one.
    """
    hashes = {file.path: file.sha256 for file in data if file.rows != 0}
    return [
        {
            "config_name": name,
            "description": "; ".join(f"{split} sha256 {hashes[of[split]]}" for split in of),
            "data_files": [{"split": split, "path": path} for split, path in of.items()],
        }
        | ({"default": True} if name == DEFAULT else {})
        for name, of in configs(hashes).items()
    ]


_NO_VERDICT = (
    "What is known about whether the results may be trusted, by the criteria of Bommasani and "
    "Liang. There is no overall verdict: each row is one test of one subject."
)
_STATUSES = (
    "`pass` and `fail`: the data decide. `inconclusive`: they do not. `attested`: people answered "
    "for it. `not run`: data or answers are missing."
)
_HIDDEN = "not published, because that would say too much about the hidden gold labels."


def trust(facts: Facts) -> list[str]:
    """The lines of the section; nothing if the release has no trust report."""
    report = facts.trust
    if report is None:
        return []
    tested = [row for row in report.rows if row.kind == "test"]
    lines = [_NO_VERDICT, "", _STATUSES, "", *_table(tested)]
    if controls := [row for row in report.rows if row.kind == "control"]:
        lines += ["Negative controls, wrong on purpose; `pass` means that they were rejected:", ""]
        lines += _table(controls)
    counts = Counter(row.status for row in tested)
    if counts:
        listed = ", ".join(f"{count} {_words(status)}" for status, count in counts.most_common())
        lines += [f"In all: {listed}.", ""]
    else:
        lines += ["It has no rows.", ""]
    if report.left_out:
        lines += [f"{amount(report.left_out, 'row is', 'rows are')} {_HIDDEN}", ""]
    if report.open:
        text = amount(len(report.open), "question is", "questions are")
        lines += [f"{text} open about the use of the results.", ""]
    return lines


def _table(rows: list[TrustRow]) -> list[str]:
    cells = [
        (
            *(inline(f"{row.subject} {row.name}"), inline(_words(row.criterion))),
            *(inline(row.check), inline(_words(row.status)), inline(row.statistic)),
            _value(row),
            inline(f"{row.n:,} {row.unit}"),
            _short(row.threshold),
        )
        for row in rows
    ]
    heads = ("subject", "criterion", "check", "status", "statistic", ">value (interval)")
    return table((*heads, ">n", ">threshold"), cells)


def _words(code: str) -> str:
    return code.replace("_", " ")


def _value(row: TrustRow) -> str:
    if row.value is None or row.ci is None:
        return _short(row.value)
    return f"{_short(row.value)} ({_short(row.ci[0])} to {_short(row.ci[1])})"


def _short(value: float | None) -> str:
    """A value with at most three decimals."""
    text = number(value, 3)
    return text.rstrip("0").rstrip(".") if "." in text else text


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
        *_section("Trust report", trust(facts)),
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
