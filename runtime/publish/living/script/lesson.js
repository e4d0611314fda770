// Walks through a lesson: shows, asks, gives something to try, and collects the answers.
const ALWAYS = ['values', 'gradients', 'states', 'why', 'what_if', 'timeline'];

class Lesson {
  constructor(app) {
    this.app = app;
    this.data = app.data.lesson;
    this.learner = '';
    // A page can't edit the diagram, so what is to be drawn is left out, but for what it sets up.
    this.shown = this.data.steps.flatMap((step, i) => (step.do === 'build' ? [] : [i]));
    this.vary(this.data.seed);
  }

  // Begin with the numbers of a seed; 0 leaves those of the file.
  vary(seed) {
    const {app} = this;
    this.seed = seed;
    this.index = this.shown[0];
    this.steps = this.data.steps.map(() => ({
      hints: 0,
      isDone: false,
      record: null,
      ask: null,
      before: null,
    }));
    app.restore(app.start);
    if (seed)
      this.data.vary.forEach(([path, values], k) =>
        this.put(path, values[mixed(seed, k) % values.length]),
      );
  }

  // Begin anew with another seed.
  choose(seed) {
    this.vary(Math.min(Math.max(0, Math.trunc(seed) || 0), 2 ** 32 - 1));
    this.enter(this.shown[0]);
    this.app.say(`Variant ${this.seed}.`);
  }

  // Whose numbers these are: the reader's choice, a name's, or the teacher's.
  variant() {
    const {learners, vary, seed} = this.data;
    if (!vary.length || this.place) return null;
    if (learners.length) {
      const options = ['', ...learners].map((name, k) => [k, name || 'Your name?']);
      const pick = (value) => {
        this.learner = learners[value - 1] ?? '';
        this.choose(+value);
      };
      const at = {'aria-label': 'Your name', 'data-key': 'learners'};
      return row(choice(at, options, this.seed, pick));
    }
    if (seed) return soft(`Variant ${seed}`);
    const field = el('input', {
      type: 'number',
      min: 0,
      max: 2 ** 32 - 1,
      value: this.seed,
      'aria-label': 'Number of the variant',
      'data-key': 'seed',
      onchange: (event) => this.choose(+event.target.value),
    });
    const another = button('Another variant', () => this.choose(1 + Math.floor(Math.random() * 9999)), {
      title: 'Begin with other numbers',
    });
    return row(another, field);
  }

  get step() {
    return this.data.steps[this.index];
  }
  get here() {
    return this.steps[this.index];
  }
  // Which of the steps that are shown this is, from 0.
  get place() {
    return this.shown.indexOf(this.index);
  }
  get isLast() {
    return this.place === this.shown.length - 1;
  }

  // What the lesson hides now: its own list, less what steps have revealed, and what is asked about.
  get hides() {
    const shown = this.data.steps
      .filter((step, i) => i < this.index || (step.do !== 'show' && this.steps[i].isDone))
      .flatMap((step) => step.reveal ?? []);
    const hidden = (this.data.hide ?? []).filter(
      (name) => ALWAYS.includes(name) && !shown.includes(name),
    );
    return this.here.isDone ? hidden : [...hidden, ...(this.step.withheld ?? [])];
  }

  // Whether the reader may change a source or a stop in this step.
  allows(path) {
    const {step, here, app} = this,
      {only = []} = step;
    if (step.do === 'change') return !here.isDone && (!only.length || only.includes(path));
    return step.do === 'show' || here.isDone
      ? !app.ask || Boolean(app.ask.outcome)
      : false;
  }

  // Blocks and wires that stay lit: {blocks, wires}, or null for all.
  get lit() {
    const look = (this.step.look ?? []).concat(this.step.wires ?? []);
    if (!look.length || (this.here.isDone && this.step.do !== 'show')) return null;
    const blocks = new Set(),
      wires = new Set();
    for (const place of look) {
      const path = place.includes('.') ? place.slice(0, place.lastIndexOf('.')) : place;
      for (const wire of this.app.wires.values()) {
        const isHere =
          place === path
            ? wire.to === path || wire.from === path
            : wire.key === place || wire.port === place;
        if (isHere) {
          wires.add(wire.key);
          blocks.add(wire.from);
          blocks.add(wire.to);
        }
      }
      blocks.add(path);
    }
    return {blocks, wires};
  }

