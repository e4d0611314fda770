"""The layers of Keras, a module a family."""
