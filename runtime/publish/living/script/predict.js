// Questions to commit to before the numbers are shown: a number for a gradient or a value, or the
// states of wires. Answered once; then yours stands beside the actual one.
const HIDES = {
  gradient: ['gradients', 'states', 'timeline', 'derivative'],
  value: ['values', 'gradients', 'timeline'],
  paint: ['states', 'gradients', 'timeline'],
};
class Ask {
  // ``what`` is {gradient | value | wires, answer, losses, states}.
  constructor(app, what) {
    this.app = app;
    this.what = what;
    this.kind = what.wires ? 'paint' : what.value ? 'value' : 'gradient';
    this.painted = new Map();
    this.given = [];
    this.confidence = 75;
    this.outcome = null;
  }

  get hides() {
    return this.outcome ? [] : HIDES[this.kind];
  }
  get place() {
    return this.what.gradient ?? this.what.value;
  }

  actual() {
    const {app, what} = this;
    return app.withLosses(what.losses, () => {
      if (this.kind === 'paint')
        return new Map(what.wires.map((key) => [key, app.live.states()[key] ?? 'UNKNOWN']));
      const array =
        this.kind === 'value'
          ? app.live.port(app.portNamed(what.value))
          : app.live.gradient(what.gradient);
      return array ? Array.from(array.d) : null;
    });
  }

  get shape() {
    const {app, what} = this,
      leaf = app.data.leaves[what.gradient];
    return leaf ? leaf.shape : (app.live.port(app.portNamed(what.value))?.s ?? []);
  }

  // The next of the offered states for a wire.
  paint(key) {
    if (this.outcome || this.kind !== 'paint' || !this.what.wires.includes(key)) return false;
    const offered = this.offered,
      place = offered.indexOf(this.painted.get(key));
    this.painted.set(key, offered[(place + 1) % offered.length]);
    this.app.say(`${this.app.short(key)}: ${this.app.data.states[this.painted.get(key)].title}`);
    this.app.draw();
    return true;
  }

  get offered() {
    const given = this.what.states ?? [];
    return given.length
      ? given
      : [...new Set([...this.actual().values(), 'CARRIES', 'ZERO', 'STOPPED'])].sort();
  }

  get isReady() {
    if (this.kind === 'paint') return this.what.wires.every((key) => this.painted.has(key));
    const given = this.answers;
    return given.every(
      (text) => text && (isNone(text) || readAnswer(text, this.form) !== undefined),
    );
  }

  get form() {
    return this.what.answer ?? 'number';
  }
  get fields() {
    return Math.min(4, sizeOf(this.shape));
  }
  get answers() {
    return Array.from({length: this.fields}, (_, i) => this.given[i] ?? '');
  }

  // Commit once; the outcome is {points, right, yours, actual, misconception, feedback}.
  commit() {
    if (this.outcome || !this.isReady) return;
    const actual = this.actual();
    this.found = actual;
    this.outcome =
      this.kind === 'paint' ? this.painting(actual) : judged(this.answers, actual, this.form);
    const told = misconception(this, actual);
    const isNamed = this.kind !== 'paint' && (told.misconception || told.feedback);
    Object.assign(this.outcome, told, isNamed ? {points: 0} : {});
    this.app.answered(this);
    const {right, yours, feedback} = this.outcome;
    this.app.say(
      `${right ? 'Right.' : 'Not quite.'} Yours: ${yours}. Actual: ${this.outcome.actual}. ${feedback}`,
    );
  }

  painting(actual) {
    const wrong = this.what.wires.filter((key) => this.painted.get(key) !== actual.get(key)),
      count = this.what.wires.length;
    const title = (map) =>
      this.what.wires
        .map(
          (key) =>
            `${this.app.short(key)} ${this.app.data.states[map.get(key)].title.toLowerCase()}`,
        )
        .join('; ');
    return {
      points: MOST_POINTS * Math.max(0, (count - 2 * wrong.length) / count),
      right: !wrong.length,
      yours: title(this.painted),
      actual: title(actual),
      wrong,
    };
  }

  // ---- the card ----

  card() {
    const kids = this.outcome ? this.result() : this.question();
    return el('div', {class: 'ask', 'data-card': 'ask'}, ...kids);
  }

  question() {
    const kids =
      this.kind === 'paint' ? this.painter() : [el('p', {}, this.title()), this.numberFields()];
    const sure = el('input', {
      type: 'range',
      min: 50,
      max: 100,
      step: 5,
      value: this.confidence,
      'data-key': 'sure',
      'aria-label': 'How sure are you?',
      oninput: (event) => {
        this.confidence = +event.target.value;
        write(text, `${this.confidence} % sure`);
      },
    });
    const text = el('span', {class: 'soft num'}, `${this.confidence} % sure`);
    const commit = button('Commit', () => this.commit(), {
      class: 'primary',
      disabled: !this.isReady,
      title: 'Once: then the answer is shown',
    });
    this.button = commit;
    return [...kids, row(sure, text), commit];
  }

  title() {
    const what =
      this.kind === 'value'
        ? `the value of ${this.app.short(this.place)}`
        : `the gradient of ${this.app.short(this.place)}`;
    return (
      {
        estimate: `Estimate ${what}, within a factor of two.`,
        sign: `Predict the sign of ${what}.`,
        decade: `Predict the power of ten of ${what}.`,
      }[
        this.what.answer
      ] ?? `Predict ${what}.`
    );
  }

