// A tape made ready: a buffer for each operation, and the steps that compute those that may change;
// ``all`` has the steps of the others too.
// An operation is [primitive, inputs, shape, dtype, owner, guard, is backward, attributes].
function prepared(tape) {
  if (tape.ops.parts) return new Looped(tape);
  const arrays = [], steps = [], all = [];
  tape.ops.forEach((op, place) => {
    const step = operation(op, place, op[1].map((k) => arrays[k]));
    arrays[place] = step.out;
    if (step.run === undefined) return;
    all[place] = step;
    if (step.out.fixed) step.run();
    else steps.push(step);
  });
  return {tape, arrays, steps, all};
}

// What an operation makes of its inputs, in a buffer that may be given; without ``run`` if there is
// nothing to compute, and null where parts are added up.
function operation([name, , s, t, owner, guard, back, attributes], place, x, buffer) {
  const d = name === 'reshape' ? x[0].d : buffer ?? new BUFFERS[t](sizeOf(s));
  const fixed = name !== 'leaf' && name !== 'collect' && x.every((each) => each.fixed);
  const out = {s, t, d, fixed}, step = {place, owner, guard, back, name, out};
  if (name === 'constant') fill(d, attributes.data);
  else if (name === 'collect') return {...step, run: null, parts: x, conditions: attributes.conditions};
  else if (name !== 'reshape' && name !== 'leaf') step.run = KERNELS[name](out, x, attributes);
  return step;
}

function fill(buffer, data) {
  if (data.length === 1) buffer.fill(+data[0]);
  else data.forEach((number, k) => { buffer[k] = +number; });
}

// Whether a part of an adjoint is there: its reader has one, or the loss is chosen, and its switch
// is open.
const holds = ([reader, gate], arrived, open, heads) =>
  (reader < 0 ? heads[~reader] : arrived[reader]) && (gate < 0 || open[gate]);

// The forward values that gradient arrives at; the others have none, whatever the numbers.
function arrivals(tape, open, heads, cuts) {
  const arrived = new Uint8Array(tape.size), cut = cuts.map((wire) => tape.wires[wire][0]);
  for (const [value, conditions] of tape.arrive) {
    if (!cut.includes(value) && conditions.some((each) => holds(each, arrived, open, heads))) arrived[value] = 1;
  }
  return arrived;
}

function compute({steps}, arrived, open, heads) {
  for (const step of steps) {
    if (step.guard >= 0 && !arrived[step.guard]) continue;
    run(step, arrived, open, heads);
  }
}

function run(step, arrived, open, heads) {
  if (step.run) step.run(arrived, open, heads);
  else collect(step.out.d, step, arrived, open, heads);
}

// The sum of the parts that are there, in the runtime's order.
function collect(sum, {parts, conditions}, arrived, open, heads) {
  let isFirst = true;
  conditions.forEach((condition, k) => {
    if (!holds(condition, arrived, open, heads)) return;
    const part = parts[k].d;
    if (isFirst) sum.set(part);
    else for (let i = 0; i < sum.length; i++) sum[i] += part[i];
    isFirst = false;
  });
}
