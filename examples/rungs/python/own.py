"""Draws in Python: segno makes the symbol, Pillow the PNG."""

import io

import segno
from PIL import Image


async def draw(text):
    # As bytes and in byte mode: segno would encode some texts as Kanji, and others as Latin-1.
    code = segno.make(text.encode(), error="l", boost_error=False, micro=False, mode=mode_of(text))
    rows = list(code.matrix_iter(border=4))
    modules = Image.frombytes("L", (len(rows),) * 2, bytes(255 * (1 - module) for row in rows for module in row))
    png = io.BytesIO()
    modules.resize((200, 200), Image.Resampling.NEAREST).convert("1").save(png, "PNG")
    return png.getvalue()


def mode_of(text):
    return None if text.isascii() else "byte"
