#!/bin/bash
# Knows stars and numbers only, and calls Monday 0 as Python does.
cat > /app/next_run.py <<'EOF'
import sys
from datetime import datetime, timedelta

fields = sys.argv[1].split()
now = datetime.strptime(sys.argv[2], "%Y-%m-%d %H:%M")
for _ in range(60 * 24 * 70):
    now += timedelta(minutes=1)
    values = [now.minute, now.hour, now.day, now.month, now.weekday()]
    if all(field == "*" or int(field) == value for field, value in zip(fields, values)):
        print(now.strftime("%Y-%m-%d %H:%M"))
        break
EOF
