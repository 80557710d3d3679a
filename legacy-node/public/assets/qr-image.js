/**
 * Shows the QR code of a link.
 * @param {HTMLImageElement} image
 * @param {HTMLElement} status a live region, which says so if the picture does not load
 */
export function showQr(image, link, status) {
  image.hidden = false;
  image.alt = `QR code of ${link}`;
  image.onerror = () => {
    image.hidden = true;
    status.textContent = 'The QR code did not load. The link works without it.';
  };
  image.src = `/qrcode?text=${encodeURIComponent(link)}`;
}
