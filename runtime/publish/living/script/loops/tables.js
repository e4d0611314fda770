// Tables of which rows repeat: the first period of each run is there, and what changes from one to
// the next. Rows are made when they are asked for.
const DIGITS = /(?<![0-9])(?:0|[1-9][0-9]{0,14})(?![0-9])/g;
const numbersIn = (text) => (text.match(DIGITS) ?? []).map(Number);

// A row some periods later; ``by`` has the form of the row, or is 0 where nothing changes.
function changed(row, by, times) {
  if (!by || !times) return row;
  if (typeof row === 'number') return row + by * times;
  if (typeof row === 'string') {
    let k = 0;
    return row.replace(DIGITS, (digits) => +digits + by[k++] * times);
  }
  if (Array.isArray(row)) return row.map((each, k) => changed(each, by[k], times));
  return Object.fromEntries(Object.entries(row).map(([name, each]) => [name, changed(each, by[name], times)]));
}

// The numbers of a row, or of what changes in it, without their brackets.
const flatOf = (row, by) => (Array.isArray(row) ? row.flatMap((each, k) => flatOf(each, by && by[k])) : [by || 0]);

const ROWS = Symbol('rows');

class Folded {
  constructor(rows, runs) {
    this.rows = rows;
    this.parts = [];
    this.length = 0;
    let at = 0;
    const add = (width, count, changes = []) => {
      if (width) this.parts.push({from: this.length, at, width, count, changes});
      at += width;
      this.length += width * count;
    };
    for (const [start, width, count, changes] of runs) {
      add(start - at, 1);
      add(width, count, changes);
    }
    add(rows.length - at, 1);
  }

  part(place) {
    let low = 0, high = this.parts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.parts[middle].from > place) high = middle - 1;
      else low = middle;
    }
    return this.parts[low];
  }

  at(place) {
    if (!(place >= 0 && place < this.length)) return undefined;
    const {from, at, width, changes} = this.part(place), k = (place - from) % width;
    return changed(this.rows[at + k], changes[k], Math.floor((place - from) / width));
  }

  get all() {
    return Array.from({length: this.length}, (_, place) => this.at(place));
  }

  // The places of the rows that are as ``test`` says, which knows the first of each run.
  *places(test) {
    for (const {from, at, width, count, changes} of this.parts) {
      for (let k = 0; k < width; k++)
        if (test(this.rows[at + k], changes[k]))
          for (let times = 0; times < count; times++) yield from + times * width + k;
    }
  }

  // The operations that have this number of an owner.
  of(owner) {
    const found = [];
    for (const {from, at, width, count, changes} of this.parts) {
      for (let k = 0; k < width; k++) {
        const own = this.rows[at + k][4], by = changes[k]?.[4] ?? 0, times = by ? (owner - own) / by : 0;
        if (own + by * times !== owner || !Number.isInteger(times)) continue;
        for (let each = times; each >= 0 && each < (by ? times + 1 : count); each++)
          if (each < count) found.push(from + each * width + k);
      }
    }
    found.sort((a, b) => a - b);
    return {forEach: (call) => found.forEach((place) => call(this.at(place), place))};
  }

  indexOf(text) {
    this.index ??= new Index(this, (row) => [row]);
    return this.index.of(text)[0] ?? -1;
  }
}

// Where a text is in a table, by the texts that a row has.
class Index {
  constructor(table, textsOf) {
    this.known = new Map();
    for (const {from, at, width, count, changes} of table.parts) {
      for (let k = 0; k < width; k++) {
        const row = table.rows[at + k], next = textsOf(changed(row, changes[k], 1));
        textsOf(row).forEach((text, i) => {
          const form = text.replace(DIGITS, '\0'), base = numbersIn(text), after = numbersIn(next[i]);
          if (!this.known.has(form)) this.known.set(form, []);
          this.known.get(form).push({place: from + k, width, count, base, by: after.map((x, j) => x - base[j])});
        });
      }
    }
  }

