"""What reviewers of terms say becomes people's word on them: lines of ``edits.csv``."""

import csv
import io
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from curation.campaign import Campaign
from curation.cli.console import warn
from curation.files import read_records, read_text, writing
from curation.records import Review, Round
from curation.steps import read

if TYPE_CHECKING:
    from curation.terms.edits import Edit


def apply_reviews(campaign: Campaign, round: Round) -> list[dict[str, str]]:
    """Add what most reviewers of a term say to ``edits.csv``; what stands there stays as it is.

    Returns:
        The lines added. A term without a majority gets none, and is named in a warning.
    """
    from curation.terms.edits import COLUMNS

    path = campaign.rounds / round.name / "reviews.jsonl"
    reviews = read_records(path, Review) if path.exists() else []
    terms = read.read_terms(campaign)
    by_term: dict[str, list[Review]] = defaultdict(list)
    for review in reviews:
        by_term[review.term].append(review)
    edits = [edit for edit in read.read_edits(campaign) if edit.action]
    spoken = {(edit.domain, edit.term): edit for edit in edits}
    spoken |= {(edit.domain, edit.into): edit for edit in edits if edit.action == "rename"}
    added: list[dict[str, str]] = []
    undecided, hidden = [], []
    most = max(round.answers, 1) / 2
    heads = {id: Counter((r.action, r.into) for r in said) for id, said in by_term.items()}
    leads = {id: words.most_common(1)[0] for id, words in heads.items()}
    goes = {id for id, ((action, _), votes) in leads.items() if action != "keep" and votes > most}
    goes |= {t.id for t in terms.values() if _goes(spoken.get((t.domain, t.text)))}
    for id, said in by_term.items():
        term = terms.get(id)
        if term is None:
            continue
        (action, into), votes = leads[id]
        if (term.domain, term.text) in spoken:
            if votes > most and action != spoken[term.domain, term.text].action:
                hidden.append(f"{term.text} ({action})")
            continue
        # What it would merge into must stay itself.
        lost = action == "merge" and (into not in terms or into in goes)
        if votes <= most or lost:
            undecided.append(term.text)
            continue
        names = Counter(r.name for r in said if r.name)
        name = next((n for n, times in names.items() if times > most), None)
        renamed = action == "keep" and name is not None and name != term.text
        line = dict.fromkeys(COLUMNS, "")
        line |= {"domain": term.domain, "term": term.text, "action": action}
        line["note"] = f"{round.name}: {votes} of {round.answers} reviewers"
        if action == "merge" and into:
            line["into"] = terms[into].text
        elif renamed and name:
            line |= {"action": "rename", "into": name}
        elif action == "keep":
            continue  # it stands in the list as it is
        added.append(line)
    if hidden:
        warn(f"edits.csv has a word of its own on, and so stays: {', '.join(sorted(hidden))}")
    if undecided:
        warn(f"reviewers are divided on {', '.join(sorted(undecided))}; say it in edits.csv")
    if added:
        _append(campaign, COLUMNS, added)
    return added


def _goes(edit: "Edit | None") -> bool:
    return edit is not None and edit.action in ("merge", "drop")


def _append(campaign: Campaign, columns: tuple[str, ...], lines: list[dict[str, str]]) -> None:
    """Add lines in the form that the file has: its columns, its delimiter."""
    from curation.rounds.tables import DELIMITERS
    from curation.terms.edits import ALIASES

    path = campaign.terms / "edits.csv"
    text = read_text(path) if path.exists() and path.read_bytes().strip() else ",".join(columns)
    lines_there = text.split("\n")
    top = next(n for n, line in enumerate(lines_there) if line.strip() and line[:4] != "sep=")
    head = lines_there[top].rstrip("\r")
    delimiter = max(DELIMITERS, key=head.count)
    names = [name.strip() for name in next(csv.reader([head], delimiter=delimiter))]
    called = {ALIASES.get(name.casefold(), name.casefold()): name for name in names}
    called = {column: called.get(column, column) for column in columns}
    names += [name for name in called.values() if name not in names]
    lines_there[top] = delimiter.join(names)
    out = io.StringIO(newline="")
    writer = csv.DictWriter(
        out, names, delimiter=delimiter, extrasaction="ignore", lineterminator="\n"
    )
    writer.writerows({called[c]: value for c, value in line.items()} for line in lines)
    body = "\n".join(lines_there).rstrip("\r\n")
    with writing(path) as file:
        file.write(f"{body}\n{out.getvalue()}".encode())
