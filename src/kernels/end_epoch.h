#pragma once

#include "kernels/epoch_work.h"
#include "kernels/launch.h"

// The end of an epoch on the device: its losses, whether its weights are the best so far, and whether
// training is over. A chunk of hundreds of epochs goes by without the host.
namespace stoker::kernels {

void end_epoch(const EndEpoch& work);
LaunchError end_epoch_cuda(const EndEpoch& work, Stream stream);
void end_epoch(const EndEpoch& work, const Place& place);

}  // namespace stoker::kernels
