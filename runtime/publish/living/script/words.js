// Elements, and numbers and arrays as text.
const SVG = 'http://www.w3.org/2000/svg';

// An element: a tag that begins with a dot is SVG, keys that begin with "on" are listeners.
function el(tag, at = {}, ...kids) {
  const made =
    tag[0] === '.' ? document.createElementNS(SVG, tag.slice(1)) : document.createElement(tag);
  for (const [key, value] of Object.entries(at)) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, '');
    else if (value !== false && value !== undefined && value !== null)
      made.setAttribute(key, value);
  }
  made.append(...kids.filter((kid) => kid !== null && kid !== undefined && kid !== false));
  return made;
}

function button(text, act, at = {}) {
  return el('button', {type: 'button', 'data-key': text, onclick: act, ...at}, text);
}

function row(...kids) {
  return el('div', {class: 'row'}, ...kids);
}

function soft(text) {
  return el('p', {class: 'soft'}, text);
}

// A choice among [value, text]; act takes the value that is chosen.
function choice(at, options, chosen, act) {
  return el(
    'select',
    {...at, onchange: (event) => act(event.target.value)},
    ...options.map(([value, text]) => el('option', {value, selected: value === chosen}, text)),
  );
}

// A card that folds; a flag of its owner says whether it is open.
function folding(owner, flag, key, at, title, ...kids) {
  return el(
    'details',
    {
      class: 'card',
      open: owner[flag],
      ...at,
      ontoggle: (event) => {
        owner[flag] = event.target.open;
      },
    },
    el('summary', {'data-key': key}, title),
    ...kids,
  );
}

const ICONS = {
  play: 'M4 2L14 8L4 14Z',
  pause: 'M3 2H7V14H3ZM9 2H13V14H9Z',
  back: 'M11 2L3 8L11 14ZM12 2H14V14H12Z',
  forward: 'M5 2L13 8L5 14ZM2 2H4V14H2Z',
  start: 'M14 2L5 8L14 14ZM2 2H4V14H2Z',
  end: 'M2 2L11 8L2 14ZM12 2H14V14H12Z',
  plus: 'M7 2H9V7H14V9H9V14H7V9H2V7H7Z',
  minus: 'M2 7H14V9H2Z',
  fit: 'M1 1H6V3H3V6H1ZM10 1H15V6H13V3H10ZM1 10H3V13H6V15H1ZM13 10H15V15H10V13H13Z',
  theme: 'M8 1A7 7 0 0 0 8 15ZM8 1A7 7 0 0 1 8 15L8 13.5A5.5 5.5 0 0 0 8 2.5Z',
};

// A button with a drawn icon; its name is spoken and shown as a tip.
function iconButton(icon, act, name) {
  const shape = el('.path', {d: ICONS[icon]});
  const drawn = el('.svg', {viewBox: '0 0 16 16', width: 16, height: 16, 'aria-hidden': 'true'}, shape);
  return button(drawn, act, {class: 'icon', 'aria-label': name, title: name, 'data-key': name});
}

// Replace what is inside an element. The focus stays on what has the same data-key; where that is
// gone or can't be pressed any more, it goes to the heading of the same card, and it is never lost.
function swap(inside, ...kids) {
  const was = inside.contains(document.activeElement) ? document.activeElement : null;
  const cards = [];
  for (let at = was; at && at !== inside; at = at.parentElement)
    if (at.dataset.card) cards.push(at.dataset.card);
  inside.replaceChildren(...kids.filter((kid) => kid));
  if (!was) return;
  const having = (name, value) =>
    [...inside.querySelectorAll(`[data-${name}]`)].find((e) => e.dataset[name] === value);
  const same = was.dataset.key && having('key', was.dataset.key);
  if (same && !same.disabled) return same.focus();
  const card = cards.map((name) => having('card', name)).find(Boolean) ?? inside;
  focusAnyway(card.querySelector('h2') ?? card);
}

