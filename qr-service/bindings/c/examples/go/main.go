// Writes a text's QR code to a file: qr TEXT [FILE]
package main

// #cgo pkg-config: qr
// #include <qr.h>
import "C"

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: qr TEXT [FILE]")
		os.Exit(2)
	}
	path := "code.png"
	if len(os.Args) > 2 {
		path = os.Args[2]
	}
	png, err := PNG(os.Args[1])
	if err == nil {
		err = os.WriteFile(path, png, 0o666)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "qr:", err)
		os.Exit(1)
	}
}

// PNG draws a text's QR code: 200 x 200 pixels, level L.
func PNG(text string) ([]byte, error) {
	utf8 := []byte(text)
	var first *C.uint8_t // stays null for the empty text, which qr_png accepts
	if len(utf8) > 0 {
		first = (*C.uint8_t)(&utf8[0])
	}
	png := make([]byte, C.QR_MAX_SERVICE_PNG)
	var length C.size_t
	status := C.qr_png(first, C.size_t(len(utf8)), nil,
		(*C.uint8_t)(&png[0]), C.size_t(len(png)), &length)
	if status != C.QR_STATUS_OK {
		return nil, errors.New(C.GoString(C.qr_error_message(status)))
	}
	return png[:length], nil
}
