// Products of any number of arrays, summed over shared axes.

KERNELS.einsum = (out, inputs, {terms, output}) => {
  const lengths = {};
  terms.forEach((term, k) => [...term].forEach((letter, d) => { lengths[letter] = inputs[k].s[d]; }));
  const letters = [...output, ...Object.keys(lengths).filter((letter) => !output.includes(letter))];
  const shape = letters.map((letter) => lengths[letter]);
  const placesOf = (term, s) => {
    const strides = stridesOf(s);
    return offsets(shape, letters.map((c) => (term.includes(c) ? strides[term.indexOf(c)] : 0)));
  };
  const places = inputs.map((x, k) => placesOf(terms[k], x.s)), into = placesOf(output, out.s);
  const sums = new Float64Array(out.d.length);
  return () => {
    sums.fill(0);
    for (let i = 0; i < into.length; i++) {
      let product = 1;
      for (let k = 0; k < inputs.length; k++) product *= inputs[k].d[places[k][i]];
      sums[into[i]] += product;
    }
    out.d.set(sums);
  };
};
