/* A vehicle that answers commands, and an operator that sends one beside telemetry with a deadline of 200 ms.
 *
 *     messages TOKEN         the vehicle: prints its port
 *     messages TOKEN PORT    the operator, on the same host */
#include <multihop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int must(int result) {
    if (result < 0) {
        fprintf(stderr, "%s\n", multihop_error());
        exit(1);
    }
    return result;
}

int main(int argc, char **argv) {
    struct multihop_security security = {.token = argc > 1 ? argv[1] : NULL};
    struct multihop_message about;
    char data[1000];
    if (argc > 2) {
        int connection = must(multihop_connect("127.0.0.1", (uint16_t)atoi(argv[2]), &security));
        int commands = must(multihop_open_channel(
            connection, &(struct multihop_channel){.priority = 0, .ordered = 1, .name = "commands"}));
        must(multihop_send(commands, "arm", 3));
        must(multihop_receive(commands, data, sizeof data, &about, -1));
        printf("%.*s\n", (int)about.length, data);
        return must(multihop_close(connection));
    }
    int listener = must(multihop_listen("127.0.0.1", 0, &security));
    printf("port %d\n", must(multihop_port(listener)));
    fflush(stdout);
    int connection = must(multihop_accept(listener, -1));
    int commands = must(multihop_accept_channel(connection, NULL, -1));
    while (must(multihop_receive(commands, data, sizeof data - 3, &about, -1)) == 1) {
        printf("command of %d bytes%s\n", (int)about.length, about.is_late ? ", late" : "");
        memcpy(data + about.length, " ok", 3);
        must(multihop_send(commands, data, about.length + 3));
    }
    return must(multihop_close(connection));
}
