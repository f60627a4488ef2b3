/* Both ends of connections with channels, in one process. */
#include <assert.h>
#include <errno.h>
#include <multihop.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct multihop_security plain = {.plain = 1};
static const size_t longest = 200000;

static void *connect_to(void *port) {
    static int connection;
    connection = multihop_connect("127.0.0.1", (uint16_t)*(int *)port, &plain);
    assert(connection > 0);
    return &connection;
}

static void check_errors(int connection) {
    struct multihop_channel wrong = {.priority = 8};
    assert(multihop_open_channel(connection, &wrong) == -1 && errno == EINVAL);
    assert(strstr(multihop_error(), "0 to 7") != NULL);
    wrong = (struct multihop_channel){.deadline_ms = 86400001};
    assert(multihop_open_channel(connection, &wrong) == -1 && strstr(multihop_error(), "1 day") != NULL);
    wrong = (struct multihop_channel){.name = "two words"};
    assert(multihop_open_channel(connection, &wrong) == -1 && strstr(multihop_error(), "32") != NULL);
    assert(multihop_open_channel(connection, NULL) == -1 && errno == EFAULT);
    assert(multihop_send(connection, "x", 1) == -1 && errno == EINVAL);
    assert(multihop_close(7) == -1 && errno == EBADF);
    assert(multihop_connect("nowhere", 1, &plain) == -1 && errno == EINVAL);
    struct multihop_security none = {0};
    assert(multihop_listen("127.0.0.1", 0, &none) == -1 && errno == EACCES);
}

/* A child of the process gets errors. */
static void check_fork(int connection) {
    pid_t child = fork();
    if (child == 0) {
        _exit(multihop_close(connection) == -1 && errno == EOPNOTSUPP ? 0 : 1);
    }
    int status = 1;
    assert(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
    int listener = multihop_listen("127.0.0.1", 0, &plain), port = multihop_port(listener);
    assert(port > 0 && multihop_accept(listener, 0) == -1 && errno == EAGAIN);
    pthread_t thread;
    void *connected;
    assert(pthread_create(&thread, NULL, connect_to, &port) == 0);
    int far = multihop_accept(listener, -1);
    assert(far > 0 && pthread_join(thread, &connected) == 0);
    int near = *(int *)connected;
    check_errors(near);
    check_fork(near);

    struct multihop_channel options = {.priority = 2, .deadline_ms = 60000, .name = "gps"}, found;
    int sending = multihop_open_channel(near, &options);
    assert(sending > 0 && multihop_send(sending, "here", 4) == 0 && multihop_send(sending, NULL, 0) == 0);
    int receiving = multihop_accept_channel(far, &found, -1);
    assert(receiving > 0 && memcmp(&found, &options, sizeof found) == 0);
    char data[1000];
    struct multihop_message about;
    size_t lengths = 0;
    for (int n = 0; n < 2; n++) {
        assert(multihop_receive(receiving, data, sizeof data, &about, -1) == 1);
        assert(about.missed == 0 && about.is_last && !about.is_late && about.offset == 0);
        lengths += about.length;
    }
    assert(lengths == 4 && multihop_receive(receiving, data, sizeof data, &about, 0) == -1 && errno == EAGAIN);

    /* A long message arrives in parts. */
    char *message = malloc(longest);
    assert(message != NULL);
    for (size_t n = 0; n < longest; n++) {
        message[n] = (char)(n % 251);
    }
    int bulk = multihop_open_channel(far, &(struct multihop_channel){.priority = 7, .ordered = 1});
    assert(bulk > 0 && multihop_send(bulk, message, longest) == 0);
    int reading = multihop_accept_channel(near, NULL, -1);
    uint64_t next = 0;
    do {
        assert(multihop_receive(reading, data, sizeof data, &about, -1) == 1 && about.offset == next);
        assert(memcmp(data, message + next, about.length) == 0);
        next += about.length;
    } while (!about.is_last);
    assert(next == longest);

    /* A message that cannot arrive in time leaves a gap: it waits behind one that nobody reads. */
    int urgent = multihop_open_channel(near, &(struct multihop_channel){.ordered = 1, .deadline_ms = 1});
    int full = 0;
    for (int n = 0; n < 20; n++) {
        full += multihop_send(urgent, message, 20000) == 0;
    }
    assert(full == 20);
    int late = multihop_accept_channel(far, NULL, -1);
    uint64_t missed = 0, arrived = 0;
    while (missed + arrived < 20) {
        assert(multihop_receive(late, data, sizeof data, &about, -1) == 1);
        missed += about.missed;
        arrived += about.missed == 0 && about.is_last;
    }
    assert(missed > 0);

    assert(multihop_close(near) == 0);
    assert(multihop_receive(receiving, data, sizeof data, &about, -1) == 0);
    assert(multihop_close(receiving) == 0 && multihop_close(far) == 0 && multihop_close(listener) == 0);
    free(message);
    return 0;
}
