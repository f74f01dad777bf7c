// h9: PDL: the next kernel starts while this one ends. Between two kernels of a stream lie the end of the last block, the launch of
// the next grid and, in it, barriers to initialise and tensor maps to fetch: a microsecond or two in which nothing multiplies.
// With a dependent launch (CUDA Programming Guide, "Programmatic Dependent Launch and Synchronization") a block starts as soon
// as a multiprocessor has room, and only its first load waits for the kernel before (let_next_start and wait_for_previous in
// hopper.cuh). Nothing is computed sooner than the data allow: that wait ends when all blocks of the kernel before are through
// and what they wrote is visible. It takes two: the kernel before has to let the next one start.
//
// The rest is h8's, macros and all.
#ifndef PDL
#define PDL 1
#endif
#define KERNEL h9_pdl
#include "h08_ping_pong.cu"
