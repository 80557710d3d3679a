"""Calls the Wasm component in wasmtime, without memory, pointers or error numbers."""

import os

from wasmtime import Engine, Store
from wasmtime.component import Component, Linker

store = Store(Engine())
component = Component.from_file(store.engine, os.environ["QR_COMPONENT"])
generate = Linker(store.engine).instantiate(store, component).get_func(store, "generate")


async def draw(text):
    png = generate(store, text, None)
    generate.post_return(store)
    return png
