"""From what a browser sends to an answer, and what is to be changed in it.

The checks are those of the import, called with the same functions, so that nothing that a page
accepts is refused later for its form. Checks of the language only warn.
"""

import base64
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from hashlib import sha256
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from markupsafe import Markup, escape

from curation.checks import content, lexical, surface
from curation.checks.lists import Lists, lists
from curation.checks.surface import Finding, ItemTexts
from curation.formats.table_words import FORM, OTHER, SEVERAL, SPACE_OF
from curation.kinds import FOLLOWED, LABELS, ROUNDS, ItemKind, RoundKind, RoundKindName
from curation.rounds.answers.forms import neutral_flaw
from curation.rounds.answers.parsed import LONGEST_TEXT
from curation.rounds.answers.rows import as_sentence, kind_of
from curation.rounds.platforms import pages
from curation.rounds.platforms.pages import BETWEEN, KEEPS_RULES, numbers_in, values_of
from curation.rounds.platforms.web.rounds import Plan, WebTask
from curation.rounds.platforms.web.store import Past, Store
from curation.text.item_form import BLANK, fill, flaws, read_blank
from curation.text.rules import nfc, same_text

if TYPE_CHECKING:
    from curation.rounds.platforms.interface import ItemFacts, Overview
    from curation.rounds.platforms.web.prolific import Prolific

