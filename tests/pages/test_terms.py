"""The folder beside the report: pages of terms, and what is in them if files are damaged or bad."""

import re
from pathlib import Path

import pytest

from curation.campaign.source import campaign_source, gold_source
from curation.campaign.store import Campaign
from curation.pages import summary
from curation.pages.report import Report, files
from curation.pages.steps import Shown, Told, collect, texts
from curation.pages.terms import numbers
from curation.work.reporter import QUIET
from support.scored import CATS, chance, put, write_cats, write_gold

NAMES = ("t0", "../../Up", "T0", "javascript:x", "a/b", "n" * 200, '"><script>')


def test_ids_of_terms_name_no_file_outside_of_the_folder(campaign: Campaign) -> None:
    campaign.folder("decisions").mkdir()
    cats = [cat.model_copy(update={"term": name}) for cat, name in zip(CATS, NAMES, strict=False)]
    write_cats(campaign.root, cats)
    found = numbers(campaign_source(campaign), private=False)
    assert {*found["terms"]} == {*NAMES}
    sources = {"terms": ("terms.json", found), "summary": ("summary.json", summary.numbers({}))}
    made = dict(files(Report("C", texts("en"), "en", sources)))
    pages = [name for name in made if name.startswith("terms/")]
    assert len({name.lower() for name in pages}) == len(NAMES)
    assert "terms/t0.html" in pages
    assert all(re.fullmatch(r"terms/[a-z0-9-]+\.html", name) for name in pages)
    for page, link in (("report.html", ""), ("cats.html", "#c")):
        linked = re.findall(r'href="(terms/[^"]*)"', made[page].decode())
        assert {each.partition("#")[0] for each in linked} == {*pages}
        assert all(link in each for each in linked)


def test_a_damaged_run_leaves_out_what_models_chose(campaign: Campaign) -> None:
    campaign.folder("decisions").mkdir()
    write_cats(campaign.root, CATS)
    run = put(campaign.folder("scores"), "m", "default", chance(1))
    (run / "run.json").write_text("{broken", "utf-8")
    with pytest.warns(UserWarning, match="does not say what models chose: .*run.json line 1"):
        found = numbers(campaign_source(campaign), private=False)
    assert found["runs"] == []
    assert len(found["terms"]) == 5


def test_a_language_without_strings_is_that_of_the_texts_alone(tmp_path: Path) -> None:
    gold = write_gold(tmp_path / "gold.json", CATS)
    source = gold_source([gold], scores=tmp_path / "none", language="sw")
    report, _ = collect(Told(), Shown(source), QUIET, name="", language="sw", private=False)
    made = dict(files(report))
    page = next(made[name].decode() for name in made if name.startswith("terms/"))
    assert '<html lang="en" dir="ltr">' in page
    assert '<bdi class="words" lang="sw">' in page
