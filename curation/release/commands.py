"""``curation release``: the folder that is published."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from curation.campaign.source import campaign_source
from curation.campaign.step import run_steps
from curation.campaign.store import open_campaign
from curation.campaign.versions import ANONYMOUS, HIDE, REVEALED, History, gold_file
from curation.decisions.steps import split as split_step
from curation.files import CurationError
from curation.kinds import Kind
from curation.reasons import REASONS
from curation.records import Fields
from curation.release import differences, revealing
from curation.release.differences import Difference
from curation.release.hiding import set_hide
from curation.release.statement import open_questions, place, read_statement, write_template
from curation.release.steps import build_release, near_public
from curation.release.texts.questions import QUESTIONS, SECTIONS
from curation.released.contents import published
from curation.terminal import console
from curation.terminal.options import (
    Json,
    Language,
    Split,
    Where,
    command_group,
    locked,
    write_text,
)
from curation.text.wording import amount, some

if TYPE_CHECKING:
    from curation.release.comparing import Comparison, ScoreChange
    from curation.release.exporting import Exported
    from curation.release.harness_files import Mangled


def check(
    release: Annotated[str, typer.Argument()] = "",
    strict: bool = False,
    public: Path | None = None,
    against: list[Path] | None = None,
    language: Language = "",
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Check a release folder, ours or another's.

    It compares checksums, the forms of the data, labels, splits, the card and all metadata with
    each other, and looks for personal data, pitfalls and hidden gold labels that can be found out.
    Findings are **block** (wrong, or must not be published), **warn** or **note**. The exit status
    is 1 if there is a blocking one, else 0.

    Options:
        release (RELEASE): The folder of a release, or a version of the campaign.
        strict: Open questions of the data statement block, too.
        public (DIR): The public side, with hidden gold labels, of the revealed RELEASE.
        against (FILE): Public CATs that the test set should not repeat; for several files, repeat
            it.
    """
    from curation.release.checking import check_release, counts, named_folder

    folder = named_folder(release, campaign)
    findings = check_release(
        folder,
        strict=strict,
        public=public,
        against=against or (),
        language=language,
        campaign=campaign,
        reporter=console,
    )
    tally = counts(findings)
    if as_json:
        rows = [asdict(finding) for finding in findings]
        console.say_json({"folder": folder, "counts": tally, "findings": rows})
    else:
        if findings:
            heads = ["severity", "code", "where", "what"]
            rows_shown = [(f.severity, f.code, f.where, f.detail) for f in findings]
            console.table(f"Findings in {folder}", heads, rows_shown)
            console.heading("\nWhat to do")
            for code in dict.fromkeys(f.code for f in findings if f.severity != "note"):
                fixes = dict.fromkeys(f.fix for f in findings if f.code == code)
                console.say(f"  {code}: {'; or '.join(list(fixes)[:3])}")
        shown = ", ".join(f"{count} {severity}" for severity, count in tally.items())
        console.say(f"{amount(len(findings), 'finding')}: {shown}")
    if tally["block"]:
        raise typer.Exit(1)


_SHOWN = 10