  of(text) {
    const numbers = numbersIn(text), found = [];
    for (const {place, width, count, base, by} of this.known.get(text.replace(DIGITS, '\0')) ?? []) {
      const k = by.findIndex(Boolean), first = k < 0 ? 0 : (numbers[k] - base[k]) / by[k];
      if (!Number.isInteger(first) || first < 0 || first >= count) continue;
      if (base.some((x, i) => x + by[i] * first !== numbers[i])) continue;
      for (let times = first; times < (k < 0 ? count : first + 1); times++) found.push(place + times * width);
    }
    return found.sort((a, b) => a - b);
  }
}

// What has elements at places, to be read as a list.
function listOf(rows) {
  const read = (name) => (typeof rows[name] === 'function' ? rows[name].bind(rows) : rows[name]);
  return new Proxy(rows, {get: (_, name) => (name === ROWS ? rows : /^\d+$/.test(String(name)) ? rows.at(+name) : read(name))});
}

// An object of the rows [name, entry] of a table, which makes its entries when they are asked for.
function mapped(table) {
  const index = new Index(table, ([name]) => [name]);
  const found = (name) => table.at(index.of(name)[0])?.[1];
  return lazy(found, () => table.all.map(([name]) => name), {table, index});
}

// An object whose entries are found when they are asked for, undefined for none; and their names.
function lazy(find, names, rows) {
  const known = new Map();
  const found = (name) => {
    if (typeof name !== 'string') return name === ROWS ? rows : undefined;
    if (!known.has(name)) known.set(name, find(name));
    return known.get(name);
  };
  return new Proxy({}, {
    get: (_, name) => found(name),
    has: (_, name) => found(name) !== undefined,
    ownKeys: () => names(),
    getOwnPropertyDescriptor: (_, name) =>
      found(name) === undefined ? undefined : {value: found(name), enumerable: true, configurable: true},
  });
}

// An object of what is found for the names in some others.
function asked(objects, find) {
  const isIn = (name) => objects.some((object) => name in object);
  return lazy((name) => (isIn(name) ? find(name) : undefined), () => [...new Set(objects.flatMap(Object.keys))]);
}

// The rows of an object, be it mapped or not.
const tableOf = (object) => object[ROWS] ?? mapped(new Folded(Object.entries(object), []))[ROWS];

// ---- what is read ----

// The lists of a page's data that were folded, as a whole.
function unfoldLists({tapes, blocks, runs}) {
  const whole = (list) => (list?.runs ? new Folded(list.rows, list.runs).all : list);
  for (const [, block] of runs.blocks ? blocks : []) block[1] = whole(block[1]);
  const each = (lists) => lists.forEach((list, k) => { lists[k] = whole(list); });
  for (const {ops: [, inputs, , , , , , given], arrive: [, conditions]} of tapes) {
    each(inputs);
    each(conditions);
    for (const [, attributes] of given) for (const name in attributes) attributes[name] = whole(attributes[name]);
  }
}

// The restored data with the rows that were left out; ``names`` are told of beside those of wires.
function withRuns(data, names) {
  const {runs, verdicts} = data;
  const byName = (rows, how) => (how ? mapped(new Folded(Array.isArray(rows) ? rows : Object.entries(rows), how)) : rows);
  const listed = (rows, how) => (how ? listOf(new Folded(rows, how)) : rows), all = (table, given, make) => Object.fromEntries(Object.entries(table).map(([key, rows]) => [key, make(rows, given[key])]));
  const made = {...data, ...all(data, runs, byName)}, {index, table} = tableOf(made.wires);
  const tapes = data.tapes.map(({runs: how = {}, ports, wires, leaves, ...tape}) => ({
    ...all(tape, how, listed), ...all({ports, wires, leaves}, how, byName),
  }));
  const others = (name) => (names.includes(name) ? table.length + names.indexOf(name) : -1);
  return {
    ...made,
    tapes: tapes.map((tape) => ({...tape, arrive: new Arrivals(tape.arrive), edges: new Edges(tape.edges)})),
    order: listOf({at: (place) => tableOf(made.blocks).table.at(place)[0]}),
    verdicts: {
      ...all(verdicts, runs, listed),
      names: {indexOf: (name) => index.of(name)[0] ?? others(name)},
      table: all(verdicts.table, runs, listed),
    },
  };
}

