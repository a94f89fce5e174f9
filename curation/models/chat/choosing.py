"""Which letter the text of an answer chooses.

Every letter that the text names is judged by the clause that it is in: chosen ("my pick is A"),
preferred ("A is more natural"), named alone ("A"), rejected ("not A") or only mentioned. The last
choice counts. If the text does not settle it, nothing is chosen.
"""

import re
from bisect import bisect_left, bisect_right
from typing import Literal, NamedTuple

from curation.models.chat import words
from curation.models.chat.marks import NAMED, PAIR, TOKEN, WORD, Marked

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


NEAR = 120  # characters of a clause on each side of a letter that are read
CHOICES = ("stated", "preferred", "bare")


_PAIRED = re.compile(
    rf"(?P<one>{NAMED})(?P<join>\s?[,?]?\s?(?:{whole_word(words.AND)}|/|&|=+|≈|"
    rf",|but also)\s?(?:not )?)(?P<two>{NAMED})"
)
_OPENED = re.compile(r"(?:^|[.!?\n:])\s?$")
_SINGULAR = re.compile(r" (?:is|was|has|does|makes|sounds|seems|reads|feels|doesn't|isn't)\b")
_BOUND = re.compile(
    rf"\.+(?!\w)|[!?。！？;；:：,，、()（）\n—…=]+|(?<=\s)-(?=\s)|{whole_word(words.CONTRAST)}"
    rf"|{whole_word('and')}(?= (?:{NAMED}|(?:i |i'd |i would |would |then )?{words.CHOOSE}) )"
)
_MAYBE = re.compile(r"\b(?:maybe|perhaps|might|could|possibly|sometimes)\b")
_TOO = re.compile(r".,? (?:too|as well|also)\b")
_LISTED = re.compile(rf" ?[,，、] ?{NAMED}\s*(?:[,.;!?]|$)")
_JOINED = re.compile(r" ?(?:and|or|und|oder|et|ou|y|o|e|&|/)\W*$")
_REST = re.compile(rf"(?:(?!{NAMED})[^.!?\n]){{0,200}}")
_ANSWERED = re.compile(
    r"\s?[?？]\s?(?:(?P<yes>yes|yeah|yep|sure|definitely|certainly)"
    r"|(?:no|nope|nah|never)(?! (?:idea|doubt|question|problem|preference)))\b"
)
_IS_NOT = re.compile(r"\s?(?:is|does|do|was)(?: not|n't)")
_VERDICT = re.compile(
    r"\s?[:：=]\s?(?:(?:the )?(?P<good>yes|true|better|best|correct|right|(?:more |most |very )?"
    r"(?:natural|likely|plausible))|no|not natural|false|worse|worst|incorrect|wrong|unnatural|"
    r"unlikely|implausible|(?:less |least )(?:natural|likely|plausible))\s?"
    rf"(?:[.;\n]|$|,\s?{NAMED})"
)
_OTHERWISE = re.compile(rf"\b(?:if|when|for)\b.*{NAMED}.*\b(?:otherwise|else)[,:]? {NAMED}")
_WOULD = re.compile(whole_word("would|could|might|may|if|can|possible"))


_IT_IS = re.compile(
    r"(?:[,.;:—!\n] ?|\b(?:but|yet|still|and) )(?:it|that one|this one)"
    r"(?:'s| is| sounds| reads| seems| feels)(?: \w+ly| still| the)*"
    rf" (?:more|most) {words.GOOD}(?!{WORD})(?! (?:to|for|if|when|not|than))"
)


class Choice(NamedTuple):
    """What a text chooses.

    Attributes:
        mention: the position in ``Marked.mentions`` of the chosen letter, or None.
        both: the text names both letters, or rejects both, and chooses neither.
        text: with ``PAIR`` for two letters that belong together.
    """

    mention: int | None
    both: bool = False
    text: str = ""


class _Event(NamedTuple):
    at: int
    mention: int
    letter: int
    rank: Rank


