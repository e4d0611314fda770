// Draws blocks: symbol, name, ports, the numbers of their values, and the switch of a stop.
const LETTER = 6.4,
  DIGIT = 7.4;

// A family that the style sheet does not know, of a plug-in, gets a hue of its own.
function tint(element, family) {
  element.classList.add(`f-${family.replaceAll(' ', '-')}`);
  const hue = ([...family].reduce((sum, c) => sum + c.codePointAt(0), 0) * 37) % 360;
  element.style.setProperty('--own', hue);
}

function clipped(text, width, letter = LETTER) {
  const most = Math.max(1, Math.floor(width / letter));
  return text.length <= most ? text : text.slice(0, most - 1) + '…';
}

// The lines of a value on a face that is ``width`` px wide: texts, or rows of cells.
function faceLines(array, width) {
  if (!array || !array.d.length) return [array ? shapeText(array.s) : '–'];
  for (const digits of [4, 3, 2]) {
    const found = array.s.length ? grid(array, 3, 4, digits) : [[cell(array, 0, digits)]];
    if (!found) break;
    const wide = columnsOf(found).reduce((sum, n) => sum + n + 1, 0) * DIGIT;
    if (wide <= width) return array.s.length ? found : found[0];
  }
  return [shapeText(array.s), brief(array, 3)];
}

const columnsOf = (table) => table[0].map((_, j) => Math.max(...table.map((row) => row[j].length)));

// One block as elements that follow its values.
class FaceShape {
  constructor(block, path, acts) {
    const [name, kind, family, symbol, x, y, height, inputs, outs, note, more] = block;
    const width = widthOf(block),
      aside = more.view ? 'as published' : note;
    this.block = block;
    this.path = path;
    this.height = height;
    this.values = [];
    const start = x + 9 + ([...symbol].length > 1 ? [...symbol].length * 9.5 + 8 : 19);
    const room = x + width - 8 - start,
      named = clipped(name, room, 7.2);
    const rest = room - named.length * 7.2 - 8;
    this.group = el(
      '.g',
      {
        class: `block${more.head ? ' head' : ''}${acts.enter ? ' page' : ''}`,
        'data-block': path,
        role: 'button',
        tabindex: -1,
        onclick: (event) => acts.pick(path, event),
        ondblclick: () => acts.enter?.(),
      },
      (this.title = el('.title', {})),
      el('.rect', {class: 'face', x, y, width, height, rx: 5}),
      el('.text', {class: 'symbol', x: x + 9, y: y + 19}, symbol),
      el('.text', {class: 'name', x: start, y: y + 18.5}, named),
      aside && rest > aside.length * 6
        ? el('.text', {class: 'soft end', x: x + width - 8, y: y + 18.5}, aside)
        : null,
      (this.view = more.view ? this.viewOf(block) : null),
    );
    tint(this.group, more.colour || family);
    this.ports(block);
    this.left =
      inputs.length > 1 || inputs.some(Array.isArray)
        ? Math.max(...inputs.map((i) => (i[1] ?? i).length * LETTER)) + 8
        : 0;
    if (Array.isArray(inputs[0]) || inputs.length > 1) this.left = Math.min(this.left, 80);
    else this.left = 0;
    this.cells = this.group.appendChild(el('.g', {class: 'cells'}));
    this.numbers = this.group.appendChild(el('.g', {class: 'numbers'}));
    this.brackets = this.group.appendChild(el('.path', {class: 'brackets', d: ''}));
    if (more.formula)
      this.group.append(
        el(
          '.text',
          {class: 'soft', x: x + 9, y: y + height - 10},
          clipped(more.formula, WIDTH - 18),
        ),
      );
    if (acts.toggle) this.addSwitch(acts.toggle, acts.name);
    if (acts.scrub) this.addGrip(acts.scrub);
    if (acts.enter)
      this.group.append(
        el('.path', {
          class: 'into',
          d: 'M0 0H5V5M5 0L0 5',
          transform: `translate(${x + WIDTH - 14} ${y + height - 14})`,
        }),
      );
    this.ring = el('.rect', {
      class: 'ring',
      x: x - 4,
      y: y - 4,
      width: width + 8,
      height: height + 8,
      rx: 8,
    });
    this.group.append(this.ring);
    this.badge = this.group.appendChild(el('.g', {class: 'badge'}));
  }

