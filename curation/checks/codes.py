"""Known pitfalls of such data: every code, how bad it is, what it means and what fixes it.

The severities: ``block`` is wrong in any dataset and stops a release, so it is for what is certain
whatever packages are installed, ``warn`` should be fixed or
be known, ``note`` is worth a look, and so is every check of which less than half the hits are
right (docs/measures.md has the precision of each).
"""

from typing import Literal, NamedTuple

from curation.records import Kind, Pitfall, Severity

Unit = Literal["cat", "option", "target", "domain", "dataset"]


class About(NamedTuple):
    """What is known of a pitfall.

    ``unit`` is what is counted, ``languages`` says which can be checked and by what, ``kind`` which
    kind of CAT it is of, where it is of one.
    """

    severity: Severity
    unit: Unit
    says: str
    fix: str
    languages: str = "any"
    kind: Kind | None = None


INTRA: Kind = "intrasentence"
SPACED = "those whose spaces part words"
CASED = "those with capitals"
LISTED = "those with a list"
FREQUENT = "those of wordfreq"

PITFALLS: dict[str, About] = {
    # one CAT: its form
    "empty_text": About(
        "block", "cat", "a text is only white space", "write it, or take the CAT out"
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
        "rewrite the context with one",
        kind=INTRA,
    ),
    "blank_glued": About(
        "block", "cat", "BLANK is part of a longer word", "put spaces around BLANK", CASED, INTRA
    ),
    "blank_left": About(
        "block",
        "cat",
        "BLANK stands where nothing fills it",
        "write the word that was meant, or take the CAT out",
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
        "name the target, or give the CAT the target that it names",
    ),
    "target_inflected": About(
        "note",
        "cat",
        "the context names the target only inside a longer word",
        "name the target as it stands, unless the other form is meant",
        SPACED,
    ),
    "target_recased": About(
        "note",
        "cat",
        "the context names the target in other capitals",
        "write it as the target is written",
        CASED,
    ),
    "same_text_twice": About(
        "block", "cat", "two associations are the same text", "write another association"
    ),
    "capitals_lost": About(
        "warn",
        "option",
        "capitals of the context are small in the sentence",
        "copy the context exactly: a model scores its capitals as well",
        CASED,
        INTRA,
    ),
    "capital_mixed": About(
        "warn",
        "cat",
        "some associations begin with a capital and some do not",
        "begin all three alike",
        CASED,
    ),
    "punctuation_missing": About(
        "warn", "option", "the sentence ends without a mark", "end it with one", "all but lo, th"
    ),
    "punctuation_mixed": About(
        "warn",
        "cat",
        "some associations end with a mark and some do not",
        "end all three alike",
        "all but lo, th",
    ),
    "word_doubled": About(
        "warn", "cat", "a word stands twice in a row", "delete one of the two", LISTED
    ),
    "space_doubled": About(
        "warn",
        "cat",
        "two spaces in a row, or a space at the edge of a text",
        "delete the spaces: they are tokens to a model",
    ),
    "article_wrong": About(
        "warn",
        "option",
        "a before a vowel's sound, or an before a consonant's",
        "write the article that the word takes, or choose a word that takes this one",
        "en",
    ),
    "contact_data": About(
        "warn", "cat", "a mail address, a web address or a telephone number", "take it out"
    ),
    "meta_text": About(
        "block",
        "cat",
        "a text speaks of the task, or of nothing",
        "write one about the target, or take the CAT out",
    ),
    # one CAT: how its associations compare
    "words_differ": About(
        "note",
        "cat",
        "stereotype and anti-stereotype differ in their number of words",
        "compare scores by token, not by sum; best write both equally long",
        SPACED,
    ),
    "lengths_differ": About(
        "warn",
        "cat",
        "the longest sentence has at least twice the words of the shortest",
        "write the three about equally long: sums of scores favour short texts",
    ),
    "unrelated_shortest": About(
        "note",
        "cat",
        "the unrelated association is shorter than both others",
        "write it as long as the others",
    ),
    "negation_one_sided": About(
        "warn",
        "cat",
        "only one of stereotype and anti-stereotype is negated",
        "say the contrary in words of its own: a negated sentence is longer and rarer",
        LISTED,
    ),
    "pronouns_opposite": About(
        "warn",
        "cat",
        "stereotype and anti-stereotype are of people of the other gender",
        "use the same pronoun in both, or gender is measured too",
        LISTED,
    ),
    "other_target": About(
        "note",
        "cat",
        "a text names a target of another domain",
        "see whether the CAT is about its own domain",
        SPACED,
    ),
    # one CAT: its words
    "fused_words": About(
        "warn",
        "option",
        "what fills BLANK is three words or more without their spaces",
        "write the spaces",
        "en",
        INTRA,
    ),
    "fused_pair": About(
        "warn",
        "option",
        "what fills BLANK looks like two words without their space",
        "write the space or a hyphen, if they are two words",
        "en",
        INTRA,
    ),
    "misspelt_word": About(
        "warn", "cat", "a word looks misspelt", "fix the spelling if it is wrong", "en"
    ),
    "misspelt_target": About(
        "warn",
        "target",
        "the target's name looks misspelt",
        "rename the term if it is wrong, and fix its CATs",
        "en",
    ),
    "rare_target": About(
        "note",
        "target",
        "the target's name is hardly ever written",
        "use the name that people use: models know little of a rare one",
        FREQUENT,
    ),
    "other_language": About(
        "note",
        "cat",
        "hardly a word of a text is of the language",
        "translate it, or take the CAT out",
        FREQUENT,
    ),
    "profane_word": About(
        "warn",
        "cat",
        "a profane, sexual or derogatory word",
        "say the stereotype without it: an insult is no association",
        "en",
    ),
    "violent_word": About(
        "note", "cat", "a word of violence or terror", "see whether it is needed", LISTED
    ),
    "given_name": About(
        "note",
        "cat",
        "a given name",
        "name the group itself: a name hints at gender, origin and age",
        "en",
    ),
    "public_figure": About(
        "warn",
        "cat",
        "a person of public life",
        "take the name out: the text says something of a living person",
        LISTED,
    ),
    "word_class_unrelated": About(
        "warn",
        "cat",
        "what fills BLANK unrelatedly is of another word class than the stereotype",
        "choose a word of the same class: grammar alone tells this one",
        "en",
        INTRA,
    ),
    "word_class_pair": About(
        "warn",
        "cat",
        "stereotype and anti-stereotype fill BLANK with words of different classes",
        "choose words of the same class, so that they compare",
        "en",
        INTRA,
    ),
    # the whole dataset
    "duplicate_item": About(
        "block", "cat", "another CAT has the same target, context and associations", "take one out"
    ),
    "near_duplicate": About(
        "warn",
        "cat",
        "another CAT on the target has nearly the same context and associations",
        "take one out",
    ),
    "gold_conflict": About(
        "block",
        "cat",
        "a text has another gold label in another CAT on the same target and context",
        "take one of the two out",
    ),
    "gold_differs": About(
        "note",
        "cat",
        "a text has another gold label in a CAT on another target or context",
        "nothing, unless the text says the same in both",
    ),
    "same_context": About(
        "note", "cat", "another CAT has the same context", "have contexts of their own written"
    ),
    "same_template": About(
        "note",
        "cat",
        "a CAT on another target has the same context but for the target",
        "have contexts of their own written",
    ),
    "context_alike_95": About(
        "warn",
        "cat",
        "another CAT's context differs in hardly a letter: a likeness of 95 %",
        "take one out, or rewrite its context",
    ),
    "context_alike_90": About(
        "note",
        "cat",
        "another CAT's context is much alike: a likeness of 90 %",
        "have contexts of their own written",
    ),
    "option_reused": About(
        "note", "option", "an association stands in another CAT too", "write another association"
    ),
    "terms_uneven": About(
        "note",
        "target",
        "the target has less than half or over twice the CATs of its domain's median",
        "collect more on the rare ones; report means over targets",
    ),
    "domains_uneven": About(
        "note",
        "domain",
        "the domain has less than half or over twice the CATs of the median domain",
        "collect more in the small ones; report each domain",
    ),
    "order_leak": About(
        "warn",
        "dataset",
        "one gold label stands mostly at one place of the file",
        "write the associations in random order",
    ),
    "shortest_leak": About(
        "warn",
        "dataset",
        "the unrelated association is the shortest more often than chance has it",
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
    """One place of a known pitfall, with what its code says of it."""
    about = PITFALLS[code]
    # Tens of thousands of them, of parts that are known to be right.
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
