"""Starts the program `qr-draw` for each picture."""

import os
from asyncio import create_subprocess_exec
from subprocess import PIPE

COMMAND = os.environ["QR_PROGRAM"], "--format", "png", "--keep-newline", "-"


async def draw(text):
    process = await create_subprocess_exec(*COMMAND, stdin=PIPE, stdout=PIPE)
    png, _ = await process.communicate(text.encode())
    if process.returncode:
        raise RuntimeError(f"qr-draw ended with {process.returncode}")
    return png
