"""A release's files say how their CATs were checked, and they are measured in the same way."""

from pathlib import Path
from typing import Any

import pytest

from curation.campaign.source import gold_source, open_source
from curation.catsets.stereoset import FileSettings, dataset, read_cats, read_gold_file
from curation.files import dump_json, read_json
from curation.measures.steps import pitfalls_of
from curation.records import Cat
from support import cats
from support.expected import fails


def cat(id: str, context: str) -> Cat:
    return cats.intra(context, "early", "late", "octal", name=id)


GLUED = cat("glued", "The baker is BLANKnya.")
NAMELESS = cat("nameless", "She is BLANK now.")
OLD = cat("old", "The bread maker is BLANK now.")


def gold(path: Path, *chosen: Cat, **settings: Any) -> Path:
    given = FileSettings(**settings) if settings else None
    path.write_bytes(dump_json(dataset(chosen, {}, version="1", settings=given)))
    return path


def counts(*paths: Path) -> dict[str, int | None]:
    found = {row.code: row.count for row in pitfalls_of(gold_source(paths)).table}
    return {code: found[code] for code in ("blank_glued", "target_missing", "target_renamed")}


def test_a_file_without_settings_is_checked_in_all(tmp_path: Path) -> None:
    path = gold(tmp_path / "a.json", GLUED, NAMELESS, OLD)
    assert set(read_json(path)) == {"version", "data"}
    assert counts(path) == {"blank_glued": 1, "target_missing": 2, "target_renamed": 0}
    assert read_gold_file(path).settings == FileSettings()


def test_the_settings_of_a_release_are_known(tmp_path: Path) -> None:
    names = {"profession": {"baker": ["bread maker"]}}
    path = gold(tmp_path / "a.json", GLUED, NAMELESS, OLD, names=names, blank_alone=False)
    assert counts(path) == {"blank_glued": None, "target_missing": 1, "target_renamed": 1}
    path = gold(tmp_path / "a.json", GLUED, NAMELESS, OLD, name_target=False)
    assert counts(path) == {"blank_glued": 1, "target_missing": None, "target_renamed": None}
    (row,) = [r for r in pitfalls_of(gold_source([path])).table if r.code == "target_missing"]
    assert row.why == "name_target = false in a.json"
    assert [c.id for c in read_cats(path)] == ["glued", "nameless", "old"]


def test_a_check_that_one_file_does_not_need_is_left_out_for_all(tmp_path: Path) -> None:
    one = gold(tmp_path / "a.json", GLUED, blank_alone=False, language="id")
    two = gold(tmp_path / "b.json", NAMELESS, language="id")
    assert counts(one, two) == {"blank_glued": None, "target_missing": 1, "target_renamed": 0}


def test_old_names_of_a_target_are_those_of_all_files(tmp_path: Path) -> None:
    first, second = ({"profession": {"baker": [name]}} for name in ("bread maker", "roll maker"))
    one = gold(tmp_path / "a.json", OLD, names=first)
    two = gold(tmp_path / "b.json", cat("roll", "The roll maker is BLANK."), names=second)
    assert counts(one, two) == {"blank_glued": 0, "target_missing": 0, "target_renamed": 2}


def test_a_release_knows_its_language(tmp_path: Path) -> None:
    one = gold(tmp_path / "a.json", GLUED, language="id")
    plain = gold(tmp_path / "b.json", NAMELESS)
    other = gold(tmp_path / "c.json", OLD, language="et")
    found = [open_source(gold=paths).language for paths in ([one], [one, plain], [plain])]
    assert found == ["id", "id", "en"]
    assert open_source(gold=[one], language="ms").language == "ms"
    with fails("different languages: id (a.json), et (c.json)"):
        open_source(gold=[one, other])
    assert open_source(gold=[one, other], language="id").language == "id"


@pytest.mark.parametrize(
    ("field", "where"),
    [
        ([1], "curation: "),
        ({"blank_alone": "no"}, "curation.blank_alone: "),
        ({"language": "Klingon"}, "curation.language: "),
        ({"names": {"profession": ["baker"]}}, "curation.names.profession: "),
    ],
)
def test_damaged_settings_are_an_error(tmp_path: Path, field: Any, where: str) -> None:
    path = gold(tmp_path / "a.json", GLUED)
    path.write_bytes(dump_json({**read_json(path), "curation": field}))
    with fails(f"{path}, {where}"):
        gold_source([path])


def test_settings_of_a_later_version_are_ignored(tmp_path: Path) -> None:
    path = gold(tmp_path / "a.json", GLUED)
    path.write_bytes(dump_json({**read_json(path), "curation": {"new": 1, "language": "id"}}))
    assert gold_source([path]).language == "id"


PORTUGUESE = "A padaria da esquina abre muito cedo, e o padeiro trabalha de noite em BLANK."


@pytest.mark.parametrize(
    ("context", "options", "warned"),
    [
        (PORTUGUESE, (), True),
        (PORTUGUESE, ("--language", "pt"), False),
        ("The baker at the corner opens early and works at night in the BLANK.", (), False),
    ],
)
def test_texts_that_are_measured_as_english_and_are_not(
    tmp_path: Path, forked: Any, context: str, options: tuple[str, ...], warned: bool
) -> None:
    path = gold(tmp_path / "a.json", *(cat(f"cat-{n}", context) for n in range(8)))
    for command in (("measures", "pitfalls"), ("scores", "baselines")):
        done = forked(*command, "--gold", path, *options)
        text = "measured as English, and are not: a.json does not name their language"
        assert (text in done.err) == warned
