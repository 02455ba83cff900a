// SPDX-License-Identifier: Apache-2.0

// Counts words of its arguments in a store, over libofframp by cgo: go build count.go && ./count ADDRESS word...
package main

/*
#cgo pkg-config: offramp
#include <offramp.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"os"
	"unsafe"
)

func fail(message *C.char) {
	fmt.Fprintln(os.Stderr, C.GoString(message))
	os.Exit(1)
}

func main() {
	message := (*C.char)(C.malloc(C.OFFRAMP_ERROR_BYTES))
	words := os.Args[2:]
	client := C.offramp_connect(C.CString(os.Args[1]), nil, message)
	if client == nil {
		fail(message)
	}
	defer C.offramp_close(client)

	// Memory that C sees is C's.
	size := C.size_t(len(words)) * C.size_t(unsafe.Sizeof(C.offramp_request{}))
	memory := C.calloc(1, size)
	requests := unsafe.Slice((*C.offramp_request)(memory), len(words))
	for i, word := range words {
		requests[i] = C.offramp_request{tag: C.uint64_t(i), operation: C.OFFRAMP_INCR, number: 1}
		requests[i].key, requests[i].key_length = C.CString(word), C.size_t(len(word))
	}
	if C.offramp_submit(client, &requests[0], C.size_t(len(words)), message) != 0 {
		fail(message)
	}
	answers := make([]C.offramp_answer, 16)
	for C.offramp_pending(client) > 0 {
		if C.offramp_wait(client, 5000, message) != 1 {
			fail(message)
		}
		count := C.offramp_poll(client, &answers[0], 16, message)
		if count < 0 {
			fail(message)
		}
		for _, answer := range answers[:count] {
			fmt.Println(words[answer.tag], answer.number)
		}
	}
}
