"""Exports CATs of a campaign or of gold files to another harness, and says what it misreads."""

import os
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

import pandas as pd

from curation.campaign.counted import read_counted
from curation.campaign.manifest import file_names
from curation.campaign.source import Source, open_source
from curation.campaign.step import run_steps
from curation.campaign.store import Campaign, open_campaign
from curation.catsets.stereoset import FileSettings, dataset, read_cat_entries
from curation.decisions import steps as decisions
from curation.files import (
    CurationError,
    beside,
    dump_json,
    dump_line,
    read_bytes,
    refuse_links,
    sweep_beside,
    sync,
    writing,
)
from curation.formats.table_words import read_label
from curation.kinds import CAT_KINDS, Kind
from curation.records import Cat, Rejection, SplitName
from curation.release import data_files, harness_files, hiding
from curation.release.harness_files import Labels, Mangled
from curation.released.contents import SPLITS, Contents, published
from curation.work.reporter import QUIET, Reporter

Format = Literal["bias-bench", "lm-eval"]
MANGLED, LEFT_OUT = "mangled.jsonl", "left_out.jsonl"


class Exported(NamedTuple):
    """The result of an export.

    Attributes:
        folder: the folder.
        files: the files in it, by their paths in the folder.
        cats: the CATs in the export.
        left_out: how many CATs were left out.
        mangled: what the harness gets wrong, also in the CATs that were left out.
        tasks: the names of the tasks of lm-eval, without those of the pure-YAML form.
    """

    folder: Path
    files: tuple[str, ...]
    cats: tuple[Cat, ...]
    left_out: int
    mangled: tuple[Mangled, ...]
    tasks: tuple[str, ...] = ()


def export(
    format: Format,
    campaign: Campaign | Path = Path(),
    *,
    to: Path,
    gold: Sequence[Path] | None = None,
    split: str = "all",
    kind: Kind | None = None,
    leave_out: bool = False,
    name: str = "",
    reporter: Reporter = QUIET,
) -> Exported:
    """Export CATs to another harness.

    A campaign's step «split» is brought up to date first, under the campaign's lock.

    Args:
        format: bias-bench (StereoSet's JSON) or lm-eval (tasks, and the files that they read).
        campaign: the campaign or its folder; not looked at if gold files are given.
        to: the folder to write; it must not exist, be empty, or have exactly this export.
        gold: gold files. The split of a file is its name if that is dev or test, else test.
        split: dev, test or all.
        kind: export only CATs of this kind.
        leave_out: leave out the CATs that the harness misreads, or stops at.
        name: what names of tasks begin with; by default the campaign's name, or the files' names.
        reporter: where warnings go.

    Raises:
        CurationError: the folder has other files; there is no such CAT; a file is not a gold file;
            or nothing is left to export.
    """
    refuse_links(to, below=to.parent)
    place = to.resolve()  # a name such as «..» has no name for temporary files
    _check_free(place)
    if gold:
        source, labels = _of_files(gold, reporter)
        version = "1.0"
    else:
        opened = campaign if isinstance(campaign, Campaign) else open_campaign(campaign)
        with opened.lock():
            run_steps(opened, decisions.split, reporter=reporter)
            source, every = open_source(opened), read_counted(opened, opened.items).labels
            labels = _contents(source.cats, data_files.annotations(source.cats, every)).labels()
        hiding.warn_of_export(opened, {cat.id for cat in source.cats}, reporter)
        name, version = name or opened.settings.campaign.name, opened.settings.release.version
    cats = [cat for cat in source.of_kind(kind).cats if split in ("all", cat.split)]
    if not cats:
        fix = "give another --split, or leave it out"
        raise CurationError(f"there is no CAT in the split «{split}»", fix)
    harness_files.refuse_kinds(format, dict.fromkeys(cat.kind for cat in cats))
    if format == "bias-bench":
        misread = harness_files.misread_by_bias_bench(cats, labels)
    else:
        misread = list(harness_files.misread_by_lm_eval(cats))
    refused = {m.cat for m in misread if m.effect != "not_counted"} if leave_out else set()
    kept = [cat for cat in cats if cat.id not in refused]
    if not kept:
        codes = Counter(m.code for m in misread if m.cat in refused)
        counts = ", ".join(f"{code} {count}" for code, count in codes.most_common())
        what = f"{format} misreads every CAT, so nothing is left to export: {counts}"
        raise CurationError(what, "export without --leave-out to see each place in mangled.jsonl")
    files = _lists(cats, misread, refused)
    task_names: tuple[str, ...] = ()
    if format == "bias-bench":
        files |= {
            f"{part}.json": dump_json(dataset(of_split, labels, version=version))
            for part in SPLITS
            if (of_split := [cat for cat in kept if cat.split == part])
        }
    else:
        name = name or "+".join(path.stem for path in gold or ())
        there = {(cat.kind, cat.split) for cat in kept}
        parts = [(k, s) for s in SPLITS for k in CAT_KINDS if (k, s) in there]
        flat = data_files.flat_files(_contents(kept, pd.DataFrame(), version))
        files |= {path: data for path, data in flat if path.startswith("cats/")}
        files |= harness_files.tasks(parts, name=name, version=version)
        task_names = tuple(harness_files.task_name(name, part) for part in parts)
    if _check_free(place, files):
        reporter.note(f"{to}: has exactly these files already")
        sync(place.parent)
    else:
        _write(place, files)
    return Exported(to, tuple(sorted(files)), tuple(kept), len(refused), tuple(misread), task_names)


