"""Imports TensorFlow models: frozen graphs, SavedModel folders and Keras files.

Nothing of TensorFlow is needed. Graphs need the package protobuf, Keras files h5py; each is loaded
once a file is read.
"""
