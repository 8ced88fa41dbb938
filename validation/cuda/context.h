/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * context.h -- stacks of their own within one thread of the system, and the
 * jump from one to another: eight instructions on x86-64, ucontext elsewhere
 * (or with FX8_UCONTEXT defined).
 */
#ifndef FX8_VALIDATION_CUDA_CONTEXT_H
#define FX8_VALIDATION_CUDA_CONTEXT_H

#include <stddef.h>

#if !defined(__x86_64__) && !defined(FX8_UCONTEXT)
#define FX8_UCONTEXT
#endif
#if defined(FX8_UCONTEXT)
#include <ucontext.h>
#endif

namespace harness
{

/** A place to go on from. */
struct Context {
#if defined(FX8_UCONTEXT)
    ucontext_t machine;
#else
    void *stack_pointer; /* the saved registers lie there */
#endif
    void *flow;       /* for the thread checker */
    void *fake_stack; /* for the address checker, as is what follows */
    const void *stack;
    size_t stack_size;
};

/** Make `context` the one of the thread that calls, on the system's stack. */
void context_of_thread(Context *context);

/**
 * context_create -- a context that begins at `entry`, which never returns.
 *
 * Given: stack   `size` bytes, which the caller frees
 *        colour  any number: stacks at the same place of their pages would
 *                fight for the same lines of the cache
 */
void context_create(Context *context, void *stack, size_t size, unsigned colour,
                    void (*entry)());

/** Tell the checkers that a new context runs: first act of an `entry`. */
void context_begin();

/** Frees what the checkers hold; the context must not run. */
void context_destroy(Context *context);

/** Leave `from`, which is the one that runs, and go on in `to`. */
void context_switch(Context *from, Context *to);

} // namespace harness

#endif
