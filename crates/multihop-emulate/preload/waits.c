/* Reading, writing, and waiting for descriptors. */
#include "preload.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>

static long real_poll(struct pollfd *polled, nfds_t count) {
    struct timespec zero = {0, 0};
    return raw(SYS_ppoll, (long)polled, (long)count, (long)&zero, 0L, 8L, 0L);
}

bool is_ready(int fd, int events) {
    struct pollfd polled = {fd, (short)events, 0};
    return real_poll(&polled, 1) != 0;
}

bool is_nonblocking(int fd) {
    long flags = raw(SYS_fcntl, (long)fd, (long)F_GETFL, 0L, 0L, 0L, 0L);
    return flags < 0 || (flags & O_NONBLOCK) != 0;
}

static int64_t socket_deadline(int fd, int events) {
    struct timeval timeout = {0, 0};
    socklen_t length = sizeof timeout;
    long option = events & POLLIN ? SO_RCVTIMEO : SO_SNDTIMEO;
    long result = raw(SYS_getsockopt, (long)fd, (long)SOL_SOCKET, option, (long)&timeout, (long)&length, 0L);
    if (result < 0 || (timeout.tv_sec == 0 && timeout.tv_usec == 0)) return NEVER;
    return current_time() + timeout.tv_sec * SECOND + timeout.tv_usec * 1000;
}

/* Waits until a descriptor of a blocking call is ready. Returns 0, or the number of an error. */
static int wait_until_ready(int fd, int events, int flags) {
    if (!is_emulated() || is_ready(fd, events)) return 0;
    if ((flags & MSG_DONTWAIT) || is_nonblocking(fd)) {
        note_clock_read();
        return 0;
    }
    int64_t deadline = socket_deadline(fd, events);
    do {
        if (deadline != NEVER && current_time() >= deadline) return EAGAIN;
        if (park(fd, events, deadline) == 1) return EINTR;
    } while (!is_ready(fd, events));
    return 0;
}

/* An error of the connection in place of the end of its data. */
static ssize_t received(int fd, long result) {
    if (result < 0) return failed(result);
    if (result == 0 && is_emulated()) {
        int error = socket_error(fd);
        if (error != 0) return failed(-error);
    }
    return result;
}

#define WAIT_FOR(fd, events, flags)                      \
    do {                                                 \
        int error = wait_until_ready(fd, events, flags); \
        if (error != 0) return failed(-error);           \
    } while (0)

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags) {
    WAIT_FOR(fd, POLLIN, flags);
    if (is_emulated() && emulated_socket(fd, NULL) == DATAGRAM) return receive_datagram(fd, message, flags);
    return received(fd, raw(SYS_recvmsg, (long)fd, (long)message, (long)flags, 0L, 0L, 0L));
}

EXPORT ssize_t recvfrom(int fd, void *restrict into, size_t most, int flags, __SOCKADDR_ARG from, socklen_t *restrict length) {
    struct sockaddr *address = *(struct sockaddr **)&from;
    struct iovec part = {into, most};
    struct msghdr message = {.msg_name = address, .msg_namelen = length ? *length : 0, .msg_iov = &part, .msg_iovlen = 1};
    size_t got = 0;
    for (;;) {
        ssize_t result = recvmsg(fd, &message, flags & ~MSG_WAITALL);
        if (length != NULL) *length = message.msg_namelen;
        if (result <= 0) return got > 0 ? (ssize_t)got : result;
        got += (size_t)result;
        if (!(flags & MSG_WAITALL) || got >= most) return (ssize_t)got;
        part = (struct iovec){(char *)into + got, most - got};
    }
}

EXPORT ssize_t recv(int fd, void *into, size_t most, int flags) {
    return recvfrom(fd, into, most, flags, (__SOCKADDR_ARG){NULL}, NULL);
}

EXPORT ssize_t readv(int fd, const struct iovec *parts, int count) {
    WAIT_FOR(fd, POLLIN, 0);
    if (is_emulated() && emulated_socket(fd, NULL) == DATAGRAM) {
        struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count};
        return receive_datagram(fd, &message, 0);
    }
    return received(fd, raw(SYS_readv, (long)fd, (long)parts, (long)count, 0L, 0L, 0L));
}

EXPORT ssize_t read(int fd, void *into, size_t most) {
    struct iovec part = {into, most};
    return readv(fd, &part, 1);
}

