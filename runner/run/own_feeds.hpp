// Decides which process of a job gives which feed. Each process has its own command line, and may have its own files.
#pragma once

#include <string>
#include <vector>

#include "executor/cluster.hpp"

namespace ferry {

/// Returns the feeds, as typed after --feed, that this process gives: the first process that has a feed gives it. A
/// process other than task 0's has a feed only if it is a number or its file exists, since one file on task 0's host is
/// enough. Error(usage) in task 0's process if a feed has other bytes in another process, because these would be lost.
/// Two files are compared only if they are not the same file. All processes call it.
[[nodiscard]] std::vector<std::string> own_feeds(const Cluster& cluster, const std::vector<std::string>& feeds);

/// Error(usage), in all processes, if two processes of one host would feed the same file as their part of an input
/// (--feed-part without "{task}"). All processes call it.
void require_own_parts(const Cluster& cluster, const std::vector<std::string>& parts);

}  // namespace ferry
