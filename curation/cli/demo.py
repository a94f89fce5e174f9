"""``curation demo``: the whole pipeline on the example campaign."""

import re
import shutil
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from curation import cli
from curation.across import serving
from curation.campaign.settings import Settings, read_settings
from curation.campaign.source import open_source
from curation.campaign.store import Campaign, create_campaign, open_campaign
from curation.catsets.stereoset import read_cats
from curation.files import (
    CurationError,
    dump_json,
    read_bytes,
    read_json,
    read_text,
    shipped,
    writing,
)
from curation.formats.tables import csv_text
from curation.kinds import CAT_KINDS, FILLED, LABELS, WORKS
from curation.pages.steps import REPORT
from curation.records import Fields
from curation.release import statement
from curation.release.versions import version_folder, why_blocked
from curation.rounds.importing import import_answers
from curation.rounds.running import open_round
from curation.terminal import console
from curation.terminal.options import Count
from curation.text.item_form import fill
from curation.text.rules import grouped
from curation.text.wording import amount

ANSWERED = "validate-2-answered.csv"


def demo(
    folder: Annotated[Path | None, typer.Argument()] = None,
    web: bool = False,
    port: Count = serving.PORT,
) -> None:
    """Run the whole pipeline on an example campaign: invented, mild answers with real flaws.

    With --web, see rounds of the example as annotators do, in your browser, until you press Ctrl-C.

    Options:
        folder (DIR): Folder for the campaign; new or empty; default: curation-demo, with --web
            curation-demo-web.
        web: Open rounds on web pages, print links to them, and serve them.
        port: With --web: the port of the pages.
    """
    example = shipped("data", "example")
    folder = folder or Path("curation-demo-web" if web else "curation-demo")
    if folder.exists() and any(folder.iterdir()):
        raise CurationError(f"{folder}: is not empty", "use another folder, or delete this one")
    if web:  # before the folder is there, which a second try would refuse
        serving.check_port(port)
    settings = read_settings(example / "campaign.toml")
    settings = _without_caps(settings) if web else settings
    made = create_campaign(folder, settings)
    made.folder("terms").mkdir(exist_ok=True)
    made.folder("rounds").mkdir(exist_ok=True)
    shutil.copyfile(example / "rounds" / "text.toml", made.folder("rounds") / "text.toml")
    console.say(f"The example campaign, invented and mild, in {folder}.\n")
    if web:
        shutil.copyfile(example / "rounds" / "training.csv", made.folder("rounds") / "training.csv")
        _serve(made, example / "writers.csv", port)
        return
    made.folder("release").mkdir(exist_ok=True)
    shutil.copyfile(example / "edits.csv", made.folder("terms") / "edits.csv")
    shutil.copyfile(example / "statement.toml", statement.place(made))
    shutil.copytree(example / "trust", made.folder("trust"), dirs_exist_ok=True)

    step = Steps(made.root)
    step("terms scan dump.json", {"dump.json": [example / "dump.json"]})
    step("terms select")
    step("terms explain librarian")
    for file in ("writers.csv", "validators.csv"):
        step(f"import answers {file}", {file: [example / file]})
    pilot = "pilot.jsonl"
    step(f"import answers {pilot} --round pilot --known-terms", {pilot: [example / pilot]})
    step("import stereoset published.json", {"published.json": [example / "published.json"]})
    _rounds(step, folder, example / "rounds")
    step("decisions filter")
    step("decisions agreement")
    step("rounds exclude validator-77 --reason …", {"…": ["says the same of everything"]})
    step("rounds withdraw writer-13 --yes")
    step("decisions split")
    step("measures statistics")
    step("measures sentiment")
    step("measures keywords --top 5")
    step("measures pitfalls")
    _models(step, folder)
    # The bias of invented tales, and what may be trusted.
    tales, labels = (example / "trust" / name for name in ("tales.txt", "labels.csv"))
    step("trust text tales.txt", {"tales.txt": [tales, "--workers", "1"]})
    step("trust text --labels labels.csv --source tales", {"labels.csv": [labels]})
    step("trust report")
    error = why_blocked(made)
    if not error:
        _release(step, made)
    step("pages build")
    if error:
        console.say(f"\nNo release is built: {error.what}; {error.fix}")
    else:
        _say_released(made)
    warnings = read_text(step.log).count("\nwarning: ")
    console.say(f"All that the commands printed, with {amount(warnings, 'warning')}: {step.log}")
    console.say(f"To read about the results, open in your browser: {made.folder('pages') / REPORT}")
    console.say(f"To look around: cd {folder}; curation status")


