#!/bin/bash
cat > /app/ring.c <<'EOF'
#include "ring.h"

#include <stdint.h>
#include <stdlib.h>

struct ring {
    int *values;
    size_t capacity;
    size_t head;  /* index of the oldest value */
    size_t count;
};

static int *allocate(size_t capacity)
{
    if (capacity == 0 || capacity > SIZE_MAX / sizeof(int))
        return NULL;
    return malloc(capacity * sizeof(int));
}

static size_t place(const ring *r, size_t index)
{
    return (r->head + index) % r->capacity;
}

ring *ring_new(size_t capacity)
{
    ring *r = malloc(sizeof *r);
    int *values = allocate(capacity);
    if (!r || !values) {
        free(r);
        free(values);
        return NULL;
    }
    *r = (ring){.values = values, .capacity = capacity};
    return r;
}

void ring_free(ring *r)
{
    if (r)
        free(r->values);
    free(r);
}

size_t ring_count(const ring *r)
{
    return r->count;
}

int ring_push(ring *r, int value)
{
    if (r->count == r->capacity)
        return -1;
    r->values[place(r, r->count)] = value;
    r->count++;
    return 0;
}

int ring_pop(ring *r, int *value)
{
    if (ring_peek(r, 0, value) != 0)
        return -1;
    r->head = place(r, 1);
    r->count--;
    return 0;
}

int ring_peek(const ring *r, size_t index, int *value)
{
    if (index >= r->count)
        return -1;
    *value = r->values[place(r, index)];
    return 0;
}

int ring_resize(ring *r, size_t capacity)
{
    int *values = capacity < r->count ? NULL : allocate(capacity);
    if (!values)
        return -1;
    for (size_t i = 0; i < r->count; i++)
        values[i] = r->values[place(r, i)];
    free(r->values);
    r->values = values;
    r->capacity = capacity;
    r->head = 0;
    return 0;
}
EOF
