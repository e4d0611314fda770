// What blocks read, and what reads them. Of a block data has [type, inputs, more].
const blockOf = (port) => port.split('.', 1)[0];
const within = (wire) => wire.slice(wire.indexOf('.') + 1);

class Blocks {
  constructor(data) {
    this.data = data;
    if (data.runs) return Object.assign(this, readersIn(data));
    this.wires = {};
    this.targets = {};
    this.leavingPort = {};
    this.gradients = Object.keys(data.blocks).filter((path) => this.kind(path) === 'Gradient');
    this.leavingBlock = {};
    for (const path in data.blocks) {
      const [, inputs, {wires = {}}] = data.blocks[path];
      this.wires[path] = {};
      for (const input of inputs) {
        const wire = wires[input] ?? `${path}.${input}`;
        if (!(wire in data.wires)) continue;
        this.wires[path][input] = wire;
        for (const each of [wire, ...this.leaves(wire)]) this.targets[each] = path;
      }
    }
    for (const [wire, port] of Object.entries(data.wires)) {
      (this.leavingPort[port] ??= []).push(wire);
      (this.leavingBlock[blockOf(port)] ??= []).push(wire);
    }
  }

  kind(path) {
    return this.data.blocks[path]?.[0] ?? '';
  }

  more(path) {
    return this.data.blocks[path]?.[2] ?? {};
  }

  leaves(wire) {
    return this.data.trees[wire] ?? [wire];
  }

  outputs(path) {
    return (this.more(path).outputs ?? ['out']).map((name) => `${path}.${name}`);
  }

  // The ports to which what a wire brings goes: of those with trees, some leaves.
  outputsOf(wire) {
    const path = this.targets[wire], some = this.more(path).leads?.[within(wire)];
    return some ? some.map((name) => `${path}.${name}`) : this.outputs(path);
  }

  // The ports that a block reads, by input; inputs with numbers of their own are omitted.
  sources(path) {
    const wires = Object.entries(this.wires[path] ?? {});
    return Object.fromEntries(wires.map(([input, wire]) => [input, this.data.wires[wire]]));
  }

  // The same by leaf.
  read(path) {
    const wires = Object.values(this.wires[path] ?? {});
    return wires.flatMap((wire) => this.leaves(wire)).map((wire) => this.data.wires[wire]).filter(Boolean);
  }

  // The wires that leave a block, followed through blocks of some types.
  beyond(path, kinds = SAY.SHAPES) {
    const pending = [path], seen = new Set(pending), found = [];
    while (pending.length) {
      for (const wire of this.leavingBlock[pending.pop()] ?? []) {
        const at = this.targets[wire];
        if (!kinds.includes(this.kind(at))) found.push(wire);
        else if (!seen.has(at)) {
          seen.add(at);
          pending.push(at);
        }
      }
    }
    return found;
  }

  // A block and all upstream of it.
  before(path) {
    const found = new Set([path]);
    for (const at of found) for (const port of Object.values(this.sources(at))) found.add(blockOf(port));
    return found;
  }

  // A block and all downstream of it.
  after(path) {
    const found = new Set([path]);
    for (const at of found) for (const wire of this.leavingBlock[at] ?? []) found.add(this.targets[wire]);
    return [...found];
  }

  // The Gradient blocks that differentiate through a block.
  differentiating(path) {
    return this.gradients.filter((each) => {
      const {of} = this.sources(each);
      return of && this.before(blockOf(of)).has(path);
    });
  }

  // The block that made a port's numbers, behind those that only arrange them.
  origin(port) {
    let path = blockOf(port);
    while (SAY.SHAPES.includes(this.kind(path))) {
      const [source] = Object.values(this.sources(path));
      if (!source) break;
      path = blockOf(source);
    }
    return path;
  }

  // The numbers of an input that has no wire.
  literal(live, path, input) {
    const key = `${path}.${input}`, leaf = this.data.leaves[key];
    return leaf?.kind === 'literal' ? {s: leaf.shape, t: leaf.dtype, d: live.values[key]} : null;
  }

  isGiven(live, path, input, number) {
    const source = this.sources(path)[input], from = source && blockOf(source);
    const array = this.literal(live, path, input)
      ?? (this.data.leaves[from]?.kind === 'constant' ? {d: live.values[from]} : null);
    return Boolean(array?.d.length) && array.d.every((x) => x === number);
  }

  // The arrays that a block reads, by input in its order.
  inputs(live, path) {
    const found = {};
    for (const input of this.data.blocks[path]?.[1] ?? []) {
      const literal = this.literal(live, path, input), wire = this.wires[path][input];
      if (literal) found[input] = literal;
      else if (wire) {
        for (const leaf of this.leaves(wire)) {
          const value = live.port(this.data.wires[leaf]);
          if (value) found[within(leaf)] = value;
        }
      }
    }
    return found;
  }
}

const hasAny = ({d}) => d.some((x) => x !== 0);
const hasNaN = ({d, t}) => isFloat(t) && d.some((x) => x !== x);
const isFine = ({d, t}) => !isFloat(t) || d.every(Number.isFinite);
const peakOf = ({d}) => d.reduce((top, x) => (Math.abs(x) <= top ? top : Math.abs(x)), 0);
const least = (d) => d.reduce((a, b) => Math.min(a, b), Infinity);
const most = (d) => d.reduce((a, b) => Math.max(a, b), -Infinity);

// The difference between the largest and the least element, for every row along an axis.
function spreads({s, d}, axis) {
  const [before, length, after] = aroundAxis(s, axis < 0 ? axis + s.length : axis), found = [];
  for (let a = 0; a < before; a++) {
    for (let b = 0; b < after; b++) {
      const row = Array.from({length}, (_, j) => d[(a * length + j) * after + b]);
      found.push(most(row) - least(row));
    }
  }
  return found;
}
