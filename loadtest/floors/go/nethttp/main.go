// Go's net/http with one handler.
package main

import (
	"log"
	"net/http"

	"floors/floor"
)

func main() {
	http.HandleFunc("GET /qrcode", floor.Answer)
	server := &http.Server{
		Addr:              floor.Address(),
		ReadHeaderTimeout: floor.HeadTimeout,
		IdleTimeout:       floor.IdleTimeout,
	}
	log.Fatal(server.ListenAndServe())
}
