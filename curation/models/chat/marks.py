"""An answer without its markup, and the letters that it names.

Special tokens of chat templates, markup, invisible characters and a next turn that the model
invents are removed. Every character keeps its place in the answer as it came: the log-probabilities
need it.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from curation.models.chat import words

LONGEST = 4000  # characters of an answer that are read: half from its beginning, half from its end
TOKEN = chr(0xE000)  # the first letter that an answer names; the next ones are the next characters
PAIR = chr(0xF8FF)
NAMED = "[\ue000-\uf8fe]"
MANY = 6000  # letters that are read
WORD = r"[^\W\d_\u0e00-\u0e7f\u1100-\u11ff\u2e80-\ud7ff\uf900-\uffef]"  # of scripts with spaces
SPECIAL = re.compile(
    r"<\|start_header_id\|>\w{0,20}<\|end_header_id\|>|<[|｜][^|｜<>\n]{1,40}[|｜]>|</?s>|"
    r"<</?SYS>>|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS)\]"
    r"|<(?:eos|bos|pad|unk|sep|cls|eot|end|mask|end_of_turn|start_of_turn|end_of_utterance"
    r"|end_of_text|begin_of_text|eod|unused\d+|extra_id_\d+|0x[0-9A-F]{2}|/?assistant|/?user)>"
    r"|\[(?:EOS|BOS|PAD|UNK|SEP|CLS|EOT|/?s)\]|\[control_\d+\]",
    re.IGNORECASE,
)
ENDS = re.compile(r"end|eos|eot|return|</s>|eod|\[/s\]|im_start|start_of_turn|\[INST|user", re.I)
TURN = re.compile(
    r"\s(?:#{1,4} ?|\*\*|<|\[)?(?:user|human|question|q|system|instruction|input|prompt|"
    r"utilisateur|usuario"
    r"|benutzer|nutzer|frage|pregunta|pergunta|domanda|вопрос|用户|问题|next question|new question"
    r"|example \d+|task \d*|exercise \d*)(?:\*\*|>|\])?\s?[:：]",
    re.IGNORECASE,
)
ROLE = re.compile(r"\s*(?:assistant|model|bot|ai|gpt|chatbot)\s*(?:\n|:|：|>)\s*", re.IGNORECASE)
LOOKALIKES = dict(zip("АВаΑΒᴀʙᎪᏴ", "ABaABABAB", strict=True))
STRUCK = re.compile(r"~~[^~\n]{1,200}~~|<(?:s|del|strike)>[^<\n]{1,200}</(?:s|del|strike)>", re.I)
TAG = re.compile(r"</?([a-zA-Z][\w:-]{0,30})(?:\s[^<>]{0,100})?/?>")
LATEX = re.compile(r"\\(?:[a-zA-Z]{2,20}\*?|[\[\]()])")
CALL = re.compile(
    r"^[ \t]*(?:[\w.]{1,40}[ \t]*\(|(?:return|echo|print|puts|yield)[ \t])[ \t]*"
    r"(?P<quote>[\"'])(?P<letter>[A-Za-z])(?P=quote)[ \t]*\)?[ \t]*;?[ \t]*$",
    re.MULTILINE,
)
TICK, CROSS, EMPTY = "✓✗☐"
BOXES = {TICK: "✅☑✔✓🗹👍", CROSS: "❌✗✘❎👎", EMPTY: "☐⬜🔲"}
TYPED_BOX = re.compile(r"(?:[\[(][ _]?[\])]|(?P<tick>[\[(][xX][\])]))(?=\s|$)")
BOX = re.compile(f"[{TICK}{CROSS}{EMPTY}]")
FENCE = re.compile(r"^[ \t]*(?:```|~~~)[ \t]*\w{0,20}[ \t]*$", re.MULTILINE)
LINE_START = re.compile(r"^[ \t]*(?:>+|[-*+•·–—‣◦▪]|#{1,6}|\(?\d{1,2}[.)])(?=[ \t])", re.MULTILINE)
ARROW = re.compile(r"[=-]+>|[→⇒➡⟶➔➜►▶👉☞]")
DASH = re.compile(r"(?<=\s)[-–—―‒−]+(?=\s|$)|[–—―]|--+")
QUOTE = re.compile(r"[\"“”„‟«»‹›「」『』`*_~#$\\{}\[\]【】〔〕〈〉《》^]")
APOSTROPHE = re.compile(r"[’‘ʼ′´]")
LONE_QUOTE = re.compile(r"(?<!\w)'|'(?!\w)")
MARKUP = frozenset(["", " ", "\n", TICK, CROSS, EMPTY, *"*_~#>|`$<-=+\\{}[]()\"'\u2022"])
OPENER = re.compile(
    r"(?:The|This|That|These|Those|He|She|It|They|We|I|You|My|His|Her|Our|Their|Its|In|On|At|"
    r"An?|One"
    r"|Some|Every|All|There|When|If|After|No|Two|Most|Many|People|Because|Since|As|Le|La|Les|"
    r"Der|Die"
    r"|Das|El|Los|Las|O|Os|Il|De|Het)$"
)


class Mention(NamedTuple):
    """A letter that an answer names: which of the two, and the offset in the text as it came."""

    letter: int
    at: int


class Marked(NamedTuple):
    """An answer in lower case, with one character from ``TOKEN`` on for each letter it names.

    "Option A" becomes the letter alone; ``labelled`` says that this was so at the beginning.
    """

    text: str
    mentions: list[Mention]
    labelled: bool


def answer_end(text: str) -> tuple[int, int]:
    """The beginning and the end of an answer, without the roles and turns of a chat template."""
    begin = 0
    while found := SPECIAL.match(text, begin) or re.compile(r"\s+").match(text, begin):
        begin = found.end()
    if role := ROLE.match(text, begin):
        begin = role.end()
        while found := SPECIAL.match(text, begin):
            begin = found.end()
    for found in SPECIAL.finditer(text, begin):
        if ENDS.search(found[0]) and has_words(text[begin : found.start()]):
            return begin, found.start()
    return begin, len(text)


def has_words(text: str) -> bool:
    """Whether there is anything but white space, markup, punctuation and special tokens."""
    if text.isalnum():
        return True
    text = LATEX.sub(" ", TAG.sub(_blank_tag, SPECIAL.sub(" ", text)))
    return any(_plain(each) not in MARKUP for each in text) or text.strip() in ("{}", "[]")


@lru_cache(maxsize=4096)
def _plain(character: str) -> str:
    """A character in its usual form, or "" if it is invisible."""
    code = ord(character)
    for first in (0x1F150, 0x1F170, 0x1F1E6):
        if first <= code < first + 26:
            return chr(65 + code - first)
    category = unicodedata.category(character)
    if category in ("Cf", "Cs", "Co", "Mn", "Me") and character not in "\u0301":
        return "" if category != "Co" else " "
    if character.isspace() or category == "Cc":
        return "\n" if character in "\n\r\x0b\x0c\u2028\u2029\x85" else " "
    folded = unicodedata.normalize("NFKC", character)
    if len(folded) > 1:
        letters = [each for each in folded if each.isalnum()]
        folded = letters[0] if len(letters) == 1 else character
    if unicodedata.category(folded) == "So":
        return next((box for box, signs in BOXES.items() if character in signs), " ")
    return folded


def mark(
    text: str,
    letters: tuple[str, str],
    fragments: tuple[str, ...] = (),
    cut: bool = False,
    choosing: tuple[str, ...] = (),
) -> Marked:
    """Find the letters that an answer names.

    Args:
        text: of the answer, without thinking.
        letters: the two letters.
        fragments: of the prompts, which the answer may repeat.
        cut: the answer ended before its end, so that its last word may be the beginning of one.
        choosing: phrases, in lower case, that come right before a chosen letter.
    """
    begin, end = answer_end(text)
    places = list(range(begin, end))
    if len(places) > LONGEST:
        places = places[: LONGEST // 2] + places[-LONGEST // 2 :]
    kept, where = [], []
    for place in places:
        if plain := _plain(text[place]):
            kept.append(plain)
            where.append(place)
    clean = _without_markup("".join(kept), fragments)
    return _name(clean, where, letters, cut, choosing)


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _blank_tag(found: re.Match[str]) -> str:
    lone = found[1] in ("a", "b", "A", "B") and "/" not in found[0] and len(found[0]) == 3
    return f" {found[1]} " if lone else _blank(found)


def _without_markup(text: str, fragments: tuple[str, ...]) -> str:
    """The same text, with spaces instead of markup."""
    places = [(at, at + len(each)) for each in fragments if (at := text.find(each)) >= 0]
    if places and has_words(text[: min(places)[0]]):
        text = text[: min(places)[0]].ljust(len(text))
    for begin, end in places:
        text = text[:begin] + " " * (end - begin) + text[end:]
    turns = (each for each in TURN.finditer(text) if has_words(text[: each.start()]))
    turn = next(turns, None)
    if turn and not re.search(r"\w[ \t]$", text[: turn.start() + 1]):
        text = text[: turn.start()] + " " * (len(text) - turn.start())
    if text.isalnum():
        return text
    text = SPECIAL.sub(lambda found: "\n" + " " * (len(found[0]) - 1), text)
    text = _read_boxes(STRUCK.sub(_blank, text))
    text = CALL.sub(lambda f: f["letter"].rjust(f.end("letter") - f.start()).ljust(len(f[0])), text)
    closed = {found[1] for found in TAG.finditer(text) if found[0].startswith("</")}
    text = TAG.sub(lambda found: _blank(found) if found[1] in closed else _blank_tag(found), text)
    text = re.sub(r"\\(?=[*_#`~])", " ", text)
    text = LATEX.sub(_blank, text)
    text = FENCE.sub(_blank, text)
    text = ARROW.sub(lambda found: ":".ljust(len(found[0])), text)
    text = LINE_START.sub(_blank, LINE_START.sub(_blank, text))
    text = re.sub(
        r"(?<=[A-Za-z])\s?\|\|?\s?(?=[A-Za-z])", lambda found: "/".ljust(len(found[0])), text
    )
    text = text.replace("|", "\n")
    text = DASH.sub(lambda found: "—".ljust(len(found[0])), text)
    text = APOSTROPHE.sub("'", QUOTE.sub(" ", APOSTROPHE.sub("'", text)))
    text = LONE_QUOTE.sub(" ", text)
    text = re.sub(
        r"[(<]\s*([A-Za-z0-9])\s*[)>]", lambda f: " " + f[1].rjust(len(f[0]) - 2) + " ", text
    )
    return LINE_START.sub(_blank, text)


def _read_boxes(text: str) -> str:
    """The same text without boxes, and without what is crossed out or left unticked in a list."""
    if len({bool(found["tick"]) for found in TYPED_BOX.finditer(text)}) == 2:
        text = TYPED_BOX.sub(
            lambda found: (TICK if found["tick"] else EMPTY).ljust(len(found[0])), text
        )
    if not BOX.search(text):
        return text
    dropped = (CROSS, EMPTY) if TICK in text else (CROSS,)
    lines = []
    for line in text.split("\n"):
        places = [found.start() for found in BOX.finditer(line)]
        follows = places and re.search(r"\b[A-Za-z]\b", line[: places[0]])  # "A ✓", not "✓ A"
        bounds = [0, *(place + 1 for place in places)] if follows else [*places, len(line)]
        for place, begin, end in zip(places, bounds, bounds[1:], strict=False):
            if line[place] in dropped:
                line = line[:begin] + " " * (end - begin) + line[end:]
        lines.append(BOX.sub(" ", line))
    return "\n".join(lines)


_FOLLOWS = re.compile(rf"{words.VERBS}(?!{WORD})", re.IGNORECASE)
_AFTER = re.compile(rf"{words.AFTER}(?!{WORD})", re.IGNORECASE)
_SAID = re.compile(r"(?:is|was|isn't|sounds|seems|reads|feels|fits|makes|flows)\b")
_LABEL_BEFORE = re.compile(rf"(?<!{WORD}){words.LABELS}[ ,:.\"'—-]*$", re.IGNORECASE)
_CHOOSE_BEFORE = re.compile(
    rf"(?:'s|(?<!{WORD})(?:{words.IS}|{words.CHOOSE}|{words.SO}|{words.ANSWERS}|{words.BEFORE}"
    rf"|{words.THAN}|{words.NOT}|{words.FILL}|{words.IF}|{words.CONTRAST}|{words.AND}|\w+ly))\s*$",
    re.IGNORECASE,
)
_LABELS = re.compile(
    rf"(?<!{WORD})(?:(?:the|la|le|l'|el|der|die|das|den|il|o|a|de|het)\s)?"
    rf"(?:{words.LABELS})(?:\s(?:is )?labell?ed|\snumber)?\s?(?={NAMED})"
)

_ORDINAL = re.compile(
    rf"(?<!{WORD})(?:the )?(?:first|second|former|"
    rf"latter)(?: {words.LABELS})?[ ,:]{{1,2}}({NAMED}),?(?!{WORD})"
)


@lru_cache(maxsize=8)
def _pattern(letters: tuple[str, str]) -> re.Pattern[str]:
    either = "|".join(map(re.escape, letters))
    return re.compile(
        rf"(?<!{WORD})(?<![\d_])(?<!\w-)(?<!\w')(?P<letter>{either}|[{''.join(LOOKALIKES)}])"
        rf"(?!{WORD})(?![\d_]|-\w|\+)(?<!\W[A-Z]\.[A-Z])"
        rf"(?!\.(?!(?:{either})\b)[A-Z](?!{WORD}))",  # "U.S.A.", "A.I."
        re.IGNORECASE,
    )


def _name_run(clean: str, where: list[int], index: dict[str, int]) -> Marked | None:
    """The letters of an answer such as "AAA" or "ABAB". "AA" may be a word."""
    run = clean.strip(" \n.,:;!?()-")
    if len(run) < 2 or not set(run) <= set(index) or run == 2 * run[0]:
        return None
    begin = clean.index(run)
    mentions = [Mention(index[each], where[begin + n]) for n, each in enumerate(run[:MANY])]
    return Marked(" ".join(chr(ord(TOKEN) + n) for n in range(len(mentions))), mentions, False)


def _name(
    clean: str, where: list[int], letters: tuple[str, str], cut: bool, choosing: tuple[str, ...]
) -> Marked:
    index = {letter.upper(): number for number, letter in enumerate(letters)}
    if run := _name_run(clean, where, index):
        return run
    pieces: list[str] = []
    mentions: list[Mention] = []
    last = 0
    whole = clean.strip()
    for found in _pattern(letters).finditer(clean):
        letter = LOOKALIKES.get(found["letter"], found["letter"])
        if letter.upper() not in index or len(mentions) == MANY:
            continue
        strict = letter.upper() in ("A", "I", "O", "E", "Y") or found["letter"] in LOOKALIKES
        near = clean[max(found.start() - 100, 0) : found.start()].lower().rstrip()
        if not near.endswith(choosing) and not _is_letter(
            clean, found, letter, strict, cut and len(whole) > 2
        ):
            continue
        pieces += [clean[last : found.start()].lower(), chr(ord(TOKEN) + len(mentions))]
        if not clean[: found.start()].strip("- (\n") and _begins_sentence(clean, found.end()):
            pieces.append(":")
        last = found.end()
        mentions.append(Mention(index[letter.upper()], where[found.start()]))
    pieces.append(clean[last:].lower())
    text = "".join(pieces)
    text = re.sub(r"[^\S\n]+", " ", text)
    text = re.sub(r" ?\n[ \n]*", "\n", text)
    text = text.strip()
    labelled = bool(_LABELS.match(text)) and not re.match(
        "(?:the )?(?:answer|option|choice|letter|response)", text
    )
    return Marked(_LABELS.sub("", _ORDINAL.sub(r"\1", text)).strip(), mentions, labelled)


def _begins_sentence(clean: str, at: int) -> bool:
    """Whether a sentence of its own follows a letter: "B The baker ...", "**B** be"."""
    after = clean[at : at + 40]
    if re.match(r" [A-ZÀ-Þ]\w+", after):
        return True
    word = after.lstrip(" ")
    return bool(re.match(r"  +\w\w", after)) and not (_FOLLOWS.match(word) or _AFTER.match(word))


def _is_letter(clean: str, found: re.Match[str], letter: str, strict: bool, cut: bool) -> bool:
    """Whether it is a letter of the question, and not an article or a part of a name."""
    before, after = clean[max(found.start() - 40, 0) : found.start()], clean[found.end() :]
    following = re.match(rf" *({WORD}[^\s]*)?", after[:60])
    word = (following and following[1]) or ""
    line = before.rsplit("\n", 1)[-1]
    previous = re.search(rf"{WORD}+'?{WORD}+\s*$", line)  # another letter may come before it
    if word == "" and not after.strip() and cut and letter.islower():
        return False
    if re.match(r"'|  |\n", after) or re.fullmatch(r"[AB][.,;!?)]*", word):
        word = ""  # markup after the letter, or the other letter: it is not an article
    label = bool(_LABEL_BEFORE.search(line))
    if letter.islower():
        closed = not word or (
            (label or not strict) and (_FOLLOWS.match(word) or _AFTER.match(word))
        )
        closed = closed or _SAID.match(word)  # no article comes before a verb
        return bool(closed) and (label or not previous or bool(_CHOOSE_BEFORE.search(line)))
    if label and previous:
        return True
    if previous and not _CHOOSE_BEFORE.search(line):
        return False
    if not word or not strict:
        return True
    if _FOLLOWS.match(after.lstrip()) or _AFTER.match(after.lstrip()):
        return True
    if OPENER.match(word) and not before.strip():
        return True  # "A The baker ...": no article is followed by such a word
    return bool(re.fullmatch(r"[a-z]{3,}(?<!s)s", word)) and not re.match(
        r"(?:bus|gas|lens|us)$", word
    )
