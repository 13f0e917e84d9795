// Which way a convolution is made, out of several that give the same answer: by rule, or by what was measured for its shape
// on this device. Host code only.
#pragma once

#include "conv/conv.hpp"

namespace sbk::conv_detail {

using Choice = ConvChoice;

// The rule's: a function of the shape and the device alone.
Choice ruled_choice(const ConvParams& p);
// Bytes of workspace for p.algorithm and p.variant as they stand; `automatic` has none.
size_t workspace_for(const ConvParams& p);
// Runs p.algorithm and p.variant as they stand.
Status run_as_told(const ConvParams& p, const Launch& launch);

// What was measured or read from a file (conv_choice.hip): thread-safe; nothing here allocates once a shape is known.
enum class Knowledge { no, yes, must_measure };
Knowledge known_choice(const ConvParams& p, Choice* choice);
// Measures every way on the launch's stream with p's own tensors, waits, and remembers the fastest. y holds the answer of
// any of them afterwards. False where it cannot be done now: while the stream is being captured, with a y that is also the
// residual, or with less workspace than the neediest way takes.
Status measure_choice(const ConvParams& p, const Launch& launch, Choice* choice, bool* done);
// Whether the settings are sound: a file of choices that cannot be read is an error, not a silent return to the rule.
Status choosing_status();
// Whether STACKBUILD_KERNELS_CONV=no_winograd.
bool environment_avoids_winograd();

}  // namespace sbk::conv_detail
