"""Imports PyTorch models: exported programs without torch, and modules by running them once.

``exported`` reads files, ``capture`` records a program that runs, ``recorded`` has what no block
computes, ``steps`` what is wrong around its gradients. Both ways add operators by ``performing``
and the table in ``operators``; ``memory`` lets tensors share numbers.
"""