class Steps:
    """Runs the demo's commands: shows two lines of each, and logs all that it prints.

    Attributes:
        log: the file that has it all.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self.log = folder, folder / "tasks" / "demo.log"  # git leaves tasks/ out
        self.log.parent.mkdir(exist_ok=True)
        self._shown = tomllib.loads(read_text(shipped("data", "example", "steps.toml")))

    def __call__(self, text: str, given: Mapping[str, Sequence[str | Path]] = {}) -> None:
        """Run a command; show what it does, and then what it found.

        Args:
            text: the command as it is shown.
            given: by word of the text, what is run in its place.
        """
        words = [str(part) for word in text.split() for part in given.get(word, [word])]
        if "--gold" not in words:
            words += ["--campaign", str(self._folder)]
        named = [name for name in self._shown if text.startswith(name)]
        shown = self._shown[max(named, key=len)] if named else None
        if shown:
            console.heading(f"$ curation {text}  # {shown['does']}")
        with console.logged(self.log):
            before = self.log.stat().st_size
            console.heading(f"\n$ curation {text}")
            cli.app(words, standalone_mode=False)
        if shown:
            printed = read_bytes(self.log)[before:].decode()
            places = re.finditer(shown["find"], printed, re.MULTILINE)
            found = [place.expand(shown.get("show", r"\g<0>")) for place in places]
            console.say(f"  {'; '.join(found) or printed.splitlines()[-1]}")


ON_THE_WEB: dict[str, dict[str, list[str]]] = {
    "reviewer": {"review": ["baker", "gardener", "librarian", "teacher"]},
    "writer": {"intrasentence": ["librarian", "baker"], "intersentence": ["plumber", "teacher"]},
    "validator": {"validation": ["baker"]},
}
"""Who can look at the demo on the web: for each, the kinds of their rounds, with the terms."""


def _without_caps(settings: Settings) -> Settings:
    """The example's settings with few tasks, all of them for one person, and an easy training."""
    caps = (f"per_{each}_{work}" for each in ("person", "term") for work in WORKS)
    few: dict[str, float] = {"items": 2, "training_pass": 0.5, **dict.fromkeys(caps, 0)}
    rounds = settings.rounds.model_copy(update=few)
    decisions = settings.decisions.model_copy(update={"rounds": ()})
    return settings.model_copy(update={"rounds": rounds, "decisions": decisions})


def _serve(campaign: Campaign, answers: Path, port: int) -> None:
    """Open a round of each kind on our own pages, and serve them until Ctrl-C."""
    terms = {term for kinds in ON_THE_WEB.values() for named in kinds.values() for term in named}
    rows = [row for row in _read(answers) if row["target"] in terms]
    import_answers(campaign, _write(campaign.root / "items.csv", rows), reporter=console)
    rounds: dict[str, list[str]] = {}
    with campaign.lock():
        for who, kinds in ON_THE_WEB.items():
            made = [
                open_round(campaign, kind, terms=named, reporter=console)
                for kind, named in kinds.items()
            ]
            rounds[who] = [each.round.name for each in made]

    def show_links(running: serving.Serving) -> None:
        console.say("Open a link in your browser; in private windows, you are three people:")
        with campaign.lock():
            for who, names in rounds.items():
                console.say(f"  {who:10} {serving.make_links(campaign, names, [who]).links[who]}")
        console.say(f"  {'owner':10} {running.owner}")
        console.say(
            f"Press Ctrl-C to stop. In another window: cd {campaign.root}; curation rounds status "
            "--watch 5"
        )

    serving.serve(campaign, port=port, ready=show_links)
    console.say(f"To go on: cd {campaign.root}; curation rounds serve")


def _release(step: Steps, campaign: Campaign) -> None:
    """Build the release, and use it as other people do: score predictions on its test set."""
    step("release build")
    release = version_folder(campaign)
    gold, path = release / "test.json", campaign.root / "predictions_shorter-is-likelier.json"
    # This replaces a model, so that nothing must be installed: shorter sentences score higher.
    shorter: dict[str, list[Fields]] = {kind: [] for kind in CAT_KINDS}
    for cat in read_cats(gold):
        shorter[cat.kind] += [{"id": a.id, "score": -len(a.sentence)} for a in cat.associations]
    with writing(path) as file:
        file.write(dump_json(shorter))
    step("scores baselines --gold test.json", {"test.json": [gold]})
    words: dict[str, Sequence[str | Path]] = {"test.json": [gold], "…": ["--predictions", path]}
    step("scores predictions --gold test.json …", words)


