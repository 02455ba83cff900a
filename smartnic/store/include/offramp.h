/* SPDX-License-Identifier: Apache-2.0 */
/* libofframp: the key-value store as a server in this process, as a client, and plug-ins that bring functions.
 *
 * Every structure begins with its size in bytes, by which the library knows which fields the caller knows: fields are added
 * at the end, and what is not there is 0. Functions say what went wrong in `error`, a line of at most OFFRAMP_ERROR_BYTES bytes. */
#ifndef OFFRAMP_H
#define OFFRAMP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OFFRAMP_ABI 1
#define OFFRAMP_ERROR_BYTES 256
#define OFFRAMP_API __attribute__((visibility("default")))

/* The version of this interface that the library has: OFFRAMP_ABI of its header. It has all earlier ones, too. */
OFFRAMP_API uint32_t offramp_abi(void);
/* The library's version, as text. */
OFFRAMP_API const char *offramp_version(void);

/* ---- Serving ---------------------------------------------------------------------------------------------------------- */

typedef struct offramp_server offramp_server;

enum { OFFRAMP_RESP = 0, OFFRAMP_MEMCACHED = 1 };
enum { OFFRAMP_SYNC_ALWAYS = 0, OFFRAMP_SYNC_EVERY_SECOND = 1, OFFRAMP_SYNC_NEVER = 2 };

enum {
    OFFRAMP_EVICT_NONE = 0,
    OFFRAMP_EVICT_ALL_LRU = 1,
    OFFRAMP_EVICT_ALL_LFU = 2,
    OFFRAMP_EVICT_ALL_RANDOM = 3,
    OFFRAMP_EVICT_ENDING_LRU = 4, /* of keys that expire, as the next three */
    OFFRAMP_EVICT_ENDING_LFU = 5,
    OFFRAMP_EVICT_ENDING_RANDOM = 6,
    OFFRAMP_EVICT_ENDING_TTL = 7
};

typedef struct offramp_server_settings {
    uint32_t size;
    uint32_t sync;         /* OFFRAMP_SYNC_... */
    const char *folder;    /* of log and snapshots; NULL: nothing is kept */
    const char *password;  /* that clients must show; NULL: none */
    uint64_t memory;       /* bytes of keys, values and table; 0: no limit */
    uint32_t value_bytes;  /* of the longest value; 0: 1 MiB */
    uint32_t connections;  /* at a time; 0: 10,000 */
    uint32_t spin_us;      /* how long it looks for work at most before it sleeps; 0: never */
    uint32_t cut;          /* not 0: give up what a damaged log has behind its damage */
    uint32_t eviction;     /* which keys go when the memory is full: OFFRAMP_EVICT_... */
    uint32_t backlog;      /* bytes of changes that are kept for those who follow; 0: 16 MiB */
} offramp_server_settings;

/* Fills a store from its folder; NULL, with the reason. */
OFFRAMP_API offramp_server *offramp_server_open(const offramp_server_settings *settings, char *error);
/* Takes over a socket that listens. From any thread. */
OFFRAMP_API void offramp_server_listen(offramp_server *server, int socket, int protocol);
/* Takes over a connection whose peer has been proved already. From any thread. */
OFFRAMP_API void offramp_server_adopt(offramp_server *server, int socket, int protocol);
/* Makes the server, before it runs, shard `self` of `shards` that clients of redis' clusters see at these ports. `id` is 32
 * hexadecimal digits, the same for all. */
OFFRAMP_API void offramp_server_join(offramp_server *server, uint32_t self, uint32_t shards, const uint16_t *ports, const char *id);
/* Makes the server, before it runs, follow the store at a numeric address; `port` is its own, for INFO. -1, with the reason. */
OFFRAMP_API int offramp_server_follow(offramp_server *server, const char *host, uint16_t leader_port, uint16_t port, char *error);
/* Serves until offramp_server_stop. */
OFFRAMP_API void offramp_server_run(offramp_server *server);
/* From any thread or signal handler. */
OFFRAMP_API void offramp_server_stop(offramp_server *server);
/* Keys in the store, records that were read at the start, and bytes of a torn record that were cut off. */
OFFRAMP_API void offramp_server_recovered(const offramp_server *server, uint64_t *keys, uint64_t *records, uint64_t *torn);
/* After offramp_server_run has returned. */
OFFRAMP_API void offramp_server_close(offramp_server *server);

/* ---- Asking ----------------------------------------------------------------------------------------------------------- */

/* A connection. One thread uses it at a time. */
typedef struct offramp_client offramp_client;

