// Numbers, names and phrases as sentences have them.

// A number as the editor writes it: 6, 0.5207, −57.72, 12346, 5.5e−6; ties go to the even digit.
function number(x, digits = 4) {
  if (typeof x === 'boolean') return String(x);
  if (x !== x) return 'NaN';
  if (!Number.isFinite(x)) return x > 0 ? '∞' : '−∞';
  const size = Math.abs(x),
    sign = x < 0 ? '−' : '';
  if (size < 1e5 && Math.round(size) >= 10 ** digits) return sign + size.toFixed(0);
  if (!size) return '0';
  const long = size.toExponential(digits + 19).split('e'),
    all = long[0].replace('.', '');
  const isTie = /^50*$/.test(all.slice(digits)) && !(all[digits - 1] % 2);
  const down = +`${all[0]}.${all.slice(1, digits)}e${long[1]}`;
  const [mantissa, power] = (isTie ? down : size).toExponential(digits - 1).split('e');
  if (power < -4 || power >= digits)
    return `${sign}${+mantissa}e${+power < 0 ? '−' : ''}${Math.abs(power)}`;
  return sign + +`${mantissa}e${power}`;
}

// "37 %": a part of a whole, 0 … 1; only all of it is 100 %, and only none of it 0 %.
function percentOf(part) {
  const text = `${Math.round(100 * part)} %`;
  if (part <= 0 || part >= 1 || (text !== '0 %' && text !== '100 %')) return text;
  return part < 0.5 ? '<1 %' : '>99 %';
}

// A number with so many digits behind the point, if they are given.
function fixed(x, places) {
  if (places === undefined || !(Math.abs(x) < 1e15)) return number(x);
  const digits = Math.abs(x).toFixed(places);
  return x < 0 && +digits ? `−${digits}` : digits;
}

// A phrase with its places {0}, {1} filled.
const phrase = (text, ...parts) => text.replace(/\{(\d)\}/g, (_, k) => parts[k]);

// What the first rule of a table says that holds of a block of this kind; see flow/words/tables.py.
function decide(rules, kind, fact) {
  const isSo = (each) => (each[0] === '!' ? !fact(each.slice(1)) : fact(each));
  const holds = (each) => (each[0] >= 'A' && each[0] <= 'Z' ? each.split('|').includes(kind) : isSo(each));
  const rule = rules.find(([conditions]) => !conditions || conditions.split(' ').every(holds));
  return rule ? phrase(rule[1], ...rule.slice(2).map(fact)) : '';
}

// a, a and b, a, b and 3 more.
function names(items, limit = 4) {
  const shown = [...items], over = items.length - limit;
  if (over > 1) shown.splice(limit, over, items.length > SAY.MANY ? 'many more' : `${over} more`);
  return shown.length === 1 ? shown[0] : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}

// loss ← mse ← relu2, the middle left out when it is long.
const routeText = (route) =>
  (route.length > 8 ? [...route.slice(0, 4), '…', ...route.slice(-3)] : route).join(' ← ');

// The value of a scalar, else the root mean square.
const sizeText = ({d}) => (d.length === 1 ? number(d[0]) : `rms ${number(rms(d))}`);
