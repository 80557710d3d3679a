"""Writes a text's QR code to a file: qr.py TEXT [FILE]"""

import ctypes
import sys

QR_MAX_SERVICE_PNG = 8192

_library = ctypes.CDLL("libqr.so.0")
_library.qr_png.argtypes = [
    ctypes.c_char_p,
    ctypes.c_size_t,
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_size_t,
    ctypes.POINTER(ctypes.c_size_t),
]
_library.qr_png.restype = ctypes.c_int32
_library.qr_error_message.argtypes = [ctypes.c_int32]
_library.qr_error_message.restype = ctypes.c_char_p


def png(text: str) -> bytes:
    """Draws the text's QR code: 200 x 200 pixels, level L."""
    utf8 = text.encode()
    buffer = ctypes.create_string_buffer(QR_MAX_SERVICE_PNG)
    length = ctypes.c_size_t()
    status = _library.qr_png(utf8, len(utf8), None, buffer, len(buffer), ctypes.byref(length))
    if status != 0:
        raise ValueError(_library.qr_error_message(status).decode())
    return buffer.raw[: length.value]


def main(arguments: list[str]) -> None:
    if len(arguments) not in (1, 2):
        print("usage: qr.py TEXT [FILE]", file=sys.stderr)
        sys.exit(2)
    path = arguments[1] if len(arguments) == 2 else "code.png"
    try:
        picture = png(arguments[0])
        with open(path, "wb") as file:
            file.write(picture)
    except (ValueError, OSError) as error:
        sys.exit(f"qr: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
