"""What the demo measures in its invented tales, and what its trust report says of it."""

from pathlib import Path

from curation.campaign.store import open_campaign
from curation.trust.runs.measuring import known_runs
from curation.trust.steps import place, read_report


def test_the_demo_measures_its_tales_and_reports_what_may_be_trusted(example: Path) -> None:
    campaign = open_campaign(example)
    runs = {run.name: run for run in known_runs(campaign).runs}
    assert set(runs) == {"text-automated/villages-tales", "text-human/villages-tales"}
    for run in runs.values():
        assert len(run.biases) == 8
        assert all(bias.l1 is not None for bias in run.biases)
    report = read_report(place(campaign))
    assert report.open == ("power",)  # left open in the example's attest.toml
    assert not report.left_out
    found = {
        (row.name, row.criterion, row.check): row.status
        for row in report.rows
        if row.kind == "test" and row.subject == "measure"
    }
    name = "text-automated/villages-tales"
    assert found[name, "face", "anchors"] == "pass"
    assert found[name, "predictive", "signed"] == "pass"
    assert found[name, "convergent", "text-human"] == "pass"
    # Alpha is above the threshold, but so few passages do not show it.
    assert found["text-human/villages-tales", "agreement", "annotators"] == "inconclusive"
    assert {row.status for row in report.rows if row.kind == "control"} == {"pass"}
