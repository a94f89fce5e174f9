"""Which pitfalls depend on gold labels: a release with hidden labels does not publish these."""

from pathlib import Path
from random import Random

from curation.checks.codes import PITFALLS
from curation.files import read_records
from curation.measures.pitfalls import pitfalls
from curation.records import Cat


def test_the_counts_of_other_pitfalls_stay_if_gold_labels_change(example: Path) -> None:
    draw = Random(4)
    cats = read_records(example / "3-decisions" / "cats.jsonl", Cat)
    again = [cat.model_copy(update={"id": f"again-{cat.id}"}) for cat in cats[:20]]
    alike = [
        cat.model_copy(update={"id": f"alike-{cat.id}", "context": f"{cat.context} Really."})
        for cat in cats[20:60]
    ]

    def turned(cat: Cat) -> Cat:
        golds = draw.sample([a.gold for a in cat.associations], 3)
        pairs = zip(cat.associations, golds, strict=True)
        turned = tuple(a.model_copy(update={"gold": gold}) for a, gold in pairs)
        return cat.model_copy(update={"associations": turned})

    plain = [*cats, *again, *alike]
    several = (plain, *([turned(cat) for cat in plain] for _ in range(2)))
    counts = [{row.code: row.count for row in pitfalls(of, language="en").table} for of in several]
    changed = {code for code in PITFALLS if len({each[code] for each in counts}) > 1}
    labelled = {code for code, about in PITFALLS.items() if about.labelled}
    assert changed <= labelled
    assert {"words_differ", "near_duplicate", "gold_conflict", "word_class_pair"} <= changed
