// Handlers of Go's net/http, served by hyper, which calls them through C. They get no body and no client's address.
package main

/*
#cgo LDFLAGS: -L${SRCDIR}/../../../../target/floors -lbridge -lm
#include "bridge.h"
*/
import "C"

import (
	"net/http"
	"os"
	"unsafe"

	"floors/floor"
)

func main() {
	http.HandleFunc("GET /qrcode", floor.Answer)
	os.Exit(int(C.bridge_serve(C.CString(floor.Address()))))
}

// bridge_handle answers a request on the thread of hyper that read it.
//
//export bridge_handle
func bridge_handle(head *C.text, length C.size_t, answer unsafe.Pointer) {
	w := &writer{answer: answer, header: http.Header{}}
	if request, err := requestOf(unsafe.Slice(head, length)); err == nil {
		http.DefaultServeMux.ServeHTTP(w, request)
	} else {
		w.WriteHeader(http.StatusBadRequest)
	}
	w.WriteHeader(http.StatusOK)
}

// requestOf copies a request, because its memory is hyper's. The texts are a method, a target, names and values.
func requestOf(head []C.text) (*http.Request, error) {
	text := func(i int) string { return C.GoStringN(head[i].start, C.int(head[i].length)) }
	request, err := http.NewRequest(text(0), text(1), nil)
	if err != nil {
		return nil, err
	}
	request.RequestURI = text(1)
	for i := 2; i < len(head); i += 2 {
		request.Header.Add(text(i), text(i+1))
	}
	request.Host = request.Header.Get("Host")
	request.Header.Del("Host")
	return request, nil
}

// writer is an http.ResponseWriter that passes everything on.
type writer struct {
	answer unsafe.Pointer
	header http.Header
	status int
}

func (w *writer) Header() http.Header { return w.header }

func (w *writer) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	for name, values := range w.header {
		for _, value := range values {
			C.bridge_header(w.answer, textOf(name), textOf(value))
		}
	}
	C.bridge_write(w.answer, C.uint16_t(status), C.text{})
}

func (w *writer) Write(part []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	C.bridge_write(w.answer, C.uint16_t(w.status), textOf(unsafe.String(unsafe.SliceData(part), len(part))))
	return len(part), nil
}

// textOf lets C read a string in place, while the call lasts.
func textOf(s string) C.text {
	return C.text{(*C.char)(unsafe.Pointer(unsafe.StringData(s))), C.size_t(len(s))}
}
