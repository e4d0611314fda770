// Wrong answers that a known wrong belief leads to. Names are those of the runtime.

// A wrong belief that gives exactly this answer, the author's own first; empty if none is known.
function misconception(ask, actual) {
  const {app, what, outcome} = ask,
    none = {misconception: '', feedback: ''};
  // What a belief gives may be within a factor of two of what is asked for.
  if (outcome.right && ask.form !== 'estimate') return none;
  if (ask.kind === 'paint') return confusion(ask, actual);
  const own = (what.wrong ?? []).find((wrong) => ask.gives(app.conditions.numbers(wrong.answer)));
  if (own) return {misconception: own.name, feedback: app.conditions.text(own.feedback), right: false};
  if (outcome.right) return none;
  const isKnown = ask.kind === 'gradient' && ['number', 'estimate'].includes(ask.form);
  return isKnown ? (knownBelief(ask, actual) ?? none) : none;
}

const ARRIVES = ['CARRIES', 'PARTIAL', 'VANISHING', 'EXPLODING', 'NONFINITE'],
  ABSENT = ['STOPPED', 'NO RULE', 'OFF ROUTE', 'FROZEN', 'NOTHING TO TRAIN'];

// The state that was taken for another on the first wrong wire, from the loss backwards, and why
// that wire is in the state that it is in.
function confusion({app, what, outcome, painted}, actual) {
  const behind = (key) => -app.order.indexOf(app.wires.get(key)?.to);
  const [first] = [...outcome.wrong].sort((a, b) => behind(a) - behind(b)),
    states = [painted.get(first), actual.get(first)];
  const is = (yours, theirs) => yours.includes(states[0]) && theirs.includes(states[1]);
  const name = is(ARRIVES, ['STOPPED'])
    ? 'stop ignored'
    : is(['STOPPED'], ARRIVES)
      ? 'stop blocks all'
      : is(['ZERO'], ABSENT) || is(ABSENT, ['ZERO'])
        ? 'None for 0'
        : is(['ZERO'], ARRIVES)
          ? 'nothing arrives'
          : '';
  return {misconception: name, feedback: app.withLosses(what.losses, () => app.live.told(first).sentence)};
}

function knownBelief({app, what, outcome}, actual) {
  const yours = outcome.numbers,
    path = what.gradient;
  if (yours === null)
    return {
      misconception: 'None against 0',
      feedback: `A gradient does reach ${path}: it is ${outcome.actual}, not None.`,
    };
  const isYours = (values) => Boolean(values) && yours.every((x, i) => near(values[i] ?? NaN, x));
  const ignored = app.data.switches.findIndex(
    (each, k) => !each.locked && !app.live.open[k] && isYours(opened(app, k, what)),
  );
  if (ignored >= 0 && !isYours(actual))
    return {
      misconception: 'stop ignored',
      feedback: `${app.data.switches[ignored].name} lets the value through, but no gradient.`,
    };
  if (actual === null)
    return {
      misconception: 'None against 0',
      feedback: `No gradient reaches ${path} at all: that is None, not a number.`,
    };
  return app.withLosses(what.losses, () =>
    beliefs(app, path, actual).find(({values}) => isYours(values) && !isYours(actual)),
  );
}

// A gradient with one more stop open, as numbers; null for None.
function opened(app, k, what) {
  app.live.open[k] = true;
  try {
    return app.withLosses(what.losses, () => list(copied(app.live.gradient(what.gradient))), true);
  } finally {
    app.live.open[k] = false;
    app.live.compute();
  }
}

// What learners who believe something wrong about one block would get: {values, misconception,
// feedback}. What a block sends back is followed to the variable where each number of one leads to
// one of the other.
function beliefs(app, path, actual) {
  const found = [],
    terms = app.time
      .terms(path)
      .map(([, array]) => array)
      .filter(Boolean);
  const add = (values, misconception, feedback) =>
    found.push({values: Array.from(values), misconception, feedback});
  for (const term of terms.length > 1 ? terms : [])
    add(
      term.d,
      'one branch only',
      `${path} is read ${terms.length} times, and every reader sends its own gradient back: they add up.`,
    );
  for (const wire of app.wires.values()) {
    const [name, kind] = app.faces.get(wire.to).block,
      arriving = app.time.arriving(wire.to),
      back = app.gradientOf(wire.key);
    if (!arriving || !back) continue;
    const own = app.live.port(wire.port).d,
      whole = (f) => actual.map((x, i) => f(x, i));
    const isOneToOne = back.d.length === actual.length && back.d.every((x) => x !== 0);
    const isSpread = back.d.length === 1 && back.d[0] !== 0;
    const at = (d, i) => d[d.length === 1 ? 0 : i];
    // What would arrive at the variable if the block sent back something else.
    const instead = (f, belief, feedback) => {
      const fits = arriving.d.length === 1 || arriving.d.length === back.d.length;
      if ((isOneToOne || isSpread) && fits)
        add(whole((x, i) => (x / at(back.d, i)) * f(i)), belief, feedback);
    };
    if (kind === 'Mul') {
      instead(
        (i) => at(arriving.d, i) * at(own, i),
        'its own value',
        `At ${name} each factor gets the gradient times the other factor, not times its own value.`,
      );
      instead(
        (i) => at(arriving.d, i),
        'upstream unchanged',
        `${name} multiplies the gradient that passes it by the other factor.`,
      );
    } else if (kind === 'Square') {
      add(
        whole((x) => x / 2),
        'forgotten factor',
        `The derivative of x² at ${name} is 2x; the 2 is missing.`,
      );
      instead(
        (i) => at(arriving.d, i),
        'upstream unchanged',
        `${name} multiplies the gradient that passes it by 2x.`,
      );
    } else if (kind === 'Mean')
      add(
        whole((x) => x * (own.length / arriving.d.length)),
        'sum for mean',
        `${name} divides by the number of elements, and so does its gradient.`,
      );
    else if (kind === 'Sub' || kind === 'Neg')
      add(
        whole((x) => -x),
        'sign',
        kind === 'Sub'
          ? `${name} subtracts its second input, so the gradient that goes back there changes sign.`
          : `${name} changes the sign of what passes it, forward and backward.`,
      );
  }
  add(
    actual.map((x) => -x),
    'sign',
    'The size is right, the sign is not.',
  );
  return found;
}