  // Begin a step: as it was left, or with what it sets. What a reader only tried out is undone.
  enter(index) {
    const {app, here: left} = this;
    if (left.before) app.restore(left.after ?? left.before);
    this.index = index;
    const {step, here} = this;
    if (here.before) app.restore(here.after ?? here.before);
    else
      for (let i = (this.shown[this.place - 1] ?? -1) + 1; i <= index; i++)
        for (const [path, value] of Object.entries(this.data.steps[i].setup ?? {}))
          this.put(path, value);
    here.before ??= app.snapshot();
    app.choose(null, false);
    app.panel.scrollTop = 0;
    const asks = step.do === 'predict' || step.do === 'paint';
    if (asks && !here.ask) here.ask = new Ask(app, step);
    app.ask = asks ? here.ask : null;
    if (step.do === 'show') here.isDone = true;
    app.changed('');
    app.time.go(app.time.events.length);
    if (step.play)
      app.time.show(
        step.play === 'backward' ? app.time.start('seed') : 0,
        step.play === 'forward' ? app.time.start('seed') : app.time.events.length,
      );
    app.say(`Step ${this.place + 1} of ${this.shown.length}.`);
  }

  put(path, value) {
    const {app} = this;
    if (value === 'open' || value === 'closed')
      app.live.open[app.data.paths[path]] = value === 'open';
    else [value].flat(9).forEach((x, i) => app.live.set(path, i, x));
  }

  // Note what a changed number or stop means for the goals of this step.
  changed() {
    const {step, here, app} = this;
    const isOver = this.steps.slice(this.index + 1).some((later) => later.record);
    if (step.do !== 'change' || here.isDone || isOver) return;
    app.conditions.use(step.losses);
    if (!step.goals.every((goal) => app.conditions.holds(goal.tree))) return;
    here.isDone = true;
    here.after = app.snapshot();
    here.record = {values: this.values(), open: this.stops()};
    app.say('Done: all goals are met.');
  }

  values() {
    const {app} = this,
      found = {};
    for (const path of Object.keys(app.data.leaves)) {
      const now = Array.from(app.live.values[path]),
        {kind, shape} = app.data.leaves[path],
        old = this.here.before.values[path];
      if (kind !== 'literal' && now.some((x, i) => x !== old[i]))
        found[path] = shape.length ? shaped(now, shape) : now[0];
    }
    return found;
  }

  stops() {
    const found = {};
    for (const [path, k] of Object.entries(this.app.data.paths))
      if (this.app.live.open[k] !== this.here.before.open[k]) found[path] = this.app.live.open[k];
    return found;
  }

  answered(ask) {
    const {here, step} = this;
    if (here.ask !== ask) return;
    here.isDone = true;
    here.record = ask.record();
    const own = step.feedback?.[ask.outcome.misconception];
    if (own) ask.outcome.feedback = this.app.conditions.text(own);
  }

  // ---- the card ----

  card() {
    const {step, here, app, place} = this,
      count = this.shown.length;
    app.conditions.use(step.losses);
    const text = (parts) => prose(app.conditions.text(parts));
    const made = {max: count, value: place + (here.isDone ? 1 : 0), 'aria-label': 'Progress'};
    const title = el('h2', {}, `Step ${place + 1} of ${count}`);
    const kids = [el('header', {}, title, el('progress', made))];
    if (!place && this.data.goal)
      kids.push(el('p', {class: 'soft'}, ...inline(app.conditions.text(this.data.goal))));
    kids.push(...text(step.text ?? ''), ...this.task());
    for (const hint of (step.hints ?? []).slice(0, here.hints))
      kids.push(el('div', {class: 'hint'}, ...text(hint)));
    if (here.isDone && step.after) kids.push(el('div', {class: 'after'}, ...text(step.after)));
    kids.push(this.variant(), this.buttons());
    if (this.isLast && here.isDone) kids.push(this.finish());
    return el(
      'section',
      {class: 'card lesson', 'data-card': 'lesson', 'data-step': step.do, 'aria-label': 'Lesson'},
      ...kids,
    );
  }

  task() {
    const {step, here, app} = this;
    if (here.ask) return [here.ask.card()];
    if (step.do === 'change') {
      if (here.isDone) return [this.goals(), el('p', {class: 'right'}, '✓ Done')];
      return [this.goals(), soft('Change the numbers and the stops until every goal is met.')];
    }
    if (step.do === 'check') return [this.options()];
    return [];
  }

