#!/bin/bash
cd /app/stockroom
# the circle: csvfile needs store, so store must not need csvfile
sed -i -e '/^from stockroom.csvfile/d' -e '/columns = COLUMNS/d' store.py
sed -i -e 's/items={}/items=None/' -e 's/self.items = items$/self.items = {} if items is None else items/' store.py
sed -i -e 's/return \[name for\(.*\)quantity < limit\]/return sorted(name for\1quantity <= limit)/' store.py
sed -i -e 's/^from csvfile/from stockroom.csvfile/' -e 's/^from money/from stockroom.money/' __main__.py
sed -i -e 's/low(arguments\[2\])/low(int(arguments[2]))/' -e 's/LIMIT")/LIMIT", file=sys.stderr)/' __main__.py
cat > money.py <<'EOF'
"""Amounts of money: whole cents inside, text outside."""

from decimal import Decimal


def parse_money(text):
    """The cents of a price such as 12.50."""
    return int(Decimal(text.strip()) * 100)


def format_money(cents):
    """An amount with two digits after the point."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100:,}.{abs(cents) % 100:02d}"
EOF
