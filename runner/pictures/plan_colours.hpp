// The colours of pictures of plans.
#pragma once

#include <string_view>

#include "runner/pictures/plan_drawing.hpp"

namespace ferry {

inline constexpr std::string_view kColourOfMessages = "#d9480f", kColourOfKernels = "#e7f0ff",
                                  kColourOfPorts = "#f1f3f5", kColourOfVariables = "#fff3bf",
                                  kColourOfReductions = "#ffc078", kColourOfGathers = "#74c0fc",
                                  kColourOfBroadcasts = "#8ce99a", kColourOfExchanges = "#d0bfff";

[[nodiscard]] inline std::string_view colour_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::reduce:
    case CollectiveKind::reduce_scatter:
      return kColourOfReductions;
    case CollectiveKind::all_gather:
    case CollectiveKind::gather:
      return kColourOfGathers;
    case CollectiveKind::broadcast:
    case CollectiveKind::scatter:
      return kColourOfBroadcasts;
    case CollectiveKind::all_to_all:
      return kColourOfExchanges;
  }
  return "#ffffff";
}

[[nodiscard]] inline std::string_view colour_of(const DrawnBox& box) {
  switch (box.kind) {
    case DrawnBox::Kind::kernel:
      return kColourOfKernels;
    case DrawnBox::Kind::port:
      return kColourOfPorts;
    case DrawnBox::Kind::variable:
      return kColourOfVariables;
    case DrawnBox::Kind::collective:
      return colour_of(box.collective);
  }
  return "#ffffff";
}

}  // namespace ferry
