"""What most reviewers of terms say becomes lines of ``edits.csv``."""

from curation.campaign import Campaign
from curation.files import read_bytes, read_records, read_text, writing
from curation.formats.tables import csv_text, find_header, read_csv
from curation.records import Review, Round
from curation.steps import read, term_files
from curation.steps.reporter import QUIET, Reporter
from curation.text.wording import amount


def apply_reviews(
    campaign: Campaign, round: Round, *, reporter: Reporter = QUIET
) -> list[dict[str, str]]:
    """Add what most reviewers of a term say to ``edits.csv``; existing lines stay as they are.

    Returns:
        The lines added. A term without a majority gets none. Warnings name such terms, and every
        proposal that is not applied.
    """
    from curation.rounds.reviews import majority
    from curation.terms.edits import COLUMNS

    path = campaign.rounds / round.name / "reviews.jsonl"
    reviews = read_records(path, Review) if path.exists() else []
    edits = [edit for edit in term_files.read_edits(campaign) if edit.action]
    actions = {(edit.domain, edit.term): edit.action for edit in edits}
    # A renamed term is met under its new name.
    actions |= {(edit.domain, edit.into): edit.action for edit in edits if edit.action == "rename"}
    verdicts, undecided, overruled, suggestions = majority(
        reviews, read.read_terms(campaign), reviewers=round.answers, edits=actions
    )
    added = [
        dict.fromkeys(COLUMNS, "")
        | {"domain": term.domain, "term": term.text, "action": action, "into": into}
        | {"note": f"{round.name}: proposed by {votes} of {amount(of, 'reviewer')}"}
        for term, action, into, votes, of in verdicts
    ]
    if overruled:
        reporter.warn(
            f"edits.csv has another action, which stays, for: {', '.join(sorted(overruled))}"
        )
    if undecided:
        reporter.warn(
            f"reviewers are divided on {', '.join(sorted(undecided))}; decide in edits.csv"
        )
    if suggestions:
        lines = [
            f"  {each.term}: {' '.join(filter(None, (each.action, each.into)))} "
            f"({each.votes} of {amount(each.of, 'reviewer')})"
            + (f": {'; '.join(each.notes)}" if each.notes else "")
            for each in sorted(suggestions)
        ]
        reporter.warn("\n".join(["proposals of reviewers that are not applied:", *lines]))
    if added:
        _append(campaign, COLUMNS, added)
    return added


def _append(campaign: Campaign, columns: tuple[str, ...], lines: list[dict[str, str]]) -> None:
    """Add lines to ``edits.csv`` with the columns and the delimiter that the file has."""
    from curation.terms.edits import ALIASES

    path = campaign.terms / "edits.csv"
    text = read_text(path) if path.exists() and read_bytes(path).strip() else ",".join(columns)
    header = find_header(text, path)
    names, _ = read_csv(text, path)
    called = {ALIASES.get(name.casefold(), name.casefold()): name for name in names}
    called = {column: called.get(column, column) for column in columns}
    names += [name for name in called.values() if name not in names]
    given = ({called[column]: value for column, value in line.items()} for line in lines)
    cells = ([row.get(name, "") for name in names] for row in given)
    above, (_, _, below) = text[: header.start], text[header.start :].partition("\n")
    body = f"{above}{header.delimiter.join(names)}\n{below}".rstrip("\r\n")
    with writing(path) as file:
        file.write(f"{body}\n{csv_text(cells, delimiter=header.delimiter)}".encode())
