#pragma once

#include "kernels/launch.h"
#include "kernels/losses_work.h"

namespace stoker::kernels {

void losses(const Losses& work);
LaunchError losses_cuda(const Losses& work, Stream stream);
void losses(const Losses& work, const Place& place);

}  // namespace stoker::kernels
