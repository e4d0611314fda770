// Restores the data of a page from the columns and steps that it is written in.
function summed(steps) {
  let at = 0;
  return steps.map((step) => (at += step));
}

const zipped = (first, ...others) => first.map((each, k) => [each, ...others.map((column) => column[k])]);

function restoredTape(tape) {
  const [names, inputs, shapes, dtypes, owners, guards, backs, given] = tape.ops;
  const [arriving, conditions] = tape.arrive, [values, back, gates, switches] = tape.edges;
  const more = names.map(() => ({}));
  for (const [place, each] of given) {
    if (Number.isInteger(each.data)) each.data = [...Array(each.data).keys()];
    more[place] = each;
  }
  const reads = inputs.map((steps, place) => steps.map((step) => place - step));
  const all = zipped(names, reads, shapes, dtypes, summed(owners), summed(guards), summed(backs), more);
  const ends = summed(values), arrived = summed(arriving);
  const pairs = (flat, value) =>
    flat.flatMap((step, k) => (k % 2 ? [] : [[step + value, flat[k + 1]]]));
  const byPath = ([paths, ...columns]) => {
    const rows = paths.length ? zipped(...columns.map(summed)) : [];
    return Object.fromEntries(paths.map((path, k) => [path, rows[k]]));
  };
  return {
    ...tape,
    ops: all,
    arrive: arrived.map((value, k) => [value, pairs(conditions[k], value)]),
    edges: zipped(ends, ends.map((end, k) => end - back[k]), gates, switches),
    ports: byPath(tape.ports),
    wires: byPath(tape.wires),
    gradients: byPath(tape.gradients),
  };
}

// ``pictures`` are those of the still picture, which views name by place.
function restored(data, pictures = []) {
  if (data.runs) unfoldLists(data);
  const {names: [hasWires, ...names], routes: [ahead, blocks], cuts, table} = data.verdicts;
  const places = summed(blocks), rows = Object.entries(table).map(([key, row]) => [key, summed(row)]);
  const verdicts = {
    ...data.verdicts,
    names: [...(hasWires ? Object.keys(data.wires) : []), ...names],
    routes: ahead.map((steps, place) => [place - steps, places[place]]),
    cuts: cuts[0].map((steps, place) => [place - steps, cuts[1][place]]),
    table: Object.fromEntries(rows),
  };
  for (const {blocks: drawn} of Object.values(data.pages))
    for (const {10: more} of drawn) if (Number.isInteger(more.view)) more.view = pictures[more.view];
  const found = {...data, tapes: data.tapes.map(restoredTape), verdicts};
  return data.runs ? withRuns(found, names) : found;
}
