"""Reasons in a training that runs anyway: what is wrong with its gradients, since when, and why."""

from gradwire.blocks import imported_on_use

__getattr__ = imported_on_use(
    __name__,
    {
        "entry": "watch why",
        "reasons": "Found Trouble",
        "report": "Report Row",
        "torch.watching": "NotFiniteError Watch",
    },
)
