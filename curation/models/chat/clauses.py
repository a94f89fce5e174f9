"""How the clause around a letter judges it: chosen, preferred, rejected or only mentioned."""

import re
from typing import Literal, NamedTuple

from curation.models.chat import words
from curation.models.chat.marks import NAMED, PAIR, WORD

Rank = Literal["stated", "preferred", "bare", "label", "good", "rejected", "bad", "named"]


def whole_word(pattern: str) -> str:
    """A regular expression that matches whole words only, in scripts with spaces."""
    return rf"(?<!{WORD})(?:{pattern})(?!{WORD})"


_ANY = rf"(?:{NAMED}|{PAIR})"
_FULL_STOP = re.compile(r"[.!?。！？;；\n…]")
_IF = re.compile(whole_word(words.IF))
_NOT = re.compile(rf"n't(?!{WORD})|{whole_word(words.NOT)}|不|没|ない|ません|않|아니")
_MORE = re.compile(whole_word(words.MORE))
_LESS = re.compile(whole_word(words.LESS))
_GOOD = re.compile(whole_word(words.GOOD))
_BAD = re.compile(whole_word(words.BAD))
_MORE_BAD = re.compile(
    whole_word(
        rf"(?:more|most|plus|más|mais|più) (?:\w+ )?{words.BAD}"
        r"|(?:seltsam|merkwürdig|komisch|unnatürlich|ungewöhnlich|unwahrscheinlich|selten)er"
    )
)
_CONDITION = re.compile(
    r"\bif\b(?!.*\b(?:forced|pressed|must|have|had to|need|asked|required|choose|pick|"
    r"anything|look|compare|judge)\b)"
)
_LESS_BAD = re.compile(whole_word(rf"(?:less|least|moins|weniger|menos|meno) (?:\w+ )?{words.BAD}"))
_ASKS = re.compile(
    r"\b(?:do|did|does|would|could|can|should|shall|is|are|may|will) (?:you|i)\b"
    r"|^(?:is|was|could|might|would|should) (?:it|this|that|the (?:\w+ )?answer)\b"
)
_WERE_IT = re.compile(
    r"\b(?:would|could|might) .*\b(?:if (?:it|there|they|one|the \w+) (?:had|were|was|did|\w+ed)"
    r"|without (?:the|an?|its|that))\b"
)
_SOME = re.compile(
    r"\b(?:some|half|others|many|few|one (?:could|might|may)|another|a third|as much as)\b(?! most)"
)
_CHOSEN_AFTER = re.compile(r"\s?(?:を|을|를)\s?(?:選|选|お?推|선택|고르|고른|택)")
_DOUBTED = re.compile(
    r"\b(?:don't|do not|didn't|wouldn't) (?:\w+ )?(?:think|believe|feel|find|consider)"
    r"(?: (?:that|sentence|option))* ?$"
)
_NOT_ALONE = re.compile(
    rf"(?:{whole_word(words.NOT)}|{whole_word('no')})[ ,]*"
    r"(?:(?:the|with|for|to|letter|choose|pick) )*$"
)
_CHOOSING = re.compile(
    rf"^(?:so |and |but )?(?:choosing|picking|selecting|saying|preferring|using|favou?ring)"
    rf"(?: {words.FILL})* ?$"
)
_RELATED = (
    r"(?:not )?as|unlike|rather than|instead of|besides|against|compared with|beats?"
    r"|(?:contrast|compared|contrary|opposed|relative|next|close|similar|prior|due|preferable"
    r"|superior|preference|inferior|alternative|comparison|respond|reply) to"
)
_COMPARED_BEFORE = re.compile(
    rf"(?:{whole_word(words.THAN)}|"
    rf"{whole_word(_RELATED)}|"
    rf"{NAMED} (?:to|from|above)|比|不如|没有) ?$"
)
_COMPARED_AFTER = re.compile(r"\s?(?:より|보다|ではなく|じゃなく|말고|[이가] 아니라)")
_UNLIKE = re.compile(r"(?:unlike|(?:in |by )?(?:contrast|contrary|opposed) to) ?$")
_AS_AS = re.compile(
    rf"{whole_word('(?:just |equally |about )?as|genauso|ebenso|so|tan|tão|aussi|così')}"
    r" \w+(?: \w+)? "
    rf"{whole_word('as|wie|como|quanto|que|come')} (?:it is |is )?(?P<other>{_ANY})"
)
_CHOOSER = re.compile(
    rf"(?:'s|(?<!{WORD})(?:{words.IS}|{words.CHOOSE}))(?: {words.FILL}(?!{WORD}))*[ ']*$|(?:选|"
    rf"選|是|は|为|ではなく|じゃなく|말고|아니라)\s?$"
)
_CONNECTED = re.compile(rf"(?:(?:{words.SO}|{words.FILL})(?!{WORD})[ ,]*)*$")
_TITLE = re.compile(
    rf"(?=.*{whole_word(words.ANSWERS)})(?:(?:{words.ANSWERS}|{words.FILL}|{words.SO}|i|is|"
    rf":)(?!{WORD})\s?)+$"
)
_ASIDE = re.compile(r"(?:while|although|though|whereas)\b|with\s*$")
_WITHIN = re.compile(r"\b(?:in|on|of|with|to|at|by|from)\s*$")
_ENDED = re.compile(rf"\s?(?:$|{words.AFTER}(?!{WORD})|[^\w\s']|(?!{WORD})\w|'s\b)")
_PREDICATE = re.compile(
    rf"\s?(?:{words.FINITE}(?!{WORD})|'s |(?:\w+ly |a bit |a little |somewhat |much |far |"
    rf"even |way )?{words.MORE}(?!{WORD})|{words.LESS}(?!{WORD})|"
    rf"{words.BAD}(?!{WORD})"
    rf"|{words.GOOD}(?!{WORD})|[a-z]{{3,}}s |[가-힣ぁ-ん]|比|更|不如|没有)"
)
_REMARK = re.compile(
    r"\s?(?:it (?:is|shall|will|would)|i \w+|for me|for sure|please|it'd be|then|de"
    r"|でしょう|だと|かな|이에요|예요|이요|です|입니다|이다|だ)"
)
_RELATIVE = re.compile(
    whole_word(
        "which|that|on the|in contrast|by contrast|however|though|meanwhile"
        "|for (?:example|instance|its part)"
        "|being|having|is|was|sounds|seems|in turn|while|although|with|too|in this|at first"
    )
)


