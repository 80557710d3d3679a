"""An app in Python as one side of a comparison. ROLE, "old" or "new", says which; app.mjs is the same app in Node."""

import datetime
import gzip
import hashlib
import json
import os
import time
import uuid
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

ROLE = os.environ["ROLE"]
kept = {}
flaky = 0


def answer(path, query, request, body):
    """Status, headers and body."""
    global flaky
    is_wrong = query.get("wrong") == ROLE

    def as_json(value, status=200, **headers):
        names = {name.replace("_", "-"): text for name, text in headers.items()}
        return status, {"Content-Type": "application/json", **names}, json.dumps(value, indent=2).encode()

    match path:
        case "/login":
            knows = request["Authorization"] == "Bearer t" or "session=1" in (request["Cookie"] or "")
            return as_json({"user": "ann"}) if knows else as_json({"error": "who?"}, 401)
        case "/host":
            proto = request["X-Forwarded-Proto"] or "http"
            return 302, {"Location": f"{proto}://{request['Host']}/there"}, b""
        case "/encoded":
            plain = b'{ "items": [1, 2, 4] }' if is_wrong else b'{ "items": [1, 2, 3] }'
            headers = {"Content-Type": "application/json", "Content-Encoding": "deflate"}
            return 200, headers, zlib.compress(plain)
        case "/bomb":
            return 200, {}, bytes(10)
        case "/cut":
            return 200, {}, b"whole"
        case "/media":
            return as_json({"a": 1})
        case "/page":
            now = datetime.datetime.now(datetime.timezone.utc).isoformat()
            page = f'<p nonce="{uuid.uuid4()}">{4 if is_wrong else 3} EUR</p>\r\n<!-- {now} -->\r\n'
            return 200, {"Content-Type": "text/html;charset=UTF-8"}, page.encode()
        case "/large":
            large = bytearray(b"x" * int(query["bytes"]))
            if "at" in query and ROLE == "new":
                large[int(query["at"])] = ord("y")
            if query.get("gzip") == ROLE:
                return 200, {"Content-Encoding": "gzip"}, gzip.compress(large, 1)
            return 200, {}, bytes(large)
        case "/flaky":
            flaky += 1
            fails = query.get("fails") == ROLE and flaky % 2
            return as_json({"error": "oops"}, 500) if fails else as_json({"a": 1})
        case "/orders":
            kind, token = request["Content-Type"], request["X-Token"]
            return as_json({"kind": kind, "token": token, "body": body.decode()})
        case "/noisy":
            price = 4 if is_wrong else 3
            return as_json({"id": str(uuid.uuid4()), "items": [{"token": str(uuid.uuid4()), "price": price}]})
        case "/cached":
            # Answers from its cache, unless the request says no-cache.
            if "no-cache" in (request["Cache-Control"] or "") or path not in kept:
                kept[path] = str(uuid.uuid4())
                return as_json({"id": kept[path]}, Age="0")
            return as_json({"id": kept[path]}, Age="5")
        case "/many":
            a, b = (2, "y") if ROLE == "new" else (1, "x")
            return as_json({"a": a, "list": [0, a, a], "b/c": b, "same": True}, ETag=f'"{a}"', X_Part=b)
        case "/digest":
            return as_json({"sha": hashlib.sha256(body).hexdigest()})
    return as_json({"error": "not found"}, 404)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_any(self):
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query))
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        status, headers, content = answer(url.path, query, self.headers, body)
        time.sleep(int(query.get("ms", 0)) / 1000)
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_HEAD = do_POST = do_PUT = handle_any

    def log_message(self, *_):
        """Says nothing."""


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
addr = f"127.0.0.1:{server.server_address[1]}"
print(json.dumps({"msg": "listening", "addr": addr, "admin_addr": addr}), flush=True)
server.serve_forever()
