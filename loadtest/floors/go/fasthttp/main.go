// fasthttp with one handler.
package main

import (
	"log"

	"github.com/valyala/fasthttp"

	"floors/floor"
)

func main() {
	server := &fasthttp.Server{
		NoDefaultServerHeader: true,
		ReadTimeout:           floor.HeadTimeout,
		IdleTimeout:           floor.IdleTimeout,
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType("image/png")
			ctx.SetBody(floor.Body)
		},
	}
	log.Fatal(server.ListenAndServe(floor.Address()))
}