  goals() {
    const {app, step} = this;
    const line = (goal) => {
      const holds = app.conditions.holds(goal.tree);
      return el('li', {class: holds ? 'right' : ''}, holds ? '✓ ' : '○ ', ...inline(goal.text));
    };
    return el('ul', {class: 'goals'}, ...step.goals.map(line));
  }

  options() {
    const {step, here, app} = this,
      texts = step.options.map((option) => app.conditions.text(option.text));
    const option = (text, i) =>
      el(
        'button',
        {
          type: 'button',
          class: `option${this.mark(i)}`,
          disabled: here.isDone,
          'data-option': i,
          'data-key': `option ${i}`,
          onclick: () => this.pick(i),
        },
        el('span', {}, `${String.fromCharCode(65 + i)}  `),
        ...inline(text),
      );
    const feedback = here.isDone && step.options[here.record.option].feedback;
    return el(
      'div',
      {class: 'options', role: 'group', 'aria-label': 'Answers'},
      ...texts.map(option),
      feedback?.length ? el('p', {class: 'feedback'}, ...inline(app.conditions.text(feedback))) : null,
    );
  }

  mark(i) {
    const {step, here, app} = this;
    if (!here.isDone) return '';
    if (app.conditions.holds(step.options[i].holds)) return ' right';
    return here.record.option === i ? ' wrong' : '';
  }

  pick(i) {
    const {step, here, app} = this;
    if (here.isDone) return;
    here.isDone = true;
    here.record = {option: i};
    app.conditions.use(step.losses);
    app.say(app.conditions.holds(step.options[i].holds) ? 'Right.' : 'Not quite.');
    app.draw();
  }

  buttons() {
    const {step, here, app, place} = this,
      hints = step.hints ?? [];
    const isFree = here.isDone || step.do === 'change';
    const take = () => {
      here.hints += 1;
      app.draw();
    };
    const at = {class: here.isDone ? 'primary' : '', disabled: !isFree, 'data-key': 'next'};
    const next = () => this.enter(this.shown[place + 1]);
    return el(
      'div',
      {class: 'row steps'},
      button('Back', () => this.enter(this.shown[place - 1]), {disabled: !place}),
      here.hints < hints.length &&
        !here.isDone &&
        button(`Hint ${here.hints + 1} of ${hints.length}`, take, {'data-key': 'hint'}),
      !this.isLast && button(here.isDone || !isFree ? 'Next' : 'Skip', next, at),
    );
  }

  finish() {
    const save = button('Download answers', () => download('answers.json', this.answers()), {
      class: 'primary',
      disabled: !this.learner,
    });
    const name = el('input', {
      type: 'text',
      maxlength: 200,
      value: this.learner,
      readonly: this.data.learners.length > 0 && this.learner !== '',
      'aria-label': 'Your name',
      placeholder: 'Your name',
      'data-key': 'learner',
      oninput: (event) => {
        this.learner = event.target.value.trim();
        save.disabled = !this.learner;
      },
    });
    const drawn = this.data.steps.length - this.shown.length;
    const left = drawn === 1 ? 'a task' : `${drawn} tasks`;
    const more = drawn ? `The lesson’s file has ${left} more, to draw in the Gradwire editor. ` : '';
    const what = `The end. ${more}With your name, your answers become a small file for your teacher, who marks it with `;
    const told = el('p', {}, what, el('code', {}, 'gradwire grade'), '.');
    return el('div', {class: 'finish'}, told, row(name, save));
  }

  // The file of answers, as text.
  answers() {
    const steps = this.steps.flatMap(({record, hints}, i) =>
      record ? [{step: i + 1, ...record, ...(hints ? {hints} : {})}] : [],
    );
    return answersText({
      gradwire_answers: 2,
      lesson: this.data.digest,
      title: this.app.data.title,
      learner: this.learner,
      seed: this.seed,
      steps,
    });
  }
}

// A number below 2³² for a seed and a place, as the runtime mixes it.
function mixed(seed, place) {
  let bits = (Math.imul(seed, 0x9e3779b1) + Math.imul(place, 0x85ebca6b) + 0xc2b2ae35) >>> 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x7feb352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
  return (bits ^ (bits >>> 16)) >>> 0;
}

// A flat list of numbers in rows.
function shaped(numbers, shape) {
  if (shape.length <= 1) return numbers;
  const each = numbers.length / shape[0];
  return Array.from({length: shape[0]}, (_, i) =>
    shaped(numbers.slice(i * each, (i + 1) * each), shape.slice(1)),
  );
}
