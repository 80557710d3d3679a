"""Tests the raw module from Python, with wasmtime."""

import io
import os
import unittest

import wasmtime
import zxingcpp
from PIL import Image

MODULE_FILE = os.environ["QR_RAW_WASM"]
ENGINE = wasmtime.Engine()
MODULE = wasmtime.Module.from_file(ENGINE, MODULE_FILE)
NOT_UTF8, TEXT_TOO_LONG, SIZE_TOO_SMALL, SIZE_TOO_LARGE, UNKNOWN_LEVEL = -2, -3, -4, -5, -6


class Host:
    """An instance whose calls share one buffer for texts and one for pictures."""

    MAX_TEXT_BYTES = 7089

    def __init__(self, max_size_px=600):
        self.store = wasmtime.Store(ENGINE)
        exports = wasmtime.Instance(self.store, MODULE, []).exports(self.store)
        self.memory = exports["memory"]
        self.functions = {name: exports[name] for name in ("alloc", "dealloc", "generate", "max_png_bytes")}
        self.png_space = self.call("max_png_bytes", max_size_px)
        self.text_at = self.call("alloc", self.MAX_TEXT_BYTES + 1)
        self.png_at = self.call("alloc", self.png_space)

    def call(self, name, *numbers):
        return self.functions[name](self.store, *numbers)

    def generate(self, text, size=200, margin=4, level=0):
        """Returns the PNG, or the number of the failure."""
        self.memory.write(self.store, text, self.text_at)
        length = self.call("generate", self.text_at, len(text), size, margin, level, self.png_at, self.png_space)
        if length < 0:
            return length
        return bytes(self.memory.read(self.store, self.png_at, self.png_at + length))


def decode(png):
    picture = Image.open(io.BytesIO(png))
    picture.load()
    (found,) = zxingcpp.read_barcodes(picture.convert("L"), formats=zxingcpp.BarcodeFormat.QRCode)
    return found.bytes, picture.size


class RawModule(unittest.TestCase):
    def setUp(self):
        self.host = Host()

    def test_any_text_decodes(self):
        for text in ("\0", "a\0b", "\ufeff", "👩‍🚀 é 界", "麻杏石甘口服液", "\uffff"):
            self.assertEqual(decode(self.host.generate(text.encode()))[0], text.encode())

    def test_every_level_decodes_up_to_the_largest_symbol(self):
        for level, digits in enumerate((7089, 5596, 3993, 3057)):
            text = b"7" * digits
            self.assertEqual(decode(self.host.generate(text, 600, 2, level)), (text, (600, 600)))
            self.assertEqual(self.host.generate(text + b"7", 600, 2, level), TEXT_TOO_LONG)

    def test_failures_have_the_documented_numbers(self):
        self.assertEqual(self.host.generate(b"f\xff"), NOT_UTF8)
        self.assertEqual(self.host.generate(b"x", size=28), SIZE_TOO_SMALL)
        self.assertEqual(self.host.generate(b"x", size=16385), SIZE_TOO_LARGE)
        self.assertEqual(self.host.generate(b"x", level=4), UNKNOWN_LEVEL)

    def test_memory_does_not_grow(self):
        before = self.host.memory.size(self.host.store)
        for call in range(2000):
            self.host.generate(f"https://example.com/{call}".encode())
        self.assertEqual(self.host.memory.size(self.host.store), before)

    def test_freed_memory_is_used_again(self):
        before = self.host.memory.size(self.host.store)
        for _ in range(1000):
            at = self.host.call("alloc", 1_000_000)
            self.assertNotEqual(at, 0)
            self.host.call("dealloc", at, 1_000_000)
        self.assertLess(self.host.memory.size(self.host.store) - before, 40)

    def test_alloc_returns_null_if_the_host_limits_memory(self):
        self.host.store.set_limits(memory_size=4 << 20)
        self.assertEqual(self.host.call("alloc", 8 << 20), 0)
        self.assertEqual(decode(self.host.generate(b"still there"))[0], b"still there")

    def test_it_has_no_imports(self):
        self.assertEqual(MODULE.imports, [])


if __name__ == "__main__":
    unittest.main()