def diff(
    before: str,
    after: str,
    campaign: Where = Path(),
    scores: Annotated[Path | None, typer.Option(readable=False)] = None,
    predictions: list[str] | None = None,
    lower_is_likelier: list[str] | None = None,
    errata: Path | None = None,
    strict: bool = False,
    as_json: Json = False,
) -> None:
    """Show what differs between two versions of a dataset, and what that does to scores.

    CATs are matched by id, and CATs with new ids by their texts. Shown are CATs that were added,
    removed, changed, relabelled or moved between splits, and terms that moved or were renamed. If
    there are runs of models, lms, ss and icat on both versions follow, with what the difference
    comes from.

    The exit status is 0 whether the versions differ or not. With --strict it is 1 if the test split
    of B has terms or texts that were in the dev split of A.

    Options:
        before (A): The earlier version: a release's folder, a file of CATs, or the name of a
            version of the campaign.
        after (B): The later version.
        scores (DIR): The folder of the runs, MODEL/RULE/; default: that of the campaign.
        predictions (NAME[@RULES]=FILE): Also use a model's predictions file. Repeatable.
        errata (FILE): Write every change of a CAT to this file: .jsonl for programs, .md for
            people.
        strict: Exit with status 1 if test has CATs or terms that were in dev.
    """
    from curation.release.comparing import compare

    if errata and errata.suffix.lower() not in (".jsonl", ".md"):
        raise CurationError(
            f"--errata {errata}: is neither .jsonl nor .md", "name a file that ends in one of these"
        )
    comparison = compare(
        before,
        after,
        campaign=campaign,
        scores=scores,
        predictions=predictions or (),
        lower_is_likelier=lower_is_likelier or (),
        reporter=console,
    )
    changed = comparison.difference
    if errata:
        changes = changed.open_changes()
        is_text = errata.suffix.lower() == ".md"
        text = (
            differences.errata_markdown(changed, changes)
            if is_text
            else differences.errata_text(changes)
        )
        write_text(errata, text)
    if as_json:
        console.say_json(_as_json(comparison))
    else:
        _show(changed)
        if not changed.empty:
            _show_scores(comparison)
    if strict and (changed.to_test or changed.seen):
        raise typer.Exit(1)


def _as_json(comparison: "Comparison") -> Fields:
    changed = comparison.difference
    removed, added = differences.domains(changed)
    return {
        "before": changed.before.name,
        "after": changed.after.name,
        "equal": changed.empty,
        "counts": [count._asdict() for count in differences.difference_counts(changed)],
        "cats": {what: ids for what, (_, ids) in differences.cats_changed(changed).items()},
        "fields": differences.fields_changed(changed),
        "domains": {"removed": removed, "added": added},
        "terms": {
            "to_test": [_term(key) for key in changed.to_test],
            "to_dev": [_term(key) for key in changed.to_dev],
            "renamed": [{"before": _term(a), "after": _term(b)} for a, b in changed.renamed],
        },
        "seen_in_dev": list(changed.seen),
        "hidden": changed.not_compared,
        "sealed": changed.sealed,
        "splits_compared": changed.before.has_splits and changed.after.has_splits,
        "ids_compared": changed.before.has_ids and changed.after.has_ids,
        "scores": [asdict(change) for change in comparison.scores],
    }


def _term(key: tuple[str, str]) -> dict[str, str]:
    return {"domain": key[0], "text": key[1]}


# --- tables ---------------------------------------------------------------------------------------


def _show(changed: "Difference") -> None:
    old, new = changed.before.name, changed.after.name
    has_splits = changed.before.has_splits and changed.after.has_splits
    if changed.empty:
        console.say("The versions do not differ.")
    else:
        console.heading(f"What changed from {old} (A) to {new} (B)")
    differs = differences.cats_changed(changed)
    for what, (count, ids) in differs.items():
        named = f": {some(ids, _SHOWN)}" if ids else ""
        console.say(f"{differences.SAYS[what]}: {amount(count, 'CAT')}{named}")
    if any(len(ids) > _SHOWN for _, ids in differs.values()):
        console.say("«--errata FILE» writes every change of every CAT")
    counts = [
        c._asdict()
        for c in differences.difference_counts(changed)
        if c.before != c.after or any(c[4:])
    ]
    rows = [
        [count["split"] if has_splits else "all", count["kind"]]
        + [count[name] or None for name in ("before", "after", *differs)]
        for count in counts
    ]
    if rows:
        console.table("CATs", ["split", "kind", "CATs in A", "CATs in B", *differs], rows)
    if fields := differences.fields_changed(changed):
        console.table("Changes", ["field that changed", "CATs"], list(fields.items()))
    removed, added = differences.domains(changed)
    for domains, name in ((removed, old), (added, new)):
        if domains:
            console.say(f"domains only in {name}: {', '.join(domains)}")
    if changed.renamed:
        pairs = [[domain, text, *now] for (domain, text), now in changed.renamed]
        heads = ["domain in A", "term in A", "domain in B", "term in B"]
        console.table("Renamed terms", heads, pairs)
    if changed.to_dev:
        console.say(
            f"{amount(len(changed.to_dev), 'term')} moved from test to dev: "
            f"{some(differences.term_names(changed.to_dev), _SHOWN)}"
        )
    if changed.not_compared:
        console.say(
            f"gold labels and tiers of {amount(changed.not_compared, 'CAT')} are hidden in one "
            "of the versions, so they cannot be compared"
        )
    if changed.sealed:
        console.say("test CATs are not compared: their texts are not public in both versions")
    if not (changed.before.has_ids and changed.after.has_ids):
        console.say("a file has no ids, so they were made from its texts and are not compared")
    if not has_splits:
        console.say("a file's name does not say its split, so splits are not compared")
    if changed.to_test:
        console.warn(
            f"{amount(len(changed.to_test), 'term')} moved from dev to test: "
            f"{some(differences.term_names(changed.to_test), _SHOWN)}"
        )
    if changed.seen:
        seen = amount(len(changed.seen), "CAT in test was in dev", "CATs in test were in dev")
        console.warn(f"{seen}, so models may be tuned on them: {some(changed.seen, _SHOWN)}")


