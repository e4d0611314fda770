"""Imports Keras models, the zip files of Keras 3. Needs the package h5py, loaded with the weights.

No code is run: layers of the user's own, and Lambda layers, are refused by name.
"""
