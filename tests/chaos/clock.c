/* Preloaded into the processes of one machine: its wall clock is off by as many seconds as the file named by
   CHAOS_CLOCK says (eight bytes, changed at any time). Monotonic clocks and waits are as they are.
   (libfaketime 0.9.10, Debian 12's, will not do: clock_nanosleep fails under it, and so does Python's sleep.) */
#define _GNU_SOURCE
#include <fcntl.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *ahead;

__attribute__((constructor)) static void open_clock(void) {
    const char *path = getenv("CHAOS_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *map = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
    ahead = map == MAP_FAILED ? NULL : map;
    if (file >= 0)
        close(file);
}

static int64_t seconds_ahead(void) { return ahead ? *ahead : 0; }

int clock_gettime(clockid_t id, struct timespec *at) {
    int failed = syscall(SYS_clock_gettime, id, at);
    if (!failed && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        at->tv_sec += seconds_ahead();
    return failed;
}

int gettimeofday(struct timeval *at, void *zone) {
    int failed = syscall(SYS_gettimeofday, at, zone);
    if (!failed && at)
        at->tv_sec += seconds_ahead();
    return failed;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at)
        *at = now.tv_sec;
    return now.tv_sec;
}

/* A wait until a moment of the wall clock: the kernel knows the true one alone. */
int sem_timedwait(sem_t *semaphore, const struct timespec *until) {
    int (*wait)(sem_t *, const struct timespec *) =
        (int (*)(sem_t *, const struct timespec *))dlsym(RTLD_NEXT, "sem_timedwait");
    struct timespec truly = *until;
    truly.tv_sec -= seconds_ahead();
    return wait(semaphore, &truly);
}
