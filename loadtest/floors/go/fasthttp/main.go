// fasthttp with one handler.
package main

import (
	"log"
	"os"
	"strings"

	"github.com/valyala/fasthttp"
)

func main() {
	body := []byte(strings.Repeat("Z", 420))
	server := &fasthttp.Server{
		NoDefaultServerHeader: true,
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType("image/png")
			ctx.SetBody(body)
		},
	}
	log.Fatal(server.ListenAndServe(os.Args[1]))
}
