/** The elements with `data-part`, by its value. */
export function partsOf(root) {
  const marked = root.querySelectorAll('[data-part]');
  return Object.fromEntries([...marked].map((element) => [element.dataset.part, element]));
}

/** A copy of a template's one element. */
export function copyOf(templateId) {
  return document.getElementById(templateId).content.firstElementChild.cloneNode(true);
}

/** An element with properties, and children or text in it. */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Writes a text only if it changed, because screen readers read out every write. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
