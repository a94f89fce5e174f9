"""Known pitfalls of such data: each code's severity, its meaning and its fix.

The severities:

- ``block``: wrong in any dataset; it stops a release. These checks are certain and do not depend on
  which packages are installed.
- ``warn``: fix it, or at least know about it.
- ``note``: worth a look. A check is also a note if less than half of its hits are right
  (docs/measures.md has the precision of each).
"""

from typing import Literal, NamedTuple

from curation.records import Kind, Pitfall, Severity

Unit = Literal["cat", "option", "target", "domain", "dataset"]


class About(NamedTuple):
    """The description of a pitfall code.

    Attributes:
        severity: block, warn or note.
        unit: what is counted.
        says: what a hit means.
        fix: what to do about it.
        languages: the languages in which it can be checked.
        kind: the only kind of CAT that can have it; None for both kinds.
    """

    severity: Severity
    unit: Unit
    says: str
    fix: str
    languages: str = "any"
    kind: Kind | None = None


INTRA: Kind = "intrasentence"
SPACED = "with spaces between words"
CASED = "with capital letters"
JOINED = "that join affixes"
MARKED = "all except lo, th"
LISTED = "with a word list"
FREQUENT = "in wordfreq"

PITFALLS: dict[str, About] = {
    # one CAT: its form
    "empty_text": About(
        "block", "cat", "a text is only white space", "write the text, or remove the CAT"
    ),
    "blank_missing": About(
        "block",
        "cat",
        "the context has no BLANK",
        "write BLANK where the association goes",
        kind=INTRA,
    ),
    "blank_twice": About(
        "block",
        "cat",
        "the context has more than one BLANK",
        "rewrite the context with one BLANK",
        kind=INTRA,
    ),
    "blank_glued": About(
        "block", "cat", "BLANK is part of a longer word", "put spaces around BLANK", CASED, INTRA
    ),
    "blank_hyphen": About(
        "warn",
        "cat",
        "a hyphen joins BLANK to letters, so the filled word has hyphens that it should not have",
        "join the affix without a hyphen (blank_alone = false allows it), or let the affix be part "
        "of what fills BLANK",
        JOINED,
        INTRA,
    ),
    "blank_left": About(
        "block",
        "cat",
        "a text that should be complete contains BLANK",
        "write the word that was meant, or remove the CAT",
    ),
    "template_not_reproduced": About(
        "block",
        "option",
        "the sentence is not the context with BLANK filled",
        "copy the context exactly",
        kind=INTRA,
    ),
    "target_missing": About(
        "block",
        "cat",
        "the context does not name the target",
        "name the target, or assign the CAT to the target that it names",
    ),
    "target_renamed": About(
        "warn",
        "cat",
        "the context names the target only by an old name or another spelling",
        "take the rename back, leave the CAT out, or have it written again: readers see only the "
        "new name",
    ),
    "target_inflected": About(
        "note",
        "cat",
        "the context names the target only inside a longer word",
        "write the target as a separate word, unless the other form is intended",
        SPACED,
    ),
    "target_recased": About(
        "note",
        "cat",
        "the context capitalises the target differently",
        "write the target as in the list of terms",
        CASED,
    ),
    "same_text_twice": About(
        "block", "cat", "two associations are the same text", "write a different association"
    ),
    "capitals_lost": About(
        "warn",
        "option",
        "capital letters of the context are small in the sentence",
        "copy the context exactly: capital letters change a model's scores",
        CASED,
        INTRA,
    ),
    "capital_mixed": About(
        "warn",
        "cat",
        "some associations begin with a capital letter and others do not",
        "begin all three in the same way",
        CASED,
    ),
    "punctuation_missing": About(
        "warn", "option", "the sentence has no punctuation mark at its end", "add the mark", MARKED
    ),
    "punctuation_mixed": About(
        "warn",
        "cat",
        "some associations end with a punctuation mark and others do not",
        "end all three in the same way",
        MARKED,
    ),
    "word_doubled": About(
        "warn", "cat", "the same word occurs twice in a row", "delete one of them", LISTED
    ),
    "space_doubled": About(
        "warn",
        "cat",
        "a text has two spaces in a row, or a space at its start or end",
        "delete the extra spaces: they are tokens to a model",
    ),
    "article_wrong": About(
        "warn",
        "option",
        "“a” before a vowel sound, or “an” before a consonant sound",
        "use the article that the word needs, or another word",
        "en",
    ),
    "contact_data": About(
        "warn", "cat", "an e-mail address, a web address or a telephone number", "remove it"
    ),
    "bidi_control": About(
        "warn",
        "cat",
        "the target or a text has an invisible character that changes the writing direction",
        "delete it: readers may see other words than a model reads",
    ),
    "meta_text": About(
        "block",
        "cat",
        "a text is about the annotation task, or says nothing",
        "write a text about the target, or remove the CAT",
    ),
    # one CAT: how its associations compare
    "words_differ": About(
        "note",
        "cat",
        "stereotype and anti-stereotype differ in their number of words",
        "write both equally long, or compare scores per token instead of sums",
        SPACED,
    ),
    "lengths_differ": About(
        "warn",
        "cat",
        "the longest sentence has at least twice as many words as the shortest",
        "write the three about equally long: summed scores favour short texts",
    ),
    "unrelated_shortest": About(
        "note",
        "cat",
        "the unrelated association is shorter than both others",
        "write it about as long as the others",
    ),
    "negation_one_sided": About(
        "warn",
        "cat",
        "only one of stereotype and anti-stereotype is negated",
        "express the opposite without a negation: negated sentences are longer and rarer",
        LISTED,
    ),
    "pronouns_opposite": About(
        "warn",
        "cat",
        "stereotype and anti-stereotype use pronouns of different genders",
        "use the same pronoun in both, or the CAT also measures gender",
        LISTED,
    ),
    "other_target": About(
        "note",
        "cat",
        "a text names a target of another domain",
        "check that the CAT is about its own domain",
        SPACED,
    ),
    # one CAT: its words
    "fused_words": About(
        "warn",
        "option",
        "the BLANK is filled with three or more words without spaces between them",
        "add the spaces",
        "en",
        INTRA,
    ),
    "fused_pair": About(
        "warn",
        "option",
        "the BLANK is filled with what looks like two words without a space between them",
        "add the space or a hyphen if they are two words",
        "en",
        INTRA,
    ),
    "misspelt_word": About(
        "warn", "cat", "a word looks misspelt", "correct the spelling if it is wrong", "en"
    ),
    "misspelt_target": About(
        "warn",
        "target",
        "the target's name looks misspelt",
        "rename the term if the spelling is wrong, and correct its CATs",
        "en",
    ),
    "rare_target": About(
        "note",
        "target",
        "the target's name is very rare in written language",
        "use the common name: models know little about a rare one",
        FREQUENT,
    ),
    "function_word": About(
        "warn",
        "target",
        "the target is a function word, such as a pronoun or an article",
        "name a group: such a word is in most texts, whatever they are about",
        LISTED,
    ),
    "other_language": About(
        "note",
        "cat",
        "almost no word of a text belongs to the dataset's language",
        "translate it, or remove the CAT",
        FREQUENT,
    ),
    "profane_word": About(
        "warn",
        "cat",
        "a profane, sexual or derogatory word",
        "express the stereotype without this word: an insult is not an association",
        "en",
    ),
    "violent_word": About(
        "note", "cat", "a word about violence or terror", "check that the word is needed", LISTED
    ),
    "given_name": About(
        "note",
        "cat",
        "a given name",
        "name the group itself: a given name hints at gender, origin and age",
        "en",
    ),
    "public_figure": About(
        "warn",
        "cat",
        "the name of a public figure",
        "remove the name: the text says something about a living person",
        LISTED,
    ),
    "word_class_unrelated": About(
        "warn",
        "cat",
        "the unrelated association fills BLANK with a different word class than the stereotype",
        "use a word of the same class: otherwise grammar alone gives it away",
        "en",
        INTRA,
    ),
    "word_class_pair": About(
        "warn",
        "cat",
        "stereotype and anti-stereotype fill BLANK with different word classes",
        "use words of the same class, so that the two are comparable",
        "en",
        INTRA,
    ),
    # the whole dataset
    "duplicate_item": About(
        "block",
        "cat",
        "another CAT has the same target, context and associations",
        "remove one of them",
    ),
    "near_duplicate": About(
        "warn",
        "cat",
        "another CAT with the same target has nearly the same context and associations",
        "remove one of them",
    ),
    "gold_conflict": About(
        "block",
        "cat",
        "a text has a different gold label in another CAT with the same target and context",
        "remove one of the two CATs",
    ),
    "gold_differs": About(
        "note",
        "cat",
        "a text has a different gold label in a CAT with another target or context",
        "nothing, unless the text means the same in both",
    ),
    "same_context": About(
        "note", "cat", "another CAT has the same context", "collect a separate context for each CAT"
    ),
    "same_template": About(
        "note",
        "cat",
        "a CAT on another target has the same context except for the target",
        "collect a separate context for each CAT",
    ),
    "context_alike_95": About(
        "warn",
        "cat",
        "another CAT's context is almost identical: a similarity of 95 %",
        "remove one of them, or rewrite its context",
    ),
    "context_alike_90": About(
        "note",
        "cat",
        "another CAT's context is very similar: a similarity of 90 %",
        "collect a separate context for each CAT",
    ),
    "option_reused": About(
        "note", "option", "another CAT has the same association", "write a different association"
    ),
    "target_in_domains": About(
        "warn",
        "target",
        "the target, in this or another spelling, is also in another domain",
        "keep it in one domain: it counts as two terms, so overall scores weigh it twice",
    ),
    "no_votes": About(
        "warn",
        "cat",
        "nobody labelled the CAT: its gold labels are those that were published",
        "collect labels, or say that the gold labels are trusted where you report scores",
    ),
    "terms_uneven": About(
        "note",
        "target",
        "the target has less than half or more than twice the median number of CATs in its domain",
        "collect more CATs on rare targets; report means over targets",
    ),
    "domains_uneven": About(
        "note",
        "domain",
        "the domain has less than half or more than twice the median number of CATs of all domains",
        "collect more CATs in small domains; report each domain",
    ),
    "order_leak": About(
        "warn",
        "dataset",
        "the associations with one gold label are mostly in the same position",
        "write the associations in random order",
    ),
    "shortest_leak": About(
        "warn",
        "dataset",
        "the unrelated association is the shortest one more often than chance would make it",
        "have unrelated associations written as long as the others",
    ),
}


def pitfall(
    code: str,
    where: str,
    detail: str,
    *,
    item: str | None = None,
    association: str | None = None,
    target: str | None = None,
) -> Pitfall:
    """The record of one hit, with the severity and fix of its code.

    Args:
        code: one of ``PITFALLS``.
        where: the place for a reader, such as a file and line or an item.
        detail: what is wrong there.
        item: the item's id; None for the dataset or a target.
        association: the association's id; None for the whole item.
        target: the term's text.
    """
    about = PITFALLS[code]
    # There may be tens of thousands, and all parts are valid already: validation would cost time.
    return Pitfall.model_construct(
        code=code,
        severity=about.severity,
        item=item,
        association=association,
        target=target,
        where=where,
        detail=detail,
        fix=about.fix,
    )
