/* Channels to the emulation, and the state of this process and its threads. */
#include "preload.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/un.h>

/* Channels have descriptors that programs do not use. */
#define FIRST_CHANNEL 700
#define CHANNELS 324
/* Clock reads and empty polls in a row that take no time; further ones take some. */
#define FREE_CALLS 1000
#define COST_OF_CALL 100000LL

static bool channels[CHANNELS];
static bool has_begun;
static int64_t now;
static int calls;

static __thread int channel __attribute__((tls_model("initial-exec"))) = -1;
static __thread int key __attribute__((tls_model("initial-exec")));

long raw(long number, ...) {
    va_list list;
    long a[6];
    va_start(list, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
#if defined(__x86_64__)
    register long r10 __asm__("r10") = a[3];
    register long r8 __asm__("r8") = a[4];
    register long r9 __asm__("r9") = a[5];
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a[0];
    register long x1 __asm__("x1") = a[1];
    register long x2 __asm__("x2") = a[2];
    register long x3 __asm__("x3") = a[3];
    register long x4 __asm__("x4") = a[4];
    register long x5 __asm__("x5") = a[5];
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
#error "virtual time needs the system calls of this processor"
#endif
}

int failed(long result) {
    errno = (int)-result;
    return -1;
}

void *next_function(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

/* Ends the program; a reason is for errors that the emulation does not report. */
static void __attribute__((noreturn)) end_program(const char *reason) {
    if (reason != NULL) raw(SYS_write, 2L, (long)reason, (long)strlen(reason), 0L, 0L, 0L);
    raw(SYS_exit_group, 127L, 0L, 0L, 0L, 0L, 0L);
    __builtin_unreachable();
}

/* Blocks all signals but those of faults; returns the former mask. */
static uint64_t block_signals(void) {
    uint64_t all = ~0ULL, old = 0;
    for (int fault = 0; fault < 4; fault++) {
        static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
        all &= ~(1ULL << (faults[fault] - 1));
    }
    raw(SYS_rt_sigprocmask, (long)SIG_BLOCK, (long)&all, (long)&old, 8L, 0L, 0L);
    return old;
}

static void restore_signals(uint64_t mask) {
    raw(SYS_rt_sigprocmask, (long)SIG_SETMASK, (long)&mask, 0L, 8L, 0L, 0L);
}

static void send_message(int to, const struct message *message, int fd) {
    struct iovec part = {(void *)message, sizeof *message};
    char space[CMSG_SPACE(sizeof fd)] = {0};
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        header.msg_control = space;
        header.msg_controllen = sizeof space;
        struct cmsghdr *attached = CMSG_FIRSTHDR(&header);
        attached->cmsg_level = SOL_SOCKET;
        attached->cmsg_type = SCM_RIGHTS;
        attached->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(attached), &fd, sizeof fd);
    }
    long sent;
    do sent = raw(SYS_sendmsg, (long)to, (long)&header, (long)MSG_NOSIGNAL, 0L, 0L, 0L);
    while (sent == -EINTR);
    bool is_over = sent == -EPIPE || sent == -ECONNRESET;
    if (sent != (long)sizeof *message)
        end_program(is_over ? NULL : "multihop: this thread cannot reach the emulation in virtual time\n");
}

static void receive_message(struct message *message) {
    long length;
    do length = raw(SYS_recvfrom, (long)channel, (long)message, (long)sizeof *message, 0L, 0L, 0L);
    while (length == -EINTR);
    if (length != (long)sizeof *message) end_program(NULL);
}

void tell(const struct message *message, int fd) {
    send_message(channel, message, fd);
}

void ask(struct message *message, int fd) {
    int saved = errno;
    uint64_t mask = block_signals();
    send_message(channel, message, fd);
    receive_message(message);
    restore_signals(mask);
    errno = saved;
}

void refuse(const char *reason) {
    struct message message = {.kind = REFUSE};
    strncpy(message.text, reason, sizeof message.text - 1);
    if (channel >= 0) ask(&message, -1);
    end_program(NULL);
}

