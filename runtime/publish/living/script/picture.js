// Draws one page: blocks, wires on their routes, and beside each wire the lane of its gradient.
const WIDTH = 160,
  HEADER = 28,
  ROW = 18,
  CORNER = 22,
  GAP = 6,
  INSET = 9,
  CHEVRONS = 34,
  SHORT = 20, // the width of a number of one digit
  MOST_SPREAD = 300; // wires; of more, numbers may lie on each other

// A view is as wide as its author made it.
const widthOf = (block) => block[10].width ?? WIDTH;
const outputs = (block) => block[8];
const inputName = (input) => (Array.isArray(input) ? input[0] : input);

// Where a port of a block is.
function portAt(block, isInput, row) {
  const count = (isInput ? block[7] : outputs(block)).length;
  const down = block[10].small ? 2 + (24 * (row + 0.5)) / count : HEADER + ROW * (row + 0.5);
  return [block[4] + (isInput ? 0 : WIDTH), block[5] + down];
}

// The corners of a wire: a route is the x of its first vertical stretch, the y of the next
// horizontal one, and so on; bends are points.
function corners(from, to, course) {
  if (!course)
    return Math.abs(from[1] - to[1]) < 1 ? [from, to] : corners(from, to, [(from[0] + to[0]) / 2]);
  if (Array.isArray(course[0])) return [from, ...course, to];
  const ys = [from[1], ...course.filter((_, i) => i % 2), to[1]];
  const turns = course
    .filter((_, i) => i % 2 === 0)
    .flatMap((x, i) => [
      [x, ys[i]],
      [x, ys[i + 1]],
    ]);
  return [from, ...turns, to];
}

const toward = (a, b) => {
  const length = Math.hypot(b[0] - a[0], b[1] - a[1]) || 1;
  return [(b[0] - a[0]) / length, (b[1] - a[1]) / length];
};
const moved = (point, along, by) => [point[0] + along[0] * by, point[1] + along[1] * by];
const distance = (a, b) => Math.hypot(b[0] - a[0], b[1] - a[1]);
const at = (point) => `${Math.round(point[0] * 10) / 10} ${Math.round(point[1] * 10) / 10}`;

// The line beside a wire on the right, clear of the ports, from its target back to its source.
function laneBeside(points, offset = GAP) {
  const sides = points
    .slice(1)
    .map((p, i) => toward(points[i], p))
    .map(([x, y]) => [-y, x]);
  const line = points.map((p, i) => {
    const a = sides[Math.max(0, i - 1)],
      b = sides[Math.min(i, sides.length - 1)];
    const share = 1 + a[0] * b[0] + a[1] * b[1];
    return share < 0.2
      ? moved(p, b, offset)
      : [p[0] + (offset * (a[0] + b[0])) / share, p[1] + (offset * (a[1] + b[1])) / share];
  });
  const trimmed = (end, next) =>
    moved(end, toward(end, next), Math.min(INSET, distance(end, next) / 4));
  const last = line.length - 1;
  line[0] = trimmed(line[0], line[1]);
  line[last] = trimmed(line[last], line[last - 1]);
  return line.reverse();
}

// A path through points with round corners.
function rounded(points, radius = CORNER, turn = 0) {
  let path = `M${at(points[0])}`;
  for (let i = 1; i < points.length - 1; i++) {
    const [p, a, b] = [
      points[i],
      toward(points[i], points[i - 1]),
      toward(points[i], points[i + 1]),
    ];
    const own = radius + turn * Math.sign(a[0] * b[1] - a[1] * b[0]);
    const room = Math.min(
      own,
      distance(p, points[i - 1]) / (i > 1 ? 2 : 1),
      distance(p, points[i + 1]) / (i < points.length - 2 ? 2 : 1),
    );
    path += `L${at(moved(p, a, room))}C${at(moved(p, a, room * 0.45))} ${at(moved(p, b, room * 0.45))} ${at(moved(p, b, room))}`;
  }
  return path + `L${at(points[points.length - 1])}`;
}

// Arrowheads along a line and at its end, in the direction of the line.
function chevrons(points, size) {
  const head = (tip, along) => {
    const side = [-along[1], along[0]],
      back = moved(tip, along, -1.15 * size);
    return `M${at(moved(back, side, 0.85 * size))}L${at(tip)}L${at(moved(back, side, -0.85 * size))}`;
  };
  let path = '';
  points.slice(1).forEach((p, i) => {
    const along = toward(points[i], p),
      length = distance(points[i], p),
      isLast = i === points.length - 2;
    for (let d = CHEVRONS; d < length - (isLast ? 18 : 12); d += CHEVRONS)
      path += head(moved(points[i], along, d), along);
    if (isLast) path += head(p, along);
  });
  return path;
}

// A zigzag along a line: teeth of a saw, or both ways.
function teeth(points, isSaw) {
  let path = `M${at(points[0])}`,
    up = 1;
  points.slice(1).forEach((p, i) => {
    const along = toward(points[i], p),
      side = [-along[1], along[0]],
      length = distance(points[i], p);
    for (let d = 0; d + 6 <= length; d += isSaw ? 6 : 4) {
      path += `L${at(moved(moved(points[i], along, d), side, 2.6 * (isSaw ? 1 : up)))}`;
      if (isSaw) path += `L${at(moved(moved(points[i], along, d + 6), side, -2.2))}`;
      up = -up;
    }
  });
  return path;
}

