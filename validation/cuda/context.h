/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * context.h -- several stacks within one thread of the system, and the switch
 * between them: eight instructions on x86-64, ucontext elsewhere (or with
 * FX8_UCONTEXT defined).
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

/** A suspended context. */
struct Context {
#if defined(FX8_UCONTEXT)
    ucontext_t machine;
#else
    void *stack_pointer; /* points to the saved registers */
#endif
    void *flow;       /* for the thread checker */
    void *fake_stack; /* for the address checker, like the next members */
    const void *stack;
    size_t stack_size;
};

/** Make `context` that of the calling thread, on the system's stack. */
void context_of_thread(Context *context);

/**
 * context_create -- make a context that begins at `entry`, which never
 * returns.
 *
 * Given: stack   `size` bytes, which the caller frees
 *        colour  any number; it shifts the stack, as stacks at the same page
 *                offset would compete for the same cache lines
 */
void context_create(Context *context, void *stack, size_t size, unsigned colour,
                    void (*entry)());

/** Tell the checkers that a new context runs; `entry` calls this first. */
void context_begin();

/** Free what the checkers hold; the context must not be running. */
void context_destroy(Context *context);

/** Switch from the running context `from` to `to`. */
void context_switch(Context *from, Context *to);

} // namespace harness

#endif
