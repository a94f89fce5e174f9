"""Campaigns of published items whose gold labels are trusted, and releases in other languages."""

import json
from pathlib import Path
from typing import Any

from curation.campaign import settings as chosen
from curation.campaign.store import create_campaign
from curation.kinds import GOLDS

ARABIC = {
    "name": "أمثلة",
    "kind": "intersentence",
    "jobs": ("خباز", "نجار", "حداد", "صياد", "خياط", "بستاني", "ساعاتي", "طباخ"),
    "context": "قابلت أمس {job} في السوق.",
    "sentences": ("{n} يستيقظ مبكرا.", "{n} يستيقظ متأخرا.", "{n} الباب أزرق."),
    "people": ("abcde", ""),
}
"""Half of the items have no votes."""
JAPANESE = {
    "name": "例文集",
    "kind": "intrasentence",
    "jobs": ("パン屋", "大工", "漁師", "庭師", "時計屋", "料理人", "仕立屋", "陶芸家"),
    "context": "{n}番の{job}はBLANKです。",
    "sentences": tuple(f"{{n}}番の{{job}}は{is_}です。" for is_ in ("早起き", "朝寝坊", "三角形")),
    "people": ("",),
}
"""No item has votes, so there is not one annotation."""


def trusted(forked: Any, root: Path, items: dict[str, list[Any]], **about: str) -> Path:
    """A campaign of published items by kind, whose gold labels are trusted."""
    settings = chosen.Settings(
        campaign=chosen.CampaignSettings(id=chosen.new_id(), **about),
        decisions=chosen.DecisionSettings(trust_gold=True),
        release=chosen.ReleaseSettings(licence="CC0 1.0"),
    )
    create_campaign(root, settings)
    file = root.parent / "published.json"
    file.write_text(json.dumps({"version": "1", "data": items}, ensure_ascii=False), "utf-8")
    done = forked("import", "stereoset", file, "-c", root)
    assert done.code == 0, done.err
    return root


def published(forked: Any, root: Path, language: str, texts: dict[str, Any]) -> Path:
    """The release of a campaign of trusted items of one kind."""
    items = {texts["kind"]: [_item(n, job, texts) for n, job in enumerate(texts["jobs"])]}
    trusted(forked, root, items, name=texts["name"], language=language)
    done = forked("release", "build", "-c", root)
    assert done.code == 0, done.err
    return root / "7-release" / "0.1.0"


def _item(n: int, job: str, texts: dict[str, Any]) -> dict[str, Any]:
    people = texts["people"][n % len(texts["people"])]
    return {
        "id": f"item-{n}",
        "target": job,
        "bias_type": "profession",
        "context": texts["context"].format(n=n, job=job),
        "sentences": [
            {
                "id": f"item-{n}-{gold}",
                "sentence": sentence.format(n=n, job=job),
                "gold_label": gold,
                "labels": [{"label": gold, "human_id": person} for person in people],
            }
            for gold, sentence in zip(GOLDS, texts["sentences"], strict=True)
        ],
    }
