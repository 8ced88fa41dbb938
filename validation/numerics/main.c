/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main.c -- numerics: the error table of this CPU and its C library.
 */
#include "validation/numerics/machine.h"
#include "validation/numerics/sample.h"
#include "validation/numerics/survey.h"

int main(int argc, char **argv)
{
    struct subject subjects[FX8_MAX_FUNCTION_FORMS];
    struct table_row rows[FX8_MAX_FUNCTION_FORMS];
    char command[256], path[256], machine[1024];
    const uint64_t n_floats = read_samples(argc, argv);
    const size_t n = list_subjects(subjects);
    size_t n_faults = n == 0;
    if (n_floats == 0)
        return 2;
    survey(subjects, n, n_floats,
           n_floats < MOST_PAIRS ? n_floats : MOST_PAIRS);
    for (size_t i = 0; i < n; i++) {
        rows[i] = subjects[i].row;
        n_faults += judge_subject(&subjects[i], false);
    }
    join_command(argc, argv, command, sizeof command);
    snprintf(machine, sizeof machine, "`%s` (version %s), %s: %s, %s.", command,
             FX8_VERSION, machine_date(), machine_cpu(), machine_software());
    result_path("cpu", machine_cpu(), path, sizeof path);
    const struct table table = {"Errors of the functions on a CPU", machine,
                                n_floats, rows, n};
    n_faults += write_table(path, &table);
    return n_faults == 0 ? 0 : 1;
}
