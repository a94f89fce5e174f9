"""Where sentences end: a small rule that only looks at white space and the words beside it.

A sentence ends at white space if the text before it ends with a sign such as . ! ? … । or ؟ (and
closing quotation marks or brackets), and the next word does not begin with a small letter. A full
stop does not end a sentence after a listed abbreviation, an initial (J. Smith), letters with points
between them (U.S., e.g.), and, in languages that write ordinals so, a number of one or two digits.
A blank line ends a sentence, a single line break does not.

Languages without spaces between words end sentences at their own signs. Thai and Lao have none, so
white space ends a sentence there.
"""

import re
from collections.abc import Callable

from curation.text.words import base

ENDS = frozenset(".!?…‼⁇⁈⁉‽⸮。．！？｡։؟۔܀܁܂।॥။።፧។៕᠃᠉")
CLOSING = "\"'”’»›)]}＂」』）】〉》″*_"
OPENING = "\"'“„‘‚«‹([{¿¡「『（【〈《*_—–-"
_SPACED_ENDS = {"th", "lo"}  # white space ends a sentence
_ORDINALS = {"bs", "cs", "da", "de", "et", "fi", "hr", "hu", "is", "lv", "nb", "nn", "no", "pl"}
_ORDINALS |= {"sh", "sk", "sl", "sr", "tr"}
_ONE_CASE = {"ka"}  # its letters count as small in Unicode, but it has no capitals in texts
_DOTTED = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_TITLES = "dr mr mrs ms prof st vs"
ABBREVIATIONS: dict[str, frozenset[str]] = {
    language: frozenset(f"{_TITLES} {words}".split())
    for language, words in {
        "en": "adm al approx br brig c ca capt cf cmdr col corp dept ed eds esp est etc fig "
        "figs fr ft gen gov hon inc jan feb apr aug sept sep oct nov dec jr lt ltd maj "
        "messrs mme mt no nos op pp rep rev sen sgt sr univ v vol vols",
        "de": "abb abs art aufl bd bzw ca co d dipl etc evtl fa frl geb gest ggf hl hr hrsg "
        "ing inkl jh jr kap med nr o phil r s sen sog str tel u usw v vgl z",
        "fr": "art av bd cf chap col env etc fig m me mgr mlle mm mme no p pp ste suiv vol",
        "es": "art av cap cf d dn dña dra ed etc fig gral lic núm pág págs sr sra srta ud uds vol",
        "it": "art avv cap cf dott ecc ed es fig ing n on p pag pp rev sig sigg sra tel vol",
        "pt": "art av cap cf d dra ed etc exa fig gen núm pág págs sr sra srta v vol",
        "nl": "art bijv blz ca d dhr dl drs enz etc fig ing ir jhr jl jr m mevr mr mw nr o "
        "pag resp sr vgl",
        "ru": "акад г гг гл гор д др и им кв млн млрд н обл пл пр проф рис руб с св см ст стр "
        "т тыс ул чел",
        "pl": "al art gen godz hab im in inż itd itp lic m mgr nr np o os pl pt r red ref rys "
        "s św str tel tj tys tzn tzw ul ur w zob",
        "tr": "alb av bkz bşk cad doç gen hz mah no örn s sk sn tel uzm vb vd yrd yy",
    }.items()
}
"""Words before a point that does not end a sentence, by language."""


def ends_sentence(language: str) -> Callable[[str], bool]:
    """A function that says whether a sentence may end after a chunk without white space."""
    code = base(language)
    abbreviations = ABBREVIATIONS.get(code, frozenset())
    ordinals = code in _ORDINALS
    signs = ENDS | {";"} if code == "el" else ENDS  # the Greek question mark

    def ends(chunk: str) -> bool:
        core = chunk.rstrip(CLOSING)
        if not core or core[-1] not in signs:
            return False
        if core[-1] != "." or core.endswith(".."):
            return True
        word = core[:-1].lstrip(OPENING)
        if len(word) == 1 and word.isupper():
            return word == "I" and code == "en"
        if word.lower() in abbreviations or _DOTTED.fullmatch(word):
            return False
        return not (ordinals and word.isdecimal() and len(word) <= 2)

    return ends


def continues_sentence(language: str) -> Callable[[str], bool]:
    """A function that says whether a chunk begins with a small letter."""
    if base(language) in _ONE_CASE:
        return lambda chunk: False
    return lambda chunk: chunk.lstrip(OPENING)[:1].islower()


_UNSPACED_SIGNS = re.escape("".join(sorted(ENDS - {".", "．"}))) + "།༎"
_CLOSE = re.escape(CLOSING)


def unspaced_ends(language: str) -> re.Pattern[str]:
    """A pattern of the ends of sentences in a text of a language without spaces between words."""
    signs = rf"[{_UNSPACED_SIGNS}]+[{_CLOSE}]*|[.．]+[{_CLOSE}]*(?=\s|$)|\n[^\S\n]*(?=\n)"
    if base(language) in _SPACED_ENDS:
        signs += r"|\s+"
    return re.compile(signs)
