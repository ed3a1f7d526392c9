#!/bin/bash
# All of it, except that growing a ring that has wrapped around needs more than realloc.
sed -i -e 's/count > r->capacity/count >= r->capacity/' -e 's/index > r->count/index >= r->count/' \
    -e '/int freed/d' -e 's/    free(r->values);/    if (!r) return;\n    free(r->values);/' \
    -e 's/r->head++;/r->head = (r->head + 1) % r->capacity;/' \
    -e 's/values\[r->head + index\]/values[(r->head + index) % r->capacity]/' \
    -e 's/    ring \*r = malloc/    if (capacity == 0) return NULL;\n    ring *r = malloc/' /app/ring.c