SKIPS = ("none", "upset", "unknown", "unclear", "other")
ADDRESSES = re.compile(r"https?://[^\s<>\"]*[\w/]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
BESIDE_GAP = (
    "CJK",
    "HIRAGANA",
    "KATAKANA",
    "IDEOGRAPHIC",
    "HALFWIDTH",
    "FULLWIDTH",
    "HANGUL",
    "THAI",
    "LAO",
    "KHMER",
    "MYANMAR",
)
"""How the Unicode names of letters begin that may touch a gap."""


class Form(dict[str, list[str]]):
    """What a browser sent: the values of each field."""

    def one(self, name: str) -> str:
        """The last value of a field; empty if there is none."""
        return (self.get(name) or [""])[-1]


class Services(NamedTuple):
    """What the server may ask of the campaign.

    Attributes:
        pseudonym: gives the pseudonym of a person's id.
        is_out: tells whether the answers of a pseudonym no longer count.
        findings: gives what the checks of a language find in an item; they only warn.
        now: gives the seconds since 1970.
        crowd: the API of Prolific; None without a token, so that nothing is checked.
        pace: seconds between two checks of submissions while people work.
        overview: gives the figures of all rounds, as of the last pull; None while they are first
            computed. It raises CurationError if the campaign's files cannot be read.
        find_items: gives the items with an id, or with words in their texts.
        leave_out: names an item in ``leave_out`` in ``campaign.toml``.
    """

    pseudonym: Callable[[str], str]
    is_out: Callable[[str], bool]
    findings: Callable[[str, ItemTexts], list[Finding]] = lambda code, item: findings(code, item)
    now: Callable[[], float] = time.time
    crowd: "Prolific | None" = None
    pace: float = 30.0
    overview: "Callable[[], Overview | None]" = lambda: None
    find_items: "Callable[[str], list[ItemFacts]]" = lambda words: []
    leave_out: Callable[[str], None] = lambda item: None


class Problem(NamedTuple):
    """What is to be changed in a field.

    Attributes:
        field: the field.
        code: the reason code, or the code of a pitfall.
        text: what to do.
        stops: whether the answer is not accepted as it is.
    """

    field: str
    code: str
    text: str
    stops: bool = True


# --- what a browser sent ------------------------------------------------------------------------


def read(kind: RoundKindName, form: Form) -> dict[str, Any]:
    """The fields of an answer, by canonical names and with canonical values; texts as typed.

    What does not belong to the answer is left out: a value that the form does not offer, or the
    reason for dropping a term that is kept.
    """
    fields = {name: form.one(name) for name in ROUNDS[kind].fields}
    for name in fields.keys() & SPACE_OF.keys():
        chosen = form.get(name, ()) if name in SEVERAL else [fields[name]]
        fields[name] = "|".join(value for value in FORM[SPACE_OF[name]] if value in chosen)
    if action := fields.get("decision"):
        if action != "drop":
            fields["reasons"] = ""
        if action != "merge":
            fields["merge_into"] = ""
        if fields["merge_into"] != OTHER:
            fields["merge_into_other"] = ""
        if action == "drop":
            fields["rename"] = ""
    return fields


def seconds(form: Form, now: float) -> float:
    """How long an answer took: what the browser measured, else the time since the page was made."""
    for name, since in (("seconds", None), ("seen", now)):
        try:
            number = float(form.one(name))
        except ValueError:
            continue
        took = number if since is None else since - number
        if 0 <= took < 7 * 24 * 3600:
            return round(took, 1)
    return 0.0


def answer_id(form: Form) -> str | None:
    """The answer's own id, made in the browser; None if it is not one."""
    id = form.one("answer_id")
    return id if re.fullmatch(r"[0-9a-f]{32}", id) else None


# --- what is to be changed ----------------------------------------------------------------------


def _as_folded(text: Any, blank: str) -> str:
    """A text as the fold reads it, with the gap as BLANK; what is stored stays as typed."""
    return read_blank(" ".join(nfc(str(text or "")).split()), blank)


class Checker(NamedTuple):
    """Checks the answers of one round as its import would.

    Attributes:
        plan: the round's plan.
        store: has the items that people wrote here.
        services: give what the checks of the language find.
        editor: who changes an answer; their item may repeat what it was before.
    """

    plan: Plan
    store: Store
    services: Services
    editor: str = ""

    def problems(
        self, task: WebTask, fields: Mapping[str, Any], *, live: bool = False
    ) -> list[Problem]:
        """What is to be changed in an answer, in the order of its form.

        Args:
            task: the task.
            fields: the fields, as from ``read``.
            live: the person still writes, so that nothing is said of what is empty.
        """
        kind = ROUNDS[self.plan.kind]
        found = [] if live else list(self._missing(task, fields))
        for name, text in fields.items():
            if len(text) > LONGEST_TEXT:
                found.append(self._problem(name, "too_long"))
        if kind.writes and not found:
            found += self._of_item(task, fields, kind.writes)
        if fields.get("neutral", "").strip() and not found:
            found += self._of_neutral(task, fields["neutral"])
        order = kind.fields
        return sorted(dict.fromkeys(found), key=lambda one: (order.index(one.field), not one.stops))

    def _problem(self, field: str, code: str, *, stops: bool = True, text: str = "") -> Problem:
        own, shared = self.plan.texts["web"], self.plan.texts["refused"]
        says = text or own.get(f"fix_{code}") or shared.get(code) or shared["bad_value"]
        return Problem(field, code, says, stops)

    def _missing(self, task: WebTask, fields: Mapping[str, Any]) -> Iterator[Problem]:
        texts, kind = self.plan.texts, self.plan.kind
        for name in _needed(ROUNDS[kind], task):
            if fields[name].strip():
                continue
            if name in LABELS:
                yield self._problem(name, "choose_label")
            else:
                key = "question" if name == "decision" else name
                own = "fix_blank_missing" if name == "template" else ""
                text = texts["web"].get(own) or texts[kind][f"{key}_required"]
                yield self._problem(name, "missing_field", text=text)
        if "decision" not in fields:
            return
        review = texts["review"]
        offered = {choice["alias"] for choice in task.data["choices"]}
        if fields["decision"] == "merge" and fields["merge_into"] not in offered:
            yield self._problem("merge_into", "missing_field", text=review["into_required"])
        if fields["merge_into"] == OTHER and not fields["merge_into_other"].strip():
            yield self._problem("merge_into_other", "missing_field", text=review["other_required"])
        if fields["decision"] == "drop" and not fields["reasons"]:
            yield self._problem("reasons", "missing_field", text=review["reasons_required"])

    def _of_item(
        self, task: WebTask, fields: Mapping[str, Any], kind: ItemKind
    ) -> Iterator[Problem]:
        """The problems of an item, or of the part of one that is there."""
        plan, target, about = self.plan, str(task.data["target"]), kind.context
        blank = plan.texts["writing"]["blank"]
        context = _as_folded(fields[about], blank)
        given = [name for name in kind.columns if fields[name].strip()]
        words = {name: _as_folded(fields[name], blank) for name in given}
        sentences = {
            name: as_sentence(kind, context, target, text)
            for name, text in words.items()
            if context or not kind.has_gap
        }
        names = [*sentences]
        stopped = False
        alike = words if kind.has_gap else sentences
        settings = {"name_target": plan.name_target, "blank_alone": plan.blank_alone}
        found = list(flaws(kind.name, (target,), context, [*sentences.values()], **settings))
        # Without exactly one gap, what the words make of the sentence says nothing of the words.
        gapless = any(flaw.code in ("blank_missing", "blank_twice") for flaw in found)
        for flaw in found:
            if flaw.code == "same_text_twice" or (gapless if flaw.at is not None else not context):
                continue
            stopped = True
            yield self._problem(about if flaw.at is None else names[flaw.at], flaw.code)
        if not stopped and kind.has_gap and _touches_gap(context):
            yield self._problem(about, "blank_touches", stops=False)
        seen: dict[str, str] = {}
        for name, text in alike.items():
            if seen.setdefault(same_text(text), name) != name:
                stopped = True
                yield self._problem(name, "same_text_twice")
        patterns = content.meta_patterns(plan.language)
        for name, text in ((about, context), *words.items()):
            if text and content.meta_text(text, patterns):
                stopped = True
                yield self._problem(name, "meta_text")
        if stopped or not context or len(words) < kind.size:
            return
        if self._is_near(task, kind, context, sentences):
            yield self._problem(about, "near_duplicate")
            return
        item = ItemTexts(
            kind.name,
            str(task.data["domain"]),
            target,
            context,
            tuple(sentences.values()),
            kind.roles,
        )
        yield from self._warnings(kind, item)

    def _of_neutral(self, task: WebTask, written: str) -> Iterator[Problem]:
        """The problem of a neutral association, as the fold finds it."""
        blank = self.plan.texts["writing"]["blank"]
        context, text = _as_folded(task.data["context"], blank), _as_folded(written, blank)
        kind = kind_of(context)
        text = as_sentence(kind, context, str(task.data["target"]), text)
        others = [str(task.data[f"text_{n}"]) for n in numbers_in(task.data)]
        meta = partial(content.meta_text, patterns=content.meta_patterns(self.plan.language))
        if flaw := neutral_flaw(kind.name, context, others, text, meta):
            yield self._problem("neutral", flaw[0])

    def _is_near(
        self, task: WebTask, kind: ItemKind, context: str, sentences: Mapping[str, str]
    ) -> bool:
        plan = self.plan
        earlier = list(plan.earlier.get(task.term, ()))
        for item in self.store.written(kind.name, task.term, (self.editor, task.id)):
            earlier.append(self._gist(str(task.data["target"]), kind, item))
        own = content.gist(context, [sentences[name] for name in _meant(kind)])
        return content.near(earlier, own, likeness=plan.near) is not None

    def _gist(self, target: str, kind: ItemKind, item: Mapping[str, Any]) -> str:
        """The gist of an item that somebody wrote here, as the fold makes it."""
        context = _as_folded(item.get(kind.context), self.plan.texts["writing"]["blank"])
        texts = [" ".join(nfc(str(item.get(name) or "")).split()) for name in _meant(kind)]
        return content.gist(context, [as_sentence(kind, context, target, text) for text in texts])

    def _warnings(self, kind: ItemKind, item: ItemTexts) -> Iterator[Problem]:
        """What the checks of the language find, if the writer can change it."""
        columns = [*kind.columns]
        for finding in self.services.findings(self.plan.language, item):
            if f"fix_{finding.code}" not in self.plan.texts["web"]:
                continue
            of_context = kind.has_gap and finding.code in ("punctuation_missing", "article_wrong")
            at = None if of_context else finding.at
            field = kind.context if at is None else columns[at]
            yield self._problem(field, finding.code, stops=False)


def _needed(kind: RoundKind, task: WebTask) -> list[str]:
    """The fields without which an answer to a task is not complete."""
    shown = {f"label_{number}" for number in numbers_in(task.data)}
    return [name for name in kind.needed if name not in LABELS or name in shown]


def _meant(kind: ItemKind) -> list[str]:
    """The fields with what is said of the group, by which items are compared."""
    return [name for name, role in kind.columns.items() if role != "unrelated"]


def _touches_gap(context: str) -> bool:
    """Whether a letter beside the gap may want a space, also in a script without capitals."""
    before, _, after = context.partition(BLANK)
    return any(
        unicodedata.category(char)[0] in "LMN"
        and not unicodedata.name(char, "").startswith(BESIDE_GAP)
        for char in before[-1:] + after[:1]
    )


@lru_cache(maxsize=8)
def _language(code: str) -> tuple[Lists, lexical.Lexicon]:
    words = lists(code)
    return words, lexical.lexicon(words, ())[0]


def findings(language: str, item: ItemTexts) -> list[Finding]:
    """What the shipped checks of a language find in an item."""
    words, lexicon = _language(language)
    parsed = surface.read(item, words)
    return surface.check(parsed) + lexical.check(parsed, lexicon)


def warm(language: str, services: Services) -> None:
    """Load what the checks of a language need, which takes seconds, before people wait for it."""
    services.findings(language, ItemTexts(FOLLOWED.name, "", "", "A.", ("B.",) * FOLLOWED.size))


# --- training -----------------------------------------------------------------------------------


def training_answers(plan: Plan, form: Form) -> list[str]:
    """The answer to each example; empty for those that are missing or not offered."""
    values = values_of(plan.kind)
    given = [form.one(f"example_{n + 1}") for n in range(len(plan.training))]
    return [answer if answer in values else "" for answer in given]


def encoded(plan: Plan, answers: Sequence[str]) -> str:
    """Answers as they stand in the address of the page that shows what most people say."""
    values = values_of(plan.kind)
    return "".join(str(values.index(answer)) if answer else "x" for answer in answers)


def decoded(plan: Plan, text: str) -> list[str]:
    """The answers of ``encoded``."""
    values = values_of(plan.kind)
    digits = text.ljust(len(plan.training), "x")[: len(plan.training)]
    known = {str(n): value for n, value in enumerate(values)}
    return [known.get(digit, "") for digit in digits]


def right_answers(plan: Plan, answers: Sequence[str]) -> int:
    """How many answers are those that most people give."""
    pairs = zip(plan.training, answers, strict=True)
    return sum(example.label == answer for example, answer in pairs)


def training_view(
    plan: Plan, answers: Sequence[str], tries: Sequence[bool], *, asks: bool
) -> dict[str, Any]:
    """What the page of the training shows.

    Args:
        plan: the round's plan.
        answers: the answers of this try.
        tries: whether each of the person's tries was passed.
        asks: the page asks; else it shows what most people say.
    """
    kind, web = ROUNDS[plan.kind], plan.texts["web"]
    shown = {
        "review": plan.texts["review"],
        "write": {value: web[f"training_{value}"] for value in KEEPS_RULES},
        "label": plan.texts["validation"],
    }[kind.work]
    names = {value: shown[value.replace("-", "_")] for value in values_of(plan.kind)}
    roles = [plan.texts["writing"][name] for name in kind.writes.columns] if kind.writes else [""]
    over = not any(tries) and len(tries) >= plan.training_tries
    return {
        "shown": "ask" if asks else "passed" if any(tries) else "end" if over else "failed",
        "questions": [
            msgspec.structs.asdict(example)
            | {"given": answer, "parts": [*zip(roles, example.text.split(BETWEEN), strict=False)]}
            for example, answer in zip(plan.training, answers, strict=True)
        ],
        "lead": "training_lead_write" if kind.work == "write" else "training_lead",
        "parts_of": instructions(plan),
        "labels": [*names.items()],
        "names": names | {"": "–"},
        "attempt": len(tries),
        "right": right_answers(plan, answers),
        "need": ceil(round(plan.training_pass * len(answers), 6)),
    }


# --- what pages show ----------------------------------------------------------------------------


def warning(plan: Plan) -> str:
    """The content warning of a round."""
    return pages.content_warning(plan.kind, plan.texts)


def expect(plan: Plan, tasks: int) -> list[str]:
    """What to expect of a round: how many tasks, how long, what is paid; 0 tasks: only the rest."""
    kind, web = ROUNDS[plan.kind], plan.texts["web"]
    lines = [say(web["overview_one"], seconds=kind.seconds)]
    if tasks:
        minutes = max(1, round(tasks * kind.seconds / 60))
        lines.append(say(web["overview_tasks"], n=tasks))
        lines.append(say(web["overview_time"], minutes=minutes))
    told = [web["check_told"]] if kind.work == "label" and plan.instruction_checks else []
    return [*lines, *plan.texts["instruction"]["pay"], *told, web["overview_kept"]]


def instructions(plan: Plan) -> list[tuple[str, list[Markup]]]:
    """The instructions' headings and lines; what pages say themselves is left out."""
    gap = escape(plan.texts["writing"]["blank"])
    return [
        (heading, [marked(line).replace(gap, chip(plan.texts)) for line in lines])
        for heading, lines in pages.parts(plan.kind, plan.texts)
        if heading
    ]


def marked(line: str) -> Markup:
    """A line of a text as HTML, as from ``pages.marked``, with links; what is HTML already stays.

    >>> str(marked("Write to *a@b.example*."))
    'Write to <i><a href="mailto:a@b.example" dir="ltr">a@b.example</a></i>.'
    """
    if isinstance(line, Markup):
        return line
    return Markup(ADDRESSES.sub(_link, pages.marked(line)))  # noqa: S704


def _link(address: re.Match[str]) -> str:
    to = address[0] if "://" in address[0] else f"mailto:{address[0]}"
    return f'<a href="{to}" dir="ltr">{address[0]}</a>'


def chip(texts: Mapping[str, Any]) -> Markup:
    """How the gap of a sentence is shown."""
    return Markup('<span class="chip">{}</span>').format(texts["web"]["gap"])


def task_view(
    plan: Plan,
    task: WebTask,
    fields: Mapping[str, Any],
    problems: Iterable[Problem],
    order: Sequence[int],
) -> dict[str, Any]:
    """What the page of a task shows.

    Args:
        plan: the round's plan.
        task: the task.
        fields: what the form has, by canonical names.
        problems: what is to be changed.
        order: the numbers of texts in the order in which the person sees them; those that the task
            does not show are left out.
    """
    texts, kind = plan.texts, ROUNDS[plan.kind]
    target = _target(task.data)
    before, _, after = texts["web"][f"{kind.work}_title"].partition("[target]")
    order = [number for number in order if number in numbers_in(task.data)]
    first = f"label_{order[0]}" if kind.work == "label" else kind.fields[0]
    stops = [one.field for one in problems if one.stops]
    return {
        "task": task,
        "fields": fields,
        "target": target,
        "heading": f"{before}{target}{after}",
        "heading_parts": (before, after),
        "order": order,
        "form": f"{kind.form}.html",
        "own": texts[kind.name],
        "focus": stops[0] if stops else first,
        "kind": kind,
        "names": FORM,
        "skips": SKIPS,
        "warning": warning(plan),
        "parts_of": instructions(plan),
        "is_check": not task.term,
    }


def recalled(plan: Plan, past: Past) -> tuple[str, list[str]]:
    """What an answer is about, and what the person answered, as they read it."""
    kind, (data, given, _) = ROUNDS[plan.kind], past
    if kind.work == "write":
        return _target(data), [str(given[name]) for name in kind.fields]
    words = plan.texts[kind.name] | {
        each["alias"]: each["value"] for each in data.get("choices", ())
    }
    lines = []
    for name in kind.fields:
        for value in filter(None, str(given[name]).split("|")):
            word = words.get(value.replace("-", "_"), value)
            text = data.get(name.replace("label", "text"), "")
            lines.append(f"{text} – {word}" if name in LABELS else word)
    return _target(data), lines


def _target(data: Mapping[str, Any]) -> str:
    """The group that a task is about, as people read it."""
    return str(data.get("target") or data.get("term", ""))


def filled(context: str, words: str, gap: str) -> str:
    """A sentence as it reads with words in its gap; empty if one of them is missing."""
    context = read_blank(" ".join(context.split()), gap)
    return fill(context, words) if words.strip() and BLANK in context else ""


def gap_parts(text: str, gap: str) -> list[str]:
    """The parts of a text around its gaps, which are written as BLANK or in the round's word."""
    return read_blank(text, gap).split(BLANK)


def say(text: str, **values: object) -> str:
    """A text with ``[names]`` filled in.

    >>> say("Task [n] of [all]", n=2, all=30)
    'Task 2 of 30'
    """
    return re.sub(r"\[(\w+)\]", lambda hit: str(values.get(hit[1], hit[0])), text)


def end_code(secret: str, round: str) -> str:
    """The code that a person gets at the end of a round.

    Args:
        secret: the secret of their link.
        round: the round's name.
    """
    digest = sha256(f"end\x1f{secret}\x1f{round}".encode()).digest()
    return base64.b32encode(digest).decode()[:10]


def study_code(store: Store, round: str, outcome: str) -> str:
    """The code of an outcome, with which people from Prolific end their submission.

    All people of a round are shown the same, so it proves nothing.
    """
    digest = bytes.fromhex(store.digest("study", round, outcome))
    return base64.b32encode(digest).decode()[:10]
