// Go's net/http with one handler.
package main

import (
	"log"
	"net/http"

	"floors/floor"
)

func main() {
	arguments, err := floor.Read()
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("GET /qrcode", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		w.Write(floor.Body)
	})
	server := &http.Server{Addr: arguments.Address}
	if arguments.Timeouts {
		server.ReadHeaderTimeout, server.IdleTimeout = floor.HeadTimeout, floor.IdleTimeout
	}
	if !arguments.Tuned {
		log.Fatal(server.ListenAndServe())
	}
	contentType, length := []string{"image/png"}, []string{"420"}
	// Without the router, and without a slice of each header for each request.
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		header := w.Header()
		header["Content-Type"], header["Content-Length"] = contentType, length
		w.Write(floor.Body)
	})
	log.Fatal(floor.Tuned(arguments, server.Serve))
}