def _show_scores(comparison: "Comparison") -> None:
    from curation.scores.commands.tables import show_notes
    from curation.stats.metrics import metrics_in

    old, new = comparison.difference.before.name, comparison.difference.after.name
    cells, some_parts = [], False
    for result in comparison.scores:
        rows = []
        for row in filter(_differs, result.rows):
            cells += [cell for cell in (row.before, row.after) if cell]
            rows += [_row(row, metric.name) for metric in metrics_in((row.before, row.after))]
        heads = ["split", "kind", "CATs in A, B", "score", "A", "95 %", "B", "95 %", "B - A"]
        parts = ["relabelled", "changed", "added, removed", "moved"]
        shown = [n for n in range(-len(parts), 0) if any(row[n] for row in rows)]
        heads += [parts[n] for n in shown]
        rows = [[*row[: -len(parts)], *(row[n] for n in shown)] for row in rows]
        some_parts |= bool(shown)
        if rows:
            title = f"{result.run}: {old} (A) and {new} (B)"
            console.table(title, heads, rows, least=["CATs in A, B", "95 %"])
        else:
            console.say(f"{result.run} has the same scores on both")
        for name, lacks in ((old, result.before), (new, result.after)):
            if lacks.missing:
                console.say(
                    f"{result.run} has no scores of {lacks.missing} of {lacks.of} CATs of "
                    f"{name}; they are left out there"
                )
    if some_parts:
        console.say(
            "The columns after B - A say what it comes from: the changes are made one after the "
            "other, in this order. What does not change is left out."
        )
    show_notes(cells)


def _differs(row: "ScoreChange") -> bool:
    """Whether a change of CATs changes a score, or whether one version has none."""
    parts = [row.difference, *(row.parts or {}).values()]
    return not row.difference or any(_points(v) for part in parts if part for v in part.values())


def _row(row: "ScoreChange", metric: str) -> list[Any]:
    from curation.release.comparing import PARTS

    cats = ", ".join(str(cell["cats"]) if cell else "0" for cell in (row.before, row.after))
    values: list[Any] = []
    for cell in (row.before, row.after):
        if cell is None:
            values += [None, None]
            continue
        marks = ("*" if cell["few_terms"] else "") + ("~" if metric in cell["too_wide"] else "")
        values += [cell[metric], f"{console.show(cell[f'{metric}_ci'])}{marks}"]
    parts = [row.difference, *(row.parts or dict.fromkeys(PARTS)).values()]
    values += [_points(part[metric]) if part else None for part in parts]
    return [row.split, row.kind, cats, metric, *values]


def _points(value: float) -> float:
    """A difference without what floating point adds to it, and without the sign of zero."""
    return round(value, 9) + 0.0


_FIRST = 10  # rows of the table of places
_STOPS = {"bias-bench": "bias-bench and StereoSet's code stop", "lm-eval": "lm-eval stops"}