// Put the focus on what is not pressed, so that Tab goes on from there.
function focusAnyway(element) {
  if (element.tabIndex < 0) element.tabIndex = -1;
  element.focus();
}

// Set an attribute only where it changes: most redraws change few.
function set(element, key, value) {
  if (element.getAttribute(key) !== String(value)) element.setAttribute(key, value);
}

function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// An element of an array: integers and booleans are exact.
function cell(array, i, digits) {
  if (array.t === 'bool') return array.d[i] ? 'true' : 'false';
  return isFloat(array.t) ? number(array.d[i], digits) : String(array.d[i]).replace('-', '−');
}

function rowsOf(shape) {
  const columns = shape.at(-1) ?? 1;
  return [columns ? sizeOf(shape) / columns : 0, columns];
}

// The rows of an array as text; null if there are too many.
function grid(array, rows, columns, digits = 4) {
  const [m, n] = rowsOf(array.s);
  if (array.s.length > 2 || m > rows || n > columns || !m) return null;
  return Array.from({length: m}, (_, i) =>
    Array.from({length: n}, (_, j) => cell(array, i * n + j, digits)),
  );
}

const shapeText = (shape) => shape.join(' × ');

// An array in one line: None, a number, a short vector, or its root mean square.
function brief(array, digits = 4) {
  if (!array) return 'None';
  if (!array.s.length) return cell(array, 0, digits);
  const row = grid(array, 1, 4, digits);
  if (row) return `[${row[0].join(', ')}]`;
  return `rms ${number(rms(array.d), digits)}`;
}

// An array as texts have it: numbers where there are few, else their shape and size.
function amount(array, places) {
  const {s} = array, count = sizeOf(s), shape = shapeText(s);
  const nested = (at, [length, ...inner]) => {
    if (length === undefined)
      return places === undefined ? cell(array, at) : fixed(array.d[at], places);
    const step = sizeOf(inner);
    return `[${Array.from({length}, (_, i) => nested(at + i * step, inner)).join(', ')}]`;
  };
  if (!s.length || (count > 0 && count <= 4)) return nested(0, s);
  if (!count) return `no numbers (${shape})`;
  return `${shape} numbers, ${sizeText(array)}`;
}

// An array as a table, or in one line if it is large.
function full(array) {
  const rows = array && array.s.length && grid(array, 8, 8);
  if (!rows || !rows.length) {
    const isLong = array && array.s.length && array.d.length > 4;
    return el('span', {class: 'num'}, (isLong ? `${shapeText(array.s)}, ` : '') + brief(array));
  }
  return el(
    'table',
    {class: 'grid num'},
    el('tbody', {}, ...rows.map((row) => el('tr', {}, ...row.map((text) => el('td', {}, text))))),
  );
}

const CODE = '\u0060[^\u0060\\n]+\u0060';
const MARKED = new RegExp(
  `(\\*\\*(?:${CODE}|\u0060(?!${CODE.slice(1)})|[^\u0060])+?\\*\\*|${CODE})`,
);

// Plain text with `code` and **bold**, which may have code inside, as elements and texts of one
// paragraph.
function inline(text) {
  const piece = (part, i) => {
    if (i % 2 === 0) return part.replace(/\s*\n\s*/g, ' ');
    if (part[0] === '*') return el('strong', {}, ...inline(part.slice(2, -2)));
    return el('code', {}, part.slice(1, -1));
  };
  return text.split(MARKED).map(piece);
}

// Such a text without its marks, as it is spoken.
function unmarked(text) {
  const plain = (part) => (part[0] === '*' ? unmarked(part.slice(2, -2)) : part.slice(1, -1));
  return text.split(MARKED).map((part, i) => (i % 2 ? plain(part) : part)).join('');
}

// Such a text with blank lines between paragraphs, as elements.
function prose(text) {
  return text.split(/\n\s*\n/).map((part) => el('p', {class: 'prose'}, ...inline(part)));
}
