/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * testing.c -- the program that holds every unit test.
 *
 *     fx8-test                      all cases
 *     fx8-test --list               a line "GROUP CASE" for each
 *     fx8-test [GROUP] [CASE]...    a group, or cases of these names
 *
 * A group is a file: test_spot.c is group spot.
 */
#include "validation/testing.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/h5/h5.h"

#define MOST_CASES 1000

static struct test_case *cases;
static struct test_fixture *fixtures;
static size_t n_cases;

void test_register(struct test_case *test)
{
    test->next = cases;
    cases = test;
    n_cases++;
}

void test_register_fixture(struct test_fixture *fixture)
{
    fixture->next = fixtures;
    fixtures = fixture;
}

/** Memory of the case that runs, newest first; tests may have threads. */
struct lasting {
    void *memory;
    struct lasting *next;
};

static struct lasting *lasting;
static pthread_mutex_t lasting_guard = PTHREAD_MUTEX_INITIALIZER;

void *temporary(size_t size)
{
    struct lasting *new = malloc(sizeof *new);
    assert(new != NULL);
    new->memory = exact(size);
    pthread_mutex_lock(&lasting_guard);
    new->next = lasting;
    lasting = new;
    pthread_mutex_unlock(&lasting_guard);
    return new->memory;
}

void release_early(void *memory)
{
    pthread_mutex_lock(&lasting_guard);
    for (struct lasting **at = &lasting; *at != NULL; at = &(*at)->next)
        if ((*at)->memory == memory) {
            struct lasting *old = *at;
            *at = old->next;
            free(old);
            free(memory);
            break;
        }
    pthread_mutex_unlock(&lasting_guard);
}

void release_all(void)
{
    while (lasting != NULL)
        release_early(lasting->memory);
}

static int end_case(void **state)
{
    (void)state;
    release_all();
    return 0;
}

/** "spot" of "validation/test_spot.c", in the caller's memory. */
static const char *group_of(const char *file, char name[64])
{
    const char *slash = strrchr(file, '/');
    const char *base = slash == NULL ? file : slash + 1;
    if (sscanf(base, "test_%63[^.]", name) != 1)
        snprintf(name, 64, "%s", base);
    return name;
}

/** Whether a case is meant by `names`: a group, cases, or a group and cases of
 *  it. */
static bool is_wanted(const struct test_case *test, int n_names, char **names)
{
    char group[64];
    bool is_of_group = true;
    for (const struct test_case *each = cases; n_names > 0 && each != NULL;
         each = each->next)
        if (strcmp(names[0], group_of(each->file, group)) == 0) {
            is_of_group = strcmp(each->file, test->file) == 0;
            n_names--;
            names++;
            break;
        }
    for (int k = 0; k < n_names; k++)
        if (strcmp(names[k], test->test.name) == 0)
            return is_of_group;
    return is_of_group && n_names == 0;
}

/** Run cases of one file; the number that failed. */
static int run_group(struct test_case *const *all, size_t n)
{
    struct CMUnitTest tests[MOST_CASES];
    struct test_fixture fixture = {0};
    char group[64];
    for (const struct test_fixture *f = fixtures; f != NULL; f = f->next)
        if (strcmp(f->file, all[0]->file) == 0)
            fixture = *f;
    for (size_t k = 0; k < n; k++) {
        tests[k] = all[k]->test;
        tests[k].setup_func = fixture.before_each;
        tests[k].teardown_func = end_case;
    }
    return _cmocka_run_group_tests(group_of(all[0]->file, group), tests, n,
                                   fixture.before_all, NULL);
}

/** The same in a process of its own, so that a group's environment or crash
 *  does not affect others. */
static int run_group_apart(struct test_case *const *all, size_t n)
{
    int status = 1;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0)
        exit(run_group(all, n) != 0);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        return 1;
    return 0;
}

int main(int argc, char **argv)
{
    struct test_case *all[MOST_CASES];
    const bool is_list = argc == 2 && strcmp(argv[1], "--list") == 0;
    size_t n = n_cases, n_wanted = 0;
    int n_failed = 0;
    char group[64];
    assert(n_cases <= MOST_CASES);
    /* cases were registered last first; cases of one file stay together */
    for (struct test_case *test = cases; test != NULL; test = test->next)
        all[--n] = test;
    for (size_t k = 0; k < n_cases; k++)
        if (is_list || is_wanted(all[k], argc - 1, argv + 1))
            all[n_wanted++] = all[k];
    if (n_wanted == 0) {
        fprintf(stderr, "fx8-test: %s: no group or case\n", argv[argc - 1]);
        return 2;
    }
    fx8_h5_quiet();
    signal(SIGXFSZ, SIG_IGN);
    for (size_t k = 0, end; k < n_wanted; k = end) {
        for (end = k; end < n_wanted && all[end]->file == all[k]->file; end++)
            if (is_list)
                printf("%s %s\n", group_of(all[end]->file, group),
                       all[end]->test.name);
        if (!is_list)
            n_failed += end - k == n_wanted ? run_group(all + k, end - k)
                                            : run_group_apart(all + k, end - k);
    }
    return n_failed != 0;
}
