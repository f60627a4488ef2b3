/* Blocking calls, interrupted by signals. */
#include "check.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

static atomic_int handled;

static void handle(int number) {
    (void)number;
    atomic_fetch_add(&handled, 1);
}

static void install(int flags) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = flags};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
}

/* Sends signals to this process until stopped; if there is an address, it connects there after fifty. */
struct pest {
    pthread_t thread;
    atomic_int stopped;
    const struct sockaddr_in *address;
    int caller;
};

static void *disturb(void *argument) {
    struct pest *pest = argument;
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    CHECK(pthread_sigmask(SIG_BLOCK, &blocked, NULL) == 0);
    while (!atomic_load(&pest->stopped)) {
        CHECK(kill(getpid(), SIGUSR1) == 0);
        usleep(2000);
        if (pest->address && atomic_load(&handled) >= 50) {
            pest->caller = plain_socket();
            CHECK(tpa_connect(pest->caller, (struct sockaddr *)pest->address, sizeof *pest->address) == 0);
            pest->address = NULL;
        }
    }
    return NULL;
}

static void start(struct pest *pest, const struct sockaddr_in *address) {
    atomic_store(&handled, 0);
    *pest = (struct pest){.address = address, .caller = -1};
    CHECK(pthread_create(&pest->thread, NULL, disturb, pest) == 0);
}

static void stop(struct pest *pest) {
    atomic_store(&pest->stopped, 1);
    CHECK(pthread_join(pest->thread, NULL) == 0);
}

#define INTERRUPTED(call)    \
    do {                     \
        struct pest pest;    \
        start(&pest, NULL);  \
        FAILS(call, EINTR);  \
        stop(&pest);         \
    } while (0)

/* A socket that receives what is sent there, and never answers. */
static struct sockaddr_in silent_address(void) {
    struct sockaddr_in address = loopback(0);
    socklen_t length = sizeof address;
    int udp = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(udp >= 0 && bind(udp, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(getsockname(udp, (struct sockaddr *)&address, &length) == 0);
    return address;
}

/* Both ends of a connection; the first one has sent all that it can without the second one receiving it. */
static void full_connection(int ends[2]) {
    static const char data[4096];
    struct sockaddr_in address;
    int listening = listener(&address);
    ends[0] = plain_socket();
    CHECK(tpa_connect(ends[0], (struct sockaddr *)&address, sizeof address) == 0);
    ends[1] = tpa_accept(listening, NULL, NULL);
    CHECK(ends[1] >= 0 && tpa_close(listening) == 0);
    for (int full = 0; full < 20;) {
        if (tpa_send(ends[0], data, sizeof data, MSG_DONTWAIT) < 0) {
            CHECK(errno == EAGAIN);
            full++;
            usleep(10000);
        } else {
            full = 0;
        }
    }
}

static void a_signal_interrupts_blocking_calls(void) {
    static const char data[4096];
    struct sockaddr_in address, silent = silent_address();
    int ends[2], listening = listener(&address), caller = plain_socket();
    char byte;
    install(0);
    INTERRUPTED(tpa_accept(listening, NULL, NULL));
    INTERRUPTED(tpa_connect(caller, (struct sockaddr *)&silent, sizeof silent));
    /* The attempt continues. */
    FAILS(tpa_connect(caller, (struct sockaddr *)&silent, sizeof silent), EALREADY);
    INTERRUPTED(tpa_recv(caller, &byte, 1, 0));
    CHECK(tpa_close(caller) == 0);
    full_connection(ends);
    INTERRUPTED(tpa_recv(ends[0], &byte, 1, 0));
    INTERRUPTED(tpa_send(ends[0], data, sizeof data, 0));
    INTERRUPTED(tpa_close(ends[0]));
    FAILS(tpa_close(ends[0]), EBADF);
    /* It has unread data, so that the connection is reset. */
    tpa_close(ends[1]);
    CHECK(tpa_close(listening) == 0);
}

static void with_restart_calls_go_on(void) {
    struct sockaddr_in address;
    struct pest pest;
    int ends[2], linger = 1, listening = listener(&address);
    install(SA_RESTART);
    start(&pest, &address);
    int accepted = tpa_accept(listening, NULL, NULL);
    CHECK(accepted >= 0);
    CHECK(atomic_load(&handled) >= 50);
    stop(&pest);
    full_connection(ends);
    CHECK(tpa_setsockopt(ends[0], TPA_LEVEL, TPA_LINGER, &linger, sizeof linger) == 0);
    start(&pest, NULL);
    FAILS(tpa_close(ends[0]), ETIMEDOUT);
    CHECK(atomic_load(&handled) > 1);
    stop(&pest);
    tpa_close(ends[1]);
}

int main(void) {
    alarm(50);
    a_signal_interrupts_blocking_calls();
    with_restart_calls_go_on();
    return 0;
}
