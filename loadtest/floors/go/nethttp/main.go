// Go's net/http with one handler.
package main

import (
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	body := []byte(strings.Repeat("Z", 420))
	http.HandleFunc("GET /qrcode", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		w.Write(body)
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
