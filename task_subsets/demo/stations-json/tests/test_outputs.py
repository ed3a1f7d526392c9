import json
from pathlib import Path
from typing import Any

RESULT = Path("/app/stations.json")
IDS = [3, 7, 9, 12, 25, 101]


def stations() -> list[dict[str, Any]]:
    found = json.loads(RESULT.read_text(encoding="utf-8"))
    assert isinstance(found, list)
    assert all(isinstance(station, dict) for station in found)
    return found


def column(key: str) -> dict[int, Any]:
    """The values by id; an id may be a string here, since one test alone judges that."""
    found = stations()
    assert len(found) == len(IDS)
    return {int(station["id"]): station[key] for station in found}


def test_one_object_for_each_station():
    assert all(set(s) == {"id", "name", "height", "active", "note"} for s in stations())
    assert set(column("id")) == set(IDS)


def test_ids_are_integers_in_order():
    ids = [station["id"] for station in stations()]
    assert ids == IDS
    assert all(type(number) is int for number in ids)


def test_names():
    assert column("name") == {
        3: "Bergen, harbour",
        7: "Ästad",
        9: "007",
        12: "Oberhof",
        25: "Low Point",
        101: 'Mill "Old Tom"',
    }


def test_heights():
    heights = column("height")
    assert heights == {3: 12, 7: 0, 9: 455, 12: 814.5, 25: -3.25, 101: None}
    assert not any(isinstance(height, bool) for height in heights.values())


def test_active():
    active = column("active")
    assert all(isinstance(value, bool) for value in active.values())
    assert active == {3: True, 7: True, 9: False, 12: True, 25: False, 101: False}


def test_notes():
    assert column("note") == {
        3: "moved in 2011, twice",
        7: None,
        9: "12",
        12: None,
        25: "first line\nsecond line",
        101: "no roof",
    }
