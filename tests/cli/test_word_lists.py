"""The shipped lists of the papers' terms as ``words``, and data that spell them otherwise."""

from pathlib import Path

from typer.testing import CliRunner

from curation.catsets.stereoset import dataset
from curation.cli import app
from curation.files import dump_json, read_records
from curation.records import Item, Term
from support.cats import intra

DOMAINS = ("gender", "profession", "race", "religion")


def run(*words: str | Path) -> str:
    done = CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_a_campaign_on_the_papers_terms_knows_them_under_both_spellings(tmp_path: Path) -> None:
    root, gold = tmp_path / "campaign", tmp_path / "dev.json"
    run("init", root, "--yes")
    lists = "".join(
        f'\n[domains.{name}]\nproperties = []\nwords = ["{name}.csv"]\n' for name in DOMAINS
    )
    settings = (root / "campaign.toml").read_text("utf-8")
    before, _, rest = settings.partition("[domains.gender]")
    _, _, after = rest.partition("[rounds]")
    (root / "campaign.toml").write_text(f"{before}{lists}\n[rounds]{after}", "utf-8")
    targets = ("Norweigan", "Norwegian", "Columbian", "Colombian")
    cats = [
        intra(f"The {t} is BLANK.", "kind", "rude", "blue", name=t, domain="race", target=t)
        for t in targets
    ]
    gold.write_bytes(dump_json(dataset(cats, {}, version="1")))
    run("import", "stereoset", gold, "-c", root)
    run("terms", "select", "-c", root)
    terms = {term.id: term for term in read_records(root / "1-terms/targets.jsonl", Term)}
    # 40 + 120 + 149 + 24 of the lists, and none besides.
    assert len(terms) == 333
    found = {
        item.context.split()[1]: terms[item.term].text
        for path in root.glob("2-rounds/*/items.jsonl")
        for item in read_records(path, Item)
    }
    assert found == {
        "Norweigan": "Norwegian",
        "Norwegian": "Norwegian",
        "Columbian": "Columbian",
        "Colombian": "Columbian",
    }
