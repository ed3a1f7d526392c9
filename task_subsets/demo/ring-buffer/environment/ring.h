#ifndef RING_H
#define RING_H

#include <stddef.h>

/* A queue of integers, first in, first out, in a buffer of limited size. */
typedef struct ring ring;

/* A new, empty ring that can hold `capacity` integers. NULL if capacity is 0 or memory is out. */
ring *ring_new(size_t capacity);

/* Release a ring. Does nothing if r is NULL. */
void ring_free(ring *r);

/* How many integers it holds now. */
size_t ring_count(const ring *r);

/* Append a value: 0. If the ring is full: -1, and the ring stays as it is. */
int ring_push(ring *r, int value);

/* Take the oldest value out and store it in *value: 0. If the ring is empty: -1, *value stays. */
int ring_pop(ring *r, int *value);

/* The value at `index`, 0 being the oldest, without taking it out: 0. If there is none: -1, *value stays. */
int ring_peek(const ring *r, size_t index, int *value);

/* Change the capacity and keep all values and their order: 0.
   If capacity is 0 or smaller than the count, or memory is out: -1, and the ring stays as it is. */
int ring_resize(ring *r, size_t capacity);

#endif
