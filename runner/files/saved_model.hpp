// Saves and loads the variables of a session (docs/reference/model_format.md). Also loads variables from a safetensors
// file of another program.
//
//     ferry::Session session(g, ferry::Cluster::connect(argc, argv));
//     ferry::load(session, "model");
//     session.run({.targets = updates, .steps = 100});
//     ferry::save(session, "model");
#pragma once

#include <string>

#include "executor/session/session.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Saves all variables of the session into a folder on the host of task 0, as `ferry run --save` does. The new model
/// replaces a model in the folder, which stays whole until the new one is complete. All tasks call it, and all get the
/// same Error: Error(usage) if the folder cannot be written, has anything but a model, or another run saves there;
/// Error(resource) if the disk is full. The session stays usable.
///
///     session.run({.targets = updates, .steps = 100});
///     save(session, "model");
void save(Session& session, const std::string& folder);

/// Sets the variables of the session from a folder on the host of task 0 that save() or `ferry run --save` has written.
/// The model may have variables that the session lacks: a graph that only predicts needs no state of an optimizer. All
/// tasks call it, and all get the same Error: Error(file) if the folder has no model, or if the model is damaged, lacks
/// a variable, or has a variable of another type. The session stays usable.
///
///     load(session, "model");
///     Tensor predicted = session.run({logits}, {{"x", rows}})[0];
void load(Session& session, const std::string& folder);

/// Sets variables of the session from a safetensors file on the host of task 0, such as the state of a PyTorch module:
/// each tensor sets the variable with its name. Variables that the file lacks keep their values; ferry logs their
/// names. All tasks call it, and all get the same Error: Error(file) if the file cannot be read, or if a tensor has no
/// variable of its name, or another dtype or shape than the variable. The session stays usable.
///
///     load_state(session, "pytorch.safetensors");
void load_state(Session& session, const std::string& file);

}  // namespace ferry
#pragma GCC visibility pop
