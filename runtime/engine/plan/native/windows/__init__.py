"""Machine code for windows that move over images: convolution and pooling."""
