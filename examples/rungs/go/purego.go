// Calls the C library without cgo: purego loads it when the program starts, so that no C compiler is needed.
package main

import (
	"fmt"
	"log"

	"github.com/ebitengine/purego"
)

const maxPNG = 8192

var qrPNG func(text string, textLen uint, options *byte, out *byte, capacity uint, length *uint) int32

func init() {
	library, err := purego.Dlopen("libqr.so.0", purego.RTLD_NOW)
	if err != nil {
		log.Fatal(err)
	}
	purego.RegisterLibFunc(&qrPNG, library, "qr_png")
}

func draw(text string) ([]byte, error) {
	png := make([]byte, maxPNG)
	var length uint
	if status := qrPNG(text, uint(len(text)), nil, &png[0], maxPNG, &length); status != 0 {
		return nil, fmt.Errorf("qr_png failed with %d", status)
	}
	return png[:length], nil
}
