// Draws in Go.
package main

import "github.com/skip2/go-qrcode"

func draw(text string) ([]byte, error) {
	return qrcode.Encode(text, qrcode.Low, 200)
}
