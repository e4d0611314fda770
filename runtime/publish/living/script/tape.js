// A tape made ready: a buffer for each operation, and the steps that compute those that may change;
// ``all`` has the steps of the others too.
// An operation is [primitive, inputs, shape, dtype, owner, guard, is backward, attributes].
function prepared(tape) {
  const arrays = [], steps = [], all = [];
  tape.ops.forEach(([name, inputs, s, t, owner, guard, back, attributes], place) => {
    const x = inputs.map((k) => arrays[k]);
    const d = name === 'reshape' ? x[0].d : new BUFFERS[t](sizeOf(s));
    const fixed = name !== 'leaf' && name !== 'collect' && x.every((each) => each.fixed);
    const out = (arrays[place] = {s, t, d, fixed});
    if (name === 'constant') fill(out.d, attributes.data);
    else if (name === 'collect') {
      const run = null, parts = x, conditions = attributes.conditions;
      steps.push(all[place] = {place, owner, guard, back, name, run, parts, conditions});
    } else if (name !== 'reshape' && name !== 'leaf') {
      const run = KERNELS[name](out, x, attributes);
      all[place] = {place, owner, guard, back, name, run};
      if (fixed) run();
      else steps.push(all[place]);
    }
  });
  return {tape, arrays, steps, all};
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

function compute({arrays, steps}, arrived, open, heads) {
  for (const step of steps) {
    if (step.guard >= 0 && !arrived[step.guard]) continue;
    run(step, arrays, arrived, open, heads);
  }
}

function run(step, arrays, arrived, open, heads) {
  if (step.run) step.run();
  else collect(arrays[step.place].d, step, arrived, open, heads);
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
