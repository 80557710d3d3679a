// Runs npm's qrcode for `make bench ARGS=formats`. Reads lines, each with texts as JSON or with a format and
// milliseconds; see formats.rs. A script, because modules do not look for packages in NODE_PATH.
const readline = require("node:readline");
const QRCode = require("qrcode");

const color = { dark: "#1a237e", light: "#fffde7" };
const common = { errorCorrectionLevel: "L", margin: 4 };

const make = {
  svg: (text) => QRCode.toString(text, { ...common, type: "svg" }),
  png: (text) => QRCode.toBuffer(text, { ...common, width: 1000, color }),
};

let texts = [];

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    if (line.startsWith("[")) {
      texts = JSON.parse(line);
      continue;
    }
    const [kind, leastMs] = line.split(" ");
    const began = process.hrtime.bigint();
    const took = () => Number(process.hrtime.bigint() - began);
    const sizes = [];
    while (sizes.length < 8 || took() < Number(leastMs) * 1e6) {
      const file = await make[kind](texts[sizes.length % texts.length]);
      sizes.push(Buffer.byteLength(file));
    }
    const nsPerCall = took() / sizes.length;
    sizes.sort((a, b) => a - b);
    process.stdout.write(`${nsPerCall} ${sizes[(sizes.length - 1) >> 1]}\n`);
  }
}

main();
