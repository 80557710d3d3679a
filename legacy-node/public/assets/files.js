// The card that sends files. A file's name is set as text, never as markup.
import { showQr } from './qr-image.js';
import { isReadable, newPath, sendFile } from './send-file.js';

const byId = (id) => document.getElementById(id);
const input = byId('file-input');
const drop = byId('file-drop');
const state = byId('transfer-state');
const progress = byId('transfer-progress');
const cancel = byId('transfer-cancel');
const again = byId('transfer-again');

const STATES = {
  waiting: 'Waiting for somebody to open the link.',
  sending: 'Sending. Keep this page open.',
  received: 'Received. The whole file has arrived.',
  'receiver-left': 'The receiver left before the end. Send the file again to retry.',
  'nobody-came': 'Nobody opened the link in time. Send the file again for a new link.',
  cancelled: 'Cancelled. A receiver sees a failed download, not a complete file.',
  'relay-stopped': 'The relay is restarting. Send the file again in a moment.',
  busy: 'Too many files are waiting at the relay. Try again in a moment.',
  'too-large': 'The file is too large for the server.',
  unreadable: 'The file has changed, or can no longer be read. Choose it again.',
  unreachable: 'The relay cannot be reached. Try again in a moment.',
  cut: 'The transfer broke off: the receiver left, or a connection broke. Send the file again to retry.',
  'wait-broken': 'The wait has ended: nobody came in time, or the connection broke.',
  refused: 'The relay refused the file. Send it again for a new link.',
};

let transfer; // under way

input.addEventListener('change', () => {
  const files = [...input.files];
  input.value = ''; // otherwise choosing the same file again fires no event
  take(files);
});

// The whole page accepts drops: next to the box, the browser would open the file and leave the page.
window.addEventListener('dragover', (event) => {
  if (!bringsFiles(event)) return;
  event.preventDefault();
  drop.classList.add('over');
});
window.addEventListener('dragleave', (event) => {
  if (!event.relatedTarget) drop.classList.remove('over');
});
window.addEventListener('drop', (event) => {
  if (!bringsFiles(event)) return;
  event.preventDefault();
  drop.classList.remove('over');
  take([...event.dataTransfer.files]);
});

window.addEventListener('beforeunload', (event) => {
  if (transfer) event.preventDefault();
});

cancel.addEventListener('click', () => transfer?.cancel());

again.addEventListener('click', () => {
  byId('transfer').hidden = true;
  drop.hidden = false;
  input.focus();
});

byId('transfer-copy').addEventListener('click', async () => {
  const copied = byId('transfer-copied');
  try {
    await navigator.clipboard.writeText(byId('transfer-link').href);
    copied.textContent = 'Copied.';
  } catch {
    copied.textContent = 'Copying is not allowed here: select the link and copy it.';
  }
});

function bringsFiles({ dataTransfer }) {
  return dataTransfer?.types.includes('Files');
}

async function take(files) {
  const [file] = files;
  if (!file) return;
  if (transfer) return showError('One file at a time: wait for this one to end, or cancel it.');
  if (files.length > 1)
    return showError('One file at a time: pack several into one, such as a zip.');
  if (!(await isReadable(file))) {
    return showError(
      'This cannot be read. To send a folder, pack it into one file, such as a zip.',
    );
  }
  // Another file may have come meanwhile.
  if (!transfer) send(file);
}

async function send(file) {
  const path = newPath();
  showError('');
  showTransfer(file, `${location.origin}${path}`);
  transfer = sendFile(file, path, {
    receiving: (somebody) => showState(somebody ? 'sending' : 'waiting'),
    progress: (bytes) => showAmount(bytes, file.size),
  });
  const end = await transfer.ended;
  transfer = undefined;
  if (end === 'received') {
    showAmount(file.size, file.size);
    progress.value = progress.max; // full for an empty file, too
  }
  showEnd(end);
}

function showTransfer(file, link) {
  byId('transfer-name').textContent = file.name;
  const anchor = byId('transfer-link');
  anchor.href = link;
  anchor.textContent = link;
  byId('transfer-local').hidden = !isLoopback(location.hostname);
  byId('transfer-copied').textContent = '';
  showAmount(0, file.size);
  showLink(true);
  showQr(byId('transfer-qr'), link, byId('transfer-copied'));
  cancel.hidden = false;
  again.hidden = true;
  drop.hidden = true;
  byId('transfer').hidden = false;
  showState('waiting');
  cancel.focus();
}

function showEnd(end) {
  showError('');
  showState(end);
  showLink(false); // it leads nowhere now
  const focused = document.activeElement === cancel;
  again.hidden = false;
  if (focused) again.focus();
  cancel.hidden = true;
}

function showState(name) {
  state.textContent = STATES[name];
}

function showLink(shown) {
  byId('transfer-qr').hidden = !shown;
  byId('transfer-link').hidden = !shown;
  byId('transfer-copy').hidden = !shown;
  if (!shown) byId('transfer-local').hidden = true;
}

/** Shows the bytes that have left the browser. Not announced: screen readers read the percentage from the bar. */
function showAmount(bytes, size) {
  progress.max = Math.max(size, 1);
  progress.value = bytes;
  byId('transfer-amount').textContent = `${inUnits(bytes)} of ${inUnits(size)}`;
}

function inUnits(bytes) {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  let amount = bytes;
  let unit = 0;
  while (amount >= 1000 && unit < units.length - 1) {
    amount /= 1000;
    unit++;
  }
  return `${unit > 0 && amount < 10 ? amount.toFixed(1) : Math.floor(amount)} ${units[unit]}`;
}

function isLoopback(host) {
  return host === 'localhost' || host === '[::1]' || /^127(\.\d+){3}$/.test(host);
}

function showError(message) {
  byId('file-error').textContent = message;
}