def export(
    format: Literal["bias-bench", "lm-eval"],
    *,
    to: Path,
    gold: list[Path] | None = None,
    split: Split = "all",
    kind: Kind | None = None,
    leave_out: bool = False,
    name: str = "",
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Write CATs for another harness, and say which of them it misreads.

    A CAT is misread, for example, if several words fill its BLANK: bias-bench reads one word only.
    All such places are in DIR/mangled.jsonl, with a reason code. With --leave-out these CATs are
    not exported; they are then in DIR/left_out.jsonl.

    The CATs are those of a campaign, from its last «curation decisions split», or of gold files. A
    gold file is in the split that it is named after (dev.json, test.json), else in test. The export
    has all texts and gold labels, also those that a release hides.

    Options:
        format (FORMAT): bias-bench: StereoSet's JSON, for bias-bench and StereoSet's own code.
            lm-eval: tasks for lm-evaluation-harness, with their data.
        to (DIR): The folder to write; it must be new or empty.
        split: dev, test or all.
        leave_out: Leave out the CATs that the harness misreads.
        name: With lm-eval: what names of tasks begin with; default: the campaign's name, or that of
            the gold file.
    """
    from curation.release import exporting

    done = exporting.export(
        format,
        campaign,
        to=to,
        gold=gold,
        split=split,
        kind=kind,
        leave_out=leave_out,
        name=name,
        reporter=console,
    )
    if as_json:
        mangled = [wrong._asdict() for wrong in done.mangled]
        about = {"cats": len(done.cats), "left_out": done.left_out, "tasks": done.tasks}
        console.say_json({"folder": done.folder, "files": done.files, **about, "mangled": mangled})
        return
    _show_mangled(format, done)
    console.say(f"{amount(len(done.cats), 'CAT')} in {done.folder}")
    if done.left_out:
        console.say(f"{amount(done.left_out, 'CAT')} left out: {done.folder}/left_out.jsonl")
    if done.tasks:
        console.say(f"tasks: {', '.join(done.tasks)}")
        console.say(f"next: {done.folder}/lm-eval/README.md says how to run them")


def _show_mangled(format: str, done: "Exported") -> None:
    """What the harness gets wrong, by code, and the first places."""
    if not done.mangled:
        return
    kept = {cat.id for cat in done.cats}
    rows = []
    for code in dict.fromkeys(wrong.code for wrong in done.mangled):
        of_code = [wrong for wrong in done.mangled if wrong.code == code]
        cats = {w.cat for w in of_code}
        options = sum(w.option is not None for w in of_code)
        rows.append([code, len(cats), options or None, len(cats - kept), REASONS[code]])
    console.table(
        f"What {format} misreads", ["code", "CATs", "options", "left out", "meaning"], rows
    )
    places = [w for w in done.mangled if w.effect != "not_counted"]
    if places:
        _show_places(places)
    stops = {w.cat for w in places if w.effect == "stops"} & kept
    if stops:
        console.warn(
            f"{_STOPS[format]} with an error at {amount(len(stops), 'CAT')}, and score nothing: "
            "use --leave-out"
        )
    misread = {w.cat for w in places if w.effect == "misread"} & kept
    if misread:
        console.warn(
            f"{format} misreads {amount(len(misread), 'CAT')} without an error: use --leave-out, "
            f"or see {done.folder}/mangled.jsonl"
        )


def _show_places(places: "Sequence[Mangled]") -> None:
    rows = [[w.cat, w.option or "", w.code, w.detail] for w in places[:_FIRST]]
    console.say(f"\n{console.CONTENT_WARNING}")
    shown = f"the first {_FIRST} of {len(places):,}" if len(places) > _FIRST else "all"
    console.table(f"Places ({shown})", ["CAT", "option", "code", "what"], rows)


SHOWN = 20  # pairs


def near(
    files: Annotated[list[Path] | None, typer.Argument()] = None,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """List test CATs that nearly repeat CATs of dev, of other versions, or of files.

    Such a CAT is known to everybody who has the public one. Nothing is written.

    Options:
        files (FILE): Other files with public CATs, in any layout.
    """
    with locked(campaign) as opened:
        run_steps(opened, split_step, reporter=console)
    cats = campaign_source(opened).cats
    version = opened.settings.release.version
    own = {f"{version}{end}" for end in ("", ANONYMOUS, REVEALED)}
    history = History(opened)
    others = [place.folder.name for place in history.built if place.folder.name not in own]
    counts, pairs = near_public(
        history, [published(cat) for cat in cats], versions=others, files=files or ()
    )
    if as_json:
        found = {row.place: row.cats for row in counts}
        listed = [pair._asdict() for pair in pairs]
        console.say_json({"similarity": counts[0].similarity, "counts": found, "pairs": listed})
        return
    test = sum(cat.split == "test" for cat in cats)
    rows = [[row.place, test, row.cats] for row in counts]
    heads = ["public CATs", "test CATs", "near-duplicates"]
    console.table("Test CATs that nearly repeat public ones", heads, rows)
    if pairs:
        console.table("Pairs", ["test CAT", "place", "CAT"], [list(p) for p in pairs[:SHOWN]])
    if len(pairs) > SHOWN:
        console.say(f"{amount(len(pairs) - SHOWN, 'more pair')}; --json lists all")


def push(
    version: Annotated[str, typer.Argument()] = "",
    to: str = "",
    dry_run: bool = False,
    private: Annotated[bool | None, typer.Option("--private/--public")] = None,
    tag: Annotated[bool, typer.Option("--tag/--no-tag")] = True,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Upload a version to the Hugging Face Hub, in one commit, and tag it.

    The version is checked first, as by «curation release check»; a blocking finding stops the
    upload. It needs the extra hub and a token: run «hf auth login», or set HF_TOKEN. If the upload
    is interrupted, run the same command again.

    Options:
        version (VERSION): The version; default: the one in [release].
        to (OWNER/NAME): The dataset on the hub; default: id in [hub] of 7-release/statement.toml.
        dry_run: List every file and what would happen; send nothing.
        private: Who sees the dataset; default: as it is, and a new one is private.
        tag: Tag the commit with the version.
    """
    from curation.release import hub

    opened = open_campaign(campaign)
    target = hub.push_target(opened, to)
    folder = hub.check_before(opened, version, reporter=console)
    if dry_run:
        rows = hub.planned_push(folder, target.id, reporter=console)
        if as_json:
            files = [row._asdict() for row in rows]
            console.say_json({"repo": target.id, "version": folder.name, "files": files})
            return
        heads = ["file", "bytes", "what happens"]
        shown = [
            (r.path, None if r.state in ("deleted", "kept") else r.size, r.state) for r in rows
        ]
        console.table(f"{folder.name} to {target.id}", heads, shown)
        size = sum(row.size for row in rows)
        console.say(f"{amount(len(rows), 'file')}, {size:,} bytes; nothing was sent.")
        return
    done = hub.push_folder(folder, target, private=private, tag=tag, reporter=console)
    if as_json:
        console.say_json({"repo": target.id, "version": folder.name, **done._asdict()})
        return
    sent = f"{amount(done.sent, 'file')} sent" if done.sent else "nothing to send"
    console.say(f"{folder.name} is at {done.address} (commit {done.commit[:12]}): {sent}")
    if done.private:
        console.say("It is private: only you and its members see it. To publish: --public.")


def reveal(version: str, campaign: Where = Path(), as_json: Json = False) -> None:
    """Write 7-release/VERSION-revealed: the gold labels that a version hides, with their proof.

    If it hides the texts, too, the folder has these.

    The command first computes every commitment again, and compares texts, options and commitments
    with the public folder. Publish the new folder beside it. Its README.md says how everybody can
    check that the gold labels are those of the release.

    Options:
        version (VERSION): The version with hidden gold labels.
    """
    with locked(campaign) as opened:
        made = revealing.reveal(opened, version)
    if as_json:
        console.say_json({"folder": made.folder, "cats": made.cats, "unchanged": made.unchanged})
        return
    console.say(f"{amount(made.cats, 'hidden CAT')} of version {version} in {made.folder}")
    if made.unchanged < made.cats:
        console.say(
            f"{amount(made.cats - made.unchanged, 'CAT')} changed in the campaign since: without "
            "tier and annotations"
        )
    console.say(
        'next: publish the folder beside the version; set hide = "" in [release] if the next '
        "version is to have all gold labels"
    )


def statement(campaign: Where = Path(), as_json: Json = False) -> None:
    """List the questions about the dataset that your team has not answered.

    You answer them in 7-release/statement.toml, which this command writes if it is missing. It
    never changes your answers. Questions that a newer version of curation asks are added to the
    file as comments. A release marks each question that is still open.
    """
    with locked(campaign) as opened:
        written = write_template(opened)
    questions = open_questions(read_statement(opened))
    path = place(opened)
    if as_json:
        rows = [{"key": q.key, "section": SECTIONS[q.section], "text": q.text} for q in questions]
        summary = {"file": path, "written": written, "questions": len(QUESTIONS)}
        console.say_json({**summary, "open": rows})
        return
    if written:
        console.say(f"Written: {path}")
    if not questions:
        console.say(f"All {len(QUESTIONS)} questions are answered in {path}.")
        return
    cells = [[SECTIONS[q.section], q.key, q.text] for q in questions]
    console.table("Open questions", ["section", "key", "question"], cells)
    console.say(f"{amount(len(questions), 'question')} of {len(QUESTIONS)} open; answer in {path}")


app = command_group()


@app.command("build")
def build(
    campaign: Where = Path(),
    anonymous: bool = False,
    hide: Literal["labels", "all"] | None = None,
    as_json: Json = False,
) -> None:
    """Write 7-release/VERSION: data, card, statement, metadata, licence, checksums.

    Score models first, so that the card has their results. The version is set in [release]. A
    version that is built is never rewritten: if its content would change, raise the version, or
    delete the folder if nobody has it.

    Options:
        anonymous: Build VERSION-anonymous for review, without names and links.
        hide: labels: publish the test CATs without their gold labels. all: leave out their texts,
            too, and publish only counts and commitments. Either sets hide in [release] for later
            versions.
    """
    opened = open_campaign(campaign)
    if hide:
        opened = set_hide(opened, hide, console)
    with opened.lock():
        made = build_release(opened, anonymous=anonymous, reporter=console)
    counts = made.counts
    if as_json:
        about = {"files": made.files, "open": made.open, "next": made.next}
        console.say_json({"folder": made.folder, "board_rows": made.board_rows, **counts, **about})
        return
    console.say(
        f"{amount(counts['cats'], 'CAT')}, {amount(counts['annotations'], 'annotation')} in "
        f"{made.folder}"
    )
    console.say(f"{amount(len(made.files), 'file')}: {', '.join(_shown(made.files))}")
    if secret := counts.get("hidden"):
        private = gold_file(opened, opened.settings.release.version)
        texts = "texts and " if opened[HIDE] == "all" else ""
        console.say(
            f"the {texts}gold labels of {amount(secret, 'CAT')} are hidden; they are only in "
            f"{private}: back it up, it cannot be made again"
        )
    if (rows := made.board_rows) is not None:
        more = (
            "; for more, collect more CATs for test; or, if nobody has this version, delete it and "
            "its gold labels, and run «curation release build --hide all», which has no limit"
        )
        console.say(f"a board can show {amount(rows, 'row')} of models{more if rows < 2 else ''}")
    if kept := counts.get("without_votes"):
        console.say(
            f"{amount(kept, 'CAT has', 'CATs have')} no votes; README.md and the JSON files say so."
        )
    if made.open:
        console.say(
            f"{amount(len(made.open), 'question is', 'questions are')} open; README.md and "
            "STATEMENT.md show them."
        )
    console.say(f"next: {made.next}")


def _shown(files: list[str]) -> list[str]:
    """Files of the folder itself, and folders; each folder once."""
    return sorted({name.split("/")[0] + ("/" if "/" in name else "") for name in files})


app.command("statement")(statement)
app.command("check")(check)
app.command("push")(push)
app.command("diff")(diff)
app.command("near")(near)
app.command("export")(export)
app.command("reveal")(reveal)
