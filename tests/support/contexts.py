"""Contexts of targets, counted slowly: every text is split into all its sentences and words."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from curation.text.words import words
from curation.trust.measure.groups import Groups
from curation.trust.measure.matching import form
from curation.trust.measure.scanning import continues_sentence, ends_sentence


def sentences(text: str, language: str) -> list[list[str]]:
    """The words of each sentence of a document."""
    ends, small = ends_sentence(language), continues_sentence(language)
    all_sentences: list[list[str]] = []
    for paragraph in re.split(r"\n(?:[^\S\n]*\n)+", text):
        new, ended = True, False
        for chunk in paragraph.split():
            found = words(chunk, language)
            if found and (new or (ended and not small(chunk))):
                all_sentences.append([])
            if found:
                all_sentences[-1] += found
                new = ended = False
            ended = ends(chunk) or (not new and ended)
    return all_sentences


def named(tokens: Sequence[str], listed: Sequence[str], language: str) -> Iterator[str]:
    """The listed words in a sentence, from left to right, the longest first."""
    forms = sorted(((form(word, language), word) for word in listed), key=lambda f: -len(f[0]))
    at = 0
    while at < len(tokens):
        for key, word in forms:
            if tuple(tokens[at : at + len(key)]) == key:
                yield word
                at += len(key)
                break
        else:
            at += 1


def count(
    documents: Sequence[str], groups: Groups, *, language: str = "en", window: int = 3
) -> tuple[Counter[tuple[str, tuple[str, ...]]], Counter[tuple[str, tuple[int, ...]]]]:
    """Contexts by target and set of group words, and documents by target and contexts of groups."""
    listed = [
        word for each in (groups.words, groups.targets) for ws in each.values() for word in ws
    ]
    contexts: Counter[tuple[str, tuple[str, ...]]] = Counter()
    rows: Counter[tuple[str, tuple[int, ...]]] = Counter()
    for text in documents:
        found = [set(named(s, listed, language)) for s in sentences(text, language)]
        row = {target: [0] * len(groups.words) for target in groups.targets}
        for start in range(len(found) - window + 1):
            here = set[str]().union(*found[start : start + window])
            present = [here & set(members) for members in groups.words.values()]
            for target, own in groups.targets.items():
                if here & set(own):
                    contexts[target, tuple(sorted(set().union(*present)))] += 1
                    if sum(map(bool, present)) == 1:
                        row[target][[bool(each) for each in present].index(True)] += 1
        rows.update((target, tuple(each)) for target, each in row.items() if any(each))
    return contexts, rows
