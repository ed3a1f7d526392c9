#!/bin/bash
# A good parser without checks; wants both days to match.
cat > /app/next_run.py <<'EOF'
import sys
from datetime import datetime, timedelta


def matches(field, value, low, high):
    for item in field.split(","):
        part, _, step = item.partition("/")
        first, last = (low, high) if part == "*" else map(int, (part.split("-") * 2)[:2])
        if first <= value <= last and (value - first) % int(step or 1) == 0:
            return True
    return False


LIMITS = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)]
fields = sys.argv[1].split()
now = datetime.strptime(sys.argv[2], "%Y-%m-%d %H:%M") + timedelta(minutes=1)
for _ in range(60 * 24 * 70):
    values = [now.minute, now.hour, now.day, now.month, now.isoweekday() % 7]
    if all(matches(f, v, *limits) for f, v, limits in zip(fields, values, LIMITS)):
        print(now.strftime("%Y-%m-%d %H:%M"))
        break
    now += timedelta(minutes=1)
EOF
