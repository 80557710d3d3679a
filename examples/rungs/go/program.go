// Starts the program qr-draw for each picture.
package main

import (
	"os"
	"os/exec"
	"strings"
)

func draw(text string) ([]byte, error) {
	qr := exec.Command(os.Getenv("QR_PROGRAM"), "--format", "png", "--keep-newline", "-")
	qr.Stdin = strings.NewReader(text)
	return qr.Output()
}
