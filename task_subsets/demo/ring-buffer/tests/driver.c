/* Each part asks one thing of ring.c and ends with "PART: right", or with the line that found a fault. */
#include "ring.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            printf("line %d: %s\n", __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

static int pop(ring *r)
{
    int value = -99;
    CHECK(ring_pop(r, &value) == 0);
    return value;
}

static int peek(const ring *r, size_t index)
{
    int value = -99;
    CHECK(ring_peek(r, index, &value) == 0);
    return value;
}

static void order(void)
{
    ring *r = ring_new(8);
    int value = 7;
    CHECK(r && ring_count(r) == 0);
    CHECK(ring_pop(r, &value) == -1 && value == 7);
    for (int i = 0; i < 5; i++)
        CHECK(ring_push(r, 10 * i) == 0);
    CHECK(ring_count(r) == 5);
    for (int i = 0; i < 5; i++)
        CHECK(pop(r) == 10 * i);
    CHECK(ring_count(r) == 0 && ring_pop(r, &value) == -1);
    ring_free(r);
}

static void full(void)
{
    ring *r = ring_new(3);
    for (int i = 1; i <= 3; i++)
        CHECK(ring_push(r, i) == 0);
    CHECK(ring_push(r, 4) == -1 && ring_push(r, 5) == -1);
    CHECK(ring_count(r) == 3);
    CHECK(pop(r) == 1 && pop(r) == 2 && pop(r) == 3);
    ring_free(r);
}

static void wrap(void)
{
    ring *r = ring_new(3);
    int next = 0;
    CHECK(ring_push(r, 0) == 0);
    for (int i = 1; i < 1000; i++) {
        CHECK(ring_push(r, i) == 0);
        CHECK(ring_count(r) == 2);
        CHECK(pop(r) == next++);
    }
    ring_free(r);
}

static void peeks(void)
{
    ring *r = ring_new(4);
    int value = 7;
    CHECK(ring_peek(r, 0, &value) == -1 && value == 7);
    for (int i = 0; i < 4; i++)
        CHECK(ring_push(r, i) == 0);
    CHECK(peek(r, 0) == 0 && peek(r, 3) == 3 && ring_count(r) == 4);
    CHECK(ring_peek(r, 4, &value) == -1 && value == 7);
    CHECK(pop(r) == 0 && pop(r) == 1);
    CHECK(ring_push(r, 4) == 0);
    CHECK(peek(r, 0) == 2 && peek(r, 1) == 3 && peek(r, 2) == 4);
    CHECK(ring_peek(r, 3, &value) == -1 && value == 7);
    ring_free(r);
}

static void resize(void)
{
    ring *r = ring_new(4);
    for (int i = 0; i < 4; i++)
        CHECK(ring_push(r, i) == 0);
    CHECK(pop(r) == 0 && pop(r) == 1);
    CHECK(ring_push(r, 4) == 0 && ring_push(r, 5) == 0);
    CHECK(ring_resize(r, 3) == -1 && ring_resize(r, 0) == -1 && ring_count(r) == 4);
    CHECK(ring_resize(r, 6) == 0 && ring_count(r) == 4);
    CHECK(ring_push(r, 6) == 0 && ring_push(r, 7) == 0 && ring_push(r, 8) == -1);
    for (int i = 2; i < 5; i++)
        CHECK(pop(r) == i);
    CHECK(ring_resize(r, 3) == 0 && ring_count(r) == 3 && ring_push(r, 9) == -1);
    CHECK(pop(r) == 5 && pop(r) == 6 && pop(r) == 7);
    CHECK(ring_push(r, 9) == 0 && pop(r) == 9);
    ring_free(r);
}

static void odd(void)
{
    ring_free(NULL);
    CHECK(ring_new(0) == NULL);
    CHECK(ring_new(SIZE_MAX / 2) == NULL);
    ring *r = ring_new(2);
    CHECK(r && ring_push(r, 1) == 0);
    CHECK(ring_resize(r, SIZE_MAX / 2) == -1 && ring_count(r) == 1);
    CHECK(pop(r) == 1);
    ring_free(r);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"order", order}, {"full", full}, {"wrap", wrap}, {"peek", peeks}, {"resize", resize}, {"odd", odd}};

    for (size_t i = 0; argc == 2 && i < sizeof parts / sizeof *parts; i++)
        if (strcmp(argv[1], parts[i].name) == 0) {
            parts[i].run();
            printf("%s: right\n", parts[i].name);
            return 0;
        }
    return 2;
}
