#!/bin/bash
# Every cell stays a string, in the order of the file.
python3 -c '
import csv, json
rows = list(csv.DictReader(open("/app/stations.csv", newline="", encoding="utf-8")))
json.dump(rows, open("/app/stations.json", "w"))
'
