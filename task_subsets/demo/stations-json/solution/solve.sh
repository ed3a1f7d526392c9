#!/bin/bash
python3 - <<'EOF'
import csv
import json

with open("/app/stations.csv", newline="", encoding="utf-8") as source:
    rows = list(csv.DictReader(source))
stations = [
    {
        "id": int(row["id"]),
        "name": row["name"],
        "height": float(row["height"]) if row["height"] else None,
        "active": row["active"] == "yes",
        "note": row["note"] or None,
    }
    for row in rows
]
stations.sort(key=lambda station: station["id"])
with open("/app/stations.json", "w", encoding="utf-8") as target:
    json.dump(stations, target, ensure_ascii=False, indent=2)
EOF