int open_channel(void) {
    static const char name[] = "\0multihop-virtual-time";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, name, sizeof name - 1);
    long fd = raw(SYS_socket, (long)AF_UNIX, (long)(SOCK_SEQPACKET | SOCK_CLOEXEC), 0L, 0L, 0L, 0L);
    if (fd < 0) return -1;
    long length = (long)(offsetof(struct sockaddr_un, sun_path) + sizeof name - 1);
    long connected = raw(SYS_connect, fd, (long)&address, length, 0L, 0L, 0L);
    long high = connected < 0 ? -1 : raw(SYS_fcntl, fd, (long)F_DUPFD_CLOEXEC, (long)FIRST_CHANNEL, 0L, 0L, 0L);
    raw(SYS_close, fd, 0L, 0L, 0L, 0L, 0L);
    if (high < FIRST_CHANNEL || high >= FIRST_CHANNEL + CHANNELS) {
        if (high >= 0) raw(SYS_close, high, 0L, 0L, 0L, 0L, 0L);
        return -1;
    }
    channels[high - FIRST_CHANNEL] = true;
    return (int)high;
}

void use_channel(int of, int with_key) {
    channel = of;
    key = with_key;
}

int own_channel(void) { return channel; }

int own_key(void) { return key; }

bool is_channel(int fd) {
    return fd >= FIRST_CHANNEL && fd < FIRST_CHANNEL + CHANNELS && channels[fd - FIRST_CHANNEL];
}

void close_channel(void) {
    if (channel < 0) return;
    channels[channel - FIRST_CHANNEL] = false;
    raw(SYS_close, (long)channel, 0L, 0L, 0L, 0L, 0L);
    channel = -1;
}

/* A child has copies of the channels of its parent's threads. */
void forget_other_channels(void) {
    for (int n = 0; n < CHANNELS; n++)
        if (channels[n]) raw(SYS_close, (long)(FIRST_CHANNEL + n), 0L, 0L, 0L, 0L, 0L);
    memset(channels, 0, sizeof channels);
    channel = -1;
}

void wait_for_turn(void) {
    struct message message;
    uint64_t mask = block_signals();
    receive_message(&message);
    now = message.time;
    restore_signals(mask);
}

/* Connects this process, which has one thread. */
void start_process(void) {
    int fd = open_channel();
    if (fd < 0) end_program("multihop: this program cannot join the emulation in virtual time\n");
    use_channel(fd, 0);
    has_begun = true;
    struct message message = {.kind = START};
    message.first = (int32_t)raw(SYS_getpid, 0L, 0L, 0L, 0L, 0L, 0L);
    message.second = (int32_t)raw(SYS_getppid, 0L, 0L, 0L, 0L, 0L, 0L);
    tell(&message, -1);
}

__attribute__((constructor)) void begin(void) {
    if (has_begun) return;
    int saved = errno;
    start_process();
    wait_for_turn();
    errno = saved;
}

bool is_emulated(void) {
    begin();
    return channel >= 0;
}

int64_t current_time(void) { return now; }

/* Whether an unblocked signal is pending that has a handler or ends the program; sets whether calls restart after it. */
static bool has_signal(uint64_t mask, bool *restarts) {
    uint64_t pending = 0;
    raw(SYS_rt_sigpending, (long)&pending, 8L, 0L, 0L, 0L, 0L);
    pending &= ~mask;
    *restarts = true;
    bool found = false;
    for (int signal = 1; pending != 0 && signal < 64; signal++) {
        if (!(pending >> (signal - 1) & 1)) continue;
        struct sigaction action;
        if (NEXT(sigaction)(signal, NULL, &action) != 0 || action.sa_handler == SIG_IGN) continue;
        if (action.sa_handler == SIG_DFL && (signal == SIGCHLD || signal == SIGURG || signal == SIGWINCH || signal == SIGCONT))
            continue;
        found = true;
        if (!(action.sa_flags & SA_RESTART)) *restarts = false;
    }
    return found;
}

int park(int fd, int events, int64_t deadline) {
    struct message message = {.kind = WAIT, .time = deadline, .events = (uint16_t)events};
    int saved = errno;
    uint64_t mask = block_signals();
    send_message(channel, &message, fd);
    receive_message(&message);
    now = message.time;
    calls = 0;
    bool restarts;
    bool found = has_signal(mask, &restarts);
    restore_signals(mask);
    errno = saved;
    return found ? (restarts ? 2 : 1) : 0;
}

void note_clock_read(void) {
    if (++calls < FREE_CALLS) return;
    park(-1, 0, now + COST_OF_CALL);
    calls = FREE_CALLS;
}
