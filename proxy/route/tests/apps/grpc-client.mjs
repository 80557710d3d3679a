// Sends a message, waits for its echo, sends another one, and prints what came with the status in the trailers.

import { connect } from "node:http2";

const session = connect(`http://${process.argv[2]}`);
// Some servers cannot tell these names from those that the proxy sets.
const own = { "x_forwarded-for": "evil", x_forwarded_for: "evil", x_route_fallback: "1" };
const call = { ":method": "POST", ":path": "/chat.Chat/Talk", "content-type": "application/grpc", te: "trailers" };
const stream = session.request({ ...call, ...own });
stream.setEncoding("utf8");
stream.write("first ");
let said = "";
let head = {};
stream.on("response", (headers) => {
  head = headers;
});
stream.on("data", (text) => {
  said += text;
  if (said === "first ") stream.end("second");
});
stream.on("trailers", (trailers) => {
  console.log(`${head[":status"]} ${head["x-got"]} ${said} ${trailers["grpc-status"]}`);
  session.close();
});
stream.on("end", () => session.close());
setTimeout(() => process.exit(1), 20000).unref();
