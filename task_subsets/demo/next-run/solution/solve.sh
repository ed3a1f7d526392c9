#!/bin/bash
cat > /app/next_run.py <<'EOF'
import re
import sys
from datetime import datetime, timedelta

LIMITS = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)]
ITEM = re.compile(r"(?:\*|([0-9]+)-([0-9]+))(?:/([0-9]+))?|([0-9]+)")


def values(field, low, high):
    chosen = set()
    for item in field.split(","):
        found = ITEM.fullmatch(item)
        if not found:
            raise ValueError(item)
        a, b, step, single = (None if group is None else int(group) for group in found.groups())
        first, last = (single, single) if single is not None else (low, high) if a is None else (a, b)
        if not low <= first <= last <= high or step == 0:
            raise ValueError(item)
        chosen.update(range(first, last + 1, step or 1))
    return chosen


def next_run(expression, start):
    fields = expression.split()
    if len(fields) != 5:
        raise ValueError(expression)
    minutes, hours, days, months, weekdays = (
        values(field, *limits) for field, limits in zip(fields, LIMITS)
    )
    either = fields[2] != "*" and fields[4] != "*"
    now = start + timedelta(minutes=1)
    while True:
        by_day, by_weekday = now.day in days, now.isoweekday() % 7 in weekdays
        right_day = by_day or by_weekday if either else by_day and by_weekday
        if now.month not in months or not right_day:
            now = now.replace(hour=0, minute=0) + timedelta(days=1)
        elif now.hour not in hours:
            now = now.replace(minute=0) + timedelta(hours=1)
        elif now.minute not in minutes:
            now += timedelta(minutes=1)
        else:
            return now


try:
    print(f"{next_run(sys.argv[1], datetime.strptime(sys.argv[2], '%Y-%m-%d %H:%M')):%Y-%m-%d %H:%M}")
except ValueError:
    sys.exit(1)
EOF
