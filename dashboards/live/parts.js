/** The page's elements that are filled in: those with `data-part`, by its value. */
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

/** A text that is only written where it is another: screen readers speak what changes. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