  // What a view shows of the numbers in the file: the page does not compute pictures.
  viewOf([, , , , x, y, height, , , , more]) {
    const wide = more.width - 18,
      high = height - HEADER - 6;
    return el('.image', {
      class: 'view',
      x: x + 9,
      y: y + HEADER,
      width: wide,
      height: high,
      href: more.view,
      'aria-label': `${more.shows}, as published`,
    });
  }

  ports(block) {
    const [, , , , x, , , inputs, outs, , more] = block;
    const text = (name, isInput, row) => {
      const [px, py] = portAt(block, isInput, row);
      return el(
        '.text',
        {class: `soft${isInput ? '' : ' end'}`, x: px + (isInput ? 9 : -9), y: py + 4},
        clipped(name, isInput ? 78 : 60),
      );
    };
    inputs.forEach((input, row) => {
      const [px, py] = portAt(block, true, row),
        isOpen = Array.isArray(input);
      this.group.append(
        el('.circle', {class: isOpen ? 'port open' : 'port', cx: px, cy: py, r: 3}),
      );
      if (!more.small && !more.view && (isOpen || inputs.length > 1))
        this.group.append(text(isOpen ? input[1] : input, true, row));
    });
    outs.forEach((name, row) => {
      const [px, py] = portAt(block, false, row);
      this.group.append(el('.circle', {class: 'port', cx: px, cy: py, r: 3}));
      if (!more.small && outs.length > 1) this.group.append(text(name, false, row));
    });
  }

  // Where the numbers of a source are dragged.
  addGrip(scrub) {
    const [, , , , x, y, height] = this.block;
    const grip = el('.rect', {
      class: 'grip',
      x,
      y: y + HEADER,
      width: WIDTH,
      height: height - HEADER,
    });
    this.group.append(grip);
    scrub(grip);
  }

  addSwitch(toggle, name) {
    const x = this.block[4] + 10,
      y = this.block[5] + HEADER + ROW + 1;
    this.knob = el('.circle', {cx: x + 7, cy: y + 7, r: 5});
    this.word = el('.text', {class: 'soft', x: x + 33, y: y + 11});
    this.switch = el(
      '.g',
      {
        class: 'switch',
        role: 'switch',
        tabindex: -1,
        'aria-label': `${name} stops the gradient`,
        'data-switch': this.path,
        onclick: (event) => {
          event.stopPropagation();
          toggle();
        },
        ondblclick: (event) => event.stopPropagation(),
      },
      el('.rect', {class: 'hit', x: x - 6, y: y - 6, width: 84, height: 26}),
      el('.rect', {class: 'track', x, y, width: 26, height: 14, rx: 7}),
      this.knob,
      this.word,
    );
    this.group.append(this.switch);
  }

  // Show value lines, a gradient line, and what a screen reader says.
  draw({value, gradient, isOpen, hasValue, spoken, small}) {
    const [, , , , x, y, height, , outs, , more] = this.block;
    write(this.title, spoken);
    set(this.group, 'aria-label', spoken);
    if (this.switch) {
      set(this.switch, 'aria-checked', !isOpen);
      set(this.group, 'data-open', isOpen);
      set(this.knob, 'cx', x + 10 + (isOpen ? 7 : 19));
      write(this.word, isOpen ? 'open' : 'stops');
    }
    if (more.small || outs.length !== 1) return;
    const lines =
      hasValue && value !== null ? faceLines(value, WIDTH - 16 - this.left) : [hasValue ? '–' : ''];
    const isLarge = value && lines.length === 2 && String(lines[1]).startsWith('rms');
    const texts = lines.map((line) => [line, 'value']);
    if (gradient !== undefined) texts.push([clipped(`∇ ${gradient}`, WIDTH - 16), 'grad']);
    const room = Math.floor((height - HEADER) / ROW) - (more.formula ? 1 : 0);
    this.lines(texts.slice(0, Math.max(1, room)), x + WIDTH - 9, y + HEADER);
    this.heat(
      isLarge && hasValue && !this.left && !this.switch ? value : null,
      x + 9,
      y + HEADER + 2,
    );
  }

