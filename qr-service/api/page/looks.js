/** Some looks to begin with, as buttons that draw what they do. */
import { element } from './form.js';

/** Name, options and their values. */
export const LOOKS = [
  ['Plain', {}],
  ['Rounded', { shape: 'rounded', finder_shape: 'rounded' }],
  ['Dots', { shape: 'dots', finder_shape: 'circle' }],
  ['Gradient', { dark: '024', gradient_color: '07a', shape: 'rounded', finder_shape: 'rounded' }],
  ['Two inks', { dark: '0b3d91', finder_color: 'b3261e', finder_shape: 'rounded' }],
  ['Framed', { shape: 'rounded', frame: 'rounded', caption: 'Scan me' }],
];
const OPTIONS = [...new Set(LOOKS.flatMap(([, look]) => Object.keys(look)))];

export function lookButton([name, look], form) {
  const query = new URLSearchParams({ text: 'https://example.com/', ...look });
  const drawn = element('img', { src: `/v1/qr.svg?${query}`, alt: '', width: 56, height: 56 });
  const made = element('button', { type: 'button' }, drawn, name);
  made.addEventListener('click', () => {
    for (const option of OPTIONS) {
      form.elements[option].value = look[option] ?? '';
      form.elements[option].dispatchEvent(new Event('input', { bubbles: true }));
    }
  });
  return made;
}

/** Presses the button of the look that the options have. */
export function showLook(buttons, options) {
  for (const [index, made] of [...buttons.querySelectorAll('button')].entries()) {
    const [, look] = LOOKS[index];
    made.ariaPressed = String(OPTIONS.every((name) => options[name] === look[name]));
  }
}
