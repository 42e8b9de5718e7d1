// The training steps of `ferry bench train`, as graph files. peers/train.py has the same networks for PyTorch.
#pragma once

#include <string>

namespace ferry::bench {

// Each function saves the graph of a training step with momentum SGD, for `processes` processes. Each process has one
// batch; with several processes, the rows of all batches are split over them. Errors as save_graph() and run_program().

/// A network 784-512-512-10, with batches of 64.
void save_mlp(const std::string& file, int processes);
/// 5 x 5 convolutions to 32 and 64 channels, each with 2 x 2 pooling, then layers 3136-1024-10, with batches of 64.
void save_cnn(const std::string& file, int processes);
/// Predicts the next character of 32 texts of 50 characters: an embedding of 128, two LSTM layers of 256, a dense
/// layer.
void save_lstm(const std::string& file, int processes);
/// The sample `charlm`, split only by windows, with 16 windows for each process, AdamW and clipped gradients.
void save_charlm(const std::string& file, int processes);
/// The sample `resnet50` in float32, with 8 images of 224 x 224, which each step generates.
void save_resnet50(const std::string& file, int processes);

}  // namespace ferry::bench