// Where a number can stand: the middle of each horizontal stretch of a line, below it or above its
// wire, with the room that is there. The longest stretch comes first.
function spots(line) {
  const found = line
    .slice(1)
    .map((p, i) => [(p[0] + line[i][0]) / 2, p[1] + 12, Math.abs(p[0] - line[i][0])])
    .filter((_, i) => Math.abs(line[i + 1][1] - line[i][1]) < 1)
    .sort((a, b) => b[2] - a[2]);
  return [...found, ...found.map(([x, y, room]) => [x, y - 22, room])];
}

// Leave the numbers of wires the room that other wires, and numbers before them, don't take.
function spread(shapes) {
  if (shapes.length > MOST_SPREAD) return;
  const taken = shapes.flatMap((shape) =>
    [shape.points, shape.line].flatMap((line) =>
      line.slice(1).map(([x, y], i) => {
        const [left, right] = [x, line[i][0]].sort((a, b) => a - b);
        return [shape, left, right, ...[y, line[i][1]].sort((a, b) => a - b)];
      }),
    ),
  );
  for (const shape of shapes) {
    for (const spot of shape.spots)
      for (const [other, left, right, top, bottom] of taken)
        if (other !== shape && top < spot[1] + 2 && bottom > spot[1] - 9)
          spot[2] = Math.min(spot[2], 2 * Math.max(left - spot[0], spot[0] - right, 0) - 2);
    const [x, y] = shape.spots.find((spot) => spot[2] > SHORT) ?? shape.spots[0] ?? shape.points[0];
    taken.push([shape, x - SHORT / 2, x + SHORT / 2, y - 9, y + 2]);
  }
}

// The middle of a line, by length.
function middle(points) {
  let left = points.slice(1).reduce((sum, p, i) => sum + distance(points[i], p), 0) / 2;
  for (let i = 1; i < points.length; i++) {
    const length = distance(points[i - 1], points[i]);
    if (left <= length) return moved(points[i - 1], toward(points[i - 1], points[i]), left);
    left -= length;
  }
  return points[0];
}

const GLYPHS = {
  '⊣': 'M-5 0H1.5M1.5 -5V5',
  '∅': 'M-3.6 4.6L3.6 -4.6M3.8 0A3.8 3.8 0 1 1 -3.8 0A3.8 3.8 0 1 1 3.8 0',
  '↛': 'M-5 0H5M5 0L2 -3M5 0L2 3M-2.5 4L1.5 -4',
  '❄': 'M0 -5.4V5.4M-4.7 -2.7L4.7 2.7M-4.7 2.7L4.7 -2.7M-1.6 -4.6L0 -3L1.6 -4.6M-1.6 4.6L0 3L1.6 4.6',
};

// One wire as elements that follow its state.
class WireShape {
  constructor(key, points, onpick) {
    this.key = key;
    this.points = points;
    this.line = laneBeside(points);
    this.path = el('.path', {class: 'wire', d: rounded(points)});
    this.lane = el('.path', {d: ''});
    this.inner = el('.path', {class: 'hollow', d: ''});
    this.heads = el('.path', {class: 'heads', d: ''});
    this.mark = el('.g', {class: 'mark'});
    this.text = el('.text', {class: 'grad'});
    this.hit = el('.path', {class: 'hit', d: rounded(points)});
    this.title = el('.title', {});
    this.group = el(
      '.g',
      {class: 'wiring', 'data-wire': key, role: 'button', tabindex: -1, onclick: () => onpick(key)},
      this.title,
      this.hit,
      this.path,
      this.lane,
      this.inner,
      this.heads,
      this.mark,
      this.text,
    );
    this.spots = spots(this.line);
    this.shown = '';
  }

  // Show a state: a row of the table of states; width by the size of the gradient.
  draw(state, row, width, text, spoken) {
    const look = `${state} ${width}`;
    if (look !== this.shown) this.redraw(row, width);
    this.shown = look;
    const place = this.spots.find(([, , room]) => text.length * 6.2 < room);
    write(this.text, place ? text : '');
    if (place) {
      set(this.text, 'x', Math.round(place[0]));
      set(this.text, 'y', Math.round(place[1]));
    }
    set(this.text, 'class', `grad role-${row.role}`);
    set(this.group, 'aria-label', spoken);
    write(this.title, spoken);
  }

  redraw(row, width) {
    const {form, role} = row,
      isDrawn = form !== 'none';
    const bent = rounded(this.line, CORNER, GAP);
    const drawn = form === 'saw' || form === 'zigzag' ? teeth(this.line, form === 'saw') : bent;
    set(this.lane, 'd', isDrawn ? drawn : '');
    set(this.lane, 'class', `lane form-${form} role-${role}`);
    set(
      this.lane,
      'stroke-width',
      form === 'solid' || form === 'long-dash' ? width : form === 'hollow' ? 4.2 : 1.7,
    );
    set(this.inner, 'd', form === 'hollow' ? bent : '');
    set(this.heads, 'd', row.passes ? chevrons(this.line, 3 + 0.8 * width) : '');
    set(this.heads, 'class', `heads role-${role}`);
    this.mark.replaceChildren();
    if (row.glyph) this.mark.append(...this.glyph(row.glyph, role));
  }

  glyph(text, role) {
    const [x, y] = middle(this.line),
      place = `translate(${at([x, y])})`;
    const shape = GLYPHS[text]
      ? el('.path', {class: `glyph role-${role}`, d: GLYPHS[text]})
      : el('.text', {class: `sign role-${role}`, y: 4}, text);
    set(this.mark, 'transform', place);
    return [el('.circle', {class: 'ground', r: 6.5}), shape];
  }
}
