// Convolutions of CUDA devices.
