// An app in Node as one side of a comparison. ROLE, "old" or "new", says which; app.py is the same app in Python.

import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";

const role = process.env.ROLE;
const encoders = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync, raw: deflateRawSync };
// The output of `printf '{"items":[1,2,3]}' | zstd`, since this Node has no encoder for zstd.
const zstd = Buffer.from("KLUv/QRYiQAAeyJpdGVtcyI6WzEsMiwzXX3a/FWK", "base64");
let flaky = 0;

function answer(url, request, body) {
	const parameter = (name) => url.searchParams.get(name);
	const json = (value, status = 200, headers = {}) => [
		status,
		{ "content-type": "application/json; charset=UTF-8", ...headers },
		JSON.stringify(value),
	];
	switch (url.pathname) {
		case "/login": {
			const knows = request.headers.authorization === "Bearer t" || /session=1/.test(request.headers.cookie);
			return knows ? json({ user: "ann" }) : json({ error: "who?" }, 401);
		}
		case "/host": {
			const proto = request.headers["x-forwarded-proto"] ?? "http";
			return [302, { location: `${proto}://${request.headers.host}/there` }, ""];
		}
		case "/encoded": {
			const plain = parameter("wrong") === role ? '{"items":[1,2,4]}' : '{"items":[1,2,3]}';
			const coding = parameter("with");
			const encoded = coding === "zstd" ? zstd : encoders[coding](plain);
			return [200, { "content-type": "application/json", "content-encoding": coding.replace("raw", "deflate") }, encoded];
		}
		case "/bomb":
			return [200, { "content-encoding": "gzip" }, gzipSync(Buffer.alloc(8 << 20))];
		case "/cut":
			return [200, { "content-encoding": "gzip" }, gzipSync("whole").subarray(0, 15)];
		case "/media":
			return json({ a: 1 });
		case "/page": {
			const price = parameter("wrong") === role ? 4 : 3;
			const page = `<p nonce="${randomUUID()}">${price} EUR</p>\n<!-- ${new Date().toISOString()} -->\n`;
			return [200, { "content-type": "text/html; charset=utf-8" }, page];
		}
		case "/large": {
			const large = Buffer.alloc(Number(parameter("bytes")), "x");
			if (parameter("at") && role === "new") large[Number(parameter("at"))] = 0x79;
			const gzip = parameter("gzip") === role;
			return [200, gzip ? { "content-encoding": "gzip" } : {}, gzip ? gzipSync(large, { level: 1 }) : large];
		}
		case "/flaky":
			flaky += 1;
			return parameter("fails") === role && flaky % 2 ? json({ error: "oops" }, 500) : json({ a: 1 });
		case "/orders":
			if (request.method === "GET") return json({ error: "POST it" }, 405);
			return json({
				kind: request.headers["content-type"] ?? null,
				token: request.headers["x-token"] ?? null,
				body,
			});
		case "/noisy": {
			const price = parameter("wrong") === role ? 4 : 3;
			return json({ id: randomUUID(), items: [{ token: randomUUID(), price }] });
		}
		case "/cached":
			return json({ id: randomUUID() }, 200, { age: "5" });
		case "/many": {
			const [a, b] = role === "new" ? [2, "y"] : [1, "x"];
			return json({ a, list: [0, a, a], "b/c": b, same: true }, 200, { etag: `"${a}"`, "x-part": b });
		}
		case "/digest":
			return json({ sha: createHash("sha256").update(body).digest("hex") });
		default:
			return json({ error: "not found" }, 404);
	}
}

const server = createServer((request, response) => {
	const url = new URL(request.url, "http://x");
	const chunks = [];
	request.on("data", (chunk) => chunks.push(chunk));
	request.on("end", () => {
		const [status, headers, body] = answer(url, request, Buffer.concat(chunks).toString());
		const reply = () => response.writeHead(status, headers).end(request.method === "HEAD" ? "" : body);
		setTimeout(reply, Number(url.searchParams.get("ms") ?? 0));
	});
});
server.listen(0, "127.0.0.1", () => {
	const addr = `127.0.0.1:${server.address().port}`;
	console.log(JSON.stringify({ msg: "listening", addr, admin_addr: addr }));
});
