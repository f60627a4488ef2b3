/* Library that programs load in virtual time (LD_PRELOAD).
 *
 * One thread of all programs runs at a time. A call that would block registers its thread as waiting at the emulation,
 * through a channel of the thread, until the emulation continues the thread. Only then can virtual time have advanced.
 * The numbers and the layout of messages are also in src/barrier/message.rs.
 */
#ifndef MULTIHOP_PRELOAD_H
#define MULTIHOP_PRELOAD_H

#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum kind {
    START = 1,     /* first message of a process: number, parent */
    THREAD = 2,    /* first message of a further thread: number of its process, key in the process */
    WAIT = 3,      /* until time, or until the attached descriptor has events */
    CONTINUE = 4,  /* of the emulation: the time; answers START, THREAD and WAIT */
    WAKE = 5,      /* continue the thread with this key of the same process */
    EXEC = 6,      /* this process is about to become another program */
    SPAWNED = 7,   /* a process was started: attached descriptor, path in text */
    SOCKET = 8,    /* a new socket: type, inode, and the attached end of the emulation */
    BIND = 9,
    LISTEN = 10,
    CONNECT = 11,  /* first argument: bytes that fill the socket until it is connected */
    LOCAL = 12,    /* local address of a socket */
    PEER = 13,     /* address of the peer of a socket */
    ERROR = 14,    /* takes the pending error of a socket */
    LOOK_UP = 15,  /* type of a socket by its inode */
    ALARM = 16,    /* time of a SIGALRM; -1: none */
    SIGNAL = 17,   /* this process has sent a signal: process, signal */
    REFUSE = 18,   /* the program cannot run in virtual time, for the reason in text */
    DETAILS = 19,  /* counters of a TCP socket */
    END = 21,      /* this thread ends, its process goes on */
    CHOOSE = 20,   /* congestion control of a TCP socket, in text */
};

struct message {
    int32_t kind;
    int32_t result; /* 0, or a number of errno */
    int64_t time;   /* ns of virtual time; -1: never */
    uint64_t inode;
    int32_t first;
    int32_t second;
    uint32_t address;
    uint16_t port;
    uint16_t events;
    char text[40];
};

/* Newer than the oldest headers with which this library is compiled. */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif
#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif

/* core.c */
void begin(void);                    /* connects this process to the emulation, once */
bool is_emulated(void);              /* false after the end of a thread */
int64_t current_time(void);          /* virtual time, ns */
void note_clock_read(void);          /* counts calls that a busy loop repeats */
int park(int fd, int events, int64_t deadline); /* waits; returns true if a signal without SA_RESTART was handled */
void ask(struct message *message, int fd);      /* sends a request and receives its reply */
void tell(const struct message *message, int fd);
void refuse(const char *reason) __attribute__((noreturn));
int open_channel(void);
void use_channel(int channel, int key);
int own_channel(void);
int own_key(void);
bool is_channel(int fd);
void forget_other_channels(void);
void close_channel(void);
void start_process(void);
void wait_for_turn(void);

/* threads.c */
void wake_waiters(const void *object, int most);
int park_at(const void *object, int64_t deadline);
void forget_threads(void);

/* clock.c */
int64_t deadline_of(const struct timespec *duration);

/* waits.c */
bool is_ready(int fd, int events);
bool is_nonblocking(int fd);

/* sockets.c */
enum emulated { NONE, STREAM, DATAGRAM };
enum emulated emulated_socket(int fd, bool *is_ipv6);
int socket_error(int fd);
ssize_t send_datagram(int fd, const struct msghdr *message, int flags);
ssize_t receive_datagram(int fd, struct msghdr *message, int flags);

/* System calls without the functions of libc, which this library replaces. */
long raw(long number, ...);
int failed(long result); /* sets errno and returns -1 */

/* The function that this library replaces. */
#define NEXT(name) ((__typeof__(&name))next_function(#name))
void *next_function(const char *name);

#define SECOND 1000000000LL
#define NEVER (-1LL)
/* Instants at virtual time 0: 2025-01-01 00:00:00 UTC, and one second after the boot of the machine. */
#define REAL_EPOCH (1735689600LL * SECOND)
#define BOOT_EPOCH SECOND

#endif
