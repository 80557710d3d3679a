// Package floor has the parts that all servers share: the address, the answer and the timeouts.
package floor

import (
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

// Body is every server's answer.
var Body = []byte(strings.Repeat("Z", 420))

// Timeouts for the head of a request, and between two requests.
const (
	HeadTimeout = 10 * time.Second
	IdleTimeout = 60 * time.Second
)

// Address is the first argument.
func Address() string {
	if len(os.Args) < 2 {
		log.Fatal("usage: ADDRESS")
	}
	return os.Args[1]
}

// Answer is the handler of net/http.
func Answer(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "image/png")
	w.Write(Body)
}
