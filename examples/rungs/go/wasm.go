// Calls the plain Wasm module in wazero, which is pure Go, without cgo.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

const maxText = 512

// An instance serves one call at a time.
type instance struct {
	module              api.Module
	generate            api.Function
	textAt, pngAt, room uint64
}

var (
	ctx       = context.Background()
	runtime   = wazero.NewRuntime(ctx)
	compiled  = compile()
	instances = sync.Pool{New: func() any { return instantiate() }}
)

func compile() wazero.CompiledModule {
	wasm, err := os.ReadFile(os.Getenv("QR_WASM"))
	if err != nil {
		log.Fatal(err)
	}
	module, err := runtime.CompileModule(ctx, wasm)
	if err != nil {
		log.Fatal(err)
	}
	return module
}

func instantiate() *instance {
	module, err := runtime.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		log.Fatal(err)
	}
	call := func(name string, argument uint64) uint64 {
		result, err := module.ExportedFunction(name).Call(ctx, argument)
		if err != nil {
			log.Fatal(err)
		}
		return result[0]
	}
	room := call("max_png_bytes", 200)
	return &instance{module, module.ExportedFunction("generate"), call("alloc", maxText), call("alloc", room), room}
}

func draw(text string) ([]byte, error) {
	it := instances.Get().(*instance)
	it.module.Memory().WriteString(uint32(it.textAt), text)
	result, err := it.generate.Call(ctx, it.textAt, uint64(len(text)), 200, 4, 0, it.pngAt, it.room)
	if err != nil {
		return nil, err // a trap: this instance is not used again
	}
	defer instances.Put(it)
	length := int32(result[0])
	if length < 0 {
		return nil, fmt.Errorf("the module failed with %d", length)
	}
	png, _ := it.module.Memory().Read(uint32(it.pngAt), uint32(length))
	return bytes.Clone(png), nil
}
