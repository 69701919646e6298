#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/covariance_block.h"
#include "kernels/launch.h"
#include "kernels/statistics.h"

// Extremes, means and covariances of all channels of many pixels, in one pass over memory.
namespace stoker::kernels {

// A pixel with a value that is not a finite number.
enum class BadPixels : std::uint8_t { refuse, leave_out };

// The statistics of float32 pixels [rows, columns], products always among them. Blocks of at most 2,304
// pixels are shifted by the mean of all before them, their products added up in fp32 over at most 128 pixels,
// then these sums over 768, and merged in fp64, so an offset of any size costs no digits and a
// covariance is within 1e-6 of √(Sii Sjj), within 2e-6 where all products are alike and so rounded alike; a
// GPU shifts a whole stretch by the mean of some of its pixels, and each of its threads adds up 256 before
// these sums are added to each other. The same numbers come out with any number of threads. What a pass over
// some of the pixels found can be kept (it is plain arrays) and merged with that of the others. Waits for the
// device, as statistics() does.
Statistics covariance(const StatisticsWork& work, BadPixels bad, const Place& place);

// On the CPU with one of the instruction sets that it has; the best comes first.
std::vector<const CovarianceKernels*> covariance_kernels_here();
Statistics covariance_with(const CovarianceKernels& kernels, const StatisticsWork& work, BadPixels bad);

// Of pixels that lie elsewhere, so many of which are brought to the CPU at once.
using CopyToHost = std::function<void(void* to, const void* from, std::size_t bytes)>;
Statistics covariance_in_parts(const StatisticsWork& work, BadPixels bad, std::int64_t at_once,
                               const CopyToHost& copy);

// On a GPU, one stretch of pixels is a block's.
std::int64_t covariance_stretch_cuda(const StatisticsWork& work);
inline constexpr int covariance_merged_together = 12;  // stretches, first; then what came out of that
// Numbers of `parts`: those of all stretches and of what is merged, each laid as those of
// stretch_statistics(), and what blocks put aside.
std::int64_t covariance_room_cuda(const StatisticsWork& work);
// `found` has one such part, of all pixels. Those with a value that is not finite are left out; where they
// are to be refused, the first mean is NaN instead.
LaunchError covariance_cuda(const StatisticsWork& work, bool refuses_bad, double* parts, double* found,
                            Stream stream);
// Of more, the kernel of statistics.h takes over; where it meets a value that is not finite, the CPU.
inline constexpr std::int64_t most_columns_of_covariance_cuda = 220;

}  // namespace stoker::kernels