def _say_released(campaign: Campaign) -> None:
    """Say how many CATs are released, and where."""
    report = read_json(campaign.folder("decisions") / "split.json")
    kept = sum(d["dev_cats"] + d["test_cats"] for d in report["domains"].values())
    console.say(f"\n{amount(kept, 'CAT is', 'CATs are')} released in {version_folder(campaign)}")


def _models(step: Steps, folder: Path) -> None:
    """Score and compare two tiny models that are trained here on the example's own sentences."""
    try:
        from curation.models import tiny
    except ImportError:
        console.say("\nNo models are scored; this needs «pip install 'curation[models]'».")
        return
    cats = open_source(folder).cats
    texts = [f"{cat.context} {a.sentence}" for cat in cats for a in cat.associations]
    texts = [text for text in texts if "BLANK" not in text]
    texts += [a.sentence for cat in cats for a in cat.associations]
    made: Fields = {"models/tiny-gpt": "causal", "models/tiny-bert": "masked"}
    for name, family in made.items():
        tiny.make(folder / name, texts, family=family)
    with tiny.one_thread():
        step(f"scores models {' '.join(made)}", {name: [folder / name] for name in made})
    step("scores compare")


def _rounds(step: Steps, folder: Path, answers: Path) -> None:
    """Run two rounds with exported tables: writing some items, and labelling them."""
    tasks, csv = folder / "tasks", ["--format", "csv"]
    more = ["--platform", "files", "--term", "tram driver", "--term", "librarian"]
    step("rounds open intrasentence --name write-2 …", {"…": more})
    step("rounds export write-2 --to tasks", {"tasks": [tasks, *csv]})
    version = open_campaign(folder).round("write-2").consent
    filled = _written(tasks / "write-2.csv", answers / "writing.csv", version)
    step(f"rounds import write-2 {filled.name}", {filled.name: [filled]})
    step("rounds close write-2")
    more = ["--platform", "files", "--of", "write-2"]
    step("rounds open validation --name validate-2 …", {"…": more})
    for wave in ("wave-1", "wave-2"):
        if wave == "wave-2":
            step("rounds top-up validate-2")
        step(f"rounds export validate-2 --to tasks/{wave}", {f"tasks/{wave}": [tasks / wave, *csv]})
        filled = _labelled(tasks, wave, answers / "labels.csv", version)
        step(f"rounds import validate-2 {wave}", {wave: [filled]})
    step("rounds status")
    step("rounds close validate-2")


def _written(table: Path, answers: Path, version: str) -> Path:
    """Invented writers fill in the exported table; one of them names a task that does not exist."""
    tasks = grouped((row["target"], row["task_id"]) for row in _read(table))
    answered = []
    for row in _read(answers):
        row["consent"] = version if row["consent"] else ""
        of_target, slot = tasks.get(row.pop("target"), []), int(row.pop("slot"))
        answered.append({"task_id": of_target[slot - 1] if of_target else "t-unknown", **row})
    return _write(table.with_name("write-2-answered.csv"), answered)


def _labelled(tasks: Path, wave: str, answers: Path, version: str) -> Path:
    """Invented validators label as many as the table asks for; some answer others' tasks."""
    (table,) = set((tasks / wave).glob("validate-2*.csv")) - {tasks / wave / ANSWERED}
    shown = {row["context"]: row for row in _read(table)}
    before = tasks / "wave-1" / ANSWERED
    done = {(r["task_id"], r["annotator"]) for r in _read(before)} if before.exists() else set()
    answered, here = [], Counter[str]()
    items = {row["template"]: row for row in _read(answers.with_name("writing.csv"))}
    for row in _read(answers):
        task, extra = shown.get(row["context"]), row.pop("extra")
        if task is None or (extra and wave != "wave-1"):
            continue
        late = (task["task_id"], row["annotator"]) in done
        if not extra and (late or here[task["task_id"]] >= int(task["answers_needed"])):
            continue
        here[task["task_id"]] += not extra
        item = items[row.pop("context")]
        labels = {fill(item["template"], item[name]): row.pop(name) for name in FILLED.columns}
        row["consent"] = version
        cells = {name: labels[task[name.replace("label", "text")]] for name in LABELS}
        answered.append({"task_id": task["task_id"], **cells, **row})
    return _write(tasks / wave / ANSWERED, answered)


def _read(path: Path) -> list[dict[str, str]]:
    from curation.formats.rows import read_rows

    return [row for _, row in read_rows(path)]


def _write(path: Path, rows: list[dict[str, str]]) -> Path:
    names = list(rows[0])
    table = [names, *([row[name] for name in names] for row in rows)]
    path.write_text(csv_text(table), "utf-8", newline="")
    return path
