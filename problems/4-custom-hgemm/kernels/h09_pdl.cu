// h9: programmatic dependent launch (PDL): the next kernel's prologue overlaps this kernel's tail. Between two kernels of a stream
// the last block ends, the next grid launches, initialises barriers and fetches tensor maps: 1 to 2 us without tensor-core work.
// With a dependent launch (CUDA Programming Guide, "Programmatic Dependent Launch and Synchronization") a block starts as soon
// as a multiprocessor has room, and only its first load waits for the kernel before (let_next_start and wait_for_previous in
// hopper.cuh). The data dependency holds: that wait ends when all blocks of the previous kernel have
// finished and their writes are visible. The previous kernel has to allow the next one to launch, too.
//
// The rest, macros included, is h8's.
#ifndef PDL
#define PDL 1
#endif
#define KERNEL h9_pdl
#include "h08_ping_pong.cu"
