"""Releases in other harnesses: tasks for lm-evaluation-harness, and the CATs that each misreads."""

import re
import string
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Literal, NamedTuple

from curation.files import CurationError, read_text, shipped
from curation.formats.toml_files import read_toml
from curation.kinds import CAT_KINDS, ITEMS, Kind
from curation.records import Cat, SplitName
from curation.release.texts.render import markdown
from curation.released.contents import SPLITS, Contents, flat_path
from curation.released.facts import Facts
from curation.text.item_form import BLANK, attribute, is_glued

Effect = Literal["stops", "misread", "not_counted"]
"""What a harness does with a CAT that it gets wrong.

- ``stops``: the harness stops with an error, also for all other CATs.
- ``misread``: the harness scores another text, or gives the CAT another result.
- ``not_counted``: the CAT is read correctly, but some of the harness's values lack or mix it. CATs
  that are only ``not_counted`` are never left out.
"""


class Mangled(NamedTuple):
    """One thing that a harness gets wrong in a CAT.

    Attributes:
        cat: the CAT's id.
        option: the association's id; None if the whole CAT is meant.
        code: a reason code.
        detail: a sentence that quotes the text.
        effect: what the harness does.
    """

    cat: str
    option: str | None
    code: str
    detail: str
    effect: Effect = "misread"


DOMAINS = ("gender", "profession", "race", "religion")
Labels = Mapping[str, Sequence[tuple[str, str]]]
"""The (annotator, label) pairs of each association, by its id."""
_DROPPED = str.maketrans("", "", string.punctuation)


def word_read(context: str, sentence: str) -> str | None:
    """The attribute that both programs read in a sentence; None if they stop.

    >>> word_read("The baker is BLANK.", "The baker is very kind."), word_read("A BLANK!", "A")
    ('very', None)
    >>> word_read("BLANKly, she ran.", "Calmly, she ran."), word_read("Be BLANK.", "Be well-read.")
    ('Calmly', 'wellread')
    """
    places = [n for n, word in enumerate(context.split(" ")) if BLANK in word]
    words = sentence.split(" ")
    if not places or places[-1] >= len(words):
        return None
    return words[places[-1]].translate(_DROPPED)


def misread_by_bias_bench(cats: Sequence[Cat], labels: Labels) -> list[Mangled]:
    """What these programs get wrong in each CAT, in the order of the CATs.

    Args:
        cats: the CATs.
        labels: the labels of their associations in the file.
    """
    domains: dict[str, list[str]] = defaultdict(list)
    for cat in cats:
        if cat.domain not in domains[cat.target]:
            domains[cat.target].append(cat.domain)
    misread: list[Mangled] = []
    for cat in cats:
        misread += [
            Mangled(cat.id, a.id, "no_labels", f"{a.sentence!r} has no labels", "stops")
            for a in cat.associations
            if not labels.get(a.id)
        ]
        if ITEMS[cat.kind].has_gap:
            misread += _fillers(cat)
        if cat.domain not in DOMAINS:
            detail = f"no values for {cat.domain!r} alone; the values over all domains have the CAT"
            misread.append(Mangled(cat.id, None, "other_domain", detail, "not_counted"))
        if len(domains[cat.target]) > 1:
            named = " and ".join(map(repr, domains[cat.target]))
            detail = f"{cat.target!r} is in {named}; values over all domains take it as one term"
            misread.append(Mangled(cat.id, None, "target_in_two_domains", detail, "not_counted"))
    return misread


def _fillers(cat: Cat) -> Iterator[Mangled]:
    if BLANK not in cat.context:
        detail = f"no BLANK in {cat.context!r}"
        yield Mangled(cat.id, None, "blank_missing", detail, "stops")
        return
    if cat.context.count(BLANK) > 1:
        detail = f"{cat.context!r}: one filler is read, and put into every BLANK"
        yield Mangled(cat.id, None, "blank_twice", detail)
    for option in cat.associations:
        word = word_read(cat.context, option.sentence)
        start, end = attribute(cat.context, option.sentence)
        filler = option.sentence[start:end]
        if not word:
            detail = f"{filler!r} is read as an empty text"
            if word is None:
                detail = f"{option.sentence!r} has no word at the place of BLANK"
            yield Mangled(cat.id, option.id, "filler_misread", detail, "stops")
        elif word != filler:
            detail = f"{filler!r} is read as {word!r}"
            code = "blank_glued" if is_glued(cat.context) else _why(filler, word)
            yield Mangled(cat.id, option.id, code, detail)


def _why(filler: str, word: str) -> str:
    if word == filler.translate(_DROPPED):
        return "filler_punctuation"
    if word == filler.split(" ")[0].translate(_DROPPED):
        return "filler_cut"
    return "filler_misread"


