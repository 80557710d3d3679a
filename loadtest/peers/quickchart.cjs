// Makes a PNG as QuickChart's published server does, with Express and npm qrcode's toDataURL, and with the parameters
// and defaults of its documentation. Listens on ADDR. A script, not a module, because only scripts look for packages in
// NODE_PATH.
const express = require('express');
const QRCode = require('qrcode');

const app = express();

app.get('/qr', async (request, response) => {
  const {
    text,
    size = '150',
    margin = '4',
    ecLevel = 'M',
    dark = '000',
    light = 'fff',
  } = request.query;
  const url = await QRCode.toDataURL(text, {
    width: Number(size),
    margin: Number(margin),
    errorCorrectionLevel: ecLevel,
    color: { dark: `#${dark}`, light: `#${light}` },
  });
  const png = Buffer.from(url.split(',')[1], 'base64');
  response.set('Cache-Control', 'public, max-age=604800').type('png').send(png);
});

const [host, port] = process.env.ADDR.split(':');
app.listen(Number(port), host);
