/* Sends its standard input to an echo server and writes what comes back to its standard output, both at
 * once: it polls.
 *
 *     echo_client ADDRESS PORT [TOKEN] */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tpa.h>
#include <unistd.h>

static int fail(const char *what, int connection) {
    char text[200] = "";
    socklen_t length = sizeof text - 1;
    int error = errno;
    if (tpa_getsockopt(connection, TPA_LEVEL, TPA_ERROR_TEXT, text, &length) == 0 && text[0] != 0) {
        fprintf(stderr, "%s: %s (%s)\n", what, strerror(error), text);
    } else {
        fprintf(stderr, "%s: %s\n", what, strerror(error));
    }
    return 1;
}

static int wait_until(int connection, short events) {
    struct pollfd wanted = {.fd = tpa_poll_fd(connection), .events = events};
    return poll(&wanted, 1, -1);
}

/* Connects without waiting in tpa_connect, as a program with an event loop does. */
static int connect_to(int connection, const struct sockaddr_in *address) {
    int error = 0;
    socklen_t length = sizeof error;
    if (tpa_connect(connection, (const struct sockaddr *)address, sizeof *address) == 0) {
        return 0;
    }
    if (errno != EINPROGRESS || wait_until(connection, POLLOUT) < 0 ||
        tpa_getsockopt(connection, TPA_LEVEL, TPA_ERROR, &error, &length) < 0) {
        return -1;
    }
    errno = error;
    return error == 0 ? 0 : -1;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: %s ADDRESS PORT [TOKEN]\n", argv[0]);
        return 2;
    }
    int yes = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2]))};
    if (inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) {
        fprintf(stderr, "%s is no IPv4 address\n", argv[1]);
        return 2;
    }
    int connection = tpa_socket(AF_INET, SOCK_STREAM, 0);
    int chosen = argc > 3 ? tpa_setsockopt(connection, TPA_LEVEL, TPA_TOKEN, argv[3], (socklen_t)strlen(argv[3]))
                          : tpa_setsockopt(connection, TPA_LEVEL, TPA_PLAIN, &yes, sizeof yes);
    if (chosen < 0 || tpa_setsockopt(connection, TPA_LEVEL, TPA_NONBLOCKING, &yes, sizeof yes) < 0) {
        return fail("options", connection);
    }
    if (connect_to(connection, &address) < 0) {
        return fail("connect", connection);
    }

    char out[16384], in[16384];
    ssize_t waiting = 0, sent = 0, received;
    int open = 1;
    for (;;) {
        struct pollfd polled[2] = {
            {.fd = tpa_poll_fd(connection), .events = (short)(POLLIN | (waiting > sent ? POLLOUT : 0))},
            {.fd = open && waiting == sent ? STDIN_FILENO : -1, .events = POLLIN},
        };
        if (poll(polled, 2, -1) < 0) {
            return fail("poll", connection);
        }
        if (polled[1].revents != 0) {
            sent = 0;
            waiting = read(STDIN_FILENO, out, sizeof out);
            if (waiting <= 0) {
                waiting = open = 0;
                tpa_shutdown(connection, SHUT_WR);
            }
        }
        if (waiting > sent) {
            ssize_t done = tpa_send(connection, out + sent, (size_t)(waiting - sent), 0);
            if (done < 0 && errno != EAGAIN) {
                return fail("send", connection);
            }
            sent += done > 0 ? done : 0;
        }
        while ((received = tpa_recv(connection, in, sizeof in, 0)) > 0) {
            fwrite(in, 1, (size_t)received, stdout);
        }
        if (received == 0) {
            break;
        }
        if (errno != EAGAIN) {
            return fail("receive", connection);
        }
    }
    struct tpa_stats stats;
    socklen_t length = sizeof stats;
    if (tpa_getsockopt(connection, TPA_LEVEL, TPA_STATS, &stats, &length) == 0) {
        fprintf(stderr, "%llu bytes there, %llu back, round trip %llu us\n", (unsigned long long)stats.bytes_sent,
                (unsigned long long)stats.bytes_received, (unsigned long long)stats.rtt_us);
    }
    return tpa_close(connection) == 0 ? 0 : fail("close", connection);
}
