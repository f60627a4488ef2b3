/* Threads, and what they wait for inside of a process: mutexes, conditions, semaphores and futexes. */
#include "preload.h"

#include <linux/futex.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>

/* Functions of newer versions of libc. */
int pthread_cond_clockwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, clockid_t clock,
                           const struct timespec *restrict until);
int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict until);
int epoll_pwait2(int set, struct epoll_event *events, int most, const struct timespec *timeout, const sigset_t *mask);
int close_range(unsigned first, unsigned last, int flags);

struct waiter {
    const void *object;
    int key;
    bool is_woken;
    struct waiter *next;
};

struct thread {
    pthread_t id;
    bool has_ended;
    int channel;
    int key;
    int rounds; /* of destructors that have passed */
    void *(*start)(void *);
    void *argument;
    struct thread *next;
};

/* All threads that wait for an object, the longest waiting first. One thread runs at a time, which needs no lock. */
static struct waiter *waiters;
static struct thread *threads;
static int last_key;

void wake_waiters(const void *object, int most) {
    for (struct waiter *waiter = waiters; waiter != NULL && most > 0; waiter = waiter->next) {
        if (waiter->object != object || waiter->is_woken) continue;
        waiter->is_woken = true;
        struct message message = {.kind = WAKE, .first = waiter->key};
        tell(&message, -1);
        most--;
    }
}

/* Waits until another thread wakes the waiters of the object. Returns 1 at the deadline, 2 for a signal. */
int park_at(const void *object, int64_t deadline) {
    struct waiter own = {object, own_key(), false, NULL};
    struct waiter **place = &waiters;
    while (*place != NULL) place = &(*place)->next;
    *place = &own;
    int result = 0;
    while (!own.is_woken) {
        if (deadline != NEVER && current_time() >= deadline) {
            result = 1;
            break;
        }
        if (park(-1, 0, deadline) != 0 && !own.is_woken) {
            result = 2;
            break;
        }
    }
    for (place = &waiters; *place != NULL; place = &(*place)->next) {
        if (*place == &own) {
            *place = own.next;
            break;
        }
    }
    return result;
}

/* A child has only the thread that has forked. */
void forget_threads(void) {
    waiters = NULL;
    threads = NULL;
}

/* Virtual time of an instant of either clock: the real time is after 2001. */
static int64_t instant_of(const struct timespec *time) {
    int64_t ns = time->tv_sec > 4000000000LL ? NEVER : time->tv_sec * SECOND + time->tv_nsec;
    if (ns == NEVER) return NEVER;
    return ns - (time->tv_sec > 1000000000LL ? REAL_EPOCH : BOOT_EPOCH);
}

/* Mutexes */

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex) {
    if (!is_emulated()) return NEXT(pthread_mutex_lock)(mutex);
    static int (*try_lock)(pthread_mutex_t *);
    if (try_lock == NULL) try_lock = NEXT(pthread_mutex_trylock);
    int result;
    while ((result = try_lock(mutex)) == EBUSY) park_at(mutex, NEVER);
    return result;
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict until) {
    if (!is_emulated()) return NEXT(pthread_mutex_timedlock)(mutex, until);
    int result;
    while ((result = pthread_mutex_trylock(mutex)) == EBUSY)
        if (park_at(mutex, instant_of(until)) == 1) return ETIMEDOUT;
    return result;
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    static int (*unlock)(pthread_mutex_t *);
    if (unlock == NULL) unlock = NEXT(pthread_mutex_unlock);
    int result = unlock(mutex);
    if (waiters != NULL) wake_waiters(mutex, 1);
    return result;
}

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
    if (!is_emulated()) return NEXT(pthread_rwlock_rdlock)(lock);
    int result;
    while ((result = pthread_rwlock_tryrdlock(lock)) == EBUSY) park_at(lock, NEVER);
    return result;
}

EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
    if (!is_emulated()) return NEXT(pthread_rwlock_wrlock)(lock);
    int result;
    while ((result = pthread_rwlock_trywrlock(lock)) == EBUSY) park_at(lock, NEVER);
    return result;
}

EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *lock) {
    int result = NEXT(pthread_rwlock_unlock)(lock);
    if (waiters != NULL) wake_waiters(lock, INT_MAX);
    return result;
}

/* Conditions */

static int wait_for_condition(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline) {
    int result = pthread_mutex_unlock(mutex);
    if (result != 0) return result;
    int woken = park_at(condition, deadline);
    result = pthread_mutex_lock(mutex);
    return woken == 1 ? ETIMEDOUT : result;
}

EXPORT int pthread_cond_wait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex) {
    if (!is_emulated()) return NEXT(pthread_cond_wait)(condition, mutex);
    return wait_for_condition(condition, mutex, NEVER);
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                                  const struct timespec *restrict until) {
    if (!is_emulated()) return NEXT(pthread_cond_timedwait)(condition, mutex, until);
    return wait_for_condition(condition, mutex, instant_of(until));
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, clockid_t clock,
                                  const struct timespec *restrict until) {
    if (!is_emulated()) return NEXT(pthread_cond_clockwait)(condition, mutex, clock, until);
    return wait_for_condition(condition, mutex, instant_of(until));
}

EXPORT int pthread_cond_signal(pthread_cond_t *condition) {
    if (!is_emulated()) return NEXT(pthread_cond_signal)(condition);
    wake_waiters(condition, 1);
    return 0;
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *condition) {
    if (!is_emulated()) return NEXT(pthread_cond_broadcast)(condition);
    wake_waiters(condition, INT_MAX);
    return 0;
}

/* Semaphores */

static int wait_for_semaphore(sem_t *semaphore, int64_t deadline) {
    while (sem_trywait(semaphore) != 0) {
        if (errno != EAGAIN) return -1;
        int woken = park_at(semaphore, deadline);
        if (woken == 1) return failed(-ETIMEDOUT);
        if (woken == 2) return failed(-EINTR);
    }
    return 0;
}

EXPORT int sem_wait(sem_t *semaphore) {
    if (!is_emulated()) return NEXT(sem_wait)(semaphore);
    return wait_for_semaphore(semaphore, NEVER);
}

EXPORT int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until) {
    if (!is_emulated()) return NEXT(sem_timedwait)(semaphore, until);
    return wait_for_semaphore(semaphore, instant_of(until));
}

EXPORT int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict until) {
    if (!is_emulated()) return NEXT(sem_clockwait)(semaphore, clock, until);
    return wait_for_semaphore(semaphore, instant_of(until));
}

EXPORT int sem_post(sem_t *semaphore) {
    int result = NEXT(sem_post)(semaphore);
    if (waiters != NULL) wake_waiters(semaphore, 1);
    return result;
}

/* Threads */

static __thread struct thread *self __attribute__((tls_model("initial-exec")));
static pthread_key_t at_end;
static pthread_once_t at_end_made = PTHREAD_ONCE_INIT;

/* The last thing that a thread does in virtual time: destructors of other keys, which may unlock a mutex, come before. */
static void end_thread(void *argument) {
    struct thread *thread = argument;
    if (++thread->rounds < PTHREAD_DESTRUCTOR_ITERATIONS && pthread_setspecific(at_end, thread) == 0) return;
    thread->has_ended = true;
    wake_waiters(thread, INT_MAX);
    struct message message = {.kind = END};
    tell(&message, -1);
    close_channel();
}

static void make_at_end(void) {
    pthread_key_create(&at_end, end_thread);
}

static void *run_thread(void *argument) {
    struct thread *thread = argument;
    self = thread;
    use_channel(thread->channel, thread->key);
    wait_for_turn();
    pthread_setspecific(at_end, thread);
    return thread->start(thread->argument);
}