/* The error of a connection that was reset in place of the error of a closed socket. */
static ssize_t sent(int fd, long result) {
    if (result == -EPIPE && is_emulated()) {
        int error = socket_error(fd);
        if (error != 0) return failed(-error);
    }
    return result < 0 ? failed(result) : result;
}

/* Sends everything, as a blocking call does. */
EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    if (is_emulated() && emulated_socket(fd, NULL) == DATAGRAM) {
        WAIT_FOR(fd, POLLOUT, flags);
        return send_datagram(fd, message, flags);
    }
    if (!is_emulated() || (flags & MSG_DONTWAIT) || is_nonblocking(fd) || message->msg_controllen > 0) {
        WAIT_FOR(fd, POLLOUT, flags);
        return sent(fd, raw(SYS_sendmsg, (long)fd, (long)message, (long)flags, 0L, 0L, 0L));
    }
    size_t total = 0;
    for (size_t n = 0; n < message->msg_iovlen; n++) {
        const char *data = message->msg_iov[n].iov_base;
        size_t left = message->msg_iov[n].iov_len;
        while (left > 0) {
            int error = wait_until_ready(fd, POLLOUT, flags);
            if (error != 0) return total > 0 ? (ssize_t)total : failed(-error);
            struct iovec part = {(void *)data, left};
            struct msghdr piece = *message;
            piece.msg_iov = &part;
            piece.msg_iovlen = 1;
            long result = raw(SYS_sendmsg, (long)fd, (long)&piece, (long)(flags | MSG_DONTWAIT), 0L, 0L, 0L);
            if (result == -EAGAIN) {
                park(fd, POLLOUT, NEVER);
                continue;
            }
            if (result < 0) return total > 0 ? (ssize_t)total : sent(fd, result);
            data += result;
            left -= (size_t)result;
            total += (size_t)result;
        }
    }
    return (ssize_t)total;
}

EXPORT ssize_t sendto(int fd, const void *data, size_t length, int flags, __CONST_SOCKADDR_ARG to, socklen_t size) {
    struct sockaddr *address = *(struct sockaddr **)&to;
    struct iovec part = {(void *)data, length};
    struct msghdr message = {.msg_name = address, .msg_namelen = size, .msg_iov = &part, .msg_iovlen = 1};
    return sendmsg(fd, &message, flags);
}

EXPORT ssize_t send(int fd, const void *data, size_t length, int flags) {
    return sendto(fd, data, length, flags, (__CONST_SOCKADDR_ARG){NULL}, 0);
}

EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout) {
    (void)timeout;
    unsigned done = 0;
    while (done < count) {
        ssize_t result = recvmsg(fd, &messages[done].msg_hdr, done > 0 ? flags | MSG_DONTWAIT : flags & ~MSG_WAITFORONE);
        if (result < 0) return done > 0 ? (int)done : -1;
        messages[done++].msg_len = (unsigned)result;
    }
    return (int)done;
}

EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
    unsigned done = 0;
    while (done < count) {
        ssize_t result = sendmsg(fd, &messages[done].msg_hdr, flags);
        if (result < 0) return done > 0 ? (int)done : -1;
        messages[done++].msg_len = (unsigned)result;
    }
    return (int)done;
}

static mode_t type_of(int fd) {
    struct stat status;
    return fstat(fd, &status) == 0 ? status.st_mode & S_IFMT : 0;
}

/* A write of more than this may block although the pipe is ready. */
#define PIECE 4096

