"""GET /qrcode with Starlette on uvicorn, one process: server.py RUNG ADDRESS uses the draw() of RUNG.py"""

import hashlib
import importlib
import re
import secrets
import sys
from urllib.parse import unquote_to_bytes

import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
VISIBLE = re.compile(r"[!-~]{1,128}")


def decoded(raw):
    """Decodes a part of a query; None if an escape is broken or the text is not UTF-8."""
    try:
        return None if BAD_ESCAPE.search(raw) else unquote_to_bytes(raw.replace(b"+", b" ")).decode()
    except UnicodeDecodeError:
        return None


def read_text(query):
    pairs = (pair.partition(b"=") for pair in query.split(b"&"))
    values = [value for name, _, value in pairs if decoded(name) == "text"]
    if not any(values):
        raise ValueError('missing "text" query param')
    if len(values) > 1:
        raise ValueError("text must be given once")
    text = decoded(values[0])
    if text is None:
        raise ValueError("text must be valid UTF-8")
    if len(text.encode()) > 512:
        raise ValueError("text must be <= 512 bytes")
    return text


def headers(request, cached, **more):
    sent = request.headers.get("x-request-id", "")
    request_id = sent if VISIBLE.fullmatch(sent) else secrets.token_hex(16)
    return {"Cache-Control": cached, "X-Content-Type-Options": "nosniff", "X-Request-Id": request_id} | more


def refuse(request, status, problem, **more):
    return PlainTextResponse(problem, status, headers(request, "no-store", **more))


async def qrcode(request):
    try:
        text = read_text(request.scope["query_string"])
    except ValueError as problem:
        return refuse(request, 400, str(problem))
    tag = '"' + hashlib.sha256(text.encode()).hexdigest()[:32] + '"'
    more = headers(request, "public, max-age=86400", ETag=tag)
    asked = request.headers.get("if-none-match", "")
    if asked == "*" or tag in asked:
        return Response(status_code=304, headers=more)
    return Response(await draw(text), media_type="image/png", headers=more)


async def wrong_method(request, _):
    return refuse(request, 405, "method not allowed", Allow="GET, HEAD")


async def failed(request, _):
    return refuse(request, 500, "failed generating QR code")


draw = importlib.import_module(sys.argv[1]).draw
app = Starlette(routes=[Route("/qrcode", qrcode)], exception_handlers={405: wrong_method, 500: failed})
host, port = sys.argv[2].split(":")
uvicorn.run(app, host=host, port=int(port), log_level="warning")