  lines(texts, x, y) {
    while (this.numbers.children.length > texts.length) this.numbers.lastChild.remove();
    while (this.numbers.children.length < texts.length)
      this.numbers.append(
        el('.text', {class: 'value', x, y: y + ROW * (this.numbers.children.length + 0.5) + 4}),
      );
    const table = texts.filter(([text]) => Array.isArray(text)).map(([text]) => text);
    texts.forEach(([text, kind], i) => {
      const line = this.numbers.children[i];
      set(line, 'class', `${kind} end num`);
      if (Array.isArray(text)) this.row(line, text, columnsOf(table), x);
      else {
        delete line.dataset.row;
        write(line, text);
      }
    });
    set(this.brackets, 'd', table.length ? bracketed(columnsOf(table), x, y, table.length) : '');
  }

  // A row of a matrix: each number ends in its column.
  row(line, cells, columns, x) {
    if (line.dataset.row === cells.join(' ')) return;
    let right = x - 4;
    const spans = [...cells].reverse().map((text, j) => {
      const made = el('.tspan', {x: Math.round(right)}, text);
      right -= (columns[cells.length - 1 - j] + 1) * DIGIT;
      return made;
    });
    line.replaceChildren(...spans.reverse());
    line.dataset.row = cells.join(' ');
  }

  // A small picture of a matrix: blue is positive, orange negative.
  heat(array, x, y) {
    const [m, n] = array ? rowsOf(array.s) : [0, 0],
      isShown = array && m <= 8 && n <= 8;
    const count = isShown ? m * n : 0,
      side = isShown ? Math.min(8, 32 / m, 48 / n) : 0;
    while (this.cells.children.length > count) this.cells.lastChild.remove();
    while (this.cells.children.length < count) this.cells.append(el('.rect', {}));
    if (!isShown) return;
    const top = Math.max(...array.d.map(Math.abs)) || 1;
    [...this.cells.children].forEach((rect, i) => {
      const share = array.d[i] / top;
      set(rect, 'x', x + side * (i % n));
      set(rect, 'y', y + side * Math.floor(i / n));
      set(rect, 'width', side);
      set(rect, 'height', side);
      set(rect, 'class', share < 0 ? 'minus' : 'plus');
      set(rect, 'opacity', Math.min(1, Math.abs(share)).toFixed(2));
    });
  }
}

// The brackets of a matrix whose lower right is at x.
function bracketed(columns, x, y, rows) {
  const left = x - 4 - columns.reduce((sum, n) => sum + n + 1, 0) * DIGIT + 3,
    low = y + ROW * rows - 2,
    top = y + 2;
  return `M${left + 3} ${top}H${left}V${low}H${left + 3}M${x - 3} ${top}H${x}V${low}H${x - 3}`;
}

// A note or a frame.
function noteShape([text, x, y, width, height, isFrame, colour]) {
  const most = Math.floor((width - 14) / 6.1),
    rows = [''];
  const words = text.split(/(\n)|\s+/).filter(Boolean);
  for (const word of words) {
    const last = rows.length - 1;
    if (word === '\n') rows.push('');
    else if (rows[last] && rows[last].length + word.length + 1 > most) rows.push(word);
    else rows[last] += (rows[last] ? ' ' : '') + word;
  }
  const room = isFrame ? 1 : Math.max(1, Math.floor((height - 10) / 15));
  if (rows.length > room && !isFrame)
    rows[room - 1] = clipped(rows[room - 1] + ' …', width - 14, 6.1);
  const made = el(
    '.g',
    {class: isFrame ? 'frame' : 'note'},
    el('.title', {}, text),
    el('.rect', {x, y, width, height, rx: isFrame ? 6 : 4}),
    ...(isFrame
      ? [el('.text', {x: x + 2, y: y - 7}, text)]
      : rows.slice(0, room).map((row, i) => el('.text', {x: x + 8, y: y + 18 + 15 * i}, row))),
  );
  if (colour) tint(made, colour);
  if (colour) made.classList.add('tinted');
  return made;
}
