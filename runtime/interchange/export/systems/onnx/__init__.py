"""Models for ONNX: how each primitive is written in its operators, and what becomes of pages.

An ONNX model computes values only: it has no gradients. What changes a gradient and no value is an
``Identity`` that says so in its metadata, so that who reads the model can restore it:
``gradwire.stop_gradient`` (true), ``gradwire.surrogate`` (the name of the value that gets the
gradient instead), ``gradwire.clip_gradient`` and ``gradwire.loss`` (their settings as JSON). Every
node has the path of its block within its page, ``gradwire.block``. Initializers have
``gradwire.role``: variable, frozen, input or constant; those of inputs are their values until
others are fed. Pages are functions of the domain ``gradwire.page``, blocks of many steps of
``gradwire.block``.
"""
