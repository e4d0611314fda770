// The steps inside a block: what each operation of the tape computes, forward and back, with names
// for its inputs, and t₁, t₂ … for what lies between.
const INFIX = {
  add: '+', subtract: '−', multiply: '×', divide: '/', power: '^', matmul: '@', equal: '=',
  not_equal: '≠', less: '<', less_equal: '≤', greater: '>', greater_equal: '≥',
};
const SILENT = ['leaf', 'constant', 'cast'];

class Inside {
  constructor(app) {
    this.app = app;
  }

  // The operations of one phase in order; none where there are fewer than two.
  steps(path, phase) {
    const {ready, arrived} = this.app.live, {ops, owners} = ready.tape, found = [];
    const isBack = phase === 'backward', owner = owners.indexOf(path);
    (ops.of?.(owner) ?? ops).forEach(([name, , , , own, guard, back], place) => {
      if (own !== owner || Boolean(back) !== isBack || SILENT.includes(name)) return;
      if (!ready.arrays[place].fixed && (guard < 0 || arrived[guard])) found.push(place);
    });
    return found.length > 1 ? found : [];
  }

  // What the places of the tape are called inside a block: its ports, and g for what arrives.
  names(path, phase) {
    const {live, data} = this.app, {tape} = live.ready, names = new Map();
    const call = (place, name) => {
      if (place >= 0 && !names.has(place)) names.set(place, name);
    };
    for (const port of live.blocks.outputs(path)) {
      const [, value, back] = tape.ports[live.source(port)] ?? [0, -1, -1];
      call(value, within(port));
      call(back, 'g');
    }
    for (const [input, port] of Object.entries(live.blocks.sources(path)))
      call(tape.ports[live.source(port)]?.[1] ?? -1, input);
    for (const input of data.blocks[path][1]) call(tape.leaves[`${path}.${input}`] ?? -1, input);
    for (const wire of Object.values(live.blocks.wires[path] ?? {}))
      call(tape.wires[wire]?.[1] ?? -1, `∇${within(wire)}`);
    let count = 0;
    for (const each of ['forward', 'backward'])
      for (const place of this.steps(path, each)) {
        if (each === 'backward' && phase === 'forward') break;
        if (!names.has(place)) names.set(place, 't' + String(++count).replace(/\d/g, (d) => '₀₁₂₃₄₅₆₇₈₉'[d]));
      }
    return names;
  }

  // One step: [name, formula, array].
  step(path, phase, place) {
    const {ready, open, heads, arrived} = this.app.live, {tape, arrays} = ready, names = this.names(path, phase);
    const [kind, inputs, , , , , , {conditions}] = tape.ops[place];
    const isThere = (_, k) => !conditions || holds(conditions[k], arrived, open, heads);
    const read = inputs.filter(isThere).map((k) => this.operand(k, names, arrays[k], tape.ops[k]));
    const sign = kind === 'collect' ? '+' : INFIX[kind];
    const formula = sign ? read.join(` ${sign} `) : kind === 'negative' ? `−${read}` : `${kind}(${read.join(', ')})`;
    return [names.get(place), formula, arrays[place]];
  }

  // An operand: its name; that of what it is another form of; else its number.
  operand(place, names, array, [kind, inputs]) {
    if (names.has(place)) return names.get(place);
    if (kind === 'cast') {
      const {arrays, tape} = this.app.live.ready, [from] = inputs;
      return this.operand(from, names, arrays[from], tape.ops[from]);
    }
    const [first] = array.d, isSame = array.d.every((x) => x === first);
    return isSame && array.d.length ? number(+first) : shapeText(array.s);
  }
}
