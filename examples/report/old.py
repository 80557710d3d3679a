"""A legacy app: GET /report?year=2024 adds up a year's orders, day by day. Usage: old.py PORT"""

import json
import sys
from datetime import date, datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

FIRST_YEAR, LAST_YEAR = 1900, 2100

PAGE = b"""<!doctype html>
<title>Orders</title>
<h1>Orders</h1>
<p>Reports: <a href="/report?year=2023">2023</a> <a href="/report?year=2024">2024</a></p>
"""


def orders_of(day):
    """The amounts of a day's orders, in cents. They replace a database and are the same each time."""
    state = day.year * 10_000 + day.month * 100 + day.day
    for _ in range(5 + state % 6):
        state = (state * 1_103_515_245 + 12_345) % 2**31
        yield 100 + state // 2**11 % 50_000


def report(year):
    months = [
        {"month": month, "days": 0, "orders": 0, "revenue_cents": 0, "best_day": 1}
        for month in range(1, 13)
    ]
    best = [0] * 12
    day = date(year, 1, 1)
    while day.year == year:
        month = months[day.month - 1]
        amounts = list(orders_of(day))
        month["days"] += 1
        month["orders"] += len(amounts)
        month["revenue_cents"] += sum(amounts)
        if sum(amounts) > best[day.month - 1]:
            best[day.month - 1] = sum(amounts)
            month["best_day"] = day.day
        day += timedelta(days=1)
    return {
        "generated_at": datetime.now(timezone.utc).isoformat(),
        "year": year,
        "total_days": sum(month["days"] for month in months),
        "total_revenue_cents": sum(month["revenue_cents"] for month in months),
        "months": months,
    }


class App(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections
    disable_nagle_algorithm = True
    wbufsize = -1  # sends head and body together

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path == "/":
            return self.answer(200, "text/html; charset=utf-8", PAGE)
        if url.path != "/report":
            return self.answer_json(404, {"error": "there is no such page"})
        year = parse_qs(url.query).get("year", [""])[0]
        if not (year.isascii() and year.isdigit() and FIRST_YEAR <= int(year) <= LAST_YEAR):
            return self.answer_json(400, {"error": f"year must be {FIRST_YEAR} to {LAST_YEAR}"})
        return self.answer_json(200, report(int(year)))

    do_HEAD = do_GET

    def answer_json(self, status, value):
        self.answer(status, "application/json", json.dumps(value).encode())

    def answer(self, status, content_type, body):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *args):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        sys.exit("usage: old.py PORT")
    server = Server(("127.0.0.1", int(sys.argv[1])), App)
    print(f"old.py serves http://127.0.0.1:{sys.argv[1]}/report?year=2024", flush=True)
    server.serve_forever()
