/* SPDX-License-Identifier: BSD-3-Clause */
/* context.cc -- see context.h. */
#include "validation/cuda/context.h"

#include <pthread.h>
#include <stdint.h>

#include "validation/cuda/checkers.h"

#if !defined(FX8_UCONTEXT)
extern "C" void fx8_harness_swap_stack(void **save, void *load);

/* The registers that a function must preserve (System V ABI) are saved on the
 * old stack; the return address is already there. */
asm(R"(
    .text
    .globl fx8_harness_swap_stack
    .hidden fx8_harness_swap_stack
    .type fx8_harness_swap_stack, @function
fx8_harness_swap_stack:
    pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp
    ret
    .size fx8_harness_swap_stack, . - fx8_harness_swap_stack
)");

static const int SAVED_REGISTERS = 6;
#endif

namespace harness
{

void context_of_thread(Context *context)
{
    *context = Context();
    context->flow = race_flow_current();
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void *low = nullptr;
        pthread_attr_getstack(&attributes, &low, &context->stack_size);
        context->stack = low;
        pthread_attr_destroy(&attributes);
    }
}

void context_create(Context *context, void *stack, size_t size, unsigned colour,
                    void (*entry)())
{
    const unsigned line = 64; /* bytes of a cache line */
    *context = Context();
    context->flow = race_flow_create();
    context->stack = stack;
    context->stack_size = size;
#if defined(FX8_UCONTEXT)
    getcontext(&context->machine);
    context->machine.uc_stack.ss_sp = stack;
    context->machine.uc_stack.ss_size = size - colour % 64 * line;
    context->machine.uc_link = nullptr;
    makecontext(&context->machine, entry, 0);
#else
    /* As after a call: `entry` begins 8 bytes below a multiple of 16. */
    uintptr_t top = reinterpret_cast<uintptr_t>(stack) + size;
    void **words = reinterpret_cast<void **>((top - colour % 64 * line) &
                                             ~static_cast<uintptr_t>(15));
    *--words = nullptr; /* entry's return address: nowhere */
    *--words = reinterpret_cast<void *>(entry);
    for (int k = 0; k < SAVED_REGISTERS; ++k)
        *--words = nullptr;
    context->stack_pointer = words;
#endif
}

void context_begin()
{
#if FX8_ADDRESS_CHECKER
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

void context_destroy(Context *context)
{
    race_flow_destroy(context->flow);
}

FX8_UNSEEN void context_switch(Context *from, Context *to)
{
#if FX8_ADDRESS_CHECKER
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack,
                                   to->stack_size);
#endif
    race_flow_enter(to->flow);
#if defined(FX8_UCONTEXT)
    swapcontext(&from->machine, &to->machine);
#else
    fx8_harness_swap_stack(&from->stack_pointer, to->stack_pointer);
#endif
#if FX8_ADDRESS_CHECKER
    __sanitizer_finish_switch_fiber(from->fake_stack, nullptr, nullptr);
#endif
}

} // namespace harness
