#!/bin/bash
python3 - <<'EOF'
import gzip
import re
from collections import Counter, defaultdict
from statistics import median

LINE = re.compile(r"(\S+) (\S+) ([A-Z]+) (/\S*) (\d{3}) (\d+)ms")
with gzip.open("/app/logs/service.log.1.gz", "rt") as file:
    lines = file.read().splitlines()
with open("/app/logs/service.log") as file:
    lines += file.read().splitlines()

clients, minutes = Counter(), Counter()
durations = defaultdict(list)
for line in lines:
    found = LINE.fullmatch(line)
    if found is None:
        continue
    time, client, _method, target, status, duration = found.groups()
    clients[client] += 1
    durations[target.split("?")[0]].append(int(duration))
    if status.startswith("5"):
        minutes[time[:16]] += 1

means = {path: sum(d) / len(d) for path, d in durations.items() if len(d) >= 20}
with open("/app/report.txt", "w") as report:
    print(f"requests={clients.total()}", file=report)
    print(f"errors={minutes.total()}", file=report)
    print(f"busiest_client={clients.most_common(1)[0][0]}", file=report)
    print(f"slowest_path={max(means, key=means.get)}", file=report)
    print(f"median_ms={median(sum(durations.values(), []))}", file=report)
    print(f"outage_minute={minutes.most_common(1)[0][0]}", file=report)
EOF
