#!/bin/bash
# Wraps everywhere, still takes one value too many.
sed -i -e 's/r->head++;/r->head = (r->head + 1) % r->capacity;/' \
    -e 's/values\[r->head + index\]/values[(r->head + index) % r->capacity]/' /app/ring.c
