"""An app that knows nothing of a proxy: headers, uploads, events, WebSockets. app.mjs is the same in Node."""

import base64
import hashlib
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class App(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    received = 0

    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path.endswith("/events"):
            self.events(float(query))
        elif path.endswith("/ws") and self.headers["Upgrade"]:
            self.websocket()
        elif path == "/received":
            self.answer(str(App.received))
        elif path.endswith("/long-cookie"):
            self.answer("", [("Set-Cookie", "a=" + "c" * 9000)])
        elif path.endswith("/drop"):
            self.close_connection = True
        else:
            lines = "".join(f"{name}: {value}\n" for name, value in self.headers.items())
            body = sum(map(len, self.body()))
            self.answer(lines, [("X-Powered-By", "Python"), ("X-Accel-Redirect", "/drop"), ("X-Body", str(body))])

    def do_POST(self):
        digest, App.received = hashlib.sha256(), 0
        for part in self.body():
            digest.update(part)
            App.received += len(part)
        self.answer(f"{App.received} {digest.hexdigest()}")

    do_PUT = do_POST

    def body(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            while length := int(self.rfile.readline(), 16):
                yield self.rfile.read(length)
                self.rfile.readline()
            self.rfile.readline()
            return
        left = int(self.headers.get("Content-Length", 0))
        while left:
            part = self.rfile.read1(min(left, 65536))
            left -= len(part)
            yield part

    def events(self, pause):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"data: first\n\n")
        time.sleep(pause)
        self.wfile.write(b"data: last\n\n")
        self.close_connection = True

    def websocket(self):
        accept = base64.b64encode(hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + GUID).digest()).decode()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", accept)
        self.end_headers()
        while head := self.rfile.read(2):
            length = head[1] & 127
            mask = self.rfile.read(4)
            text = bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.rfile.read(length)))
            self.wfile.write(bytes([head[0], length]) + text)
        self.close_connection = True

    def answer(self, text, headers=()):
        self.send_response(200)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


host, _, port = sys.argv[1].rpartition(":")
ThreadingHTTPServer((host, int(port)), App).serve_forever()
