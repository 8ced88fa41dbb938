/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/shape.h"
#include "config/base/try.h"
#include "io/selection.h"

bool fx8_axes_parse(const char *list, const char *const words[3], int place[3])
{
    for (int word = 0; word < 3; word++)
        place[word] = -1;
    for (int at = 0; at < 3; at++) {
        const size_t length = strcspn(list, ",");
        int word = 0;
        while (word < 3 && (strlen(words[word]) != length ||
                            strncmp(words[word], list, length) != 0))
            word++;
        if (word == 3 || place[word] >= 0 ||
            list[length] != (at < 2 ? ',' : '\0'))
            return false;
        place[word] = at;
        list += length + 1;
    }
    return true;
}

/* A row of the axes before time needed by some input. */
struct row {
    size_t index[2];
};

static size_t position_on(const struct fx8_input_position *input, int axis)
{
    return axis == FX8_AXIS_ANTENNA ? input->antenna : input->polarization;
}

/* Sort the two input axes into those before and those after time. */
static void split_axes(const struct fx8_axis_order *order,
                       struct fx8_selection *selection, int after[2],
                       size_t *n_after_axes)
{
    const int time = order->place[FX8_AXIS_TIME];
    *n_after_axes = 0;
    for (int place = 0; place < 3; place++)
        for (int axis = FX8_AXIS_ANTENNA; axis <= FX8_AXIS_POLARIZATION; axis++)
            if (order->place[axis] == place) {
                if (place < time)
                    selection->before[selection->n_before++] = axis;
                else
                    after[(*n_after_axes)++] = axis;
            }
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *row_a = a;
    const struct row *row_b = b;
    for (int i = 0; i < 2; i++)
        if (row_a->index[i] != row_b->index[i])
            return row_a->index[i] < row_b->index[i] ? -1 : 1;
    return 0;
}

/* Add the run of rows (slow, fast .. fast + n): extends a rectangle that ends
 * just before `slow` with the same span, or starts a new one. */
static void add_run(struct fx8_selection *selection, size_t slow, size_t fast,
                    size_t n)
{
    for (size_t i = 0; i < selection->n_rectangles; i++) {
        struct fx8_rectangle *known = &selection->rectangles[i];
        if (known->first[0] + known->n[0] == slow && known->first[1] == fast &&
            known->n[1] == n) {
            known->n[0]++;
            return;
        }
    }
    selection->rectangles[selection->n_rectangles++] =
        (struct fx8_rectangle){.first = {slow, fast}, .n = {1, n}};
}

static void make_rectangles(struct fx8_selection *selection,
                            const struct row *rows, size_t n_rows)
{
    for (size_t i = 0; i < n_rows;) {
        size_t n = 1; /* neighbours on the faster axis; duplicates skipped */
        size_t j = i + 1;
        for (; j < n_rows && rows[j].index[0] == rows[i].index[0] &&
               rows[j].index[1] <= rows[i].index[1] + n;
             j++)
            if (rows[j].index[1] == rows[i].index[1] + n)
                n++;
        add_run(selection, rows[i].index[0], rows[i].index[1], n);
        i = j;
    }
    for (size_t i = 0; i < selection->n_rectangles; i++) {
        struct fx8_rectangle *rectangle = &selection->rectangles[i];
        rectangle->row = selection->n_rows;
        selection->n_rows += rectangle->n[0] * rectangle->n[1];
    }
}

static size_t buffer_row(const struct fx8_selection *selection, struct row row)
{
    for (size_t i = 0; i < selection->n_rectangles; i++) {
        const struct fx8_rectangle *r = &selection->rectangles[i];
        const size_t slow = row.index[0] - r->first[0];
        const size_t fast = row.index[1] - r->first[1];
        /* differences below the first wrap around to large values */
        if (slow < r->n[0] && fast < r->n[1])
            return r->row + slow * r->n[1] + fast;
    }
    return SIZE_MAX; /* not reached: every row is in a rectangle */
}

/* The row before time that an input needs. */
static struct row row_of(const struct fx8_selection *selection,
                         const struct fx8_input_position *input)
{
    struct row row = {{0, 0}};
    for (size_t k = 0; k < selection->n_before; k++)
        row.index[k] = position_on(input, selection->before[k]);
    return row;
}

enum fx8_status fx8_selection_replace(const struct fx8_axis_order *order,
                                      const struct fx8_input_position *inputs,
                                      size_t n_inputs, size_t element_bytes,
                                      struct fx8_selection *result,
                                      struct fx8_input_place *places,
                                      struct fx8_error *error)
{
    struct fx8_selection new = {.n_after = 1};
    int after[2] = {0, 0};
    size_t n_after_axes = 0;
    split_axes(order, &new, after, &n_after_axes);
    for (size_t k = 0; k < n_after_axes; k++)
        new.n_after *= order->extent[after[k]];
    static const char what[] = "a selection of inputs";
    FX8_AUTO_FREE struct row *rows = NULL;
    FX8_TRY(fx8_allocate(n_inputs, sizeof *rows, what, &rows, error));
    FX8_TRY(fx8_allocate(n_inputs, sizeof *new.rectangles, what,
                         &new.rectangles, error));
    for (size_t i = 0; i < n_inputs; i++)
        rows[i] = row_of(&new, &inputs[i]);
    qsort(rows, n_inputs, sizeof *rows, compare_rows);
    make_rectangles(&new, rows, n_inputs);
    for (size_t i = 0; i < n_inputs; i++) {
        size_t element = 0;
        for (size_t k = 0; k < n_after_axes; k++)
            element = element * order->extent[after[k]] +
                      position_on(&inputs[i], after[k]);
        places[i].row = buffer_row(&new, row_of(&new, &inputs[i]));
        places[i].byte = element * element_bytes;
    }
    free(result->rectangles);
    *result = new;
    return FX8_OK;
}
