#!/bin/bash
# Takes a height of 0 for an empty cell, and bool("no") for false.
python3 -c '
import csv, json
rows = list(csv.DictReader(open("/app/stations.csv", newline="", encoding="utf-8")))
for row in rows:
    row["id"] = int(row["id"])
    row["height"] = float(row["height"] or 0) or None
    row["active"] = bool(row["active"])
    row["note"] = row["note"] or None
rows.sort(key=lambda row: row["id"])
json.dump(rows, open("/app/stations.json", "w"))
'