def _contents(cats: Iterable[Cat], annotations: pd.DataFrame, version: str = "1.0") -> Contents:
    return Contents(version, tuple(map(published, cats)), annotations, (), settings=FileSettings())


def _of_files(gold: Sequence[Path], reporter: Reporter) -> tuple[Source, Labels]:
    """The CATs of gold files in the splits that the files are named after, and their labels."""
    source = open_source(gold=gold, reporter=reporter)
    splits: dict[str, SplitName] = {}
    labels: dict[str, list[tuple[str, str]]] = {}
    for path in gold:
        split: SplitName = "dev" if path.stem == "dev" else "test"
        for entry in read_cat_entries(path):
            splits[str(entry.item["id"])] = split
            for sentence in entry.item["sentences"]:
                votes = sentence.get("labels")
                labels[str(sentence["id"])] = [
                    (str(vote.get("human_id", "")), value)
                    for vote in (votes if isinstance(votes, list) else ())
                    if isinstance(vote, dict) and (value := read_label(str(vote.get("label"))))
                ]
    cats = [cat.model_copy(update={"split": splits[cat.id]}) for cat in source.cats]
    return replace(source, cats=cats), labels


def _lists(cats: Iterable[Cat], misread: Iterable[Mangled], refused: set[str]) -> dict[str, bytes]:
    """What the harness gets wrong: in CATs of the export, and in those that are left out."""
    records = {cat.id: cat.model_dump(mode="json") for cat in cats}
    lines: dict[str, bytes] = defaultdict(bytes)
    for wrong in misread:
        place = wrong.cat if wrong.option is None else f"{wrong.cat}, {wrong.option}"
        about = {"code": wrong.code, "detail": wrong.detail, "where": place}
        file = LEFT_OUT if wrong.cat in refused else MANGLED
        lines[file] += dump_line(Rejection(**about, record=records[wrong.cat]))
    return lines


def _check_free(to: Path, files: Mapping[str, bytes] | None = None) -> bool:
    """Refuse a folder that has other files, that is a link, or that a shell is in.

    Args:
        to: the folder.
        files: what will be written, if it is known; before that, any files may be there.

    Returns:
        Whether it has exactly these files: an earlier export may have been killed at its very end.

    Raises:
        CurationError: something else is there already.
    """
    fix = "name a new folder with --to"
    refuse_links(to, below=to.parent)
    if to.exists() and not to.is_dir():
        raise CurationError(f"{to}: is not a folder", fix)
    if to == Path.cwd():  # it would be replaced, and the shell would be nowhere
        raise CurationError(f"{to}: is the folder in which you are", fix)
    if files is None or not to.is_dir() or not any(to.iterdir()):
        return False
    there = file_names(to) == sorted(files)
    if not there or any(read_bytes(to / name) != content for name, content in files.items()):
        raise CurationError(f"{to}: is not empty", fix)
    return True


def _write(to: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder that appears when all of its files are complete."""
    sweep_beside(to)
    staged = beside(to)
    try:
        for name, content in files.items():
            with writing(staged / name) as file:
                file.write(content)
        _check_free(to, files)
        with suppress(FileNotFoundError):
            to.rmdir()
        os.replace(staged, to)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    sync(to.parent)