def find_choice(marked: Marked, cut: bool, choosing: tuple[str, ...] = ()) -> Choice:
    """Find the choice of a text.

    Args:
        marked: the text.
        cut: the text ended before its end, so that a choice may follow.
        choosing: phrases of the prompts file that come right before a chosen letter.
    """
    if not marked.mentions:
        return Choice(None, text=marked.text)
    if len(marked.mentions) == 1 and not re.sub(rf"[\W_]|{NAMED}", "", marked.text):
        return Choice(None if cut and marked.labelled else 0, text=marked.text)
    text = _fold_pairs(marked)
    judged = _judge(text, marked, choosing)
    if cut:
        end = len(text.rstrip(" .,:;—")) - 1
        judged = [
            each._replace(rank="named")
            if each.rank in ("good", "bad")
            or (each.rank == "label" and marked.labelled)
            or _unfinished(text, each, end, judged)
            else each
            for each in judged
        ]
    mention, both = _resolve(text, judged)
    return Choice(mention, both, text)


def _letter(marked: Marked, character: str) -> int:
    return marked.mentions[ord(character) - ord(TOKEN)].letter


def _fold_pairs(marked: Marked) -> str:
    """The text with one character for "A and B", "A or B", "A, B" and the like."""
    text, position = marked.text, 0
    only_letters = not re.sub(rf"\W|{NAMED}", "", text)
    while match := _PAIRED.search(text, position):
        one, two, join = match["one"], match["two"], match["join"]
        same = _letter(marked, one) == _letter(marked, two)
        after = text[match.end() :]
        whole = only_letters or bool(
            _OPENED.search(text, max(match.start() - 2, 0), match.start())
            and re.match(r"\s?(?:$|[.!?\n])", after)
        )
        joined = join.strip(" ,\n")
        if same and (joined or "\n" not in join) and re.fullmatch(r"\W*", join):
            text = text[: match.start()] + one + text[match.end() :]
            continue
        fold = not same and bool(joined) and "not" not in join and "\n" not in join
        if joined in ("and", "&", "und", "et", "y", "e", "en") and _SINGULAR.match(after):
            fold = False
        if joined == "" or "not" in join:
            fold = not same and whole and "not" not in join and "\n" not in join
        if fold:
            text = text[: match.start()] + PAIR + text[match.end() :]
            position = match.start()
        else:
            position = match.start() + 1
    ends = r"(?=\W|$)" if only_letters else r"(?=\s|$)"
    return re.sub(rf"{NAMED}(?: {NAMED})+{ends}", lambda run: _fold_run(marked, run[0]), text)


def _fold_run(marked: Marked, run: str) -> str:
    """One character for letters that follow each other: "B B B", "A B A B"."""
    return run[0] if len({_letter(marked, each) for each in run[::2]}) == 1 else PAIR


def _judge(text: str, marked: Marked, choosing: tuple[str, ...]) -> list[_Event]:
    bounds = [(each.start(), each.end()) for each in _BOUND.finditer(text)]
    starts, ends = [each[0] for each in bounds], [each[1] for each in bounds]
    events: list[_Event] = []
    for found in re.finditer(NAMED, text):
        at = found.start()
        mention = ord(found[0]) - ord(TOKEN)
        letter = marked.mentions[mention].letter
        left, right = bisect_right(ends, at) - 1, bisect_left(starts, at + 1)
        begin = ends[left] if left >= 0 else 0
        end = starts[right] if right < len(starts) else len(text)
        lead = text[starts[left] : begin].strip(" \t") if left >= 0 else "\n"
        close = text[end : ends[right]] if right < len(ends) else "\n"
        previous = (
            text[ends[left - 1] if left > 0 else 0 : starts[left]][-NEAR:] if left >= 0 else ""
        )
        clause = Clause(
            before=text[max(begin, at - NEAR) : at].lstrip(),
            after=text[at + 1 : min(end, at + NEAR)].rstrip(),
            lead=lead,
            close=close,
            previous=previous,
            rest=_REST.match(text, end)[0].lstrip(" ,，、"),  # type: ignore[index]
            opens=not text[:begin].strip() or "\n" in lead,
        )
        rank, other = judge_clause(clause, choosing)
        if rank in ("bare", "named") and (answered := _ANSWERED.match(text, end)):
            rank = "stated" if answered["yes"] else "rejected"  # "A? No. B? Yes."
        if rank in ("label", "named") and (verdict := _VERDICT.match(text, end)):
            rank = "good" if verdict["good"] else "bad"  # "A: yes, B: no"
        if rank == "bad" and _IS_NOT.fullmatch(clause.after) and events:
            rank = "good" if events[-1].rank == "bad" else rank  # "B is odd, A is not"
        if rank == "bare" and _LISTED.match(text, at + 1):
            rank = "named"
        if rank == "preferred" and lead in ("while", "whereas", "although", "though", "despite"):
            rank = "good"
        if other:
            character = next(
                each for each in clause.after if each != found[0] and "\ue000" <= each < PAIR
            )
            number = ord(character) - ord(TOKEN)
            if marked.mentions[number].letter != letter:
                events.append(_Event(at, number, marked.mentions[number].letter, "preferred"))
                rank = "bad"
        events.append(_Event(at, mention, letter, rank))
    return events


