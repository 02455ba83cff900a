/* SPDX-License-Identifier: Apache-2.0 */
/* Counts words of its arguments in a store: cc count.c $(pkg-config --cflags --libs offramp) && ./a.out ADDRESS word... */
#include <offramp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **words) {
    char error[OFFRAMP_ERROR_BYTES];
    if (count < 3) return fputs("expected ADDRESS WORD...\n", stderr), 2;
    offramp_client *client = offramp_connect(words[1], NULL, error);
    if (client == NULL) return fprintf(stderr, "%s\n", error), 1;

    const size_t requests = (size_t)count - 2;
    offramp_request *request = calloc(requests, sizeof *request);
    for (size_t i = 0; i < requests; ++i) {
        request[i].tag = i;
        request[i].operation = OFFRAMP_INCR;
        request[i].key = words[i + 2];
        request[i].key_length = strlen(words[i + 2]);
        request[i].number = 1;
    }
    int status = offramp_submit(client, request, requests, error);
    while (status >= 0 && offramp_pending(client) > 0) {
        offramp_answer answer[16];
        status = offramp_wait(client, 5000, error);
        if (status == 0) return fputs("no answer in five seconds\n", stderr), 1;
        const int64_t taken = status < 0 ? -1 : offramp_poll(client, answer, 16, error);
        for (int64_t i = 0; i < taken; ++i) {
            if (answer[i].status == OFFRAMP_ERROR)
                printf("%s: %.*s\n", words[answer[i].tag + 2], (int)answer[i].length, answer[i].value);
            else
                printf("%s %lld\n", words[answer[i].tag + 2], (long long)answer[i].number);
        }
        if (taken < 0) status = -1;
    }
    if (status < 0) fprintf(stderr, "%s\n", error);
    offramp_close(client);
    free(request);
    return status < 0;
}
