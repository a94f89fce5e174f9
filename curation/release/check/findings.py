"""What a check of a release can find: each code with its severity, its meaning and its fix.

The severities:

- ``block``: the data are wrong, or something must not be published.
- ``warn``: fix it, or at least know about it. Parts that another's release lacks are of this kind.
- ``note``: something was not checked, or is worth a look.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_args

from curation.records import Severity
from curation.text.wording import some

NAMED = 3  # places that a finding names
_LONGEST = 500  # characters of a place and of a detail


class About(NamedTuple):
    """The description of a code; ``severity`` is that of a release by curation."""

    severity: Severity
    says: str
    fix: str


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes:
        code: a code of ``CODES``.
        severity: block, warn or note.
        where: the file, and the place in it.
        detail: what is wrong there.
        fix: what to do.
    """

    code: str
    severity: Severity
    where: str
    detail: str
    fix: str


CODES: dict[str, About] = {
    # files and checksums
    "not_plain": About(
        "block",
        "the folder has a link, a device or a pipe, or a name that is not UTF-8",
        "replace it by the file that it names, or delete it",
    ),
    "unreadable": About(
        "block",
        "a file may not be read, is damaged or was cut off",
        "build the release again, or fetch the file again",
    ),
    "not_read": About("note", "a file was not checked", "see the reason"),
    "no_checksums": About(
        "block",
        "there is no SHA256SUMS (in another's release: a warning)",
        "write one: sha256sum FILES > SHA256SUMS",
    ),
    "sums_malformed": About(
        "block",
        "a line of SHA256SUMS is not a checksum, names a file twice, or leaves the folder",
        "build the release again",
    ),
    "file_missing": About(
        "block",
        "SHA256SUMS, the card or a descriptor names a file that is not there",
        "put the file back, or build the release again",
    ),
    "file_changed": About(
        "block",
        "a file was changed after its checksums were written",
        "put the file back as it was; if the change is right, publish a new version",
    ),
    "file_unlisted": About(
        "block",
        "a file is not in SHA256SUMS (in another's release: a warning)",
        "delete it, or publish a new version that lists it",
    ),
    "canonical_hash": About(
        "block",
        "the canonical hash is not that of cats/*.jsonl, or sealed.jsonl has another hash",
        "build the release again",
    ),
    # CATs
    "no_cats": About("block", "no CATs can be read", "check that it is the right folder"),
    "not_a_cat": About(
        "block",
        "an item does not have three associations, one of each gold label",
        "correct the item, or remove it",
    ),
    "id_twice": About("block", "two CATs or two associations have the same id", "make ids unique"),
    "file_repeated": About(
        "warn", "two files have the same CATs", "publish each CAT once, or describe both files"
    ),
    "forms_differ": About(
        "block",
        "the forms of the data (JSON, Parquet, JSONL) do not have the same CATs",
        "write all forms from the same CATs",
    ),
    "cat_in_both": About("block", "a CAT is in dev and in test", "remove it from one of them"),
    "term_in_both": About(
        "block",
        "a target term is in dev and in test (in another's release: a warning)",
        "put all CATs of a term into one split",
    ),
    "family_in_both": About(
        "block",
        "a family of terms is in dev and in test",
        "put all terms of a family into one split",
    ),
    "near_repeat": About(
        "warn",
        "CATs of test nearly repeat CATs of dev",
        "look at them; remove those that say the same",
    ),
    "near_public": About(
        "warn",
        "CATs of test nearly repeat public CATs",
        "remove them, or keep them in mind: models may have seen them",
    ),
    "term_unknown": About(
        "block",
        "CATs and terms.jsonl do not have the same terms, splits and numbers",
        "build the release again",
    ),
    # labels
    "annotation_unknown": About(
        "block",
        "an annotation is about a CAT or an association that is not there, or is not a label",
        "remove it, or correct its ids",
    ),
    "labels_differ": About(
        "block",
        "the counted annotations are not the labels in the StereoSet files",
        "build the release again",
    ),
    "gold_undecided": About(
        "block",
        "a gold label or a tier does not follow from the counted annotations",
        "build the release again; see how labels are counted in release.json",
    ),
    "gold_outvoted": About(
        "warn",
        "another label has more votes than the gold label",
        "ask how the gold labels were decided",
    ),
    # pitfalls and baselines
    "pitfall_blocks": About(
        "block",
        "a pitfall that stops a release; [release] accept allows it",
        "fix the texts; «curation measures pitfalls --gold FILE --show CODE» lists the places",
    ),
    "pitfall_accepted": About(
        "note", "the team accepts a pitfall that stops a release", "read what the card says of it"
    ),
    "pitfalls": About(
        "warn",
        "other pitfalls were found",
        "«curation measures pitfalls --gold FILE» shows them",
    ),
    "baseline": About(
        "warn",
        "a rule that understands nothing scores beyond chance",
        "compare models with the baselines: «curation scores baselines --gold FILE»",
    ),
    # the card and the metadata
    "part_missing": About(
        "block",
        "a file that every release has is missing (in another's release: a warning)",
        "build the release again, or write the file",
    ),
    "card_yaml": About(
        "block",
        "the YAML at the beginning of README.md cannot be read",
        "correct the YAML; put texts with special characters into quotation marks",
    ),
    "card_incomplete": About(
        "warn",
        "the card lacks the licence, the language, a content warning, limits, a canary or a "
        "contact",
        "answer the question in 7-release/statement.toml; in another's release, add it to "
        "README.md",
    ),
    "no_config": About(
        "warn",
        "a data file belongs to no configuration in the card, so load_dataset does not read it",
        "add it to configs in the YAML of README.md",
    ),
    "facts_damaged": About(
        "block",
        "release.json is not the facts of a release",
        "build the release again; or check it with the version of curation that built it",
    ),
    "sizes_differ": About(
        "block", "a number in release.json is not that of the data", "build the release again"
    ),
    "citation": About(
        "block",
        "CITATION.cff cannot be read or lacks a key",
        "it needs cff-version, message, title and authors",
    ),
    "descriptor": About(
        "block",
        "croissant.json or datapackage.json is damaged, or has another checksum or size of a file",
        "build the release again",
    ),
    "no_address": About(
        "warn",
        "croissant.json has no url, which Croissant requires: no address of the dataset is known",
        "give homepage, repository, doi or the id of [hub] in 7-release/statement.toml, and build "
        "the release again",
    ),
    "licence_differs": About(
        "block", "two files name different licences", "build the release again"
    ),
    "open_question": About(
        "warn",
        "questions of the data statement are not answered",
        "answer them in 7-release/statement.toml, and build the release again",
    ),
    # privacy
    "private_file": About(
        "block",
        "a file that must stay private is in the folder",
        "move it away, and build the release again",
    ),
    "personal": About(
        "block",
        "the data have an e-mail address, a secret in an address, or a platform's id of a person",
        "remove it; use pseudonyms for people",
    ),
    "maybe_personal": About(
        "warn",
        "the files have a phone number, a person's page or home folder, or times of answers",
        "look at it, and remove it if it is about a person",
    ),
    "not_anonymous": About(
        "block",
        "an anonymous release names a person, an address or a repository",
        "remove it from the texts, and build the release again",
    ),
    "mode": About(
        "note",
        "only its owner may read a file, so it may be a private one",
        "check the file; if it may be published: chmod a+r FILE",
    ),
    # a hidden test set
    "hidden_leak": About(
        "block",
        "something in the folder reveals gold labels of hidden CATs, or texts of sealed ones",
        "build the release again; if it was published, its test set is not hidden any more",
    ),
    "hidden_values": About(
        "block",
        "more values about hidden gold labels are published than their number allows",
        "build the release again; every value that was published tells a little of each label",
    ),
    "hidden_order": About(
        "warn",
        "the ids of hidden CATs are numbered, so they may follow those of the campaign",
        "use random ids",
    ),
    "commitment": About(
        "block",
        "a commitment is not 64 hexadecimal digits, two CATs have the same, or a line of "
        "sealed.jsonl is not one of a sealed CAT",
        "build the release again",
    ),
    "not_as_committed": About(
        "block",
        "the texts or gold labels of a revealed CAT are not those that were committed to",
        "do not use these CATs: they were changed, or belong to another version",
    ),
}
"""Every code, in the order of the checks."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)


def finding(
    code: str, where: str, detail: str, *, severity: Severity | None = None, fix: str = ""
) -> Finding:
    """A finding with the severity and the fix of its code, unless others are given."""
    about = CODES[code]
    place, text = (" ".join(words.split())[:_LONGEST] for words in (where, detail))
    return Finding(code, severity or about.severity, place, text, fix or about.fix)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Findings from the most to the least severe; of one severity, in the order of ``CODES``."""
    codes = list(CODES)
    return sorted(
        findings, key=lambda f: (SEVERITIES.index(f.severity), codes.index(f.code), f.where)
    )


def strictly(findings: Iterable[Finding]) -> list[Finding]:
    """The findings of a strict check: an open question blocks, too."""
    return [
        finding(f.code, f.where, f.detail, severity="block", fix=f.fix)
        if f.code == "open_question"
        else f
        for f in findings
    ]


def named(places: Sequence[str]) -> str:
    """The first of some places, and how many more there are."""
    return some([place[:120] for place in places], NAMED)
