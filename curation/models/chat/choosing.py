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
CHOICES = ("stated", "preferred", "bare")


def _word(pattern: str) -> str:
    return rf"(?<!{WORD})(?:{pattern})(?!{WORD})"


_ANY = rf"(?:{NAMED}|{PAIR})"
_PAIRED = re.compile(
    rf"(?P<one>{NAMED})(?P<join>\s?[,?]?\s?(?:{_word(words.AND)}|/|&|=+|≈|,)\s?(?:not )?)(?P<two>{NAMED})"
)
_SINGULAR = re.compile(r" (?:is|was|has|does|makes|sounds|seems|reads|feels|doesn't|isn't)\b")
_BOUND = re.compile(
    rf"\.+(?!\w)|[!?。！？;；:：,，、()（）\n—…=]+|(?<=\s)-(?=\s)|{_word(words.CONTRAST)}"
    rf"|{_word('and')}(?= (?:{NAMED}|(?:i |i'd |i would |would |then )?{words.CHOOSE}) )"
)
_FULL_STOP = re.compile(r"[.!?。！？;；\n…]")
_IF = re.compile(_word(words.IF))
_NOT = re.compile(rf"n't(?!{WORD})|{_word(words.NOT)}|不|没|ない|ません|않|아니")
_MORE = re.compile(_word(words.MORE))
_LESS = re.compile(_word(words.LESS))
_GOOD = re.compile(_word(words.GOOD))
_BAD = re.compile(_word(words.BAD))
_LESS_BAD = re.compile(_word(rf"(?:less|least|moins|weniger|menos|meno) (?:\w+ )?{words.BAD}"))
_ASKS = re.compile(r"\b(?:do|did|does|would|could|can|should|shall|is|are|may|will) (?:you|i)\b")
_SOME = re.compile(r"\b(?:some|half|others|many|few|one (?:could|might|may)|another|a third)\b(?! most)")
_MAYBE = re.compile(r"\b(?:maybe|perhaps|might|could|possibly|sometimes)\b")
_TOO = re.compile(r".,? (?:too|as well|also)\b")
_CHOSEN_AFTER = re.compile(r"\s?(?:を|을|를)\s?(?:選|选|お?推|선택|고르|고른|택)")
_NOT_ALONE = re.compile(
    rf"(?:{_word(words.NOT)}|{_word('no')})[ ,]*(?:(?:the|with|for|to|letter|choose|pick) )*$"
)
_COMPARED_BEFORE = re.compile(
    rf"(?:{_word(words.THAN)}|{_word('(?:not )?as|unlike|rather than|instead of|besides|against|compared with|beats?|(?:contrast|compared|contrary|opposed|relative|next|close|similar|prior|due|preferable|superior|preference|inferior|alternative|comparison|respond|reply) to')}|{NAMED} (?:to|from|above)|比|不如|没有) ?$"
)
_COMPARED_AFTER = re.compile(r"\s?(?:より|보다)")
_UNLIKE = re.compile(r"(?:unlike|(?:in |by )?(?:contrast|contrary|opposed) to) ?$")
_CHOSEN_OVER = re.compile(
    rf"\s?(?:{_word('over|rather than|instead of|and not|but not|not|before')}|>+)[ ,]*{NAMED}"
)
_AS_AS = re.compile(
    rf"{_word('(?:just |equally |about )?as|genauso|ebenso|so|tan|tão|aussi|così')} \w+(?: \w+)? "
    rf"{_word('as|wie|como|quanto|que|come')} (?:it is |is )?(?P<other>{_ANY})"
)
_CHOOSER = re.compile(
    rf"(?:'s|(?<!{WORD})(?:{words.IS}|{words.CHOOSE}))(?: {words.FILL}(?!{WORD}))*[ ']*$|(?:选|選|是|は|为)\s?$"
)
_CONNECTED = re.compile(rf"(?:(?:{words.SO}|{words.FILL})(?!{WORD})[ ,]*)*$")
_TITLE = re.compile(rf"(?=.*{_word(words.ANSWERS)})(?:(?:{words.ANSWERS}|{words.FILL}|{words.SO}|i|is|:)(?!{WORD})\s?)+$")
_ENDED = re.compile(rf"\s?(?:$|{words.AFTER}(?!{WORD})|[^\w\s']|(?!{WORD})\w|'s\b)")
_PREDICATE = re.compile(
    rf"\s?(?:{words.FINITE}(?!{WORD})|'s |{words.MORE}(?!{WORD})|{words.LESS}(?!{WORD})|{words.BAD}(?!{WORD})"
    rf"|{words.GOOD}(?!{WORD})|[a-z]{{3,}}s |[가-힣ぁ-ん]|比|更|不如|没有)"
)
_REMARK = re.compile(r"\s?(?:it (?:is|shall|will|would)|i \w+|for me|for sure|please|it'd be|then|de|です|입니다|이다|だ)")
_JOINED = re.compile(r" ?(?:and|or|und|oder|et|ou|y|o|e|&|/)\W*$")
_REST = re.compile(rf"(?:(?!{NAMED})[^.!?\n]){{0,200}}")
_RELATIVE = re.compile(
    _word(
        "which|that|on the|in contrast|by contrast|however|though|meanwhile|for (?:example|instance|its part)"
        "|being|having|is|was|sounds|seems|in turn|while|although|with|too|in this|at first"
    )
)
_WOULD = re.compile(_word("would|could|might|may|if|can|possible"))


