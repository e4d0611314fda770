"""Assertions about gradients, for tests.

    from gradwire.testing import assert_all_trained, gradients

    gradients(model, batch).flows("loss -> encoder/*").blocked("loss -> target/*")
    assert_all_trained(model, batch)

What they are is said in ``gradwire.runtime.programs.assertions``.
"""

from gradwire.blocks import attach_stub

__getattr__, __all__ = attach_stub(__name__, __file__)
