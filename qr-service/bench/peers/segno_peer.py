"""Runs segno for `make bench ARGS=formats`."""

import io

import segno
from turns import DARK, LIGHT, MARGIN, SIZE_PX, serve


def make(text, kind):
    code = segno.make(text, error="l", boost_error=False, micro=False)
    out = io.BytesIO()
    if kind == "png":
        scale = SIZE_PX // (code.symbol_size(border=MARGIN)[0])
        code.save(out, kind=kind, border=MARGIN, scale=scale, dark=DARK, light=LIGHT)
    elif kind == "eps":
        lines = io.StringIO()
        code.save(lines, kind=kind, border=MARGIN)
        return lines.getvalue().encode()
    else:
        code.save(out, kind=kind, border=MARGIN)
    return out.getvalue()


serve(make)
