/* Makes one kind of a CUDA program's host time longer: does the program take longer, too?
 *
 * CUDA's driver loads this library where CUDA_INJECTION64_PATH names it, and CUPTI tells it of each
 * call into the runtime and the driver, whoever makes it (CUPTI documentation, "Callback API").
 * HARNESS_SLOW is KIND:EXTRA, and the thread computes on for EXTRA times as long as it took:
 *
 *     launches    in a call that launches, or between two calls for less than SHORT_NS
 *     host        between two calls for longer, or in a call that loads code
 *     allocation  in a call that reserves or frees memory
 *     copies      in a call that copies LARGE bytes or more from or to the host
 *
 * What lies between two calls is what no thread of the process spends in CUDA: a thread that waits
 * for one that launches is not slow. Without CUPTI's headers, which not every machine has, its few
 * declarations stand here (cupti_callbacks.h).
 *
 * HARNESS_SLOW_LOG names a folder; a process leaves a file there with a line when it begins and one
 * when it ends.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SHORT_NS 20000 /* as analysis/idle/causes.py has it */
#define LARGE 65536    /* bytes: CUDA stages less at once (CUDA, "API synchronization behavior") */

enum kind { UNKNOWN, IGNORED, WAITS, LAUNCHES, HOST, ALLOCATION, COPIES };
enum domain { DRIVER = 1, RUNTIME = 2 };
enum site { ENTER, EXIT };
typedef struct {
    int site;
    const char *function;
    const void *parameters;
} Call; /* how CUpti_CallbackData begins */
typedef void (*Callback)(void *, int, uint32_t, const Call *);

static const char *const NAMES[] = {"", "", "", "launches", "host", "allocation", "copies"};
static const struct { const char *part; enum kind kind; } PARTS[] = {
    {"GraphLaunch", LAUNCHES}, {"Graph", IGNORED}, {"Launch", LAUNCHES}, {"Memset", LAUNCHES},
    {"Memcpy", COPIES}, {"Alloc", ALLOCATION}, {"alloc", ALLOCATION}, {"Free", ALLOCATION},
    {"MemCreate", ALLOCATION}, {"MemRelease", ALLOCATION}, {"MemMap", ALLOCATION},
    {"MemUnmap", ALLOCATION}, {"MemSetAccess", ALLOCATION}, {"HostRegister", ALLOCATION},
    {"ModuleLoad", HOST}, {"LibraryLoad", HOST}, {"LinkComplete", HOST},
    {"Synchronize", WAITS}, {"EventRecord", WAITS}, {"StreamWaitEvent", WAITS},
};

static _Atomic int slowed;
static _Atomic double extra;
static _Atomic int64_t last_end, added;
static _Atomic long calls;
static _Thread_local int depth;
static _Thread_local int64_t begin;
static _Atomic unsigned char known[3][4096];
static char path[4096];
static pid_t owner;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void say(const char *text) {
    FILE *file = *path ? fopen(path, "a") : NULL;
    if (file) {
        fputs(text, file);
        fclose(file);
    }
}

static enum kind by_name(const char *name) {
    for (size_t at = 0; at < sizeof PARTS / sizeof *PARTS; at++)
        if (strstr(name, PARTS[at].part)) return PARTS[at].kind;
    return IGNORED;
}

static enum kind kind_of(int domain, uint32_t id, const Call *call) {
    if (domain > RUNTIME || id >= sizeof known[0]) return IGNORED;
    if (known[domain][id] == UNKNOWN) known[domain][id] = by_name(call->function);
    return known[domain][id];
}

/* A copy of one row has its bytes as third argument; of another shape, or small, it is not slowed. */
static enum kind of_size(const Call *call) {
    const char *rest = strstr(call->function, "Memcpy") + strlen("Memcpy");
    int row = !*rest || *rest == '_' || !strncmp(rest, "Async", 5) || !strncmp(rest, "HtoD", 4) ||
              !strncmp(rest, "DtoH", 4);
    return row && ((const size_t *)call->parameters)[2] >= LARGE ? COPIES : WAITS;
}

static void lengthen(enum kind kind, int64_t time) {
    if ((int)kind != slowed || time <= 0) return;
    int64_t until = now() + (int64_t)(time * extra);
    added += (int64_t)(time * extra);
    while (now() < until) continue;
}

static void on_call(void *unused, int domain, uint32_t id, const Call *call) {
    (void)unused;
    enum kind kind = kind_of(domain, id, call);
    if (kind == IGNORED) return;
    if (call->site == ENTER) {
        if (depth++) return; /* the runtime calls the driver */
        int64_t between = now() - last_end;
        lengthen(between < SHORT_NS ? LAUNCHES : HOST, between);
        begin = now();
    } else if (depth && --depth == 0) {
        calls++;
        lengthen(kind == COPIES ? of_size(call) : kind, now() - begin);
        last_end = now();
    }
}

/* Slow a kind by its name from now on; another name slows nothing. */
void slow(const char *name, double factor) {
    int kind = COPIES;
    while (kind > UNKNOWN && strcmp(name, NAMES[kind])) kind--;
    slowed = kind;
    extra = factor;
}

static void *cupti(void) {
    static const char *const FILES[] = {
        "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so",
        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so", "/usr/local/cuda/lib64/libcupti.so",
    };
    const int flags[] = {RTLD_NOW | RTLD_NOLOAD, RTLD_NOW}; /* the program's own first */
    for (int way = 0; way < 2; way++)
        for (size_t at = 0; at < sizeof FILES / sizeof *FILES; at++) {
            void *library = dlopen(FILES[at], flags[way]);
            if (library) return library;
        }
    return NULL;
}

__attribute__((destructor)) static void end(void) {
    char line[80];
    snprintf(line, sizeof line, "end %ld %lld\n", (long)calls, (long long)added);
    if (getpid() == owner) say(line); /* and no copy of the process, as a loader's worker is */
}

/* Return the nanoseconds that were added so far. */
int64_t added_ns(void) { return added; }

/* CUDA calls this as it initialises. */
int InitializeInjection(void) {
    const char *asked = getenv("HARNESS_SLOW"), *folder = getenv("HARNESS_SLOW_LOG");
    char name[32] = "";
    double factor = 0;
    owner = getpid();
    if (folder) snprintf(path, sizeof path, "%s/%d", folder, (int)owner);
    if (asked) sscanf(asked, "%31[a-z]:%lf", name, &factor);
    slow(name, factor);
    last_end = now();
    void *library = cupti(), *subscriber = NULL;
    if (!library) return say("no CUPTI\n"), 1;
    int (*subscribe)(void **, Callback, void *) = dlsym(library, "cuptiSubscribe");
    int (*enable)(uint32_t, void *, int) = dlsym(library, "cuptiEnableDomain");
    if (!subscribe || !enable) return say("no CUPTI\n"), 1;
    int error = subscribe(&subscriber, on_call, NULL);
    if (!error) error = enable(1, subscriber, DRIVER);
    if (!error) error = enable(1, subscriber, RUNTIME);
    say(error ? "refused\n" : "begin\n");
    return 1;
}