EXPORT ssize_t write(int fd, const void *data, size_t length) {
    mode_t type = is_emulated() ? type_of(fd) : 0;
    if (type == S_IFSOCK) {
        ssize_t result = send(fd, data, length, MSG_NOSIGNAL);
        if (result < 0 && errno == EPIPE) raise(SIGPIPE);
        return result;
    }
    if (type != S_IFIFO || is_nonblocking(fd)) {
        long result = raw(SYS_write, (long)fd, (long)data, (long)length, 0L, 0L, 0L);
        return result < 0 ? failed(result) : result;
    }
    size_t done = 0;
    do {
        int error = wait_until_ready(fd, POLLOUT, 0);
        if (error != 0) return done > 0 ? (ssize_t)done : failed(-error);
        size_t piece = length - done < PIECE ? length - done : PIECE;
        long result = raw(SYS_write, (long)fd, (long)((const char *)data + done), (long)piece, 0L, 0L, 0L);
        if (result < 0) return done > 0 ? (ssize_t)done : failed(result);
        done += (size_t)result;
    } while (done < length);
    return (ssize_t)done;
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count) {
    mode_t type = is_emulated() ? type_of(fd) : 0;
    if (type == S_IFSOCK) {
        struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count};
        ssize_t result = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (result < 0 && errno == EPIPE) raise(SIGPIPE);
        return result;
    }
    if (type != S_IFIFO || is_nonblocking(fd)) {
        long result = raw(SYS_writev, (long)fd, (long)parts, (long)count, 0L, 0L, 0L);
        return result < 0 ? failed(result) : result;
    }
    ssize_t total = 0;
    for (int n = 0; n < count; n++) {
        ssize_t result = write(fd, parts[n].iov_base, parts[n].iov_len);
        if (result < 0) return total > 0 ? total : -1;
        total += result;
    }
    return total;
}

EXPORT ssize_t sendfile(int to, int from, off_t *offset, size_t count) {
    if (is_emulated() && type_of(to) == S_IFSOCK && !is_nonblocking(to)) {
        char piece[16384];
        size_t most = count < sizeof piece ? count : sizeof piece;
        ssize_t length = offset != NULL ? pread(from, piece, most, *offset) : read(from, piece, most);
        if (length <= 0) return length;
        ssize_t result = send(to, piece, (size_t)length, 0);
        if (result > 0 && offset != NULL) *offset += result;
        return result;
    }
    long result = raw(SYS_sendfile, (long)to, (long)from, (long)offset, (long)count, 0L, 0L);
    return result < 0 ? failed(result) : result;
}

/* Waits for any of the descriptors; returns as park() does. */
static int park_for_all(const struct pollfd *polled, nfds_t count, int64_t deadline) {
    if (count == 1 && polled->fd >= 0) return park(polled->fd, polled->events, deadline);
    long set = raw(SYS_epoll_create1, (long)EPOLL_CLOEXEC, 0L, 0L, 0L, 0L, 0L);
    if (set < 0) refuse("poll without descriptors left");
    for (nfds_t n = 0; n < count; n++) {
        if (polled[n].fd < 0) continue;
        struct epoll_event event = {0};
        for (nfds_t m = 0; m < count; m++)
            if (polled[m].fd == polled[n].fd) event.events |= (uint16_t)polled[m].events;
        raw(SYS_epoll_ctl, set, (long)EPOLL_CTL_ADD, (long)polled[n].fd, (long)&event, 0L, 0L);
    }
    int found = park((int)set, POLLIN, deadline);
    raw(SYS_close, set, 0L, 0L, 0L, 0L, 0L);
    return found;
}

EXPORT int ppoll(struct pollfd *polled, nfds_t count, const struct timespec *timeout, const sigset_t *mask) {
    if (!is_emulated()) {
        struct timespec rest = timeout ? *timeout : (struct timespec){0, 0};
        long result = raw(SYS_ppoll, (long)polled, (long)count, (long)(timeout ? &rest : NULL), (long)mask, 8L, 0L);
        return result < 0 ? failed(result) : (int)result;
    }
    int64_t deadline = deadline_of(timeout);
    for (;;) {
        long result = real_poll(polled, count);
        if (result != 0) return result < 0 ? failed(result) : (int)result;
        if (deadline != NEVER && current_time() >= deadline) {
            note_clock_read();
            return 0;
        }
        sigset_t old;
        if (mask != NULL) sigprocmask(SIG_SETMASK, mask, &old);
        int found = park_for_all(polled, count, deadline);
        if (mask != NULL) sigprocmask(SIG_SETMASK, &old, NULL);
        if (found != 0) return failed(-EINTR);
    }
}

EXPORT int poll(struct pollfd *polled, nfds_t count, int timeout) {
    struct timespec duration = {timeout / 1000, timeout % 1000 * 1000000L};
    return ppoll(polled, count, timeout < 0 ? NULL : &duration, NULL);
}

