"""Writes to stdout the pixels of PNG files as Pillow reads them: one byte of grey per pixel."""

import sys

from PIL import Image, ImageFile

ImageFile.LOAD_TRUNCATED_IMAGES = False
for path in sys.argv[1:]:
    with Image.open(path) as image:
        image.verify()  # checks every checksum
    with Image.open(path) as image:
        sys.stdout.buffer.write(image.convert("L").tobytes())
