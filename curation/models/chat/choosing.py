"""Which letter the text of an answer chooses.

Every letter that the text names is judged by the clause that it is in: chosen ("my pick is A"),
preferred ("A is more natural"), named alone ("A"), rejected ("not A") or only mentioned. The last
choice counts. If the text does not settle it, nothing is chosen.
"""

import re
from bisect import bisect_left, bisect_right
from typing import NamedTuple

from curation.models.chat import words
from curation.models.chat.clauses import Clause, Rank, judge_clause, whole_word
from curation.models.chat.marks import NAMED, PAIR, TOKEN, WORD, Marked

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
