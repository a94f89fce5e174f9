"""The CATs that bias-bench and StereoSet's own code misread in a file in StereoSet's format.

Both read it in the same way (``dataloader.py`` of McGill-NLP/bias-bench, and of StereoSet). The
attribute of an intrasentence option is one word of its sentence: the one at the place that BLANK
has in the context, both split at single spaces, without ASCII punctuation. Every sentence must have
a label. ``evaluation.py`` gives results by domain for StereoSet's four domains only, and takes the
same target in two domains as one term.
"""

import string
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from curation.records import Cat
from curation.release.harnesses.mangled import Mangled
from curation.text.item_form import BLANK, attribute, is_glued

DOMAINS = ("gender", "profession", "race", "religion")
Labels = Mapping[str, Sequence[tuple[str, str]]]
"""The (annotator, label) pairs of each association, by its id."""
_DROPPED = str.maketrans("", "", string.punctuation)


def word_read(context: str, sentence: str) -> str | None:
    """The attribute that both programs read in a sentence; None if they stop.

    >>> word_read("The baker is BLANK.", "The baker is very kind."), word_read("A BLANK!", "A")
    ('very', None)
    >>> word_read("BLANKly, she ran.", "Calmly, she ran."), word_read("Be BLANK.", "Be well-read.")
    ('Calmly', 'wellread')
    """
    places = [n for n, word in enumerate(context.split(" ")) if BLANK in word]
    words = sentence.split(" ")
    if not places or places[-1] >= len(words):
        return None
    return words[places[-1]].translate(_DROPPED)


def mangled(cats: Sequence[Cat], labels: Labels) -> list[Mangled]:
    """What these programs get wrong in each CAT, in the order of the CATs.

    Args:
        cats: the CATs.
        labels: the labels of their associations in the file.
    """
    domains: dict[str, list[str]] = defaultdict(list)
    for cat in cats:
        if cat.domain not in domains[cat.target]:
            domains[cat.target].append(cat.domain)
    misread: list[Mangled] = []
    for cat in cats:
        misread += _unlabelled(cat, labels)
        if cat.kind == "intrasentence":
            misread += _fillers(cat)
        if cat.domain not in DOMAINS:
            detail = f"no values for {cat.domain!r} alone; the values over all domains have the CAT"
            misread.append(Mangled(cat.id, None, "other_domain", detail, "not_counted"))
        if len(domains[cat.target]) > 1:
            named = " and ".join(map(repr, domains[cat.target]))
            detail = f"{cat.target!r} is in {named}; values over all domains take it as one term"
            misread.append(Mangled(cat.id, None, "target_in_two_domains", detail, "not_counted"))
    return misread


def _unlabelled(cat: Cat, labels: Labels) -> Iterator[Mangled]:
    for option in cat.associations:
        if not labels.get(option.id):
            detail = f"{option.sentence!r} has no labels"
            yield Mangled(cat.id, option.id, "no_labels", detail, "stops")


def _fillers(cat: Cat) -> Iterator[Mangled]:
    if BLANK not in cat.context:
        detail = f"no BLANK in {cat.context!r}"
        yield Mangled(cat.id, None, "blank_missing", detail, "stops")
        return
    if cat.context.count(BLANK) > 1:
        detail = f"{cat.context!r}: one filler is read, and put into every BLANK"
        yield Mangled(cat.id, None, "blank_twice", detail)
    for option in cat.associations:
        word = word_read(cat.context, option.sentence)
        start, end = attribute(cat.context, option.sentence)
        filler = option.sentence[start:end]
        if word is None:
            detail = f"{option.sentence!r} has no word at the place of BLANK"
            yield Mangled(cat.id, option.id, "filler_misread", detail, "stops")
        elif not word:
            detail = f"{filler!r} is read as an empty text"
            yield Mangled(cat.id, option.id, "filler_misread", detail, "stops")
        elif word != filler:
            detail = f"{filler!r} is read as {word!r}"
            code = "blank_glued" if is_glued(cat.context) else _why(filler, word)
            yield Mangled(cat.id, option.id, code, detail)


def _why(filler: str, word: str) -> str:
    if word == filler.translate(_DROPPED):
        return "filler_punctuation"
    if word == filler.split(" ")[0].translate(_DROPPED):
        return "filler_cut"
    return "filler_misread"
