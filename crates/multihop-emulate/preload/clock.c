/* Clocks, sleeps and alarms. */
/* Headers disagree on the second parameter: glibc has had `void *` since 2.31, Zig has it for every version.
   The header's declaration gets another name, so that any of them fits the definition below. */
#define gettimeofday gettimeofday_of_header
#include "preload.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#undef gettimeofday

int64_t deadline_of(const struct timespec *duration) {
    if (duration == NULL) return NEVER;
    if (duration->tv_sec > 4000000000LL) return NEVER;
    return current_time() + duration->tv_sec * SECOND + duration->tv_nsec;
}

static struct timespec split(int64_t ns) {
    return (struct timespec){ns / SECOND, ns % SECOND};
}

static int64_t clock_value(clockid_t clock) {
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_TAI:
        return REAL_EPOCH + current_time();
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
        return BOOT_EPOCH + current_time();
    default:
        return 0; /* work takes no virtual time, so processor time is 0 */
    }
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *into) {
    if (!is_emulated()) {
        long result = raw(SYS_clock_gettime, (long)clock, (long)into, 0L, 0L, 0L, 0L);
        return result < 0 ? failed(result) : 0;
    }
    note_clock_read();
    *into = split(clock_value(clock));
    return 0;
}

EXPORT int gettimeofday(struct timeval *restrict into, void *restrict zone) {
    struct timespec time;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &time);
    *into = (struct timeval){time.tv_sec, time.tv_nsec / 1000};
    return 0;
}

EXPORT time_t time(time_t *into) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    if (into != NULL) *into = time.tv_sec;
    return time.tv_sec;
}

EXPORT int timespec_get(struct timespec *into, int base) {
    clock_gettime(CLOCK_REALTIME, into);
    return base;
}

EXPORT clock_t clock(void) {
    return is_emulated() ? 0 : NEXT(clock)();
}

EXPORT clock_t times(struct tms *into) {
    if (!is_emulated()) return NEXT(times)(into);
    if (into != NULL) memset(into, 0, sizeof *into);
    return (clock_t)((BOOT_EPOCH + current_time()) / (SECOND / 100));
}

EXPORT int getrusage(__rusage_who_t who, struct rusage *into) {
    int result = NEXT(getrusage)(who, into);
    if (result == 0 && is_emulated()) {
        memset(&into->ru_utime, 0, sizeof into->ru_utime);
        memset(&into->ru_stime, 0, sizeof into->ru_stime);
    }
    return result;
}

/* Sleeps until an instant; returns what remains, ns. */
static int64_t sleep_until(int64_t deadline) {
    while (current_time() < deadline)
        if (park(-1, 0, deadline) != 0) break;
    int64_t left = deadline - current_time();
    return left > 0 ? left : 0;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *duration, struct timespec *rest) {
    if (!is_emulated()) return (int)-raw(SYS_clock_nanosleep, (long)clock, (long)flags, (long)duration, (long)rest, 0L, 0L);
    int64_t deadline = deadline_of(duration);
    if (flags & TIMER_ABSTIME)
        deadline = duration->tv_sec * SECOND + duration->tv_nsec - (clock_value(clock) - current_time());
    int64_t left = sleep_until(deadline);
    if (rest != NULL && !(flags & TIMER_ABSTIME)) *rest = split(left);
    return left > 0 ? EINTR : 0;
}

EXPORT int nanosleep(const struct timespec *duration, struct timespec *rest) {
    int error = clock_nanosleep(CLOCK_REALTIME, 0, duration, rest);
    if (error == 0) return 0;
    errno = error;
    return -1;
}

EXPORT int usleep(useconds_t us) {
    struct timespec duration = split((int64_t)us * 1000);
    return nanosleep(&duration, NULL);
}

EXPORT unsigned int sleep(unsigned int seconds) {
    struct timespec duration = {seconds, 0}, rest = {0, 0};
    return nanosleep(&duration, &rest) == 0 ? 0 : (unsigned)(rest.tv_sec + (rest.tv_nsec > 0));
}

static int64_t set_alarm(int64_t after) {
    struct message message = {.kind = ALARM, .time = after <= 0 ? NEVER : current_time() + after};
    ask(&message, -1);
    return message.time == NEVER ? 0 : message.time - current_time();
}

EXPORT unsigned int alarm(unsigned int seconds) {
    if (!is_emulated()) return NEXT(alarm)(seconds);
    return (unsigned)((set_alarm(seconds * SECOND) + SECOND - 1) / SECOND);
}

EXPORT int setitimer(__itimer_which_t which, const struct itimerval *new, struct itimerval *old) {
    if (!is_emulated()) return NEXT(setitimer)(which, new, old);
    if (which != ITIMER_REAL || new->it_interval.tv_sec != 0 || new->it_interval.tv_usec != 0)
        refuse("setitimer with an interval");
    int64_t left = set_alarm(new->it_value.tv_sec * SECOND + new->it_value.tv_usec * 1000);
    if (old != NULL) *old = (struct itimerval){{0, 0}, {left / SECOND, left % SECOND / 1000}};
    return 0;
}

/* Programs that find no timers of this kind use alarm(). */
EXPORT int timer_create(clockid_t clock, struct sigevent *restrict event, timer_t *restrict timer) {
    if (!is_emulated()) return NEXT(timer_create)(clock, event, timer);
    return failed(-ENOSYS);
}

EXPORT int timerfd_create(int clock, int flags) {
    if (is_emulated()) refuse("timerfd_create");
    long result = raw(SYS_timerfd_create, (long)clock, (long)flags, 0L, 0L, 0L, 0L);
    return result < 0 ? failed(result) : (int)result;
}
