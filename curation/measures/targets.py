"""Pitfalls of a dataset's targets: function words, and targets that are in several domains."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from curation.checks.lists import Lists, in_small, lists
from curation.records import Cat
from curation.text.item_form import names
from curation.text.rules import spelling_key
from curation.text.wording import amount
from curation.text.words import UNSPACED, WORD, base

Findings = Iterator[tuple[str, str, str, str]]
"""The domain, target, code and detail of each finding."""
LIST = "function_word"


def function_words(cats: Sequence[Cat], words: Lists) -> Findings:
    """Targets whose words are all function words.

    If fewer than half of its contexts name a target, it is in another language than the texts, as
    in datasets that were translated without their targets. English words count then, too.

    Args:
        cats: the dataset.
        words: the word lists of its language.
    """
    if LIST not in words:
        return
    english = lists("en")
    named: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for cat in cats:
        named[cat.domain, cat.target].append(names(cat.context, cat.target))
    for (domain, target), which in named.items():
        foreign = 2 * sum(which) < len(which)
        if _is_function_word(target, words) or (foreign and _is_function_word(target, english)):
            yield domain, target, LIST, f"{target!r} is a function word"


def _is_function_word(target: str, words: Lists) -> bool:
    """Whether all words of a target are function words; "US" and "IT" are abbreviations."""
    if target.isupper() and len(target) > 1:
        return False
    listed, small = words.get(LIST), in_small(target)
    if base(words.language) in UNSPACED:
        return listed.holds(small.strip())
    tokens = WORD.findall(small)
    return listed.holds(small) or (bool(tokens) and all(map(listed.holds, tokens)))


def in_several_domains(cats: Sequence[Cat], language: str) -> Findings:
    """Targets that are in several domains, compared as terms are: case and spelling do not count.

    Args:
        cats: the dataset.
        language: language code of the texts; in English, accents do not count either.
    """
    counts = Counter((cat.domain, cat.target) for cat in cats)
    alike: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for domain, target in counts:
        alike[spelling_key(target, accents=base(language) != "en")].append((domain, target))
    for places in alike.values():
        if len({domain for domain, _ in places}) == 1:
            continue
        for domain, target in places:
            shown = " and ".join(
                f"{other!r}{'' if text == target else f' as {text!r}'} "
                f"({amount(counts[other, text], 'CAT')})"
                for other, text in places
            )
            yield domain, target, "target_in_domains", f"{target!r} is in {shown}"
