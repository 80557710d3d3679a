"""Calls the Python package, which is qr-core through pyo3."""

import qr_fast


async def draw(text):
    return qr_fast.draw(text, size=200, level="L")