class Clause(NamedTuple):
    """The clause around a letter, and what is around the clause.

    ``lead`` and ``close`` are the marks or words that bound it, ``previous`` is the clause before,
    ``rest`` the sentence after it up to the next letter. ``opens``: it opens a line.
    """

    before: str
    after: str
    lead: str
    close: str
    previous: str
    rest: str
    opens: bool


def judge_clause(clause: Clause, choosing: tuple[str, ...]) -> tuple[Rank, bool]:
    """How a clause judges its letter, and whether it prefers the other one in the clause."""
    before, after = clause.before, clause.after
    if clause.lead.endswith("so") and re.fullmatch(r"(?:is|does|was|would|can|are)\s*", before):
        return "good", False  # "A is natural, and so is B"
    if any(before.endswith((phrase, phrase + " ")) for phrase in choosing):
        return "stated", False
    if _IF.search(before) or (before == "" and clause.lead in ("if", "whether")):
        return "named", False
    if _SOME.search(before) or (
        _CONDITION.search(clause.previous) and re.search(r"\b(?:would|'d|i'd)\b", before)
    ):
        return "named", False
    if clause.close.startswith(("?", "？")) and _ASKS.search(before):
        return "named", False
    if _CHOSEN_AFTER.match(after) and not _NOT.search(after):
        return "stated", False
    if _NOT_ALONE.search(before) and not _PREDICATE.match(after):
        return "rejected", False
    if _NOT.search(before):
        if _DOUBTED.search(before) and _PREDICATE.match(after):
            opposite: dict[Rank, Rank] = {"preferred": "bad", "good": "bad", "bad": "good"}
            return opposite.get(_predicate(after)[0], "named"), False
        chooser = _CHOOSER.search(before) and not _PREDICATE.match(after)
        return ("rejected" if chooser else "named"), False
    if _UNLIKE.match(before):
        return "bad", False
    if _COMPARED_AFTER.match(after) or (before and _COMPARED_BEFORE.search(before)):
        return "named", False
    compared = re.search(whole_word("que|als|di|dan|como|wie") + r"\s*$", before)
    if compared and (_MORE.search(before) or _LESS.search(before) or re.search(NAMED, before)):
        return "named", False
    if re.match(rf"\s?<\s?{NAMED}", after):
        return "bad", True
    if _PREDICATE.match(after) and not _REMARK.match(after):
        rank, other = _predicate(after)
        if _CHOOSING.match(before) and rank not in ("preferred", "good"):
            return ("bad" if rank == "bad" else "named"), False  # "choosing A would be wrong"
        if rank != "named" or not (_CHOOSER.search(before) and _ENDED.match(after)):
            bare = (
                not before
                and clause.opens
                and re.match(r"\s?(?:and|because|as|since|for|but)\b", after)
            )
            return ("bare" if rank == "named" and bare else rank), other
    if not _ENDED.match(after):
        return "named", False
    if before:
        if _CHOOSER.search(before):
            negative = _BAD.search(before) or _LESS.search(before)
            return ("rejected" if negative else "stated"), False
        if _TITLE.fullmatch(before) and clause.lead in ("", "\n", ".", ":", ","):
            return "stated", False
        if _WITHIN.search(before):
            return "named", False
        if _CONNECTED.fullmatch(before):
            return "preferred", False
        return "named", False
    return _alone(clause), False


