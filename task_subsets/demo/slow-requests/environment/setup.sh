#!/bin/bash
# Writes two log files, always the same: the numbers come from a linear congruential generator.
set -eu
mkdir -p logs
python3 - <<'EOF'
import gzip
from datetime import datetime, timedelta

state = 20260305


def draw(limit):
    global state
    state = (state * 1103515245 + 12345) % 2**31
    return (state >> 8) % limit


BASE = {"/api/items": 60, "/api/cart": 110, "/api/search": 190, "/login": 80, "/static/app.js": 9}
TARGETS = ["/api/items", "/api/items?page=2", "/api/items?page=3", "/static/app.js", "/api/cart",
           "/static/app.js", "/login", "/api/search?q=lamp", "/api/search?q=desk&page=2", "/api/search"]
CLIENTS = [f"10.0.0.{n}" for n in (3, 7, 7, 12, 21, 21, 30, 41)] + ["10.0.1.7", "10.0.0.77"]

now = datetime(2026, 3, 5, 9, 58, 0)
lines = ["# service started"]
for number in range(1201):
    now += timedelta(seconds=draw(5))
    target, client = TARGETS[draw(10)], CLIENTS[draw(10)]
    path = target.split("?")[0]
    duration = BASE[path] + draw(BASE[path])
    status = (200, 200, 200, 304, 404, 200, 200, 201)[draw(8)]
    if draw(40) == 0 or (now.hour, now.minute) == (10, 23) and draw(2):
        status = (500, 502, 503)[draw(3)]
    if number % 97 == 5:  # rare and very slow, but fewer than 20 requests
        target, duration = "/admin/export", 4000 + draw(900)
    if client == "10.0.0.21" and path == "/login":
        status = 599 if draw(6) == 0 else status
    lines.append(f"{now:%Y-%m-%dT%H:%M:%SZ} {client} GET {target} {status} {duration}ms")
    if number % 150 == 77:
        lines.append(f"{now:%Y-%m-%dT%H:%M:%SZ} {client} GET {target} 50")
    if number == 700:
        lines += ["# rotated", "# service log, continued, 500 lines 503 500ms"]
cut = lines.index("# rotated") + 1
with gzip.GzipFile("logs/service.log.1.gz", "wb", mtime=0) as file:
    file.write(("\n".join(lines[:cut]) + "\n").encode())
with open("logs/service.log", "w") as file:
    file.write("\n".join(lines[cut:]) + "\n")
EOF
