// Evaluates the conditions of lessons: trees such as ['==', ['grad', 'w'], 8], never code.
const list = (x) => (x && x.d ? Array.from(x.d) : x);

function each(f, a, b) {
  if (a === null || b === null || a === undefined || b === undefined)
    throw new Error('None has no arithmetic');
  if (Array.isArray(a))
    return formed(a.map((x, i) => f(x, Array.isArray(b) ? b[b.length === 1 ? 0 : i] : b)), a.s);
  return Array.isArray(b) ? formed(b.map((y) => f(a, y)), b.s) : f(a, b);
}

// A list of numbers that knows the shape of its array; in texts all numbers are floats.
const formed = (numbers, s = [numbers.length]) => Object.assign(numbers, {s, t: 'float64'});

// An element along the first axis.
function itemOf(a, place) {
  const list = flat(a), shape = list.s ?? [list.length], width = list.length / shape[0];
  const at = place < 0 ? place + shape[0] : place;
  if (shape.length < 2) return list[at];
  return formed(list.slice(at * width, (at + 1) * width), shape.slice(1));
}

// A value as a number where it has one, or as its list of numbers.
function plain(array) {
  if (!array) return null;
  return array.s.length
    ? formed(Array.from(array.d), array.s)
    : array.t === 'bool'
      ? Boolean(array.d[0])
      : array.d[0];
}

const near = (a, b) =>
  a === b || Math.abs(a - b) <= Math.max(1e-12, 1e-6 * Math.max(Math.abs(a), Math.abs(b)));

function alike(a, b) {
  if (a === null || b === null) return false;
  if (typeof a === 'string' || typeof b === 'string') return a === b;
  const found = each((x, y) => near(+x, +y), a, b);
  return Array.isArray(found) ? found.every(Boolean) : found;
}

function ordered(f, a, b) {
  if (a === null || b === null) return false;
  const found = each(f, a, b);
  return Array.isArray(found) ? found.every(Boolean) : found;
}

const ARITHMETIC = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '**': (a, b) => a ** b,
};
const COMPARISONS = {
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
};
const flat = (x) => (Array.isArray(x) ? x : [x]);
const total = (x) => flat(x).reduce((a, b) => a + b, 0);
const FUNCTIONS = {
  abs: (x) => each((a) => Math.abs(a), x, 0),
  sum: (...x) => total(x.flat()),
  mean: (x) => total(x) / flat(x).length,
  max: (...x) => Math.max(...x.flat()),
  min: (...x) => Math.min(...x.flat()),
  norm: (x) => Math.hypot(...flat(x)),
  size: (x) => flat(x).length,
};

class Conditions {
  constructor(app) {
    this.app = app;
  }

  // The losses that count for grad(): those of a step, or all.
  use(losses) {
    this.losses = losses && losses.length ? losses : null;
  }

  value(tree) {
    if (!Array.isArray(tree)) return tree;
    const [kind, ...rest] = tree;
    if (kind === 'and') return rest.every((each) => this.value(each));
    if (kind === 'or') return rest.some((each) => this.value(each));
    if (kind === 'chain') return this.chain(rest);
    if (kind in WHAT_IFS) return this.tried(kind, ...rest);
    if (kind === 'published') return this.published(...rest);
    const read = READERS[kind];
    if (read) return read.call(this, ...rest.map((each) => this.value(each)));
    const [a, b] = rest.map((each) => this.value(each));
    if (kind === 'not') return !a;
    if (kind === 'negative') return each((x) => -x, a, 0);
    if (kind === 'item') return itemOf(a, b);
    if (kind in ARITHMETIC) return each(ARITHMETIC[kind], a, b);
    return this.compare(a, kind, b);
  }

