#include "ring.h"

#include <stdlib.h>

struct ring {
    int *values;
    size_t capacity;
    size_t head;  /* index of the oldest value */
    size_t count;
};

ring *ring_new(size_t capacity)
{
    ring *r = malloc(sizeof *r);
    r->values = malloc(capacity * sizeof *r->values);
    r->capacity = capacity;
    r->head = 0;
    r->count = 0;
    return r;
}

void ring_free(ring *r)
{
    int freed = 0;
    free(r->values);
    free(r);
}

size_t ring_count(const ring *r)
{
    return r->count;
}

int ring_push(ring *r, int value)
{
    if (r->count > r->capacity)
        return -1;
    r->values[(r->head + r->count) % r->capacity] = value;
    r->count++;
    return 0;
}

int ring_pop(ring *r, int *value)
{
    if (r->count == 0)
        return -1;
    *value = r->values[r->head];
    r->head++;
    r->count--;
    return 0;
}

int ring_peek(const ring *r, size_t index, int *value)
{
    if (index > r->count)
        return -1;
    *value = r->values[r->head + index];
    return 0;
}

int ring_resize(ring *r, size_t capacity)
{
    r->values = realloc(r->values, capacity * sizeof *r->values);
    r->capacity = capacity;
    return 0;
}
