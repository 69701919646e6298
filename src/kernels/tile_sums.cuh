#pragma once

namespace stoker::kernels {

// Threads hold tiles of sums in registers, each over some rows alone: those of slot s hold the tiles
// s * tiles and on. Adds them up over the slots, in their order, a row of each tile at a time through `room`
// ([Size, Threads] floats of shared memory), and hands each sum to take(number of the tile, row, column,
// sum).
template <int Threads, int Size, class Take>
__device__ inline void add_up_tiles(int thread, int tiles, int slots, const float (&own)[Size][Size],
                                    float* room, const Take& take) {
  for (int i = 0; i < Size; ++i) {
    __syncthreads();
#pragma unroll
    for (int k = 0; k < Size; ++k)
      if (k == i)
#pragma unroll
        for (int j = 0; j < Size; ++j) room[j * Threads + thread] = own[k][j];
    __syncthreads();
    for (int each = thread; each < tiles * Size; each += Threads) {
      const int number = each / Size;
      const int j = each - number * Size;
      double sum = 0;
      for (int slot = 0; slot < slots; ++slot)
        sum += static_cast<double>(room[j * Threads + slot * tiles + number]);
      take(number, i, j, sum);
    }
  }
}

}  // namespace stoker::kernels