  // What an expression would be worth with stops opened or closed, or wires cut.
  tried(kind, tree, ...paths) {
    const {live} = this.app, {open, cuts} = live;
    [live.open, live.cuts] = [[...open], [...cuts]];
    try {
      for (const path of paths) {
        if (!canTry(this.app.data, path)) throw new Error(`${path} can't be tried`);
        WHAT_IFS[kind](this.app, path);
      }
      live.compute();
      return this.value(tree);
    } finally {
      [live.open, live.cuts] = [open, cuts];
      live.compute();
    }
  }

  // What only the runtime can try: known as long as everything is as in the file.
  published(text) {
    return this.app.isAsPublished ? text : '(not computed in this page)';
  }

  // A chain of comparisons: a < b < c as ['chain', a, '<', b, '<', c].
  chain([first, ...rest]) {
    let left = this.value(first);
    for (let i = 0; i < rest.length; i += 2) {
      const right = this.value(rest[i + 1]);
      if (!this.compare(left, rest[i], right)) return false;
      left = right;
    }
    return true;
  }

  compare(a, kind, b) {
    if (kind === '==') return alike(a, b);
    if (kind === '!=') return !alike(a, b);
    if (kind === 'is') return a === b;
    if (kind === 'is not') return a !== b;
    return ordered(COMPARISONS[kind], a, b);
  }

  // The gradient of a variable, or what arrives at a port, for some losses.
  gradient(path, losses = this.losses) {
    const {live, data} = this.app;
    const read = () => (path in data.leaves ? live.gradient(path) : live.arriving(path));
    return this.app.withLosses(losses, () => copied(read()));
  }

  // The value of an expression as a list of numbers; null for None or no value.
  numbers(tree) {
    try {
      const found = this.value(tree);
      return found === null || found === undefined ? null : flat(found).map(Number);
    } catch (error) {
      return [];
    }
  }

  // Text whose expressions have become numbers.
  text(parts) {
    if (typeof parts === 'string') return parts;
    return parts.map((part) => (typeof part === 'string' ? part : this.isolated(...part))).join('');
  }

  // A number among words that are read from the right: its sign and its brackets stay in place.
  isolated(...part) {
    const found = this.written(...part);
    return document.dir === 'rtl' ? `\u2066${found}\u2069` : found;
  }

  written(tree, places) {
    try {
      const found = this.value(tree);
      if (found === null || found === undefined) return 'None';
      if (Array.isArray(found)) return amount({s: found.s, t: found.t, d: found}, places);
      return typeof found === 'number' ? fixed(found, places) : String(found);
    } catch (error) {
      return '?';
    }
  }

  holds(tree) {
    try {
      return Boolean(this.value(tree));
    } catch (error) {
      return false;
    }
  }
}

const WHAT_IFS = {
  opened: ({live, data}, stop) => (live.open[data.paths[stop]] = true),
  closed: ({live, data}, stop) => (live.open[data.paths[stop]] = false),
  cut: ({live, data}, wire) => live.cuts.push(...(data.trees[wire] ?? [wire])),
};

// Whether a page can open or close a stop, or cut a wire, for a what-if.
const canTry = ({paths, wires, trees, untried}, path) =>
  (path in paths || path in wires || path in trees) && !untried.includes(path);

const copied = (array) => array && {...array, d: Array.from(array.d)};

const READERS = {
  grad(path, loss) {
    return plain(this.gradient(path, loss ? [loss] : this.losses));
  },
  value(path) {
    return plain(this.app.live.port(this.app.portNamed(path)));
  },
  state(wire, loss) {
    const read = () => this.app.live.states()[wire] ?? 'UNKNOWN';
    return this.app.withLosses(loss ? [loss] : this.losses, read);
  },
  contribution(wire, loss) {
    return plain(this.app.withLosses([loss], () => copied(this.app.live.contribution(wire))));
  },
  open(stop) {
    return Boolean(this.app.live.open[this.app.data.paths[stop]]);
  },
};
for (const name of Object.keys(FUNCTIONS)) READERS[name] = FUNCTIONS[name];