def _unfinished(text: str, event: _Event, end: int, judged: list[_Event]) -> bool:
    """Whether an event at the end of a cut text may still turn out otherwise."""
    if _JOINED.match(text, event.at + 1):
        return True
    if event.at == end and any(each.at < end and each.rank in CHOICES for each in judged):
        return True
    if event.at != end or end == 0:
        return bool(
            event.rank == "preferred" and re.search(r"\b(?:more|most|the|my|your)\s*$", text)
        )
    return event.rank != "stated" and bool(text[:end].strip())


def _resolve(text: str, events: list[_Event]) -> tuple[int | None, bool]:
    """The mention that is chosen, and whether both letters are named and neither is chosen."""
    choices = [each for each in events if each.rank in CHOICES]
    if _OTHERWISE.search(text):
        return None, True
    if choices:
        chosen = _settle(text, choices)
        later = [each for each in events if each.at > choices[-1].at and each.rank == "rejected"]
        if chosen is None:
            return None, True
        doubtful = any(each.letter == chosen.letter for each in later)
        return (None if doubtful else chosen.mention), False
    paired = PAIR in text
    labels = [each for each in events if each.rank == "label"]
    if len({each.letter for each in labels}) == 1:
        return labels[0].mention, False
    good = {each.letter: each for each in events if each.rank == "good"}
    bad = {each.letter for each in events if each.rank in ("bad", "rejected")}
    mentioned = {each.letter for each in events}
    if (
        len(mentioned) == 1
        and not paired
        and all(each.rank != "rejected" for each in events)
        and _IT_IS.search(text, events[0].at)
    ):
        return events[0].mention, False  # "A is blunt, but it is the more natural one"
    if not labels and len(good) == 1 and not paired:
        letter, event = next(iter(good.items()))
        if letter not in bad and (bad or mentioned == {letter}):
            return event.mention, False
    return None, paired or len(mentioned) == 2


def _settle(text: str, choices: list[_Event]) -> _Event | None:
    """The choice that counts among several, or None if they contradict each other."""
    last = choices[-1]
    others = [each for each in choices if each.letter != last.letter]
    since = [each for each in choices if not others or each.at > others[-1].at]
    last = next((each for each in since if each.rank != "preferred"), last)
    if not others:
        return last
    if re.match(r".\s?\?", text[last.at :]) and re.match(r".\s?\?", text[others[-1].at :]):
        return None
    if all(each.rank == "bare" for each in choices):
        return last if words.CUE.search(text[others[-1].at : last.at]) else None
    between = text[others[-1].at : last.at]
    if _TOO.match(text, last.at):
        return None
    if _MAYBE.search(between[-25:]) and _MAYBE.search(text[: others[-1].at]):
        return None
    if last.rank == "stated" or words.CUE.search(between):
        return last
    if last.rank == "bare" and "\n" in between:
        return last
    first = choices[0]
    if first.rank in ("bare", "stated") and first.letter != last.letter:
        clause = text[last.at : last.at + 120]
        return first if last.rank == "preferred" and _WOULD.search(clause) else None
    return None
