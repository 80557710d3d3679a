// Calls the C library through cgo, which needs a C compiler.
package main

// #cgo pkg-config: qr
// #include <qr.h>
import "C"

import (
	"errors"
	"unsafe"
)

func draw(text string) ([]byte, error) {
	png := make([]byte, C.QR_MAX_SERVICE_PNG)
	var length C.size_t
	status := C.qr_png((*C.uint8_t)(unsafe.StringData(text)), C.size_t(len(text)), nil,
		(*C.uint8_t)(&png[0]), C.size_t(len(png)), &length)
	if status != C.QR_STATUS_OK {
		return nil, errors.New(C.GoString(C.qr_error_message(status)))
	}
	return png[:length], nil
}