EXPORT int pselect(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other,
                   const struct timespec *restrict timeout, const sigset_t *restrict mask) {
    struct pollfd polled[FD_SETSIZE];
    nfds_t used = 0;
    for (int fd = 0; fd < count && fd < FD_SETSIZE; fd++) {
        int events = (in && FD_ISSET(fd, in) ? POLLIN : 0) | (out && FD_ISSET(fd, out) ? POLLOUT : 0) |
                     (other && FD_ISSET(fd, other) ? POLLPRI : 0);
        if (events != 0) polled[used++] = (struct pollfd){fd, (short)events, 0};
    }
    int result = ppoll(polled, used, timeout, mask);
    if (result < 0) return result;
    int bits = 0;
    for (nfds_t n = 0; n < used; n++) {
        int fd = polled[n].fd, found = polled[n].revents;
        if (found & POLLNVAL) return failed(-EBADF);
        if (in && FD_ISSET(fd, in)) found & (POLLIN | POLLHUP | POLLERR) ? (void)bits++ : FD_CLR(fd, in);
        if (out && FD_ISSET(fd, out)) found & (POLLOUT | POLLERR) ? (void)bits++ : FD_CLR(fd, out);
        if (other && FD_ISSET(fd, other)) found & POLLPRI ? (void)bits++ : FD_CLR(fd, other);
    }
    return bits;
}

EXPORT int select(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other, struct timeval *restrict timeout) {
    struct timespec duration = {0, 0};
    if (timeout != NULL) duration = (struct timespec){timeout->tv_sec, timeout->tv_usec * 1000};
    int64_t end = deadline_of(timeout ? &duration : NULL);
    int result = pselect(count, in, out, other, timeout ? &duration : NULL, NULL);
    if (timeout != NULL && is_emulated()) {
        int64_t left = end > current_time() ? end - current_time() : 0;
        *timeout = (struct timeval){left / SECOND, left % SECOND / 1000};
    }
    return result;
}

EXPORT int epoll_pwait2(int set, struct epoll_event *events, int most, const struct timespec *timeout, const sigset_t *mask) {
    int64_t deadline = deadline_of(timeout);
    for (;;) {
        long result = raw(SYS_epoll_pwait, (long)set, (long)events, (long)most, 0L, 0L, 8L);
        if (result != 0) return result < 0 ? failed(result) : (int)result;
        if (deadline != NEVER && current_time() >= deadline) {
            note_clock_read();
            return 0;
        }
        sigset_t old;
        if (mask != NULL) sigprocmask(SIG_SETMASK, mask, &old);
        int found = park(set, POLLIN, deadline);
        if (mask != NULL) sigprocmask(SIG_SETMASK, &old, NULL);
        if (found != 0) return failed(-EINTR);
    }
}

EXPORT int epoll_pwait(int set, struct epoll_event *events, int most, int timeout, const sigset_t *mask) {
    if (!is_emulated()) {
        long result = raw(SYS_epoll_pwait, (long)set, (long)events, (long)most, (long)timeout, (long)mask, 8L);
        return result < 0 ? failed(result) : (int)result;
    }
    struct timespec duration = {timeout / 1000, timeout % 1000 * 1000000L};
    return epoll_pwait2(set, events, most, timeout < 0 ? NULL : &duration, mask);
}

EXPORT int epoll_wait(int set, struct epoll_event *events, int most, int timeout) {
    return epoll_pwait(set, events, most, timeout, NULL);
}

/* Threads that yield to each other until something happens must let time pass. */
#define COST_OF_YIELD 1000

EXPORT int sched_yield(void) {
    if (is_emulated()) park(-1, 0, current_time() + COST_OF_YIELD);
    return 0;
}

/* Functions that the compiler's checks of buffers use. */
EXPORT ssize_t __read_chk(int fd, void *into, size_t most, size_t size) { (void)size; return read(fd, into, most); }
EXPORT ssize_t __recv_chk(int fd, void *into, size_t most, size_t size, int flags) { (void)size; return recv(fd, into, most, flags); }
EXPORT ssize_t __recvfrom_chk(int fd, void *into, size_t most, size_t size, int flags, struct sockaddr *from, socklen_t *length) {
    (void)size;
    return recvfrom(fd, into, most, flags, (__SOCKADDR_ARG){from}, length);
}
EXPORT int __poll_chk(struct pollfd *polled, nfds_t count, int timeout, size_t size) { (void)size; return poll(polled, count, timeout); }
EXPORT int __ppoll_chk(struct pollfd *polled, nfds_t count, const struct timespec *timeout, const sigset_t *mask, size_t size) {
    (void)size;
    return ppoll(polled, count, timeout, mask);
}
