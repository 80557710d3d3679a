"""Runs zint for `make bench ARGS=formats`."""

from turns import DARK, LIGHT, MARGIN, SIZE_PX, serve
from zint import OutputOptions, Symbol, Symbology

# zint's number for level L.
LEVEL = 1


def make(text, kind):
    symbol = Symbol()
    symbol.symbology = Symbology.QRCODE
    symbol.option_1 = LEVEL
    symbol.output_options = OutputOptions.BARCODE_MEMORY_FILE
    symbol.outfile = f"file.{kind}"
    symbol.whitespace_width = symbol.whitespace_height = MARGIN
    symbol.encode(text)
    if kind == "png":
        symbol.fgcolour, symbol.bgcolour = DARK[1:], LIGHT[1:]
        # At a scale of 1 a module has two pixels.
        symbol.scale = SIZE_PX // (symbol.width + 2 * MARGIN) / 2
    symbol.print()
    return bytes(symbol.memfile)


serve(make)
