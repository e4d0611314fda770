// The largest finite element of arrays.
function largest(arrays) {
  let top = 0;
  for (const array of arrays) {
    for (const x of array ?? []) if (Number.isFinite(+x)) top = Math.max(top, Math.abs(+x));
  }
  return top;
}

// Compares what Live computes with what the runtime did; the same in node and in a browser.
function compare({data, cases}) {
  const live = new Live(data);
  const found = {cases: 0, numbers: 0, equal: 0, none: 0, states: 0, structure: 0, over: 0, worst: 0, where: '', ms: 0, wrong: [], sentences: 0, said: 0, unlike: []};
  let scale = 0;
  // Gradients that are only rounding errors of others: what is said of them depends on their bits.
  const isNoise = (name) => {
    const of = (each) => (each in data.wires ? live.contribution(each) : live.gradient(each));
    const sizes = (data.trees[name] ?? [name]).map(of).filter(Boolean).map(({d}) => largest([d]));
    return sizes.some((size) => size > 0 && size < 1e-14 * scale);
  };
  const noneDiffers = (name) => { found.none++; found.wrong.push(`${name}: None`); };
  const near = (name, mine, wanted) => {
    if (!mine || !wanted) {
      if (Boolean(mine) !== Boolean(wanted)) noneDiffers(name);
      return;
    }
    const round = mine.t === 'float32' ? Math.fround : (x) => x;
    const numbers = wanted.map((number) => round(+number));
    const top = Math.max(largest([wanted]), 1e-3 * scale);
    numbers.forEach((number, k) => {
      found.numbers++;
      const own = mine.d[k];
      if (own === number || (own !== own && number !== number)) { found.equal++; return; }
      const off = Math.abs(own - number) / (top || 1);
      if (!(off <= 1e-12)) found.over++;
      if (!(off <= found.worst)) {
        found.worst = off;
        found.where = `${name}[${k}] is ${own}, not ${number}`;
      }
    });
  };
  for (const each of cases) {
    found.cases++;
    // Gradients that are only rounding errors of others are compared with those.
    scale = largest(Object.values({...each.gradients, ...each.contributions})) || 1;
    for (const path in each.values) each.values[path].forEach((x, k) => { live.values[path][k] = +x; });
    live.open = [...each.open];
    live.heads = each.heads;
    live.step = each.step ?? 0;
    const start = performance.now();
    live.compute();
    found.ms += performance.now() - start;
    for (const name in each.ports) near(`value ${name}`, live.port(name), each.ports[name]);
    for (const name in each.gradients) near(`gradient ${name}`, live.gradient(name), each.gradients[name]);
    for (const name in each.contributions) near(`wire ${name}`, live.contribution(name), each.contributions[name]);
    for (const name in each.adjoints) {
      const wanted = each.adjoints[name], mine = live.arriving(name);
      if (wanted && mine) near(`adjoint ${name}`, mine, wanted);
    }
    for (const name in each.told) {
      const {sentence, cure, route, cutters} = live.told(name), mine = [sentence, cure, route, cutters];
      found.sentences++;
      if (JSON.stringify(mine) === JSON.stringify(each.told[name])) continue;
      if (isNoise(name)) continue;
      found.said++;
      if (found.unlike.length < 5) found.unlike.push([name, mine, each.told[name]]);
    }
    const states = live.states();
    for (const wire of new Set([...Object.keys(states), ...Object.keys(each.states)])) {
      if (states[wire] === each.states[wire]) continue;
      const leaf = Object.values(data.trees).some((leaves) => leaves.includes(wire));
      if (leaf && !(wire in each.states)) continue;
      found.states++;
      if (RANKS[states[wire]] !== RANKS[each.states[wire]]) found.structure++;
      found.wrong.push(`${wire} is ${states[wire]}, not ${each.states[wire]}`);
    }
  }
  found.ms /= found.cases;
  found.wrong = [...new Set(found.wrong)].slice(0, 5);
  return found;
}
