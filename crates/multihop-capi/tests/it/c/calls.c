/* The calls in one process: what they do, and with which errno they fail. */
#include "check.h"
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

static int readable(int socket, int milliseconds) {
    struct pollfd polled = {.fd = tpa_poll_fd(socket), .events = POLLIN};
    CHECK(polled.fd >= 0);
    return poll(&polled, 1, milliseconds) == 1 && (polled.revents & POLLIN);
}

static void what_cannot_be_is_refused(void) {
    struct sockaddr_in address = loopback(0);
    struct sockaddr *raw = (struct sockaddr *)&address;
    int value = 0;
    socklen_t length = sizeof value;
    FAILS(tpa_socket(AF_UNIX, SOCK_STREAM, 0), EAFNOSUPPORT);
    FAILS(tpa_socket(AF_INET, SOCK_DGRAM, 0), EPROTONOSUPPORT);
    FAILS(tpa_close(7), EBADF);
    FAILS(tpa_send(-1, "x", 1, 0), EBADF);

    int fresh = tpa_socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fresh >= 0);
    FAILS(tpa_connect(fresh, raw, sizeof address), EACCES);
    FAILS(tpa_connect(fresh, NULL, sizeof address), EFAULT);
    FAILS(tpa_connect(fresh, raw, 3), EINVAL);
    FAILS(tpa_send(fresh, "x", 1, 0), ENOTCONN);
    FAILS(tpa_recv(fresh, &value, 1, 0), ENOTCONN);
    FAILS(tpa_listen(fresh, 1), EDESTADDRREQ);
    FAILS(tpa_accept(fresh, NULL, NULL), EINVAL);
    FAILS(tpa_poll_fd(fresh), ENOTCONN);
    FAILS(tpa_setsockopt(fresh, TPA_LEVEL, 99, &value, sizeof value), ENOPROTOOPT);
    FAILS(tpa_setsockopt(fresh, SOL_SOCKET, TPA_PLAIN, &value, sizeof value), ENOPROTOOPT);
    FAILS(tpa_setsockopt(fresh, TPA_LEVEL, TPA_PLAIN, NULL, sizeof value), EFAULT);
    FAILS(tpa_setsockopt(fresh, TPA_LEVEL, TPA_PLAIN, &value, 1), EINVAL);
    FAILS(set(fresh, TPA_CWND_MAX, 13), EINVAL);
    FAILS(tpa_getsockopt(fresh, TPA_LEVEL, TPA_STATS, &value, &length), ENOTCONN);
    CHECK(tpa_setsockopt(fresh, TPA_LEVEL, TPA_TOKEN, "no token", 8) == 0);
    FAILS(tpa_connect(fresh, raw, sizeof address), EINVAL);

    struct sockaddr_in6 sixth = {.sin6_family = AF_INET6};
    FAILS(tpa_bind(fresh, (struct sockaddr *)&sixth, sizeof sixth), EAFNOSUPPORT);
    CHECK(tpa_bind(fresh, raw, sizeof address) == 0);
    FAILS(tpa_bind(fresh, raw, sizeof address), EINVAL);
    CHECK(tpa_close(fresh) == 0);
    FAILS(tpa_close(fresh), EBADF);
}

