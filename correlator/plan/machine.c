/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/base/json.h"
#include "config/base/shape.h"
#include "config/base/try.h"
#include "correlator/plan/plan.h"

#define EXPECTED                                                               \
    "expected what fx8 bench --json or fx8 bench --section node --json prints"

/* A whole number from 1 up, or 0. */
static size_t whole(const json_t *value)
{
    const double number = json_real_value(value); /* 0 for anything else */
    return number >= 1.0 && number <= 1e6 && number == floor(number)
               ? (size_t)number
               : 0;
}

static bool take_text(const json_t *object, const char *key, char *text,
                      size_t size)
{
    const char *value = json_string_value(json_object_get(object, key));
    const int length = snprintf(text, size, "%s", value != NULL ? value : "");
    return value != NULL && (size_t)length < size;
}

/* Only level setting and the start may take no time. */
static bool is_possible(const char *quantity, const json_t *value)
{
    const double number = json_real_value(value);
    return json_is_real(value) &&
           (number > 0.0 ||
            (number == 0.0 && (strcmp(quantity, "level") == 0 ||
                               strcmp(quantity, "start") == 0)));
}

static enum fx8_status fail(const struct fx8_cost_machine *machine,
                            const char *name, const json_t *value,
                            struct fx8_error *error)
{
    char text[80] = "missing";
    if (value != NULL)
        fx8_json_show(value, text, sizeof text);
    return fx8_fail(error, FX8_ERR_USAGE, "%s: %s: %s: " EXPECTED,
                    machine->path, name, text);
}

static enum fx8_status take_record(struct fx8_cost_machine *machine,
                                   size_t index, const json_t *record,
                                   struct fx8_error *error)
{
    char section[16];
    if (!take_text(record, "section", section, sizeof section) ||
        strcmp(section, "node") != 0)
        return FX8_OK;
    FX8_TRY(fx8_grow(&machine->figures, machine->n_figures,
                     sizeof *machine->figures, "figures", error));
    struct fx8_cost_figure *figure = &machine->figures[machine->n_figures];
    figure->n_threads = whole(json_object_get(record, "threads"));
    figure->value = json_real_value(json_object_get(record, "value"));
    const char *bad = NULL;
    if (!take_text(record, "case", figure->name, sizeof figure->name))
        bad = "case";
    else if (!take_text(record, "quantity", figure->quantity,
                        sizeof figure->quantity))
        bad = "quantity";
    else if (figure->n_threads == 0)
        bad = "threads";
    else if (!is_possible(figure->quantity, json_object_get(record, "value")))
        bad = "value";
    machine->n_figures++;
    if (bad == NULL)
        return FX8_OK;
    char name[48];
    snprintf(name, sizeof name, "records[%zu].%s", index, bad);
    return fail(machine, name, json_object_get(record, bad), error);
}

static enum fx8_status take_document(struct fx8_cost_machine *machine,
                                     const json_t *document,
                                     struct fx8_error *error)
{
    const json_t *about = json_object_get(document, "machine");
    const json_t *records = json_object_get(document, "records");
    (void)take_text(about, "cpu", machine->cpu, sizeof machine->cpu);
    (void)take_text(document, "date_utc", machine->date, sizeof machine->date);
    machine->n_cpus = whole(json_object_get(about, "n_cpus"));
    machine->n_threads = whole(json_object_get(document, "threads"));
    for (size_t k = 0; k < json_array_size(records); k++)
        FX8_TRY(take_record(machine, k, json_array_get(records, k), error));
    if (machine->n_cpus == 0)
        return fail(machine, "machine.n_cpus", json_object_get(about, "n_cpus"),
                    error);
    if (machine->n_threads == 0)
        return fail(machine, "threads", json_object_get(document, "threads"),
                    error);
    if (machine->n_figures == 0)
        return fx8_fail(error, FX8_ERR_USAGE,
                        "%s: records: none of section node: " EXPECTED,
                        machine->path);
    return FX8_OK;
}

enum fx8_status fx8_cost_machine_parse(const char *path, const char *text,
                                       struct fx8_cost_machine *machine,
                                       struct fx8_error *error)
{
    FX8_AUTO(fx8_json_release) json_t *document = NULL;
    *machine = (struct fx8_cost_machine){.path = path};
    FX8_TRY(fx8_json_parse(path, text, FX8_ERR_USAGE, &document, error));
    const enum fx8_status status = take_document(machine, document, error);
    if (status != FX8_OK)
        fx8_cost_machine_clear(machine);
    return status;
}

void fx8_cost_machine_clear(struct fx8_cost_machine *machine)
{
    free(machine->figures);
    *machine = (struct fx8_cost_machine){0};
}
