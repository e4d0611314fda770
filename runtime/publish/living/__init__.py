"""Lessons and diagrams as living pages: one HTML file that computes offline, in any browser.

A page has three parts: the *data* of the diagram (JSON, which is never executed), one *script* that
is the same for every diagram (that of lessons is longer), and a picture for readers without
scripts. ``publish`` makes it.

**The data.** Paths are those of the runtime. ``format`` is 1. In the file it is more compact: see
``compact``.

``title``, ``text``
    what the diagram is called and what it says about itself
``heads``, ``seeds``
    the ports of the losses; for each the wires into its Loss block
``switches``, ``paths``, ``inner``
    the StopGradients of the document: ``{page, name, open, inner, locked}``; the place in them of
    each block that runs; the places of those inside Gradient blocks
``leaves``
    sources and literals by path: ``{kind, dtype, shape, trained, data}``, where ``data`` are the
    numbers, or how they are drawn (see ``initial``); of data sets the first batch, and ``rows``
``tapes``
    what to compute, one for each combination of ``inner`` (the first switch is the highest bit):

    - ``ops``: ``[primitive, inputs, shape, dtype, owner, guard, is backward, attributes]``. A
      ``guard`` is the forward value at which gradient must arrive, −1 for none. ``collect`` adds
      the parts whose ``conditions`` hold: ``[reader, or ~k for the k-th loss; switch, or −1]``
    - ``arrive``: ``[forward value, conditions]`` in the order of backward
    - ``edges``: ``[value, source, gate, switch]``; a gate is 0 open, 1 a stop, 2 no rule
    - ``ports``: ``[forward value, op, op of the adjoint]``; ``wires`` and ``gradients``:
      ``[forward value, op of the adjoint]``; ``leaves``: the op; −1 for none
``wires``, ``trees``, ``portTrees``
    the port that each wire leaves; the leaves of trees on wires and at ports
``aliases``, ``shared``
    outputs of page and Formula blocks, with the port that computes them; further paths of a
    variable that several uses share, with the first
``pages``, ``uses``, ``states``
    every page as it is drawn, ``{blocks, wires, notes}``; the page of each use, by its path; the
    rows of the table of states. See ``picture``
``blocks``
    every block that runs, by path: ``[type, inputs, more]``; ``more`` has what else sentences about
    it depend on. See ``reasons``
``verdicts``
    what structure says: ``texts``, ``names`` of wires and variables, ``routes`` as ``[the route
    ahead, block]``, ``cuts`` as ``[the rest, wire]``, and ``told``, which is ``[text, cure, route,
    cuts, the last cut]``; by combination of switches (``"01"``, and ``"01:k"`` for the k-th loss
    alone) the place in ``told`` of each name. What is said about numbers the page writes itself
``thresholds``
    of the numeric states; see ``gradwire.runtime.flow.numbers.rules``
"""
