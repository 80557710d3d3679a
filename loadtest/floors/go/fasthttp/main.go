// fasthttp with one handler.
package main

import (
	"log"

	"github.com/valyala/fasthttp"

	"floors/floor"
)

func main() {
	arguments, err := floor.Read()
	if err != nil {
		log.Fatal(err)
	}
	server := &fasthttp.Server{
		NoDefaultServerHeader: true,
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType("image/png")
			ctx.SetBody(floor.Body)
		},
	}
	if arguments.Timeouts {
		server.ReadTimeout, server.IdleTimeout = floor.HeadTimeout, floor.IdleTimeout
	}
	if !arguments.Tuned {
		log.Fatal(server.ListenAndServe(arguments.Address))
	}
	contentType := []byte("image/png")
	server.Handler = func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.SetContentTypeBytes(contentType)
		ctx.Response.SetBodyRaw(floor.Body)
	}
	server.GetOnly = true
	server.DisableHeaderNamesNormalizing = true
	log.Fatal(floor.Tuned(arguments, server.Serve))
}