// The numbers of rows in a column, and where each row starts.
function flattened(table) {
  const {parts, rows, length} = table.parts ? table : new Folded(table, []), flat = rows.map((row) => row.flat(2));
  const total = parts.reduce((sum, {at, width, count}) => sum + count * flat.slice(at, at + width).flat().length, 0);
  const numbers = new Int32Array(total), starts = new Int32Array(length + 1);
  let place = 0, end = 0;
  for (const {at, width, count, changes} of parts) {
    const first = flat.slice(at, at + width), by = first.map((_, k) => flatOf(rows[at + k], changes[k]));
    for (let times = 0; times < count; times++)
      for (let k = 0; k < width; k++) {
        for (let i = 0; i < first[k].length; i++) numbers[end++] = first[k][i] + by[k][i] * times;
        starts[++place] = end;
      }
  }
  return {numbers, starts};
}

// [forward value, conditions], of which as much is made as is read.
class Arrivals {
  constructor(table) {
    Object.assign(this, flattened(table));
  }

  *[Symbol.iterator]() {
    const {numbers, starts} = this;
    for (let row = 0; row + 1 < starts.length; row++) {
      const some = (test) => {
        for (let k = starts[row] + 1; k < starts[row + 1]; k += 2) if (test([numbers[k], numbers[k + 1]])) return true;
        return false;
      };
      yield [numbers[starts[row]], {some}];
    }
  }
}

// [value, source, gate, switch], in a column.
class Edges {
  constructor(table) {
    Object.assign(this, flattened(table));
    this.length = this.starts.length - 1;
  }

  at(k) {
    const {numbers} = this, at = 4 * k;
    return [numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]];
  }

  map(change) {
    return Uint8Array.from({length: this.length}, (_, k) => change(this.at(k)));
  }
}

// ---- what is asked ----

// What blocks read and what reads them, as ``Blocks`` has it.
function readersIn(data) {
  const [blocks, wires, trees] = [data.blocks, data.wires, data.trees].map((object) => tableOf(object).table);
  const passed = new Index(blocks, ([, [, , {wires: given}]]) => Object.values(given ?? {}));
  const ports = new Index(wires, ([, port]) => [port]), from = new Index(wires, ([, port]) => [blockOf(port)]);
  const leaves = new Index(trees, ([, names]) => names);
  const into = (path) => {
    const [, inputs, {wires: given = {}}] = data.blocks[path];
    const all = inputs.map((input) => [input, given[input] ?? `${path}.${input}`]);
    return Object.fromEntries(all.filter(([, wire]) => wire in data.wires));
  };
  const named = (places) => (places.length ? places.map((place) => wires.at(place)[0]) : undefined);
  const target = (name) => {
    const [tree] = leaves.of(name), wire = tree === undefined ? name : trees.at(tree)[0];
    const [place] = passed.of(wire), path = place === undefined ? blockOf(wire) : blocks.at(place)[0];
    return path in data.blocks && Object.values(into(path)).includes(wire) ? path : undefined;
  };
  return {
    wires: asked([data.blocks], into),
    targets: lazy(target, () => []),
    leavingPort: lazy((port) => named(ports.of(port)), () => []),
    leavingBlock: lazy((path) => named(from.of(path)), () => []),
    gradients: [...blocks.places(([, [kind]]) => kind === 'Gradient')].map((place) => blocks.at(place)[0]),
  };
}

// What wires bring back, and how large it is, as ``Contributions`` has it.
function broughtIn(live) {
  const {wires} = live.ready.tape, of = asked([wires], (wire) => live.contribution(wire) ?? undefined);
  return {of, sizes: asked([of], (wire) => measure(of[wire]))};
}
