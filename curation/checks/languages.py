"""In which languages the checks of an item's form cannot run, and why."""

from collections.abc import Iterable, Mapping

from curation.checks.codes import CASED, JOINED, PITFALLS
from curation.checks.lists import Lists, in_small, lists
from curation.words import AFFIXING, UNSPACED, WORD, base

UNMARKED = {"lo", "th"}
"""Languages whose sentences end without a punctuation mark."""
JOINING = UNSPACED | {"ar", "fa", "he", "ko", "ku", "ps", "sd", "ug", "ur"}
"""Languages that join articles or particles to a word: a target inside a longer word is normal."""
UNCASED = {
    *("am", "ar", "as", "bn", "bo", "ckb", "dv", "dz", "fa", "gu", "he", "hi", "ja", "km", "kn"),
    *("ko", "lo", "ml", "mr", "my", "ne", "or", "pa", "ps", "sd", "si", "ta", "te", "th", "ti"),
    *("ug", "ur", "yi", "yue", "zh"),
}
"""Languages without capital letters."""

ENGLISH = 0.15
"""Share of function words: about 0.45 in English CATs, at most 0.05 in their translations."""
ENOUGH = 100  # words that show the language


def is_not_english(texts: Iterable[str]) -> bool:
    """Whether texts plainly are not English: few of their words are English function words.

    >>> is_not_english(["El panadero de la esquina trabaja por las noches."] * 20)
    True
    >>> is_not_english(["The baker at the corner works in the night."] * 20)
    False
    """
    english = lists("en").get("function_word")
    tokens = [word for text in texts for word in WORD.findall(in_small(text))]
    return len(tokens) >= ENOUGH and sum(map(english.holds, tokens)) < ENGLISH * len(tokens)


def unchecked(lists: Lists) -> dict[str, str]:
    """The codes of ``surface`` that cannot be checked in a language, with the reason."""
    language = base(lists.language)
    why = {}
    for code, needed in NEEDS.items():
        if lacking := [repr(name) for name in needed if name not in lists]:
            what, them = ("lists", "them") if len(lacking) > 1 else ("list", "one")
            why[code] = (
                f"no {what} {' and '.join(lacking)} for «{lists.language}»: "
                f"add {them} to your own word lists"
            )
    if language in UNMARKED:
        reason = f"sentences in «{lists.language}» end without a punctuation mark"
        why |= dict.fromkeys(("punctuation_missing", "punctuation_mixed"), reason)
    if language in UNSPACED:
        reason = f"«{lists.language}» has no spaces between words"
        why |= dict.fromkeys(("words_differ", "other_target", "word_doubled"), reason)
    if language in UNCASED:
        reason = f"«{lists.language}» has no capital letters"
        codes = (code for code, about in PITFALLS.items() if about.languages == CASED)
        why |= dict.fromkeys(codes, reason)
    if language in JOINING:
        why["target_inflected"] = f"«{lists.language}» joins articles or particles to words"
    if language not in AFFIXING:
        codes = (code for code, about in PITFALLS.items() if about.languages == JOINED)
        why |= dict.fromkeys(codes, f"«{lists.language}» is not known to join affixes to words")
    if language != "en":
        why["article_wrong"] = "English articles only"
    return why


NEEDS: Mapping[str, tuple[str, ...]] = {
    "negation_one_sided": ("negation",),
    "pronouns_opposite": ("pronoun_female", "pronoun_male"),
    "word_doubled": ("doubled_right",),
    "function_word": ("function_word",),
}
"""The word lists that a check needs."""
