#!/bin/bash
# Everything but money: prices are still cut off, and amounts are written by float division.
cd /app/stockroom || exit
sed -i -e '/^from stockroom.csvfile/d' -e '/columns = COLUMNS/d' store.py
sed -i -e 's/items={}/items=None/' -e 's/self.items = items$/self.items = items or {}/' store.py
sed -i -e 's/quantity < limit/quantity <= limit/' store.py
sed -i -e 's/^from csvfile/from stockroom.csvfile/' -e 's/^from money/from stockroom.money/' __main__.py
sed -i -e 's/low(arguments\[2\])/low(int(arguments[2]))/' __main__.py
sed -i -e 's/return f".*/return f"{cents \/ 100:.2f}"/' money.py
