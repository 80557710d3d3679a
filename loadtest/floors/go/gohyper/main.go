// Go's net/http API, served by hyper: a handler as in nethttp, called through C for each request.
package main

/*
#cgo LDFLAGS: -lbridge -lm -ldl -lpthread
#include "bridge.h"
*/
import "C"

import (
	"bytes"
	"net/http"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"floors/floor"
)

func main() {
	http.HandleFunc("GET /qrcode", floor.Answer)
	os.Exit(int(C.bridge_serve(C.CString(floor.Address()))))
}

// bridge_handle answers one request with the default mux, on the hyper thread that read it.
//
//export bridge_handle
func bridge_handle(head C.text, answer unsafe.Pointer) {
	w := &writer{header: http.Header{}, status: http.StatusOK}
	// A copy, because hyper owns the memory.
	if request, err := requestOf(C.GoStringN((*C.char)(unsafe.Pointer(head.start)), C.int(head.length))); err == nil {
		http.DefaultServeMux.ServeHTTP(w, request)
	} else {
		w.status = http.StatusBadRequest
	}
	w.send(answer)
}

// requestOf reads "METHOD TARGET\n", and headers as lines.
func requestOf(head string) (*http.Request, error) {
	line, rest, _ := strings.Cut(head, "\n")
	method, target, _ := strings.Cut(line, " ")
	request, err := http.NewRequest(method, target, nil)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(rest) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if name == "host" {
			request.Host = value
		} else {
			request.Header.Add(name, value)
		}
	}
	request.RequestURI = target
	return request, nil
}

// writer keeps an answer until its handler returns.
type writer struct {
	header http.Header
	status int
	wrote  bool
	body   bytes.Buffer
}

func (w *writer) Header() http.Header { return w.header }

func (w *writer) WriteHeader(status int) {
	if !w.wrote {
		w.status, w.wrote = status, true
	}
}

func (w *writer) Write(part []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(part)
}

// send passes the answer in one call. Pinning lets hyper read the bytes in place.
func (w *writer) send(answer unsafe.Pointer) {
	var headers bytes.Buffer
	for name, values := range w.header {
		for _, value := range values {
			headers.WriteString(name + ": " + value + "\n")
		}
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	text := func(of []byte) C.text {
		if len(of) == 0 {
			return C.text{}
		}
		pinner.Pin(&of[0])
		return C.text{start: (*C.uint8_t)(&of[0]), length: C.size_t(len(of))}
	}
	C.bridge_answer(answer, C.uint16_t(w.status), text(headers.Bytes()), text(w.body.Bytes()))
}