def refuse_kinds(harness: str, kinds: Iterable[Kind]) -> None:
    """Refuse kinds of CATs that a harness cannot have.

    Raises:
        CurationError: StereoSet's format does not have a kind, so no harness here has it.
    """
    lacking = [kind for kind in kinds if not ITEMS[kind].in_stereoset]
    if lacking:
        raise CurationError(
            f"{harness} needs a stereotype, an anti-stereotype and an unrelated association, and "
            f"CATs of the kind {' or '.join(lacking)} do not have all three",
            "use CATs of another kind",
        )


FOLDER = "lm-eval"
SIMPLE = "yaml-only"
METRICS = Path(__file__).with_name("lm_eval_metrics.py")
Part = tuple[Kind, SplitName]
_TEMPLATES = "data", "release", "lm_eval.toml"
_LONGEST = 60  # characters: the harness names files after tasks


def slug(name: str) -> str:
    """A name as part of a task's name: ASCII letters, digits and single underscores.

    >>> slug("Mild: <Set> #1"), slug("Évaluation des clichés"), slug("7 groups"), slug("偏見")
    ('mild_set_1', 'evaluation_des_cliches', 'cats_7_groups', 'cats')
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "_", plain)[:_LONGEST].strip("_")
    return words if words[:1].isalpha() else "_".join(filter(None, ("cats", words)))


def lm_eval_files(contents: Contents, facts: Facts) -> dict[str, bytes]:
    """The folder ``lm-eval/`` of a release; empty if there is no CAT that its tasks can have.

    They need all gold labels, and CATs of kinds that StereoSet's format has.
    """
    kinds = [kind for kind in CAT_KINDS if ITEMS[kind].in_stereoset]
    every = {(kind, split): contents.part(split, kind) for split in SPLITS for kind in kinds}
    parts = [p for p, cats in every.items() if cats and not any(c.commitment for c in cats)]
    return tasks(parts, name=facts.name, version=facts.version)


def tasks(parts: Sequence[Part], *, name: str, version: str) -> dict[str, bytes]:
    """Tasks, metrics and README for files of flat CATs.

    Args:
        parts: the kind and split of each file in ``cats/`` that the tasks read.
        name: the benchmark's name; the tasks' names begin with its ``slug``.
        version: the version that results are reported with.

    Returns:
        The content of each file by its path; nothing without parts.
    """
    if not parts:
        return {}
    templates = read_toml(shipped(*_TEMPLATES), fix="see its first lines for its form")
    readme = markdown(
        "lm-eval.md",
        name=name,
        version=version,
        tasks=[
            {
                "name": task_name(name, (kind, split)),
                "path": flat_path(kind, split),
                "has_gap": ITEMS[kind].has_gap,
            }
            for kind, split in parts
        ],
        tags=[f"{slug(name)}_{split}" for split in dict.fromkeys(split for _, split in parts)],
        folder=SIMPLE,
    )
    texts = {"README.md": readme, "metrics.py": read_text(METRICS)}
    for kind, split in parts:
        file, task = f"{kind}-{split}", task_name(name, (kind, split))
        values = {"task": task, "split": split, "name": file, "version": version}
        values |= {"data": flat_path(kind, split), "tag": f"{slug(name)}_{split}"}
        values["texts"] = templates["texts"][kind]
        made = [(f"{file}.yaml", "over_terms", "")]
        made += [(f"{SIMPLE}/{file}-{metric}.yaml", metric, "") for metric in ("ss", "lms")]
        for gold in ("stereotype", "anti_stereotype"):
            made.append((f"{SIMPLE}/{file}-lms-{gold.replace('_', '-')}.yaml", "pair", gold))
        for path, template, gold in made:
            own = {**values, "gold": gold, "words": gold.replace("_", "-")}
            texts[path] = Template(templates[template]).substitute(own)
    return {f"{FOLDER}/{path}": text.encode() for path, text in sorted(texts.items())}


def task_name(name: str, part: Part) -> str:
    """The name of the task over terms for a kind and a split of a benchmark."""
    return "_".join((slug(name), *part))


def misread_by_lm_eval(cats: Sequence[Cat]) -> Iterator[Mangled]:
    """The CATs that lm-evaluation-harness cannot score, or not as this project does."""
    for cat in cats:
        if not (ITEMS[cat.kind].has_gap or cat.context.strip()):
            yield Mangled(cat.id, None, "empty_text", "the context is only white space", "stops")
        texts = [option.sentence for option in cat.associations]
        for n, option in enumerate(cat.associations):
            if not option.sentence.strip():
                detail = f"{option.sentence!r} is only white space"
                yield Mangled(cat.id, option.id, "empty_text", detail)
            elif option.sentence in texts[:n]:
                detail = f"{option.sentence!r} is there twice, so the two always tie"
                yield Mangled(cat.id, option.id, "same_text_twice", detail)