  numberFields() {
    const put = (i) => (value) => {
      this.given[i] = value;
      this.button.disabled = !this.isReady;
    };
    const enter = (event) => {
      if (event.key === 'Enter') this.commit();
    };
    const count = this.fields,
      labelled = (i) => (count > 1 ? `Your number ${i + 1}` : 'Your number');
    const at = (i) => ({'aria-label': labelled(i), 'data-key': `guess ${i}`, 'data-guess': i});
    const field = (i) =>
      el('input', {
        type: 'text',
        size: 8,
        value: this.given[i] ?? '',
        ...at(i),
        autocomplete: 'off',
        oninput: (event) => put(i)(event.target.value),
        onkeydown: enter,
      });
    const signs = ['', ...Object.keys(SIGNS), 'None'].map((name) => [name, name || '?']);
    const sign = (i) => choice(at(i), signs, this.given[i], put(i));
    const fields = Array.from({length: count}, (_, i) => (this.form === 'sign' ? sign : field)(i));
    const none = button('None', () => this.fill('None'), {title: 'No gradient at all'});
    const hasNone = this.kind === 'gradient' && this.form !== 'sign';
    return row(this.form === 'decade' ? '10 to the power' : '', ...fields, hasNone && none);
  }

  // Whether the answer is what a wrong belief gives: null for None, else numbers.
  gives(wrong) {
    const {numbers} = this.outcome;
    if (numbers === null || wrong === null) return numbers === wrong;
    return numbers.length === wrong.length && numbers.every((x, i) => this.isLike(x, wrong[i]));
  }

  isLike(x, y) {
    if (!['number', 'estimate'].includes(this.form)) return pointsFor(x, y, this.form) > 0;
    return x === y || Math.abs(x - y) <= 0.01 * Math.abs(y);
  }

  fill(text) {
    this.given = Array(this.fields).fill(text);
    this.app.draw();
  }

  painter() {
    const {app} = this;
    const states = [['', '?'], ...this.offered.map((state) => [state, app.data.states[state].title])];
    const paint = (key) => (state) => {
      if (state) this.painted.set(key, state);
      else this.painted.delete(key);
      app.draw();
    };
    const choose = (key) =>
      choice(
        {
          'aria-label': `State of wire ${app.short(key)}`,
          'data-key': `paint ${key}`,
          'data-paint': key,
        },
        states,
        this.painted.get(key),
        paint(key),
      );
    return [
      el('p', {}, 'What does each marked wire carry? Choose here, or click the wires.'),
      ...this.what.wires.map((key) =>
        el('div', {class: 'number'}, el('span', {}, app.short(key)), choose(key)),
      ),
    ];
  }

  result() {
    const {yours, actual, points, right, feedback} = this.outcome;
    return [
      el(
        'p',
        {class: right ? 'right' : 'wrong'},
        right ? '✓ Right' : '✗ Not quite',
        el('span', {class: 'soft'}, ` · ${number(points, 2)} of 4 points`),
      ),
      this.kind === 'paint' ? this.paintedBeside() : beside(yours, actual),
      feedback ? el('p', {class: 'feedback'}, ...inline(feedback)) : null,
    ];
  }

  // The states that were painted beside those that are, wire by wire.
  paintedBeside() {
    const {app, painted, what} = this,
      title = (state) => app.data.states[state].title;
    const line = (key) => {
      const isWrong = this.outcome.wrong.includes(key);
      const cells = [painted, this.found].map((states) => el('td', {}, title(states.get(key))));
      const heading = el('th', {scope: 'row'}, `${isWrong ? '✗' : '✓'} ${app.short(key)}`);
      return el('tr', {class: isWrong ? 'wrong' : ''}, heading, ...cells);
    };
    const head = ['wire', 'yours', 'actual'].map((text) => el('th', {scope: 'col'}, text));
    const rows = [el('thead', {}, el('tr', {}, ...head)), el('tbody', {}, ...what.wires.map(line))];
    return el('table', {class: 'painted'}, ...rows);
  }

  // Where the reveal begins: the first wire that was painted wrong, in the order of backward.
  firstDisagreement() {
    const {app} = this,
      wires = this.outcome.wrong ?? [];
    const blocks = wires.map((key) => app.wires.get(key)?.to).filter(Boolean);
    const places = blocks.map((path) => app.time.at.get(`backward ${path}`)).filter(Boolean);
    return places.length
      ? Math.min(...places) - 1
      : app.time.start(this.kind === 'value' ? 'forward' : 'seed');
  }

  record() {
    const {confidence} = this;
    if (this.kind === 'paint') return {painted: Object.fromEntries(this.painted), confidence};
    return {answer: answerText(this.answers, this.form), confidence};
  }
}

function beside(yours, actual) {
  return el(
    'dl',
    {class: 'beside'},
    el('dt', {}, 'yours'),
    el('dd', {class: 'num', 'data-yours': ''}, yours),
    el('dt', {}, 'actual'),
    el('dd', {class: 'num', 'data-actual': ''}, actual),
  );
}
