/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tap.h -- tests in C++: cases that register themselves, TAP on stdout, and
 * cases that must end the program.  tests.cu has main().
 */
#ifndef FX8_VALIDATION_CUDA_TAP_H
#define FX8_VALIDATION_CUDA_TAP_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

namespace tap
{

struct Case {
    const char *file, *name;
    void (*run)();
};

inline std::vector<Case> cases;
inline int n_failed_checks;
inline const char *skipped; /* why a part of the case was not run, or null */
inline bool is_run;         /* in a case that skips parts: some part was run */

struct Registration {
    explicit Registration(const Case &one)
    {
        cases.push_back(one);
    }
};

/** A test case: TEST(what_must_hold) { ... }. */
#define TEST(name)                                                             \
    static void name();                                                        \
    static const tap::Registration name##_registration(                        \
        tap::Case{__FILE__, #name, name});                                     \
    static void name()

/** A condition that must hold; the case continues after a failure. */
#define CHECK(condition) tap::check((condition), #condition, __FILE__, __LINE__)

inline void check(bool holds, const char *text, const char *file, int line)
{
    if (holds)
        return;
    if (++n_failed_checks <= 20) /* limit for a case that fails everywhere */
        printf("# %s:%d: does not hold: %s\n", file, line, text);
}

/** Report why a case, or a part of one, cannot be run. */
inline void skip(const char *why)
{
    skipped = why;
}

/** Exit status if every case was skipped. */
constexpr int ALL_SKIPPED = 78;

/** Run these cases; returns 0 if all passed, 1 if not, or ALL_SKIPPED. */
inline int run_all(const std::vector<Case> &all)
{
    int n_failed = 0, number = 0, n_skipped = 0;
    printf("1..%zu\n", all.size());
    fflush(stdout);
    for (const Case &each : all) {
        n_failed_checks = 0;
        skipped = nullptr;
        is_run = false;
        each.run();
        const bool is_skipped =
            skipped != nullptr && !is_run && n_failed_checks == 0;
        n_failed += n_failed_checks != 0;
        n_skipped += is_skipped;
        printf("%sok %d - %s%s%s\n", n_failed_checks != 0 ? "not " : "",
               ++number, each.name, is_skipped ? " # SKIP " : "",
               is_skipped ? skipped : "");
        fflush(stdout);
    }
    return n_failed != 0 ? 1 : n_skipped == number ? ALL_SKIPPED : 0;
}

/** How a child ended: exit status, or minus the signal; stderr. */
struct Ending {
    int status;
    std::string text;

    bool says(const char *part) const
    {
        return text.find(part) != std::string::npos;
    }
};

/** Run `work` in a child, which ends with 0 if `work` returns. */
inline Ending in_child(const std::function<void()> &work)
{
    int ends[2];
    Ending ending = {-1, ""};
    fflush(stdout);
    if (pipe(ends) != 0)
        return ending;
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        work();
        _exit(0);
    }
    close(ends[1]);
    char buffer[4096];
    for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
        ending.text.append(buffer, static_cast<size_t>(n));
    close(ends[0]);
    int status = 0;
    if (child > 0 && waitpid(child, &status, 0) == child)
        ending.status =
            WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return ending;
}

/** Print an ending that a case did not expect. */
inline void show(const Ending &ending)
{
    printf("# ended with %d:\n", ending.status);
    for (size_t at = 0; at < ending.text.size();) {
        size_t end = ending.text.find('\n', at);
        end = end == std::string::npos ? ending.text.size() : end;
        printf("#   %s\n", ending.text.substr(at, end - at).c_str());
        at = end + 1;
    }
}

/** Run checks in a child, which must end well. */
inline void must_pass_in_child(const std::function<void()> &work)
{
    const Ending ending = in_child([&] {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        work();
        fflush(stdout);
        _exit(n_failed_checks != 0);
    });
    CHECK(ending.status == 0);
    if (ending.status != 0)
        show(ending);
}

} // namespace tap

#endif
