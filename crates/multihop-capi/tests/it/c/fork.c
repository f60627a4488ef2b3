/* The library in a child of fork. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

/* Runs a function in a child, for at most fifty seconds. */
static void in_a_child(void (*function)(int), int argument) {
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(50);
        function(argument);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(!WIFSIGNALED(status));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void a_child_may_be_the_first_to_call(int argument) {
    (void)argument;
    struct sockaddr_in address;
    int listening = listener(&address);
    int caller = plain_socket();
    CHECK(tpa_connect(caller, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(tpa_close(caller) == 0 && tpa_close(listening) == 0);
}

/* The parent has used the library. */
static void every_call_of_a_child_fails_at_once(int socket) {
    struct sockaddr_in address = loopback(9);
    struct sockaddr *raw = (struct sockaddr *)&address;
    socklen_t length = sizeof address;
    char byte;
    FAILS(tpa_socket(AF_INET, SOCK_STREAM, 0), EOPNOTSUPP);
    FAILS(tpa_bind(socket, raw, length), EBADF);
    FAILS(tpa_connect(socket, raw, length), EBADF);
    FAILS(tpa_listen(socket, 1), EBADF);
    FAILS(tpa_accept(socket, NULL, NULL), EBADF);
    FAILS(tpa_send(socket, "x", 1, 0), EBADF);
    FAILS(tpa_recv(socket, &byte, 1, 0), EBADF);
    FAILS(tpa_shutdown(socket, SHUT_RDWR), EBADF);
    FAILS(tpa_poll_fd(socket), EBADF);
    FAILS(set(socket, TPA_NONBLOCKING, 1), EBADF);
    FAILS(tpa_getsockopt(socket, TPA_LEVEL, TPA_LOCAL_ADDRESS, raw, &length), EBADF);
    FAILS(tpa_close(socket), EBADF);
}

int main(void) {
    struct sockaddr_in address;
    char byte = 0;
    alarm(50);
    in_a_child(a_child_may_be_the_first_to_call, 0);

    int listening = listener(&address);
    int caller = plain_socket();
    CHECK(tpa_connect(caller, (struct sockaddr *)&address, sizeof address) == 0);
    int accepted = tpa_accept(listening, NULL, NULL);
    int fresh = plain_socket();
    CHECK(accepted >= 0 && fresh >= 0);
    in_a_child(every_call_of_a_child_fails_at_once, accepted);
    in_a_child(every_call_of_a_child_fails_at_once, listening);
    in_a_child(every_call_of_a_child_fails_at_once, fresh);
    /* The parent is not affected. */
    CHECK(tpa_send(caller, "x", 1, 0) == 1);
    CHECK(tpa_recv(accepted, &byte, 1, 0) == 1 && byte == 'x');
    CHECK(tpa_close(caller) == 0 && tpa_close(accepted) == 0 && tpa_close(listening) == 0);
    return 0;
}