def _predicate(after: str) -> tuple[Rank, bool]:
    """What is said of a letter in the words after it."""
    if _WERE_IT.search(after):
        return "named", False  # "A would be better without the last word"
    negative = _NOT.search(after)
    same = _AS_AS.search(after)
    if same:
        if negative and same["other"] != PAIR:
            return "bad", True
        return "named", False
    if re.match(rf"\s?比\s?{NAMED}", after):
        return ("bad", True) if _BAD.search(after) or negative else ("preferred", False)
    less, more = _LESS.search(after), _MORE.search(after)
    if re.search(r"\bless so\b", after):
        return "good", False
    if _MORE_BAD.search(after):
        return ("named", False) if negative else ("bad", bool(re.search(NAMED, after)))
    if _LESS_BAD.search(after):
        return ("named" if negative else "preferred"), False
    if (less and not negative) or (less and less[0] in ("不如", "没有")):
        return "bad", bool(re.search(NAMED, after))
    if more:
        return ("bad" if negative and negative.start() < more.end() else "preferred"), False
    good, bad = _GOOD.search(after), _BAD.search(after)
    if bad:
        return ("good" if negative and negative.start() < bad.start() else "bad"), False
    if negative:
        return "bad", False
    return ("good" if good else "named"), False


def _alone(clause: Clause) -> Rank:
    """The rank of a letter with nothing before it in its clause."""
    after, lead, close, previous = clause.after, clause.lead, clause.close, clause.previous
    ends = bool(_FULL_STOP.match(close)) or close == ""
    if lead.startswith((":", "：", "=")):
        if _NOT.search(previous) and not re.search(NAMED, previous):
            return "rejected" if len(previous.split()) < 4 else "stated"
        negative = _BAD.search(previous) or _LESS.search(previous)
        if negative and len(previous.split()) < 5:
            return "rejected"
        return "stated"
    if lead in ("while", "whereas", "although", "though", "because", "since"):
        return "named"
    if clause.opens or _FULL_STOP.match(lead):
        if after or ends:
            return "bare"
        if close[0] in ",，、" and _RELATIVE.match(clause.rest):
            rank, _ = _predicate(clause.rest)
            aside = rank == "named" and _ASIDE.match(clause.rest)
            return "bare" if aside or rank in ("preferred", "good") else rank
        if close[0] in ",，、—(（" or not re.match(r"[:：.)-]", close):
            return "bare"
        return "label"
    if lead and lead[0].isalpha():
        return "preferred"
    if lead and lead[0] in ",，—、-)）" and (ends or after or close[0] in ",—"):
        return "preferred" if ends or _REMARK.match(after) or close[0] in "—" else "named"
    return "named"