typedef struct offramp_client_settings {
    uint32_t size;
    uint32_t timeout_ms;    /* for connecting; 0: 10,000 */
    const char *token_file; /* proves its token to a server's --listen; NULL: what OFFRAMP_TOKEN_FILE names, or none */
    const char *password;   /* not NULL: the address is a server's --resp, or a redis, which is shown it unless it is empty */
} offramp_client_settings;

enum {
    OFFRAMP_GET = 0,    /* answers the value */
    OFFRAMP_SET = 1,    /* number: expiry in ms from now, 0 for never */
    OFFRAMP_DEL = 2,
    OFFRAMP_INCR = 3,   /* adds number; answers the sum as a number */
    OFFRAMP_CAS = 4,    /* puts value in the place of expected */
    OFFRAMP_APPEND = 5, /* answers the new length as a number */
    OFFRAMP_EXISTS = 6,
    OFFRAMP_EXPIRE = 7  /* number: ms from now */
};

enum {
    OFFRAMP_OK = 0,
    OFFRAMP_MISSING = 1,   /* there is no such key */
    OFFRAMP_DIFFERENT = 2, /* CAS: the value is another */
    OFFRAMP_ERROR = 3,     /* value: what the server says */
    OFFRAMP_ARRAY = 4      /* of offramp_submit_encoded: value is the answer as it came */
};

typedef struct offramp_request {
    uint64_t tag; /* comes back with the answer */
    uint32_t operation, reserved;
    const char *key, *value, *expected;
    size_t key_length, value_length, expected_length;
    int64_t number;
} offramp_request;

typedef struct offramp_answer {
    uint64_t tag;
    int32_t status, reserved;
    int64_t number;
    const char *value; /* good until the next call with this client */
    size_t length;
} offramp_answer;

/* NULL, with the reason. `settings` may be NULL. */
OFFRAMP_API offramp_client *offramp_connect(const char *address, const offramp_client_settings *settings, char *error);
/* A client of a connection whose greeting is done, which becomes the client's; `name` is for messages. */
OFFRAMP_API offramp_client *offramp_client_of(int socket, const char *name);
/* Queues requests and sends what the connection takes; answers come in their order. -1, with the reason: it is lost. */
OFFRAMP_API int offramp_submit(offramp_client *client, const offramp_request *requests, size_t count, char *error);
/* The same for `count` commands of redis' protocol in `length` bytes, with tags from `first` on. */
OFFRAMP_API int offramp_submit_encoded(offramp_client *client, const char *commands, size_t length, size_t count, uint64_t first, char *error);
/* Answers that have come, at most `room`; does not wait. -1, with the reason: the connection is lost. */
OFFRAMP_API int64_t offramp_poll(offramp_client *client, offramp_answer *answers, size_t room, char *error);
/* Waits until answers have come: 1; 0 after `timeout_ms`, negative for ever; -1, with the reason: the connection is lost. */
OFFRAMP_API int offramp_wait(offramp_client *client, int timeout_ms, char *error);
/* For an event loop: poll it for reading, and for writing while offramp_unsent is not 0; then call offramp_poll. */
OFFRAMP_API int offramp_descriptor(const offramp_client *client);
OFFRAMP_API size_t offramp_unsent(const offramp_client *client);
/* Requests without an answer. */
OFFRAMP_API size_t offramp_pending(const offramp_client *client);
OFFRAMP_API void offramp_close(offramp_client *client);

/* ---- Plug-ins --------------------------------------------------------------------------------------------------------- */

/* A plug-in is a shared library that brings functions: it has the symbol OFFRAMP_PLUGIN_SYMBOL, an offramp_plugin. LEO calls
 * them as a device's (`plugin:PATH`), from one thread at a time. */
#define OFFRAMP_PLUGIN_ABI 1
#define OFFRAMP_PLUGIN_SYMBOL offramp_plugin_1

typedef struct offramp_function {
    const char *name;
    /* Turns a message into an answer of at most `room` bytes. The answer's length, or -(a status of LEO's devices): 2 the
     * message is no request, 3 it names memory that is not there, 5 it cannot be answered. */
    int64_t (*call)(void *state, const void *message, size_t length, void *answer, size_t room);
} offramp_function;

typedef struct offramp_plugin {
    uint32_t size;             /* of this structure */
    uint32_t abi;              /* OFFRAMP_PLUGIN_ABI */
    const char *kind;          /* "cpu", "fpga", "nic" or "gpu" */
    const offramp_function *functions; /* up to one without a name */
    uint64_t answer_bytes;     /* of the longest answer */
    void *(*open)(const char *options); /* NULL: it cannot be; may be NULL itself */
    void (*close)(void *state);         /* may be NULL */
} offramp_plugin;

#ifdef __cplusplus
}
#endif
#endif
