// Package floor has what the servers have in common: the arguments, the answer, and a process per core.
package floor

import (
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/valyala/fasthttp/prefork"
	"github.com/valyala/fasthttp/reuseport"
)

// Body is what every server answers with.
var Body = []byte(strings.Repeat("Z", 420))

// Timeouts for the head of a request, and between two requests.
const (
	HeadTimeout = 10 * time.Second
	IdleTimeout = 60 * time.Second
)

// Garbage is how far the heap may grow, in percent of what is in use, before a tuned server collects it.
const Garbage = 800

// Arguments are those of all servers.
type Arguments struct {
	Address  string
	Cores    int
	Tuned    bool
	Timeouts bool
}

// Read reads ADDRESS CORES documented|tuned timeouts|forever.
func Read() (Arguments, error) {
	if len(os.Args) != 5 {
		return Arguments{}, fmt.Errorf("usage: ADDRESS CORES documented|tuned timeouts|forever")
	}
	read := Arguments{Address: os.Args[1], Tuned: os.Args[3] == "tuned", Timeouts: os.Args[4] == "timeouts"}
	if _, err := fmt.Sscan(os.Args[2], &read.Cores); err != nil {
		return Arguments{}, fmt.Errorf("%s: %w", os.Args[2], err)
	}
	return read, nil
}

// Tuned serves in the manner of entries at TechEmpower: a process per core, and more Garbage. It returns when
// serve does.
func Tuned(arguments Arguments, serve func(net.Listener) error) error {
	debug.SetGCPercent(Garbage)
	if arguments.Cores == 1 {
		listener, err := reuseport.Listen("tcp4", arguments.Address)
		if err != nil {
			return err
		}
		return serve(listener)
	}
	server := &prefork.Prefork{
		ServeFunc:     serve,
		Network:       "tcp4",
		Reuseport:     true,
		OnMasterDeath: func() { os.Exit(1) },
	}
	return server.ListenAndServe(arguments.Address)
}