EXPORT int pthread_create(pthread_t *restrict id, const pthread_attr_t *restrict attributes, void *(*start)(void *),
                          void *restrict argument) {
    __typeof__(&pthread_create) create = NEXT(pthread_create);
    if (!is_emulated()) return create(id, attributes, start, argument);
    pthread_once(&at_end_made, make_at_end);
    struct thread *thread = calloc(1, sizeof *thread);
    int channel = open_channel();
    if (thread == NULL || channel < 0) refuse("more than 300 threads");
    *thread = (struct thread){.channel = channel, .key = ++last_key, .start = start, .argument = argument, .next = threads};
    int own = own_channel(), key = own_key();
    struct message message = {.kind = THREAD, .first = (int32_t)getpid(), .second = thread->key};
    use_channel(channel, 0);
    tell(&message, -1);
    use_channel(own, key);
    int result = create(&thread->id, attributes, run_thread, thread);
    if (result != 0) {
        use_channel(channel, 0);
        close_channel();
        use_channel(own, key);
        free(thread);
        return result;
    }
    threads = thread;
    *id = thread->id;
    return 0;
}

EXPORT int pthread_join(pthread_t id, void **result) {
    for (struct thread **place = &threads; is_emulated() && *place != NULL; place = &(*place)->next) {
        struct thread *thread = *place;
        if (!pthread_equal(thread->id, id)) continue;
        while (!thread->has_ended) park_at(thread, NEVER);
        *place = thread->next;
        break;
    }
    return NEXT(pthread_join)(id, result);
}

/* Objects that several processes share, and threads of C11, which libc makes without pthread_create(). */

EXPORT int sem_init(sem_t *semaphore, int is_shared, unsigned value) {
    if (is_shared && is_emulated()) refuse("a semaphore of several processes");
    return NEXT(sem_init)(semaphore, is_shared, value);
}

EXPORT sem_t *sem_open(const char *name, int flags, ...) {
    (void)name;
    (void)flags;
    refuse("sem_open()");
}

EXPORT int pthread_mutexattr_setpshared(pthread_mutexattr_t *attributes, int shared) {
    if (shared == PTHREAD_PROCESS_SHARED && is_emulated()) refuse("a mutex of several processes");
    return NEXT(pthread_mutexattr_setpshared)(attributes, shared);
}

EXPORT int pthread_condattr_setpshared(pthread_condattr_t *attributes, int shared) {
    if (shared == PTHREAD_PROCESS_SHARED && is_emulated()) refuse("a condition of several processes");
    return NEXT(pthread_condattr_setpshared)(attributes, shared);
}

EXPORT int thrd_create(void *thread, void *start, void *argument) {
    (void)thread;
    (void)start;
    (void)argument;
    refuse("thrd_create()");
}

/* Futexes of programs that call the kernel themselves, and calls that virtual time cannot do. */

static long futex(uint32_t *word, int operation, uint32_t value, const struct timespec *timeout) {
    switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: {
        if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) return -EAGAIN;
        bool is_instant = (operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
        int64_t deadline = timeout == NULL ? NEVER : is_instant ? instant_of(timeout) : deadline_of(timeout);
        int woken = park_at(word, deadline);
        return woken == 1 ? -ETIMEDOUT : woken == 2 ? -EINTR : 0;
    }
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET: {
        int count = 0;
        for (struct waiter *waiter = waiters; waiter != NULL; waiter = waiter->next)
            count += waiter->object == word && !waiter->is_woken;
        if (count > (int)value) count = (int)value;
        wake_waiters(word, count);
        return count;
    }
    default:
        refuse("an unusual futex operation");
    }
}

EXPORT long syscall(long number, ...) {
    va_list list;
    long a[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    long result;
    if (!is_emulated()) {
        result = raw(number, a[0], a[1], a[2], a[3], a[4], a[5]);
        return result < 0 && result > -4096 ? failed(result) : result;
    }
    switch (number) {
    case SYS_futex:
        result = futex((uint32_t *)a[0], (int)a[1], (uint32_t)a[2], (const struct timespec *)a[3]);
        break;
    case SYS_clock_gettime:
        return clock_gettime((clockid_t)a[0], (struct timespec *)a[1]);
    case SYS_close_range:
        return close_range((unsigned)a[0], (unsigned)a[1], (int)a[2]);
    case SYS_epoll_pwait2:
        return epoll_pwait2((int)a[0], (struct epoll_event *)a[1], (int)a[2], (const struct timespec *)a[3], (const sigset_t *)a[4]);
    case SYS_io_uring_setup:
        result = -ENOSYS;
        break;
    default:
        result = raw(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    }
    return result < 0 && result > -4096 ? failed(result) : result;
}
