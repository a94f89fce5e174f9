"""What stops a release until the team fixes it, or accepts it by its code in ``[release]``."""

import difflib
from collections import defaultdict
from collections.abc import Iterable

from curation.campaign import Campaign
from curation.files import CurationError, read_json
from curation.records import Cat
from curation.release.contents import SPLITS
from curation.steps.release import changes, licences
from curation.steps.release.hidden import hiding
from curation.text.wording import amount, some

ONE_SPLIT = "domain_in_one_split"
"""The code in ``accept`` that lets a domain have all its CATs in one split."""
CODES = (licences.DIFFERS, ONE_SPLIT, changes.MOVED, *hiding.CODES)
"""The codes in ``accept`` that are not those of pitfalls."""
_NAMED = 3  # domains that an error names


def check_settings(campaign: Campaign) -> None:
    """Check the settings in ``[release]``.

    Raises:
        CurationError: there is no licence, or an accepted code is unknown.
    """
    from curation.checks.codes import PITFALLS

    settings = campaign.settings.release
    if not settings.licence.strip():
        raise CurationError(
            "[release] licence is empty; nobody may use data without a licence",
            'name the licence, such as licence = "CC BY-SA 4.0"',
        )
    known = [*PITFALLS, *CODES]
    for name in settings.accept:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise CurationError(
                f"[release] accept names {name!r}, which is not a code that can be accepted",
                f"did you mean {near[0]!r}?"
                if near
                else "docs/settings.md and docs/measures.md list the codes",
            )


def check_content(campaign: Campaign, cats: Iterable[Cat]) -> None:
    """Check that no pitfall blocks the release, and that every domain has CATs in both splits.

    Args:
        campaign: the campaign; its step pitfalls is up to date.
        cats: the CATs.

    Raises:
        CurationError: something is wrong that ``accept`` does not name; the message has all codes.
    """
    accept = campaign.settings.release.accept
    pitfalls = {code: n for code, n in _blocking(campaign).items() if code not in accept}
    empty = [] if ONE_SPLIT in accept else _empty(cats)
    problems, fixes = [], []
    if pitfalls:
        counts = ", ".join(f"{code} {count}" for code, count in pitfalls.items())
        problems.append(
            f"pitfalls block the release: {counts}; 4-measures/pitfalls.jsonl lists each place"
        )
        fixes.append("fix the texts; or leave the items out (leave_out in [decisions])")
    if empty:
        problems.append(f"{ONE_SPLIT}: {some(empty, _NAMED)}")
        fixes.append("collect CATs on more terms, or set dev in [split]")
    if problems:
        codes = [*accept, *pitfalls, *([ONE_SPLIT] if empty else [])]
        listed = ", ".join(f'"{code}"' for code in codes)
        raise CurationError(
            "; ".join(problems),
            f"{'; '.join(fixes)}; or, if they are right as they are: accept = [{listed}] in "
            "[release]",
        )


def _blocking(campaign: Campaign) -> dict[str, int]:
    """How often each pitfall was found that blocks a release."""
    rows = read_json(campaign.measures / "pitfalls.json")["table"]
    return {r["code"]: r["count"] for r in rows if r["severity"] == "block" and r["count"]}


def _empty(cats: Iterable[Cat]) -> list[str]:
    """The domains that have no CAT in a split."""
    terms: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for cat in cats:
        terms[cat.domain][cat.split].add(cat.term)
    return [
        f"{domain!r} has no CAT in {split} ({amount(sum(map(len, of.values())), 'term')} in all)"
        for domain, of in sorted(terms.items())
        for split in SPLITS
        if split not in of
    ]
