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
	"unsafe"

	"floors/floor"
)

func main() {
	http.HandleFunc("GET /qrcode", floor.Answer)
	os.Exit(int(C.bridge_serve(C.CString(floor.Address()))))
}

// bridge_handle answers one request with the default mux, on the thread of hyper's that read it.
//
//export bridge_handle
func bridge_handle(asked *C.head, answer unsafe.Pointer) {
	w := &writer{header: http.Header{}, status: http.StatusOK}
	if request, err := requestOf(asked); err == nil {
		http.DefaultServeMux.ServeHTTP(w, request)
	} else {
		w.status = http.StatusBadRequest
	}
	w.send(answer)
}

// requestOf copies a head, whose memory is hyper's.
func requestOf(head *C.head) (*http.Request, error) {
	request, err := http.NewRequest(text(head.method), text(head.target), nil)
	if err != nil {
		return nil, err
	}
	for _, header := range unsafe.Slice(head.headers, head.count) {
		name := http.CanonicalHeaderKey(text(header.name))
		if name == "Host" {
			request.Host = text(header.value)
		} else {
			request.Header[name] = append(request.Header[name], text(header.value))
		}
	}
	request.RequestURI = request.URL.RequestURI()
	return request, nil
}

func text(of C.text) string {
	return C.GoStringN((*C.char)(unsafe.Pointer(of.start)), C.int(of.length))
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

// send hands the answer over in one call. Pinned, its bytes may be read where they lie.
func (w *writer) send(answer unsafe.Pointer) {
	var pinner runtime.Pinner
	defer pinner.Unpin()
	pinned := func(start *byte, length int) C.text {
		if length == 0 {
			return C.text{}
		}
		pinner.Pin(start)
		return C.text{start: (*C.uint8_t)(start), length: C.size_t(length)}
	}
	headers := make([]C.header, 0, 4)
	for name, values := range w.header {
		for _, value := range values {
			headers = append(headers, C.header{
				name:  pinned(unsafe.StringData(name), len(name)),
				value: pinned(unsafe.StringData(value), len(value)),
			})
		}
	}
	body := w.body.Bytes()
	C.bridge_answer(answer, C.uint16_t(w.status), unsafe.SliceData(headers), C.size_t(len(headers)),
		pinned(unsafe.SliceData(body), len(body)))
}
