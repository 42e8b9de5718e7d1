// The training steps of `ferry bench train`, as graph files. peers/train.py has the same networks for PyTorch.
#pragma once

#include <string>

namespace ferry::bench {

// Each saves the graph of a step for `processes` processes: a batch for each of them, momentum SGD. Where two processes
// have rows of a batch, these are split over them. Errors as save_graph() and run_program().

/// 784-512-512-10, of batches of 64.
void save_mlp(const std::string& file, int processes);
/// 5 x 5 convolutions to 32 and 64 channels, each with 2 x 2 pooling, then 3136-1024-10, of batches of 64.
void save_cnn(const std::string& file, int processes);
/// The next character of 32 texts of 50 characters: an embedding of 128, two LSTM layers of 256, a dense layer.
void save_lstm(const std::string& file, int processes);
/// The sample `charlm` cut by windows alone, 16 of them for each process, with AdamW and clipped gradients.
void save_charlm(const std::string& file, int processes);
/// The sample `resnet50` in float32, of 8 images of 224 x 224, which are made up in each step.
void save_resnet50(const std::string& file, int processes);

}  // namespace ferry::bench
