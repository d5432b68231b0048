// NARROW_CLONES before a function: one source, compiled for several instruction sets and chosen at load time. Without
// contraction and reassociation (-ffp-contract=off, no -ffast-math) all of them give the same bits.
#pragma once

// Sanitizers cannot instrument the chooser; clang 14 does not know it for every function.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define NARROW_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define NARROW_CLONES
#endif
