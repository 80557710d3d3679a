"""Calls the plain Wasm module in wasmtime."""

import os

from wasmtime import Engine, Instance, Module, Store

store = Store(Engine())
exports = Instance(store, Module.from_file(store.engine, os.environ["QR_WASM"]), []).exports(store)
memory, generate = exports["memory"], exports["generate"]
room = exports["max_png_bytes"](store, 200)
text_at, png_at = exports["alloc"](store, 512), exports["alloc"](store, room)


async def draw(text):
    utf8 = text.encode()
    memory.write(store, utf8, text_at)
    length = generate(store, text_at, len(utf8), 200, 4, 0, png_at, room)
    if length < 0:
        raise RuntimeError(f"the module failed with {length}")
    return bytes(memory.read(store, png_at, png_at + length))