class Choice(NamedTuple):
    """What a text chooses.

    Attributes:
        mention: the position in ``Marked.mentions`` of the chosen letter, or None.
        both: the text names both letters, or rejects both, and chooses neither.
        named: the text names a letter.
    """

    mention: int | None
    both: bool = False
    named: bool = False


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
        return Choice(None)
    if len(marked.mentions) == 1 and not re.sub(rf"[\W_]|{NAMED}", "", marked.text):
        return Choice(None if cut and marked.labelled else 0, named=True)
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
    return _resolve(text, judged, PAIR in text, cut)


def _letter(marked: Marked, character: str) -> int:
    return marked.mentions[ord(character) - ord(TOKEN)].letter


def _fold_pairs(marked: Marked) -> str:
    """The text with one character for "A and B", "A or B", "A, B" and the like."""
    text, found = marked.text, True
    position = 0
    while found and (match := _PAIRED.search(text, position)):
        one, two, join = match["one"], match["two"], match["join"]
        same = _letter(marked, one) == _letter(marked, two)
        after = text[match.end() :]
        whole = not re.sub(rf"\W|{NAMED}", "", text) or bool(
            re.search(r"(?:^|[.!?\n:])\s?$", text[: match.start()]) and re.match(r"\s?(?:$|[.!?\n])", after)
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
    return re.sub(rf"{NAMED}(?: {NAMED})+(?= |$)", lambda run: _fold_run(marked, run[0]), text)


def _fold_run(marked: Marked, run: str) -> str:
    """One character for letters that follow each other: "B B B", "A B A B"."""
    return run[0] if len({_letter(marked, each) for each in run[::2]}) == 1 else PAIR


def _judge(text: str, marked: Marked, choosing: tuple[str, ...]) -> list[_Event]:
    bounds = [(each.start(), each.end()) for each in _BOUND.finditer(text)]
    starts, ends = [each[0] for each in bounds], [each[1] for each in bounds]
    events = []
    for found in re.finditer(NAMED, text):
        at = found.start()
        mention = ord(found[0]) - ord(TOKEN)
        letter = marked.mentions[mention].letter
        left, right = bisect_right(ends, at) - 1, bisect_left(starts, at + 1)
        begin = ends[left] if left >= 0 else 0
        end = starts[right] if right < len(starts) else len(text)
        lead = text[starts[left] : begin].strip(" \t") if left >= 0 else "\n"
        close = text[end : ends[right]] if right < len(ends) else "\n"
        previous = text[ends[left - 1] if left > 0 else 0 : starts[left]] if left >= 0 else ""
        clause = _Clause(
            before=text[begin:at].lstrip(),
            after=text[at + 1 : end].rstrip(),
            lead=lead,
            close=close,
            previous=previous,
            rest=_REST.match(text, end)[0].lstrip(" ,，、"),  # type: ignore[index]
            opens=not text[:begin].strip() or "\n" in lead,
        )
        rank, other = _rank(clause, choosing)
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


class _Clause(NamedTuple):
    """The clause around a letter, the marks around it, the clause before and the rest of its
    sentence up to the next letter."""

    before: str
    after: str
    lead: str
    close: str
    previous: str
    rest: str
    opens: bool


def _rank(clause: _Clause, choosing: tuple[str, ...]) -> tuple[Rank, bool]:
    """How a clause judges its letter, and whether it prefers the other one in the clause."""
    before, after = clause.before, clause.after
    if clause.lead.endswith("so") and re.fullmatch(r"(?:is|does|was|would|can|are)\s*", before):
        return "good", False  # "A is natural, and so is B"
    if any(before.endswith((phrase, phrase + " ")) for phrase in choosing):
        return "stated", False
    if _IF.search(before) or (before == "" and clause.lead in ("if", "whether")):
        return "named", False
    if _SOME.search(before):
        return "named", False
    if clause.close.startswith(("?", "？")) and _ASKS.search(before):
        return "named", False
    if _CHOSEN_AFTER.match(after) and not _NOT.search(after):
        return "stated", False
    if _NOT_ALONE.search(before) and not _PREDICATE.match(after):
        return "rejected", False
    if _NOT.search(before):
        chooser = _CHOOSER.search(before) and not _PREDICATE.match(after)
        return ("rejected" if chooser else "named"), False
    if _UNLIKE.match(before):
        return "bad", False
    if _COMPARED_AFTER.match(after) or (before and _COMPARED_BEFORE.search(before)):
        return "named", False
    if _CHOSEN_OVER.match(after):
        return "stated", False
    if re.match(rf"\s?<\s?{NAMED}", after):
        return "bad", True
    if _PREDICATE.match(after) and not _REMARK.match(after):
        rank, other = _predicate(after)
        if rank != "named" or not (_CHOOSER.search(before) and _ENDED.match(after)):
            bare = not before and clause.opens and re.match(r"\s?(?:and|because|as|since|for|but)\b", after)
            return ("bare" if rank == "named" and bare else rank), other
    if not _ENDED.match(after):
        return "named", False
    if before:
        if _CHOOSER.search(before):
            negative = _BAD.search(before) or _LESS.search(before)
            return ("rejected" if negative else "stated"), False
        if _TITLE.fullmatch(before) and clause.lead in ("", "\n", ".", ":", ","):
            return "stated", False
        if _CONNECTED.fullmatch(before):
            return "preferred", False
        return "named", False
    return _alone(clause), False


def _predicate(after: str) -> tuple[Rank, bool]:
    """What is said of a letter in the words after it."""
    negative = _NOT.search(after)
    same = _AS_AS.search(after)
    if same:
        if negative and same["other"] != PAIR:
            return "bad", True
        return "named", False
    less, more = _LESS.search(after), _MORE.search(after)
    if _LESS_BAD.search(after):
        return ("named" if negative else "preferred"), False
    if less and not negative or (less and less[0] in ("不如", "没有")):
        return "bad", bool(re.search(NAMED, after))
    if more:
        return ("bad" if negative and negative.start() < more.end() else "preferred"), False
    good, bad = _GOOD.search(after), _BAD.search(after)
    if bad:
        return ("good" if negative and negative.start() < bad.start() else "bad"), False
    if negative:
        return "bad", False
    return ("good" if good else "named"), False


def _alone(clause: _Clause) -> Rank:
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
            return "bare" if rank in ("preferred", "good") else rank
        if close[0] in ",，、—(（" or not re.match(r"[:：.)-]", close):
            return "bare"
        return "label"
    if lead and lead[0].isalpha():
        return "preferred"
    if lead and lead[0] in ",，—、-)）" and (ends or after or close[0] in ",—"):
        return "preferred" if ends or _REMARK.match(after) or close[0] in "—" else "named"
    return "named"


def _unfinished(text: str, event: _Event, end: int, judged: list[_Event]) -> bool:
    """Whether an event at the end of a cut text may still turn out otherwise."""
    if _JOINED.match(text, event.at + 1):
        return True
    if any(each.at < event.at and each.rank in CHOICES and event.at == end for each in judged):
        return True
    if event.at != end or end == 0:
        return bool(event.rank == "preferred" and re.search(r"\b(?:more|most|the|my|your)\s*$", text))
    return event.rank != "stated" and bool(text[:end].strip())


def _resolve(text: str, events: list[_Event], paired: bool, cut: bool) -> Choice:
    choices = [each for each in events if each.rank in CHOICES]
    copies = {each.letter for each in events if each.rank == "label"}
    if choices:
        last = choices[-1]
        chosen = _settle(text, choices)
        later = [each for each in events if each.at > last.at and each.rank == "rejected"]
        if chosen is not None and not any(each.letter == chosen.letter for each in later):
            return Choice(chosen.mention, named=True)
        return Choice(None, chosen is None, True)
    if len(copies) == 1:
        return Choice(next(each.mention for each in events if each.rank == "label"), named=True)
    if len(copies) == 2:
        return Choice(None, True, True)
    good = {each.letter: each for each in events if each.rank == "good"}
    bad = {each.letter for each in events if each.rank in ("bad", "rejected")}
    mentioned = {each.letter for each in events}
    if len(good) == 1 and not paired:
        letter, event = next(iter(good.items()))
        if letter not in bad and (bad or mentioned == {letter}):
            return Choice(event.mention, named=True)
    return Choice(None, paired or len(mentioned) == 2, True)


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
    if _MAYBE.search(text[max(last.at - 15, 0) : last.at]) and _MAYBE.search(text[: others[-1].at]):
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