static void a_stream_goes_both_ways_and_half_closes(void) {
    struct sockaddr_in address, from;
    socklen_t length = sizeof from;
    int listening = listener(&address);
    int other = plain_socket();
    FAILS(tpa_bind(other, (struct sockaddr *)&address, sizeof address), EADDRINUSE);

    CHECK(set(listening, TPA_NONBLOCKING, 1) == 0);
    FAILS(tpa_accept(listening, NULL, NULL), EAGAIN);
    CHECK(!readable(listening, 0));
    CHECK(tpa_connect(other, (struct sockaddr *)&address, sizeof address) == 0);
    FAILS(tpa_connect(other, (struct sockaddr *)&address, sizeof address), EISCONN);
    CHECK(readable(listening, 20000));
    int accepted = tpa_accept(listening, (struct sockaddr *)&from, &length);
    CHECK(accepted >= 0);
    CHECK(length == sizeof from && from.sin_family == AF_INET && from.sin_port != 0);

    char data[100];
    CHECK(set(accepted, TPA_NONBLOCKING, 1) == 0);
    FAILS(tpa_recv(accepted, data, sizeof data, 0), EAGAIN);
    FAILS(tpa_send(other, "x", 1, MSG_OOB), EOPNOTSUPP);
    FAILS(tpa_send(other, "x", 1, MSG_WAITALL), EOPNOTSUPP);
    CHECK(tpa_send(other, "hello", 5, MSG_NOSIGNAL) == 5);
    CHECK(readable(accepted, 20000));
    FAILS(tpa_recv(accepted, data, sizeof data, MSG_OOB), EOPNOTSUPP);
    FAILS(tpa_recv(accepted, data, sizeof data, MSG_TRUNC), EOPNOTSUPP);
    CHECK(tpa_recv(accepted, data, sizeof data, MSG_PEEK) == 5);
    CHECK(tpa_recv(accepted, data, sizeof data, 0) == 5 && memcmp(data, "hello", 5) == 0);
    CHECK(tpa_shutdown(other, SHUT_WR) == 0);
    FAILS(tpa_send(other, "x", 1, 0), EPIPE);
    CHECK(readable(accepted, 20000));
    CHECK(tpa_recv(accepted, data, sizeof data, 0) == 0);
    CHECK(tpa_send(accepted, "bye", 3, 0) == 3);
    CHECK(tpa_close(accepted) == 0);
    CHECK(tpa_recv(other, data, 3, MSG_WAITALL) == 3);
    CHECK(tpa_recv(other, data, sizeof data, 0) == 0);

    struct tpa_stats stats;
    length = sizeof stats;
    CHECK(tpa_getsockopt(other, TPA_LEVEL, TPA_STATS, &stats, &length) == 0);
    CHECK(length == sizeof stats && stats.bytes_sent == 5 && stats.bytes_received == 3 && stats.mss > 500);
    char key[10];
    length = sizeof key;
    FAILS(tpa_getsockopt(other, TPA_LEVEL, TPA_PEER_KEY, key, &length), ENOENT);
    CHECK(tpa_close(other) == 0);
    CHECK(tpa_close(listening) == 0);
}

static void nobody_listens(void) {
    struct sockaddr_in address;
    CHECK(tpa_close(listener(&address)) == 0);
    int caller = plain_socket();
    FAILS(tpa_connect(caller, (struct sockaddr *)&address, sizeof address), ECONNREFUSED);
    int error = 0;
    char text[100];
    socklen_t length = sizeof text;
    CHECK(tpa_getsockopt(caller, TPA_LEVEL, TPA_ERROR_TEXT, text, &length) == 0 && strstr(text, "refused"));
    length = sizeof error;
    CHECK(tpa_getsockopt(caller, TPA_LEVEL, TPA_ERROR, &error, &length) == 0 && error == ECONNREFUSED);
    CHECK(tpa_getsockopt(caller, TPA_LEVEL, TPA_ERROR, &error, &length) == 0 && error == 0);
    CHECK(tpa_close(caller) == 0);
}

static void *accept_one(void *argument) {
    int accepted = tpa_accept((int)(intptr_t)argument, NULL, NULL);
    return (void *)(intptr_t)(accepted < 0 ? -errno : accepted);
}

static void *receive_one(void *argument) {
    char byte;
    return (void *)(intptr_t)tpa_recv((int)(intptr_t)argument, &byte, 1, 0);
}

/* One thread waits in accept, then in recv, and another closes. */
static void closing_wakes_those_who_wait(void) {
    struct sockaddr_in address;
    pthread_t thread;
    void *result;
    int listening = listener(&address);
    int caller = plain_socket();
    CHECK(pthread_create(&thread, NULL, accept_one, (void *)(intptr_t)listening) == 0);
    CHECK(tpa_connect(caller, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(pthread_join(thread, &result) == 0);
    int accepted = (int)(intptr_t)result;
    CHECK(accepted >= 0);

    CHECK(pthread_create(&thread, NULL, receive_one, (void *)(intptr_t)accepted) == 0);
    usleep(50000);
    CHECK(tpa_close(accepted) == 0);
    CHECK(pthread_join(thread, &result) == 0 && (intptr_t)result <= 0);

    CHECK(pthread_create(&thread, NULL, accept_one, (void *)(intptr_t)listening) == 0);
    usleep(50000);
    CHECK(tpa_close(listening) == 0);
    CHECK(pthread_join(thread, &result) == 0);
    CHECK((intptr_t)result == -EINVAL);
    tpa_close(caller);
}

int main(void) {
    alarm(50);
    what_cannot_be_is_refused();
    a_stream_goes_both_ways_and_half_closes();
    nobody_listens();
    closing_wakes_those_who_wait();
    return 0;
}
