#include "fused/cuda/group_rows.h"

#include <limits>

#include "engine/class_numbers.h"
#include "fused/cuda/device_memory.h"
#include "fused/cuda/kernels.h"

namespace stoker::fused {

void check_classes(const Dataset& dataset, std::int64_t outputs, Device device, const OwnStream& stream) {
  const ClassRange none{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  Array range = device_memory<ClassRange>(1, device, stream.get());
  upload(range, 0, &none, 1, stream.get());
  check(find_class_range(pointer<std::int64_t>(dataset.targets()), dataset.rows(), pointer<ClassRange>(range),
                         stream.get()),
        "looking at the classes");
  stream.wait();
  const ClassRange found = download<ClassRange>(range, 0, 1)[0];
  refuse_unknown_classes(found.least, found.most, outputs);
}

Rows GroupRows::convert(const EngineRequest& request, const Dataset& dataset, const Plan& plan, bool as_half,
                        const OwnStream& stream) {
  const Array* weights = dataset.find(Role::weights);
  const auto key = std::make_tuple(dataset.features().data(), dataset.targets().data(),
                                   weights == nullptr ? nullptr : weights->data(), as_half);
  if (const auto found = shared_.find(key); found != shared_.end()) return found->second;
  const bool has_classes = request.loss().kind == Loss::cross_entropy;
  if (has_classes) check_classes(dataset, request.network.outputs, request.device, stream);
  const auto count = static_cast<std::size_t>(dataset.rows());
  const Device device = request.device;
  Rows made;
  made.targets = device_memory<RowTarget>(count, device, stream.get());
  if (as_half)
    made.half_features =
        device_memory<std::uint16_t>(count * static_cast<std::size_t>(plan.depth(0)), device, stream.get());
  Array beyond = device_memory<std::uint32_t>(1, device, stream.get());
  RowsWork work;
  work.features = pointer<float>(dataset.features());
  if (has_classes) {
    work.class_targets = pointer<std::int64_t>(dataset.targets());
  } else {
    work.float_targets = pointer<float>(dataset.targets());
  }
  work.weights = weights == nullptr ? nullptr : pointer<float>(*weights);
  work.rows = dataset.rows();
  work.columns = plan.width[0];
  work.depth = plan.depth(0);
  work.half_features = as_half ? pointer<std::uint16_t>(made.half_features) : nullptr;
  work.targets = pointer<RowTarget>(made.targets);
  work.beyond = pointer<std::uint32_t>(beyond);
  check(prepare_rows(work, stream.get()), "preparing rows");
  stream.wait();
  has_large_feature_ = has_large_feature_ || download<std::uint32_t>(beyond, 0, 1)[0] != 0;
  shared_.emplace(key, made);
  return made;
}

}  // namespace stoker::fused
